/** What is different between the phases that a session has pinned and its plan as it is now. Pure. */
import type { PhaseDefinition } from "../../definition/structure.js";
import type { PlanPhase } from "../../plan/plan.js";
import { buildPhases } from "./build-phases.js";
import { diffTasks } from "./diff-tasks.js";
import type { PhaseMatches } from "./match-phases.js";
import { collector, countOf, type KindOfChange, type PlaceOf, type Say } from "./plan-difference.js";

/** Compares by phase and by task: by what they are now, whatever their numbers and ids. */
export function diffPlan(
  pinned: readonly PhaseDefinition[],
  live: readonly PlanPhase[],
  matches: PhaseMatches,
  placeOf: PlaceOf,
): KindOfChange[] {
  const changes: KindOfChange[] = [];
  const say = collector(changes, placeOf);
  const before = pinned.filter(({ plan }) => plan !== undefined);
  const pinnedOf = new Map([...matches].map(([phase, now]) => [now, phase]));
  const after = buildPhases(live, 0, { phase: "", task: "" });
  for (const phase of before) if (!matches.has(phase)) say("removed", phase, { name: phase.name });
  for (const [index, now] of live.entries()) {
    const [was, built] = [pinnedOf.get(now), after[index]];
    if (was === undefined) say("added", now, { name: now.name });
    else if (built !== undefined) comparePhases(was, built, (kind, change) => say(kind, was, change));
  }
  diffTasks(before, live, matches, say);
  return changes;
}

function comparePhases(was: PhaseDefinition, now: PhaseDefinition, say: Say): void {
  const { name } = now;
  if (was.name !== name) say("renamed", { name, from: was.name, to: name });
  if (was.plan?.number !== now.plan?.number) {
    say("moved", { name, from: `phase ${was.plan?.number}`, to: `phase ${now.plan?.number}` });
  }
  const [itemsBefore, items] = [gateItems(was), gateItems(now)];
  if (itemsBefore.join("\n") !== items.join("\n")) say("gate", { name, ...countOf(itemsBefore, items) });
  const facts = ({ plan }: PhaseDefinition) => JSON.stringify([plan?.goal, plan?.estimatedDuration]);
  if (facts(was) !== facts(now)) say("other", { name });
}

function gateItems({ gate }: PhaseDefinition): readonly string[] {
  return gate.kind === "plan" ? gate.items : [];
}
