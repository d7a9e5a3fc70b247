/**
 * Compares a session's pinned plan with its current source: by phase and by task, matched by what they are,
 * not by their current numbers and ids. Pure.
 */
import { isPhasegateError } from "../../errors.js";
import { keptItems, type Plan, type PlanPhase, type PlanTask } from "../../plan/plan.js";
import { canonicalJson } from "../../workflow/json.js";
import type { PhaseDefinition, PlannedTask, TaskDefinition, WorkflowStructure } from "../../workflow/structure.js";
import { PLAN_CHANGE_KINDS, type PlanChange, type PlanChangeKind, type PlanChanges } from "../state/events.js";
import { type Arrangement, arrangePhases, matchTasks, type PhaseMatches } from "./match.js";
import { buildPhases } from "./pin.js";

/** One difference, with its kind. */
type KindOfChange = PlanChange & { readonly kind: PlanChangeKind };

/** A plan compared with what a session has pinned of it. */
export interface Comparison {
  readonly arrangement: Arrangement;
  readonly changes: readonly KindOfChange[];
  /** True if the plan would change the session: false if everything that has changed is behind it. */
  readonly matters: boolean;
}

/** The pinned phase, or the plan's own if the session does not have it. */
type EitherPhase = PhaseDefinition | PlanPhase;

/** Returns the position of a phase, in the numbers of the session. */
type PlaceOf = (phase: EitherPhase) => Pick<PlanChange, "phase" | "behind">;

/**
 * Compares the current plan with a session; `base` has the static phases that it follows. Throws `NOT_ALLOWED` if the
 * current phase is no longer in it.
 */
export function comparePlan(
  structure: WorkflowStructure,
  position: number,
  plan: Plan,
  base: WorkflowStructure = structure,
): Comparison {
  const arrangement = arrangePhases(structure.phases, position, plan.phases, base.phases);
  const { matches, ahead, shift } = arrangement;
  const [passed, coming] = [new Set(structure.phases.slice(0, position)), new Set(ahead)];
  const placeOf: PlaceOf = (phase) => {
    const isPinned = !("validationGate" in phase);
    const behind = isPinned ? passed.has(phase) : !coming.has(phase);
    const number = isPinned || behind ? phase.number : phase.number + shift;
    return { phase: number, ...(behind ? { behind } : {}) };
  };
  const changes = diffPlan(structure.phases, plan.phases, matches, placeOf);
  const before = structure.phases.filter((phase, place) => place >= position && phase.plan !== undefined);
  const after = buildPhases(ahead, shift, { phase: "", task: "" }, structure.dynamic?.verify);
  return { arrangement, changes, matters: asked(before) !== asked(after) };
}

/** Returns what has changed in a plan from the current phase on; `gone` if the current phase is no longer in it. */
export function changesAhead(
  structure: WorkflowStructure,
  position: number,
  plan: Plan,
): readonly KindOfChange[] | "gone" {
  try {
    const { changes, matters } = comparePlan(structure, position, plan);
    return matters ? changes.filter(({ behind }) => behind !== true) : [];
  } catch (error) {
    if (isPhasegateError(error, "NOT_ALLOWED")) return "gone";
    throw error;
  }
}

/** Limits the differences of a kind in a session's log. */
const KEPT_MAX = 100;

/** Groups the differences by kind for the log: all are counted, a limited number is listed. */
export function changesByKind(
  changes: readonly KindOfChange[],
  takenAway: readonly PlanChange[],
  max = KEPT_MAX,
): PlanChanges {
  const of = (kind: PlanChangeKind) => changes.filter((change) => change.kind === kind);
  const listed = eachKind((kind) =>
    of(kind)
      .slice(0, max)
      .map(({ kind: _, ...change }) => change),
  );
  const counts = eachKind((kind) => of(kind).length);
  return { ...listed, count: changes.length, counts, takenAway: takenAway.slice(0, max) };
}

function eachKind<T>(of: (kind: PlanChangeKind) => T): Record<PlanChangeKind, T> {
  return {
    added: of("added"),
    removed: of("removed"),
    renamed: of("renamed"),
    moved: of("moved"),
    dependencies: of("dependencies"),
    criteria: of("criteria"),
    gate: of("gate"),
    other: of("other"),
  };
}

/** Summarises the differences in a line: `2 added, 1 renamed`. */
export function summaryOf(changes: readonly KindOfChange[]): string {
  const { counts } = changesByKind(changes, [], 0);
  const words: Partial<Record<PlanChangeKind, string>> = {
    dependencies: "with other dependencies",
    criteria: "with other criteria",
    gate: "with another validation gate",
    other: "changed otherwise",
  };
  return PLAN_CHANGE_KINDS.filter((kind) => counts[kind] > 0)
    .map((kind) => `${counts[kind]} ${words[kind] ?? kind}`)
    .join(", ");
}

/** Compares matched phases and tasks. Numbers and ids may differ. */
function diffPlan(
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
  diffTasks(before, live, matches, pinnedOf, say);
  return changes;
}

/** Reports a difference of a phase or of a task in it; `from` is the earlier phase of a task. */
type SayOf = (kind: PlanChangeKind, of: EitherPhase, change: Omit<PlanChange, "phase">, from?: EitherPhase) => void;

/** Collects differences. One is behind the session only if both its ends are. */
function collector(changes: KindOfChange[], placeOf: PlaceOf): SayOf {
  return (kind, of, change, from = of) => {
    const { phase, behind } = placeOf(of);
    const isBehind = behind === true && placeOf(from).behind === true;
    changes.push({ kind, phase, ...(isBehind ? { behind: true } : {}), ...change });
  };
}

/** Reports a difference of something whose position is known. */
type Say = (kind: PlanChangeKind, change: Omit<PlanChange, "phase">) => void;

function comparePhases(was: PhaseDefinition, now: PhaseDefinition, say: Say): void {
  const { name } = now;
  if (was.name !== name) say("renamed", { name, from: was.name, to: name });
  if (was.plan?.number !== now.plan?.number) {
    say("moved", { name, from: `phase ${was.plan?.number}`, to: `phase ${now.plan?.number}` });
  }
  const [itemsBefore, items] = [gateItems(was), gateItems(now)];
  if (itemsBefore.join("\n") !== items.join("\n")) say("gate", { name, ...countOf(itemsBefore, items) });
  const facts = ({ plan }: PhaseDefinition) => JSON.stringify([plan?.written, plan?.goal, plan?.estimatedDuration]);
  if (facts(was) !== facts(now)) say("other", { name });
}

function gateItems({ gate }: PhaseDefinition): readonly string[] {
  return gate.kind === "plan" ? gate.items : [];
}

/** Describes the difference of two lists: what was removed and what was added. */
function countOf(before: readonly string[], after: readonly string[]): { from: string; to: string } {
  const [earlier, later] = [new Set(before), new Set(after)];
  const gone = before.filter((text) => !later.has(text)).length;
  const come = after.filter((text) => !earlier.has(text)).length;
  return { from: `${before.length}, ${gone} of them gone`, to: `${after.length}, ${come} of them new` };
}

/** A task that is on both sides. */
interface Kept {
  readonly was: { readonly phase: PhaseDefinition; readonly name: string; readonly plan: PlannedTask };
  readonly now: PlanTask;
  /** The phase that it is in now; the pinned one if the session has it. */
  readonly home: EitherPhase;
  /** True if its id has changed only with the number of its phase. */
  readonly renumbered: boolean;
}

/** Compares matched tasks. Their ids may differ. */
function diffTasks(
  pinned: readonly PhaseDefinition[],
  live: readonly PlanPhase[],
  matches: PhaseMatches,
  pinnedOf: ReadonlyMap<PlanPhase, PhaseDefinition>,
  say: SayOf,
): void {
  const tasks = matchTasks(pinned, live, matches);
  const before = new Map<PlanTask, Kept["was"]>();
  const ids = new Map<string, string>();
  for (const [task, phase] of placed(pinned)) {
    const { name, plan } = task;
    if (plan === undefined) continue;
    const now = tasks.get(task);
    if (now === undefined) say("removed", phase, { id: plan.id, name });
    else {
      before.set(now, { phase, name, plan });
      ids.set(plan.id, now.id);
    }
  }
  const kept: Kept[] = [];
  for (const phase of live) {
    const home = pinnedOf.get(phase) ?? phase;
    for (const now of phase.tasks) {
      const was = before.get(now);
      if (was === undefined) say("added", home, { id: now.id, name: now.name });
      else kept.push({ was, now, home, renumbered: was.phase.plan?.number !== phase.number });
    }
  }
  for (const one of kept) {
    compareTask(one, ids, (kind, change) => say(kind, one.home, { id: one.now.id, ...change }, one.was.phase));
  }
  for (const { now, home, from, to } of reordered(kept, [...before.keys()])) {
    say("moved", home, { id: now.id, name: now.name, from: `place ${from}`, to: `place ${to}` });
  }
}

function placed(phases: readonly PhaseDefinition[]): (readonly [TaskDefinition, PhaseDefinition])[] {
  return phases.flatMap((phase) => phase.tasks.map((task) => [task, phase] as const));
}

function compareTask({ was, now, home, renumbered }: Kept, ids: ReadonlyMap<string, string>, say: Say): void {
  const { name } = now;
  const hasMoved = was.phase !== home;
  if (was.name !== name) say("renamed", { name, from: was.name, to: name });
  if (hasMoved) say("moved", { name, from: `phase ${was.phase.number}`, to: "here" });
  else if (was.plan.id !== now.id && !renumbered)
    say("other", { name, from: `task ${was.plan.id}`, to: `task ${now.id}` });
  const listed = (needed: readonly string[]) => needed.join(", ") || "none";
  // A dependency that only got another id is the same dependency.
  const needed = was.plan.dependencies.map((id) => ids.get(id) ?? id);
  if (listed(needed) !== listed(now.dependencies)) {
    say("dependencies", { name, from: listed(was.plan.dependencies), to: listed(now.dependencies) });
  }
  const [wasDropped, isDropped] = [was.plan.state, now.state].map((state) => state === "dropped");
  if (wasDropped !== isDropped) say("other", { name, ...(isDropped ? { to: "dropped" } : { from: "dropped" }) });
  const [asked, asks] = [was.plan.acceptanceCriteria, keptItems(now.acceptanceCriteria).map(({ text }) => text)];
  if (asked.join("\n") !== asks.join("\n")) say("criteria", { name, ...countOf(asked, asks) });
  const facts = ({ description, estimatedTime, requirements = [], optional, parallel }: PlannedTask | PlanTask) =>
    JSON.stringify([description, estimatedTime, requirements, optional, parallel]);
  if (facts(was.plan) !== facts(now)) say("other", { name });
}

/** Returns what the session would require, as JSON: without ticks and the revisions of templates. */
function asked(phases: readonly PhaseDefinition[]): string {
  return canonicalJson(
    phases.map(({ textRevision: _, tasks, ...phase }) => ({
      ...phase,
      tasks: tasks.map(({ textRevision: __, plan, ...task }) => ({ ...task, plan: { ...plan, state: "" } })),
    })),
  );
}

/** Returns tasks that stayed in their phase but in another order. `order` is the earlier order. */
function reordered(kept: readonly Kept[], order: readonly PlanTask[]) {
  const stayed = kept.filter(({ was, home }) => was.phase === home);
  const homes = new Map(stayed.map((one) => [one.now, one]));
  const places = (tasks: readonly PlanTask[]) => {
    const counts = new Map<EitherPhase, number>();
    return new Map(
      tasks.flatMap((task) => {
        const home = homes.get(task)?.home;
        if (home === undefined) return [];
        const place = (counts.get(home) ?? 0) + 1;
        counts.set(home, place);
        return [[task, place] as const];
      }),
    );
  };
  const [from, to] = [places(order), places(stayed.map(({ now }) => now))];
  return stayed.flatMap((one) => {
    const [was, now] = [from.get(one.now), to.get(one.now)];
    return was === undefined || now === undefined || was === now ? [] : [{ ...one, from: was, to: now }];
  });
}
