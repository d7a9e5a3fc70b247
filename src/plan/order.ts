/** The order of a plan's tasks, in waves, and the plan as a Mermaid flowchart. */
import { addTo, type Plan, type PlanTask } from "./plan.js";

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
  for (const { tasks } of plan.phases) {
    const withParts = wavesOf(tasks, true);
    // Dependencies count more than ids: a part may wait for another task that waits for its parent.
    const found = withParts.cycles.length === 0 ? withParts : wavesOf(tasks, false);
    waves.push(...found.waves);
    cycles.push(...found.cycles);
  }
  return { order: waves.flat(), waves, cycles };
}

/** Returns the waves of a phase; with `parts`, a task also waits for the tasks that it consists of. */
function wavesOf(tasks: readonly PlanTask[], parts: boolean) {
  const places = new Map(tasks.map(({ id }, place) => [id, place]));
  const needs = new Map(
    tasks.map(({ id, dependencies }) => [id, new Set(dependencies.filter((needed) => places.has(needed)))]),
  );
  for (const task of parts ? tasks : []) {
    for (const parent of parentsOf(task)) needs.get(parent)?.add(task.id);
  }
  const waiting = new Map<string, string[]>();
  for (const [id, needed] of needs) for (const other of needed) addTo(waiting, other, id);
  const waves: string[][] = [];
  const isFree = (id: string) => needs.get(id)?.size === 0;
  let wave = [...needs.keys()].filter(isFree);
  while (wave.length > 0) {
    waves.push(wave);
    const later = wave.flatMap((id) => (waiting.get(id) ?? []).filter((other) => needs.get(other)?.delete(id)));
    wave = [...new Set(later)].filter(isFree).sort((one, other) => (places.get(one) ?? 0) - (places.get(other) ?? 0));
  }
  return { waves, cycles: [...needs.keys()].filter((id) => !isFree(id)) };
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

/** Returns the tasks of a phase in the order of the source, but a task such as `2` after `2.1` and `2.2`, its parts. */
export function partsFirst(tasks: readonly PlanTask[]): readonly PlanTask[] {
  const last = new Map(tasks.map(({ id }, index) => [id, index]));
  for (const [index, task] of tasks.entries()) {
    for (const parent of parentsOf(task)) last.set(parent, index);
  }
  const place = ({ id }: PlanTask) => last.get(id) ?? 0;
  return [...tasks].sort((one, other) => place(one) - place(other) || other.id.length - one.id.length);
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
