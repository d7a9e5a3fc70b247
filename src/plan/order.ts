/** The order of a plan's tasks: links them by their dependencies, reports cycles, and draws the plan as a Mermaid flowchart. */
import { type Named, RANGE_MAX } from "./dependency-text.js";
import type { Plan, PlanPosition, PlanReport, PlanTask } from "./plan.js";

/** The order of a plan's tasks. */
export interface PlanOrder {
  /** Ids of all tasks, each after those that it depends on and its parts, otherwise in the order of the plan. */
  readonly order: readonly string[];
  /**
   * The same in waves: the tasks of a wave can run in parallel once the waves before it are done. A wave never mixes
   * phases, since a phase's gate is between them.
   */
  readonly waves: readonly (readonly string[])[];
  /** Ids of tasks that wait for each other and so have no order. */
  readonly cycles: readonly string[];
}

/**
 * Returns the order of a plan's tasks, phase by phase, by Kahn's algorithm. Dependencies on tasks of a later phase are
 * ignored, because a phase can't wait for them.
 */
export function planOrder(plan: Plan): PlanOrder {
  const waves: string[][] = [];
  const cycles: string[] = [];
  const done = new Set<string>();
  for (const { tasks } of plan.phases) {
    const withParts = wavesOf(tasks, done, true);
    // Dependencies count more than ids: a part may wait for another task that waits for its parent.
    const found = withParts.cycles.length === 0 ? withParts : wavesOf(tasks, done, false);
    waves.push(...found.waves);
    cycles.push(...found.cycles);
    for (const id of found.waves.flat()) done.add(id);
  }
  return { order: waves.flat(), waves, cycles };
}

/** Returns the waves of a phase; with `parts`, a task also waits for the tasks that it consists of. */
function wavesOf(tasks: readonly PlanTask[], before: ReadonlySet<string>, parts: boolean) {
  const waves: string[][] = [];
  const done = new Set(before);
  const { missing, waiting } = dependenciesWithin(tasks, before, parts);
  let wave = tasks.flatMap((_, index) => (missing[index] === 0 ? [index] : []));
  while (wave.length > 0) {
    const ids = wave.flatMap((index) => tasks[index]?.id ?? []);
    waves.push(ids);
    const next: number[] = [];
    for (const id of ids) {
      if (done.has(id)) continue;
      done.add(id);
      for (const index of waiting.get(id) ?? []) {
        const left = (missing[index] ?? 0) - 1;
        missing[index] = left;
        if (left === 0) next.push(index);
      }
    }
    wave = next.sort((one, other) => one - other);
  }
  return { waves, cycles: tasks.flatMap(({ id }) => (done.has(id) ? [] : [id])) };
}

/** Returns for each task how many tasks of its phase it waits for, and for each id the tasks that wait for it, by index. */
function dependenciesWithin(tasks: readonly PlanTask[], done: ReadonlySet<string>, parts: boolean) {
  const here = new Set(tasks.map(({ id }) => id));
  const waiting = new Map<string, number[]>();
  const partsOf = new Map<string, string[]>();
  for (const task of parts ? tasks : []) {
    for (const parent of parentsOf(task)) addTo(partsOf, parent, task.id);
  }
  const missing = tasks.map(({ id: own, dependencies }, index) => {
    const named = [...dependencies, ...(partsOf.get(own) ?? [])];
    const needed = new Set(named.filter((id) => here.has(id) && !done.has(id)));
    for (const id of needed) addTo(waiting, id, index);
    return needed.size;
  });
  return { missing, waiting };
}

/** The length up to which an id is read for the tasks that it is part of, in characters. */
const ID_READ = 100;

/** Returns the ids of the tasks that a task is part of by its id: `2` and `2.1` for `2.1.3`. */
export function idsAbove(id: string): string[] {
  return [...id.slice(0, ID_READ).matchAll(/\./g)].map(({ index }) => id.slice(0, index));
}

/** Returns the ids of the tasks that come after a task, since it is a part of them: those that it depends on come before. */
function parentsOf({ id, dependencies }: Pick<PlanTask, "id" | "dependencies">): string[] {
  return idsAbove(id).filter((parent) => !dependencies.includes(parent));
}

/** Adds a value to the list of a key. */
export function addTo<K, V>(lists: Map<K, V[]>, key: K, value: V): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}

/** Returns the tasks of a phase in the order of the source, but a task such as `2` after `2.1` and `2.2`, its parts. */
export function partsFirst(tasks: readonly PlanTask[]): readonly PlanTask[] {
  const last = new Map(tasks.map(({ id }, index) => [id, index]));
  for (const [index, task] of tasks.entries()) {
    for (const parent of parentsOf(task)) if (last.has(parent)) last.set(parent, index);
  }
  const depth = ({ id }: PlanTask) => id.split(".").length;
  const place = ({ id }: PlanTask) => last.get(id) ?? 0;
  return [...tasks].sort((one, other) => place(one) - place(other) || depth(other) - depth(one));
}

/** A task and its dependencies as they are written. */
export interface LinkedTask {
  readonly id: string;
  readonly position: PlanPosition;
  readonly name?: string | undefined;
  /** The number of its item in a list, if it has no id in the source. */
  readonly ordinal?: string | undefined;
  /** Reads the dependencies, on demand: a word such as `1.1-1.99` may be many ids. */
  readonly named: (isId: (word: string) => boolean) => readonly Named[];
}

/** A phase whose tasks are linked. Dependencies refer to it by `key`. */
export interface LinkedPhase {
  readonly key: string;
  /** The code in its title, `WP01`, which dependencies may name. */
  readonly code?: string | undefined;
  readonly tasks: readonly LinkedTask[];
}

/** Maximum number of dependencies of a plan. A phase or a group means all its tasks, and each task may name it. */
export const EDGES_MAX = 500_000;

/**
 * Returns the ids that each task depends on, by the task's id. A phase means all its tasks. Unknown ids and the task itself
 * are reported and left out.
 */
export function linkTasks(phases: readonly LinkedPhase[], report: PlanReport): Map<string, readonly string[]> {
  const tasks = phases.flatMap((phase) => phase.tasks);
  // Ids that differ only in case are two tasks; else the case does not matter.
  const known = new Map(tasks.map(({ id }) => [id.toLowerCase(), id]));
  for (const { id } of tasks) known.set(id, id);
  const links = new Map<string, readonly string[]>();
  const keys = new Map<string, LinkedPhase>();
  const codes = new Map<string, LinkedPhase>();
  for (const phase of phases) {
    if (!keys.has(phase.key)) keys.set(phase.key, phase);
    if (phase.code !== undefined && !known.has(phase.code)) codes.set(phase.code, phase);
  }
  const names = unique(tasks.map(({ name, id }) => [name?.toLowerCase(), id]));
  const numbers = new Map<string, string | undefined>();
  let edges = 0;
  for (const phase of phases) {
    // A list may go on in the next phase, or begin anew.
    for (const [number, id] of unique(phase.tasks.map(({ ordinal, id }) => [ordinal, id]))) numbers.set(number, id);
    const idOf: IdOf = (word) => known.get(word) ?? known.get(word.toLowerCase()) ?? numbers.get(word);
    for (const task of phase.tasks) {
      const named = task.named((word) => idOf(word) !== undefined).map((one) => byName(one, names));
      for (const one of named) reportUnread(one, task, idOf, report);
      const found = new Set<string>();
      // Beyond the limit nothing is looked up: a phase can mean thousands of tasks.
      for (const { tasks: ids, phases: keysNamed, unsure = [] } of edges > EDGES_MAX ? [] : named) {
        const coded = ids.flatMap((id) => codes.get(id) ?? []);
        for (const id of coded.flatMap((other) => (other === phase ? [] : other.tasks.map((one) => one.id))))
          found.add(id);
        for (const key of new Set(keysNamed)) {
          for (const id of tasksOfPhase(key, task, phase, keys, report)) found.add(id);
        }
        const own = ids.filter((id) => !codes.has(id));
        for (const id of tasksNamed(own, task, idOf, report)) found.add(id);
        for (const id of unsure.flatMap((word) => idOf(word) ?? [])) {
          if (id !== task.id) found.add(id);
        }
      }
      edges += found.size;
      if (edges > EDGES_MAX && named.some((one) => one.tasks.length + one.phases.length > 0)) {
        const message = `the plan has more than ${EDGES_MAX} dependencies; those of task ${task.id} are ignored`;
        report.warn("DEPENDENCY_UNREAD", task.position, message, "Name fewer tasks and phases.");
      }
      links.set(task.id, edges > EDGES_MAX ? [] : [...found]);
    }
  }
  reportCycle(links, tasks, report);
  return links;
}

/** Returns the id of the task that a word names. */
type IdOf = (word: string) => string | undefined;

/** Returns the values by their keys; of a key that several have, undefined. */
function unique(pairs: readonly (readonly [string | undefined, string])[]): Map<string, string | undefined> {
  const found = new Map<string, string | undefined>();
  for (const [key, value] of pairs) if (key !== undefined) found.set(key, found.has(key) ? undefined : value);
  return found;
}

/** Returns the tasks whose names a text has, if it has nothing else. */
function byName(named: Named, names: ReadonlyMap<string, string | undefined>): Named {
  const parts = named.unread?.toLowerCase().split(/[,;]/) ?? [];
  const tasks = parts.flatMap((part) => names.get(part.replace(/["“”]/g, "").trim()) ?? []);
  return tasks.length > 0 && tasks.length === parts.length ? { tasks, phases: [] } : named;
}

/**
 * Returns a plan as a Mermaid flowchart: a box for each phase, in order, with its tasks and their dependencies. Ids of
 * nodes are generated, so that no id of a plan can break the graph.
 */
export function planMermaid({ phases }: Plan): string {
  const tasks = phases.flatMap((phase) => phase.tasks);
  const node = new Map(tasks.map(({ id }, index) => [id, `t${index + 1}`]));
  const lines = phases.flatMap(({ number, name, tasks: own }) => [
    `  subgraph p${number}["${quoted(`Phase ${number}: ${name}`)}"]`,
    ...own.map((task) => `    ${node.get(task.id)}${shape(task)}`),
    "  end",
  ]);
  const order = phases.slice(1).map(({ number }, index) => `  p${phases[index]?.number} ==> p${number}`);
  const edges = tasks.flatMap(({ id, dependencies }) =>
    dependencies.map((needed) => `  ${node.get(needed)} --> ${node.get(id)}`),
  );
  return ["flowchart TD", ...lines, ...order, ...edges].join("\n");
}

/** Maximum number of unknown tasks that are reported for each task. */
const MISSING_MAX = 10;

function reportUnread(
  { unread: text, tasks, phases, tooLong = [], unsure = [] }: Named,
  { id, position }: LinkedTask,
  idOf: IdOf,
  report: PlanReport,
): void {
  const isKnown = (word: string) => idOf(word) !== undefined;
  const unread = tasks.length + phases.length === 0 && !unsure.some(isKnown) ? text : undefined;
  for (const range of tooLong.slice(0, MISSING_MAX)) {
    const message = `task ${id}: the range '${range}' has more than ${RANGE_MAX} tasks, so only its two ends count`;
    report.warn("DEPENDENCY_UNREAD", position, message, "Name the phase instead, or shorter ranges.");
  }
  const words = unsure.filter((word) => !isKnown(word));
  if (words.length > 0 && unread === undefined) {
    const list = words
      .slice(0, MISSING_MAX)
      .map((word) => `'${word}'`)
      .join(", ");
    const message = `task ${id}: its dependencies name ${list}, which is the id of no task`;
    report.warn("DEPENDENCY_UNREAD", position, message, "Name tasks by their ids.");
  }
  if (unread === undefined) return;
  const message = `task ${id}: the dependency '${unread}' names no task`;
  report.warn("DEPENDENCY_UNREAD", position, message, "Name tasks by their ids, or write None.");
}

/** Returns the ids of a phase's tasks; none for the task's own phase, which would be a cycle. */
function tasksOfPhase(
  key: string,
  { id, position }: LinkedTask,
  own: LinkedPhase,
  phases: ReadonlyMap<string, LinkedPhase>,
  report: PlanReport,
): string[] {
  // `Phase 1.1` is a phase where the plan has it, and else means phase 1.
  const named = key.toLowerCase();
  const found = phases.get(named) ?? phases.get(named.replace(/\..*/, ""));
  if (found === undefined) unknown(`phase ${key}`, id, position, report);
  return found === undefined || found === own ? [] : found.tasks.map((task) => task.id);
}

function unknown(what: string, id: string, position: PlanPosition, report: PlanReport): void {
  const hint = "Name a task or phase of this plan, or remove the dependency.";
  report.warn("DEPENDENCY_UNKNOWN", position, `task ${id} depends on ${what}, which is not in the plan`, hint);
}

function tasksNamed(names: readonly string[], { id, position }: LinkedTask, idOf: IdOf, report: PlanReport): string[] {
  const missing = names.filter((name) => idOf(name) === undefined);
  for (const name of missing.slice(0, MISSING_MAX)) unknown(`task ${name}`, id, position, report);
  if (missing.length > MISSING_MAX) unknown(`${missing.length - MISSING_MAX} more tasks`, id, position, report);
  const found = names.flatMap((name) => idOf(name) ?? []);
  if (found.includes(id)) {
    report.warn("DEPENDENCY_SELF", position, `task ${id} depends on itself`, "Remove the dependency.");
  }
  return found.filter((other) => other !== id);
}

function reportCycle(
  links: ReadonlyMap<string, readonly string[]>,
  tasks: readonly LinkedTask[],
  report: PlanReport,
): void {
  const cycle = findCycle(links);
  if (cycle === undefined) return;
  const position = tasks.find(({ id }) => id === cycle[0])?.position ?? { line: 1 };
  const message = `tasks depend on each other: ${[...cycle, cycle[0]].join(" → ")}`;
  report.error("DEPENDENCY_CYCLE", position, message, "Remove one of these dependencies.");
}

/** Returns the tasks of a cycle, in order; undefined if there is none. */
function findCycle(links: ReadonlyMap<string, readonly string[]>): readonly string[] | undefined {
  const state = new Map<string, "open" | "done">();
  for (const root of links.keys()) {
    // Iterative, because a plan may have a chain of thousands of tasks.
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

/** Returns a text for Mermaid, with entities for quotes, angle brackets and other syntax. */
function quoted(text: string): string {
  const short = text.length > 80 ? `${text.slice(0, 79)}…` : text;
  return short.replace(/[#&"<>`\\]/g, (char) => `#${char.charCodeAt(0)};`).replace(/\s+/g, " ");
}

/** Returns the node of a task. Done tasks have round ends. */
function shape({ id, name, state }: PlanTask): string {
  const text = quoted(`${id} ${name}`);
  return state === "done" ? `(["${text}"])` : `["${text}"]`;
}
