/** In which order the tasks of a plan can be done. */
import type { Plan } from "./plan.js";

/** The order of a plan's tasks. */
export interface PlanOrder {
  /** Ids of all tasks: each after those that it depends on, else as the plan has them. */
  readonly order: readonly string[];
  /**
   * The same in waves: the tasks of one wave can be done side by side when the waves before it are done. No
   * wave has tasks of two phases, since a phase's gate stands between them.
   */
  readonly waves: readonly (readonly string[])[];
  /** Tasks that wait for each other, which are in no order. */
  readonly cycles: readonly string[];
}

/**
 * The order of a plan's tasks, by Kahn's algorithm, phase after phase. A dependency on a task of a later
 * phase can't be waited for within a phase, so it doesn't count.
 */
export function planOrder(plan: Plan): PlanOrder {
  const waves: string[][] = [];
  const cycles: string[] = [];
  const done = new Set<string>();
  for (const { tasks } of plan.phases) {
    const here = new Set(tasks.map(({ id }) => id));
    let open = [...tasks];
    while (open.length > 0) {
      const wave = open.filter(({ dependencies }) => dependencies.every((id) => done.has(id) || !here.has(id)));
      if (wave.length === 0) break;
      waves.push(wave.map(({ id }) => id));
      for (const { id } of wave) done.add(id);
      open = open.filter(({ id }) => !done.has(id));
    }
    cycles.push(...open.map(({ id }) => id));
  }
  return { order: waves.flat(), waves, cycles };
}

/** Some tasks that wait for each other, in the order in which they do; undefined if there are none. */
export function findCycle(links: ReadonlyMap<string, readonly string[]>): readonly string[] | undefined {
  const state = new Map<string, "open" | "done">();
  for (const root of links.keys()) {
    // By hand, not by recursion: a plan may have a chain of thousands.
    const path: { readonly id: string; next: number }[] = [{ id: root, next: 0 }];
    if (state.has(root)) continue;
    state.set(root, "open");
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const id = links.get(top.id)?.[top.next];
      top.next += 1;
      if (id === undefined) {
        state.set(top.id, "done");
        path.pop();
      } else if (state.get(id) === "open") {
        return path.slice(path.findIndex((step) => step.id === id)).map((step) => step.id);
      } else if (!state.has(id)) {
        state.set(id, "open");
        path.push({ id, next: 0 });
      }
    }
  }
  return undefined;
}
