/**
 * Rebuilds a session's structure from its current plan. An agent that can edit the plan must not get past a
 * gate that way: a sync that asks for less is left to the host.
 */
import { PhasegateError } from "../../errors.js";
import type { PlanPhase, PlanTask } from "../../plan/plan.js";
import type { PhaseDefinition, WorkflowStructure } from "../../workflow/structure.js";
import type { EngineContext } from "../engine-context.js";
import type { Actor } from "../state/commands.js";
import type { PlanChange } from "../state/events.js";
import type { PhasedSession } from "../state/machine.js";
import type { TaskPairs } from "../state/task-notes.js";
import { type Comparison, comparePlan } from "./compare.js";
import { grouped, matchTasks, type TaskMatches } from "./match.js";
import { buildPhases, checkPinned, planPin, type UsablePlan, usablePlan } from "./pin.js";

/** A new structure for a session, with its differences. */
export interface Rebuilt extends Comparison {
  readonly structure: WorkflowStructure;
  /** What its gates no longer require, from the current phase on. */
  readonly takenAway: readonly PlanChange[];
  /** The old and new positions of the phases that still exist, from the current one on. */
  readonly places: readonly (readonly [from: number, to: number])[];
  /** The old and new numbers of the current phase's tasks; missing if the phase is not from the plan. */
  readonly tasks?: TaskPairs;
}

/** Returns a session's structure with its plan read again; `base` is the pinned one, or a newer definition of its workflow. */
export async function rereadPlan(
  context: EngineContext,
  { head }: PhasedSession,
  pinned: WorkflowStructure,
  base: WorkflowStructure,
  operation: "syncPlan" | "migrate",
): Promise<Rebuilt> {
  if (pinned.plan === undefined || base.dynamic === undefined) throw noPlan(head.phase, pinned, operation);
  const usable = await usablePlan(context, base, base.dynamic, pinned.plan.path, true);
  return rebuild(base, pinned, head.position, usable);
}

/** Returns true if a sync would ask for less and the caller is an agent that may not do that. */
export function needsHost({ options }: EngineContext, by: Actor, { takenAway }: Rebuilt): boolean {
  return by === "agent" && options.agentSync !== "any" && takenAway.length > 0;
}

/** Limits the removed requirements that a refusal names. */
const NAMED_MAX = 10;

/** Returns the refusal for an agent: it names what is in the current phase, and the number of changes ahead, which it can't see yet. */
export function hostWanted({ sessionId, head }: PhasedSession, { takenAway }: Rebuilt): PhasegateError<"NOT_ALLOWED"> {
  const here = takenAway.filter(({ phase }) => phase === head.phase);
  const ahead = takenAway.length - here.length;
  const more = here.length - NAMED_MAX;
  const parts = [
    ...here.slice(0, NAMED_MAX).map(lossText),
    ...(more > 0 ? [`${more} more in this phase`] : []),
    ...(ahead > 0 ? [`${ahead} ${ahead === 1 ? "change" : "changes"} of that kind in phases ahead`] : []),
  ];
  return new PhasegateError("NOT_ALLOWED", `the plan asks for less than is pinned: ${parts.join("; ")}`, {
    remedy: `Put it back into the plan, or ask the person who runs this: the host can adopt it (\`phasegate sync\`, engine.session('${sessionId}').syncPlan()).`,
    details: { phase: head.phase, operation: "syncPlan" },
  });
}

function noPlan(phase: number, { plan }: WorkflowStructure, operation: string): PhasegateError<"NOT_ALLOWED"> {
  const what =
    plan === undefined ? "this session's phases do not come from a plan" : "its workflow reads no plans any more";
  return new PhasegateError("NOT_ALLOWED", `${operation} is not possible: ${what}`, {
    remedy: "Continue with the session as it is, or start a new one.",
    details: { phase, operation },
  });
}

/**
 * Returns the structure of a session with its current plan: completed phases stay, those from the current
 * one on are the plan's. `base` provides everything else: the static phases, and how plans are read.
 */
function rebuild(base: WorkflowStructure, pinned: WorkflowStructure, position: number, usable: UsablePlan): Rebuilt {
  const comparison = comparePlan(pinned, position, usable.reading.plan, base);
  const { matches, done, ahead, shift } = comparison.arrangement;
  const { plan: _, ...rest } = base;
  const statics = base.phases.filter(({ plan }) => plan === undefined);
  const phases = [...statics, ...done, ...buildPhases(ahead, shift, usable.revisions, base.dynamic?.verify)];
  const startPhase = statics.length === 0 ? pinned.startPhase : base.startPhase;
  const structure = { ...rest, startPhase, phases, plan: planPin(usable, shift) };
  checkPinned(structure, usable.source.path);
  const before = statics.length + done.length;
  const placeOf = new Map<PlanPhase | undefined, number>(ahead.map((phase, at) => [phase, before + at]));
  const places = pinned.phases.flatMap((phase, from) => {
    if (from < position) return [];
    if (phase.plan === undefined) return [[from, from] as const];
    const to = placeOf.get(matches.get(phase));
    return to === undefined ? [] : [[from, to] as const];
  });
  const current = pinned.phases[position];
  const now = current?.plan === undefined ? undefined : matchTasks(pinned.phases, usable.reading.plan.phases, matches);
  const tasks = now && { tasks: pairsOfTasks(current, now, ahead[0]) };
  return { ...comparison, ...tasks, structure, places, takenAway: takenAway(pinned, structure, position) };
}

/** Returns the tasks of the current phase that are still in it, by their old and new numbers. */
function pairsOfTasks(was: PhaseDefinition | undefined, matches: TaskMatches, now: PlanPhase | undefined): TaskPairs {
  const numbers = new Map<PlanTask | undefined, number>((now?.tasks ?? []).map((task, index) => [task, index + 1]));
  return (was?.tasks ?? []).flatMap((task) => {
    const number = numbers.get(matches.get(task));
    return number === undefined ? [] : [[task.number, number] as const];
  });
}

interface Asked {
  readonly phase: number;
  readonly id?: string;
  readonly name: string;
}

interface AskedTask extends Asked {
  readonly id: string;
  readonly required: boolean;
  /** The lines of the task's text that must all stay: criteria, requirements, description. */
  readonly texts: readonly string[];
}

/** The best key comes first, so that of two tasks with the same name each finds its own counterpart. */
const TASK_KEYS: readonly ((task: AskedTask) => string)[] = [
  ({ id, name, texts, required }) => JSON.stringify([id, name, texts, required]),
  ({ name, texts, required }) => JSON.stringify([name, texts, required]),
  ({ id, name, required }) => JSON.stringify([id, name, required]),
  ({ name, required }) => JSON.stringify([name, required]),
  ({ name }) => name,
  // Another name under the same id: not the same task, but the refusal can show it.
  ({ id }) => id,
];

/**
 * Returns the required tasks and validation items from a position on that a new structure no longer requires, and the
 * removed parts of a task's text. A task is its name with its acceptance criteria, requirements and description; an
 * item is its text. More may be added, ids may change, and moving to a later phase removes nothing.
 */
function takenAway(before: WorkflowStructure, after: WorkflowStructure, position: number): PlanChange[] {
  const [old, now] = [before.phases.slice(position), after.phases.slice(position)];
  const required = old.flatMap(plannedTasks).filter((task) => task.required);
  const tasks = pairsOf(required, now.flatMap(plannedTasks), TASK_KEYS).flatMap(([task, found]) => lossOf(task, found));
  const items = pairsOf(old.flatMap(gateItems), now.flatMap(gateItems), [({ name }) => name]);
  return [...tasks, ...items.flatMap(([item, found]) => (found === undefined ? [item] : []))];
}

function plannedTasks({ number: phase, tasks, gate }: PhaseDefinition): AskedTask[] {
  if (gate.kind !== "plan") return [];
  return tasks.flatMap(({ name, plan }) => {
    if (plan === undefined) return [];
    const { id, optional, state, acceptanceCriteria, requirements = [], description = "" } = plan;
    const texts = [
      ...acceptanceCriteria.map((text) => `criterion '${text}'`),
      ...requirements.map((text) => `requirement '${text}'`),
      ...linesOf(description).map((text) => `line '${text}'`),
    ];
    return [{ phase, id, name, required: !optional && state !== "dropped", texts }];
  });
}

function linesOf(text: string): string[] {
  const lines = text.split("\n").map((line) => line.trim());
  return lines.filter((line) => line !== "");
}

/** Pairs each element with an unused counterpart by the first key that finds one. */
function pairsOf<T extends Asked>(
  before: readonly T[],
  after: readonly T[],
  keys: readonly ((asked: T) => string)[],
): (readonly [T, T | undefined])[] {
  const pairs = new Map<T, T>();
  let free = [...after];
  for (const key of keys) {
    const found = grouped(free, key);
    for (const asked of before) {
      if (pairs.has(asked)) continue;
      const counterpart = found.get(key(asked))?.shift();
      if (counterpart !== undefined) pairs.set(asked, counterpart);
    }
    free = [...found.values()].flat();
  }
  return before.map((asked) => [asked, pairs.get(asked)] as const);
}

/** Returns what a task loses: itself, its name, that it is required, or parts of its text. */
function lossOf(task: AskedTask, now: AskedTask | undefined): PlanChange[] {
  const { phase, id, name } = task;
  if (now === undefined) return [{ phase, id, name }];
  if (now.name !== name) return [{ phase, id, name, from: name, to: now.name }];
  if (!now.required) return [{ phase, id, name, to: "may be left out" }];
  const left = new Map<string, number>();
  for (const text of now.texts) left.set(text, (left.get(text) ?? 0) + 1);
  return task.texts.flatMap((text) => {
    const count = left.get(text) ?? 0;
    left.set(text, count - 1);
    return count > 0 ? [] : [{ phase, id, name, from: text }];
  });
}

function gateItems({ number: phase, gate }: PhaseDefinition): Asked[] {
  return gate.kind === "plan" ? gate.items.map((name) => ({ phase, name })) : [];
}

/** Describes a removed requirement in the plan's own words. */
function lossText({ id, name, from, to }: PlanChange): string {
  const what = `'${quoted(id === undefined ? name : `${id} ${name}`)}'`;
  if (from !== undefined && to !== undefined) return `${what} is called '${quoted(to)}' now`;
  if (to !== undefined) return `${what} ${to}`;
  return from === undefined ? `${what} is gone` : `${what} lacks the ${quoted(from)}`;
}

/** The longest text of a plan that a refusal quotes, in characters. */
const QUOTED_MAX = 200;

function quoted(text: string): string {
  return text.length > QUOTED_MAX ? `${text.slice(0, QUOTED_MAX)}…` : text;
}
