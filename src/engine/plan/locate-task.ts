import type { Plan, PlanTask } from "../../plan/plan.js";

/** A task as a session knows it. */
export interface KnownTask {
  readonly id: string;
  readonly name: string;
  /** The plan's own number of its phase. */
  readonly phase: number;
}

/**
 * Finds a task in a plan that may have been edited since: in its phase by id and name; by its name
 * there, where ids have moved on to other tasks; by its id there, then anywhere; last by its name anywhere.
 */
export function locateTask({ phases }: Plan, { id, name, phase }: KnownTask): PlanTask | undefined {
  const all = phases.flatMap(({ tasks }) => tasks);
  const here = phases.find(({ number }) => number === phase)?.tasks ?? [];
  return (
    here.find((task) => task.id === id && task.name === name) ??
    only(here.filter((task) => task.name === name)) ??
    here.find((task) => task.id === id) ??
    all.find((task) => task.id === id) ??
    only(all.filter((task) => task.name === name))
  );
}

/** A name that several tasks have says nothing. */
function only<T>(found: readonly T[]): T | undefined {
  return found.length === 1 ? found[0] : undefined;
}
