/** What is different between the phases that a session has pinned and its plan as it is now. Pure. */
import type { PhaseDefinition, PlannedTask } from "../../definition/structure.js";
import type { PlanPhase } from "../../plan/plan.js";
import type { PlanChange, PlanChangeKind } from "../../session/plan-changes.js";
import { buildPhases } from "./build-phases.js";
import type { PhaseMatches } from "./match-phases.js";

/** One difference, with its kind. */
export type KindOfChange = PlanChange & { readonly kind: PlanChangeKind };

interface Placed {
  readonly phase: PhaseDefinition;
  readonly name: string;
  readonly plan: PlannedTask;
}

/** Where a phase lies, in the numbers of the session. */
export type PlaceOf = (phase: PhaseDefinition | PlanPhase) => Pick<PlanChange, "phase" | "behind">;

/** Compares by phase and by the ids of tasks. */
export function diffPlan(
  pinned: readonly PhaseDefinition[],
  live: readonly PlanPhase[],
  matches: PhaseMatches,
  placeOf: PlaceOf,
): KindOfChange[] {
  const changes: KindOfChange[] = [];
  const before = pinned.filter(({ plan }) => plan !== undefined);
  const pinnedOf = new Map([...matches].map(([phase, now]) => [now, phase]));
  const after = buildPhases(live, 0, { phase: "", task: "" });
  const say = (kind: PlanChangeKind, of: PhaseDefinition | PlanPhase, change: Omit<PlanChange, "phase">) =>
    changes.push({ kind, ...placeOf(of), ...change });
  for (const phase of before) if (!matches.has(phase)) say("removed", phase, { name: phase.name });
  for (const [index, now] of live.entries()) {
    const [was, built] = [pinnedOf.get(now), after[index]];
    if (was === undefined) say("added", now, { name: now.name });
    else if (built !== undefined) comparePhases(was, built, (kind, change) => say(kind, was, change));
  }
  const homes = new Map(after.map((built, index) => [built, live[index]]));
  const home = (built: PhaseDefinition) => {
    const now = homes.get(built);
    return (now === undefined ? undefined : (pinnedOf.get(now) ?? now)) ?? built;
  };
  compareTasks(placedTasks(before), placedTasks(after), home, say);
  return changes;
}

type Say = (kind: PlanChangeKind, change: Omit<PlanChange, "phase">) => void;

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

function compareTasks(
  before: ReadonlyMap<string, Placed>,
  after: ReadonlyMap<string, Placed>,
  home: (built: PhaseDefinition) => PhaseDefinition | PlanPhase,
  say: (kind: PlanChangeKind, of: PhaseDefinition | PlanPhase, change: Omit<PlanChange, "phase">) => void,
): void {
  for (const [id, { phase, name }] of before) if (!after.has(id)) say("removed", phase, { id, name });
  for (const [id, now] of after) {
    const was = before.get(id);
    const of = home(now.phase);
    if (was === undefined) say("added", of, { id, name: now.name });
    else compareTask(was, now, was.phase !== of, (kind, change) => say(kind, of, { id, ...change }));
  }
  for (const { id, placed, from, to } of reordered(before, after, home)) {
    say("moved", home(placed.phase), { id, name: placed.name, from: `place ${from}`, to: `place ${to}` });
  }
}

function compareTask(was: Placed, now: Placed, hasMoved: boolean, say: Say): void {
  const { name } = now;
  if (was.name !== name) say("renamed", { name, from: was.name, to: name });
  if (hasMoved) say("moved", { name, from: `phase ${was.phase.number}`, to: "here" });
  const [needed, needs] = [was.plan.dependencies, now.plan.dependencies].map((ids) => ids.join(", ") || "none");
  if (needed !== needs) say("dependencies", { name, from: needed, to: needs });
  const [asked, asks] = [was.plan.acceptanceCriteria, now.plan.acceptanceCriteria];
  if (asked.join("\n") !== asks.join("\n")) say("criteria", { name, ...countOf(asked, asks) });
  const facts = ({ description, estimatedTime, optional, parallel }: PlannedTask) =>
    JSON.stringify([description, estimatedTime, optional, parallel]);
  if (facts(was.plan) !== facts(now.plan)) say("other", { name });
}

/** Tasks that stayed in their phase, and in another order among those that did. */
function reordered(
  before: ReadonlyMap<string, Placed>,
  after: ReadonlyMap<string, Placed>,
  home: (built: PhaseDefinition) => PhaseDefinition | PlanPhase,
) {
  const order = (placed: ReadonlyMap<string, Placed>) => {
    const places = new Map<PhaseDefinition, string[]>();
    for (const [id, { phase }] of placed) {
      const [was, now] = [before.get(id), after.get(id)];
      if (was === undefined || now === undefined || home(now.phase) !== was.phase) continue;
      places.set(phase, [...(places.get(phase) ?? []), id]);
    }
    return new Map([...places.values()].flatMap((ids) => ids.map((id, index) => [id, index + 1] as const)));
  };
  const [from, to] = [order(before), order(after)];
  return [...after].flatMap(([id, placed]) => {
    const [was, now] = [from.get(id), to.get(id)];
    return was === undefined || now === undefined || was === now ? [] : [{ id, placed, from: was, to: now }];
  });
}

function placedTasks(phases: readonly PhaseDefinition[]): Map<string, Placed> {
  return new Map(
    phases.flatMap((phase) =>
      phase.tasks.flatMap(({ name, plan }) => (plan === undefined ? [] : [[plan.id, { phase, name, plan }] as const])),
    ),
  );
}

function gateItems({ gate }: PhaseDefinition): readonly string[] {
  return gate.kind === "plan" ? gate.items : [];
}

/** Lists in a few words: what was taken out, what was put in. */
function countOf(before: readonly string[], after: readonly string[]): { from: string; to: string } {
  const gone = before.filter((text) => !after.includes(text)).length;
  const come = after.filter((text) => !before.includes(text)).length;
  return { from: `${before.length}, ${gone} of them gone`, to: `${after.length}, ${come} of them new` };
}
