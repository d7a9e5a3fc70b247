/**
 * Matches the phases and tasks of a session with those of its current plan, which may have been edited and renumbered.
 */
import { PhasegateError } from "../../errors.js";
import { addTo, type PlanPhase, type PlanTask } from "../../plan/plan.js";
import type { PhaseDefinition, TaskDefinition } from "../../workflow/structure.js";
import { shiftAfter } from "./pin.js";

/** The plan's phase for each phase of a session: matched by number and name, then by name, then by number. */
export type PhaseMatches = ReadonlyMap<PhaseDefinition, PlanPhase>;

/** The plan's task for each task of a session. A task that is missing here is gone or ambiguous. */
export type TaskMatches = ReadonlyMap<TaskDefinition, PlanTask>;

/** The phases of the current plan in relation to those of a session. */
export interface Arrangement {
  readonly matches: PhaseMatches;
  /** Completed phases from the plan: they stay as they are. */
  readonly done: readonly PhaseDefinition[];
  /** Phases of the plan from the current one on. */
  readonly ahead: readonly PlanPhase[];
  /** The number that is added to the plan's own numbers of the phases ahead. */
  readonly shift: number;
}

interface Side<T> {
  readonly task: T;
  readonly id: string;
  readonly name: string;
  /** The place of its phase in the current plan; undefined if the phase of a pinned task has no match there. */
  readonly home: number | undefined;
}

/**
 * Matches a session's tasks with its current plan: within their phases by name, then anywhere by id and
 * name, then by a unique name. An id alone identifies a task only in the same phase, if the old name is
 * gone and the new one is not another task's: otherwise the id has moved to another task.
 */
export function matchTasks(
  pinned: readonly PhaseDefinition[],
  live: readonly PlanPhase[],
  phases: PhaseMatches = matchPhases(pinned, live),
): TaskMatches {
  const places = new Map<PlanPhase | undefined, number>(live.map((phase, place) => [phase, place]));
  const before = pinned.flatMap((phase) => {
    const home = places.get(phases.get(phase));
    return phase.tasks.flatMap((task): Side<TaskDefinition>[] =>
      task.plan === undefined ? [] : [{ task, id: task.plan.id, name: task.name, home }],
    );
  });
  const now = live.flatMap((phase, home) =>
    phase.tasks.map((task): Side<PlanTask> => ({ task, id: task.id, name: task.name, home })),
  );
  const [oldNames, newNames] = [new Set(before.map(({ name }) => name)), new Set(now.map(({ name }) => name))];
  const found = new Map<TaskDefinition, PlanTask>();
  const taken = new Set<PlanTask>();
  /** Pairs tasks whose key occurs equally often on each side, at most `max` times: by id if both sides have the same ids, otherwise in order. */
  const pair = (keyOf: (side: Side<unknown>) => string | undefined, max = 1) => {
    const others = grouped(
      now.filter(({ task }) => !taken.has(task)),
      keyOf,
    );
    const own = before.filter(({ task }) => !found.has(task));
    for (const [key, one] of grouped(own, keyOf)) {
      const other = others.get(key) ?? [];
      if (one.length !== other.length || one.length > max) continue;
      const byId = new Map(other.map((side) => [side.id, side]));
      const sameIds = one.every(({ id }) => byId.has(id));
      for (const [index, { task, id }] of one.entries()) {
        const same = sameIds ? byId.get(id) : other[index];
        if (same === undefined) continue;
        found.set(task, same.task);
        taken.add(same.task);
      }
    }
  };
  pair(({ home, name }) => (home === undefined ? undefined : `${home} ${name}`), Number.POSITIVE_INFINITY);
  pair(({ home, id, name }) => (home === undefined ? undefined : `${home} ${id} ${name}`));
  pair(({ id, name }) => `${id} ${name}`);
  pair(({ name }) => name);
  pair(({ home, id, name }) => {
    const isNew = oldNames.has(name) !== newNames.has(name);
    return home === undefined || !isNew ? undefined : `${home} ${id}`;
  });
  return found;
}

/**
 * Arranges a plan for a session at a position. Completed phases stay; the current phase keeps its number,
 * and those ahead follow it. A phase that was inserted right before the current one becomes the current
 * one; a phase that was inserted before a completed one is behind the session. While the session is in a
 * static phase, the plan's phases follow the static phases of `base`.
 */
export function arrangePhases(
  pinned: readonly PhaseDefinition[],
  position: number,
  live: readonly PlanPhase[],
  base: readonly PhaseDefinition[],
): Arrangement {
  const matches = matchPhases(pinned, live);
  const current = pinned[position];
  if (current?.plan === undefined) {
    const last = base.findLast(({ plan }) => plan === undefined);
    return { matches, done: [], ahead: live, shift: shiftAfter(last?.number ?? 0, live) };
  }
  const done = pinned.slice(0, position).filter(({ plan }) => plan !== undefined);
  const passed = new Set(done.map((phase) => matches.get(phase)));
  const isDone = (phase: PlanPhase) => passed.has(phase);
  const found = matches.get(current);
  const here = found === undefined ? -1 : live.indexOf(found);
  const from = Math.min(here, live.findLastIndex(isDone) + 1);
  const ahead = live.filter((phase, index) => index >= from && !isDone(phase));
  const first = ahead[0];
  if (here < 0 || first === undefined) throw currentGone(current);
  return { matches, done, ahead, shift: current.number - first.number };
}

/** Matches the phases of a session that come from a plan with the current plan. */
export function matchPhases(pinned: readonly PhaseDefinition[], live: readonly PlanPhase[]): PhaseMatches {
  const matches = new Map<PhaseDefinition, PlanPhase>();
  let free = live;
  for (const keyOf of PHASE_KEYS) {
    const candidates = grouped(free, ({ number, name }) => keyOf(number, name));
    for (const phase of pinned) {
      if (phase.plan === undefined || matches.has(phase)) continue;
      const key = keyOf(phase.plan.number, phase.name);
      const found = candidates.get(key);
      // A name or number that several phases share identifies none of them.
      if (found?.length !== 1 || found[0] === undefined) continue;
      matches.set(phase, found[0]);
      candidates.delete(key);
    }
    const taken = new Set(matches.values());
    free = live.filter((phase) => !taken.has(phase));
  }
  return matches;
}

/** What identifies a phase: the best key comes first. */
const PHASE_KEYS: readonly ((number: number, name: string) => string)[] = [
  (number, name) => `${number} ${name}`,
  (_, name) => name,
  (number) => `${number}`,
];

/** Groups what has a key by it, in order. */
export function grouped<T>(all: readonly T[], keyOf: (one: T) => string | undefined): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const one of all) {
    const key = keyOf(one);
    if (key !== undefined) addTo(groups, key, one);
  }
  return groups;
}

function currentGone({ number, name }: PhaseDefinition): PhasegateError<"NOT_ALLOWED"> {
  return new PhasegateError("NOT_ALLOWED", `the plan does not have the current phase ${number}, '${name}', any more`, {
    remedy: "Put the phase back into the plan, or continue without it: the session keeps its pinned plan.",
    details: { phase: number, operation: "syncPlan" },
  });
}
