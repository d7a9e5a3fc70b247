import type { PhaseDefinition, TaskDefinition } from "../../definition/structure.js";
import type { PlanPhase, PlanTask } from "../../plan/plan.js";
import { matchPhases, type PhaseMatches } from "./match-phases.js";

/** Which task of a plan is which of a session's. One that isn't in here has gone, or nobody can say which it is. */
export type TaskMatches = ReadonlyMap<TaskDefinition, PlanTask>;

interface Side<T> {
  readonly task: T;
  readonly id: string;
  readonly name: string;
  /** The phase in the plan as it is now, or that it is now; undefined if it has gone. */
  readonly home: PlanPhase | undefined;
}

/**
 * Finds a session's tasks in its plan as it is now, which may have been edited and numbered anew: in their phases by
 * name, then anywhere by id and name, then by a name that only one has. An id alone says which task it is only in the
 * same phase, where the old name has gone and the new one is nobody's: else it has moved on to another task.
 */
export function matchTasks(
  pinned: readonly PhaseDefinition[],
  live: readonly PlanPhase[],
  phases: PhaseMatches = matchPhases(pinned, live),
): TaskMatches {
  const before = pinned.flatMap((phase) =>
    phase.tasks.flatMap((task): Side<TaskDefinition>[] =>
      task.plan === undefined ? [] : [{ task, id: task.plan.id, name: task.name, home: phases.get(phase) }],
    ),
  );
  const now = live.flatMap((home) =>
    home.tasks.map((task): Side<PlanTask> => ({ task, id: task.id, name: task.name, home })),
  );
  const [oldNames, newNames] = [new Set(before.map(({ name }) => name)), new Set(now.map(({ name }) => name))];
  const pairs = new Pairs(before, now);
  pairs.alike(({ home, name }) => (home === undefined ? undefined : `${live.indexOf(home)} ${name}`));
  pairs.only(({ home, id, name }) => (home === undefined ? undefined : `${live.indexOf(home)} ${id} ${name}`));
  pairs.only(({ id, name }) => `${id} ${name}`);
  pairs.only(({ name }) => name);
  pairs.only(({ home, id, name }) => {
    const isNew = oldNames.has(name) !== newNames.has(name);
    return home === undefined || !isNew ? undefined : `${live.indexOf(home)} ${id}`;
  });
  return pairs.found;
}

/** Pairs what has the same key on both sides, among those that are left. */
class Pairs {
  readonly found = new Map<TaskDefinition, PlanTask>();
  private before: readonly Side<TaskDefinition>[];
  private now: readonly Side<PlanTask>[];

  constructor(before: readonly Side<TaskDefinition>[], now: readonly Side<PlanTask>[]) {
    this.before = before;
    this.now = now;
  }

  /** Where a key stands once on each side. */
  only(keyOf: (side: Side<unknown>) => string | undefined): void {
    this.pair(keyOf, (one, other) => one.length === 1 && other.length === 1);
  }

  /** Where a key stands as often on each side: with the same ids, by these, else in the same order. */
  alike(keyOf: (side: Side<unknown>) => string | undefined): void {
    this.pair(keyOf, (one, other) => one.length === other.length);
  }

  private pair(
    keyOf: (side: Side<unknown>) => string | undefined,
    fits: (one: readonly unknown[], other: readonly unknown[]) => boolean,
  ): void {
    const others = grouped(this.now, keyOf);
    for (const [key, one] of grouped(this.before, keyOf)) {
      const other = others.get(key) ?? [];
      if (!fits(one, other)) continue;
      const byId = new Map(other.map((side) => [side.id, side]));
      const sameIds = one.every(({ id }) => byId.has(id));
      for (const [index, { task, id }] of one.entries()) {
        const found = sameIds ? byId.get(id) : other[index];
        if (found !== undefined) this.found.set(task, found.task);
      }
    }
    const taken = new Set(this.found.values());
    this.before = this.before.filter(({ task }) => !this.found.has(task));
    this.now = this.now.filter(({ task }) => !taken.has(task));
  }
}

function grouped<T>(
  sides: readonly Side<T>[],
  keyOf: (side: Side<unknown>) => string | undefined,
): Map<string, Side<T>[]> {
  const groups = new Map<string, Side<T>[]>();
  for (const side of sides) {
    const key = keyOf(side);
    if (key !== undefined) groups.set(key, [...(groups.get(key) ?? []), side]);
  }
  return groups;
}
