import type { Report } from "../../definition/folder/report.js";
import { shown } from "../../definition/names.js";
import { FINISH } from "../../definition/routed-definition.js";
import { namesTheEnd } from "./named-steps.js";
import type { FoundStep } from "./read-step.js";

/** Where each step leads, by what its guidance names; see `checkReferences`. */
export type Led = ReadonlyMap<FoundStep, ReadonlySet<string>>;

/** Reports steps that nothing leads to, and workflows that nothing ends. */
export function checkWays(steps: readonly FoundStep[], led: Led, report: Report): void {
  const ways = new Map(steps.map((found, index) => [found, waysFrom(found, steps[index + 1], led)]));
  checkUnnamed(steps, ways, report);
  checkEnd(steps, ways, report);
}

/** The steps that may follow as far as it is told: `next`, what the guidance names, else the one after it, else any. */
function waysFrom(found: FoundStep, after: FoundStep | undefined, led: Led): ReadonlySet<string> {
  const { step } = found;
  if (step.next !== undefined) return new Set(step.next);
  const named = new Set(led.get(found));
  if (namesTheEnd(step.guidance)) named.add(FINISH);
  // A guidance that leads nowhere leaves it to the order of the list.
  if (named.size === 0) named.add(after?.step.name ?? FINISH);
  return named;
}

function checkUnnamed(steps: readonly FoundStep[], ways: ReadonlyMap<FoundStep, ReadonlySet<string>>, report: Report) {
  const named = new Set([...ways].flatMap(([from, to]) => [...to].filter((name) => name !== from.step.name)));
  for (const { step, entry } of steps.slice(1)) {
    if (named.has(step.name)) continue;
    const hint = "Name it in the guidance of the step before it, or take it out.";
    report.warn("STEP_UNNAMED", entry.place, `no step leads to ${shown(step.name)}`, hint);
  }
}

function checkEnd(steps: readonly FoundStep[], ways: ReadonlyMap<FoundStep, ReadonlySet<string>>, report: Report) {
  const [first] = steps;
  if (first === undefined) return;
  const byName = new Map(steps.map((found) => [found.step.name, found]));
  const reached = new Set<FoundStep>();
  const open = [first];
  for (let found = open.pop(); found !== undefined; found = open.pop()) {
    if (reached.has(found)) continue;
    reached.add(found);
    const to = ways.get(found) ?? new Set();
    if (to.has(FINISH)) return;
    open.push(...[...to].flatMap((name) => byName.get(name) ?? []));
  }
  const hint = `Let a step that can be reached name ${FINISH}.`;
  const message = "nothing that can be reached from the first step leads to the end of this workflow";
  // Where every step on the way names all that may follow, no decider can end it either.
  const isSure = [...reached].every(({ step }) => step.next !== undefined);
  if (isSure) report.error("WORKFLOW_ENDLESS", first.settings.place("next"), message, hint);
  else report.warn("WORKFLOW_ENDLESS", first.entry.place, message, hint);
}
