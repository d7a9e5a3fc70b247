/** What tasks depend on, as edges between them. */
import { type Named, RANGE_MAX } from "./dependencies.js";
import type { PlanPosition } from "./plan.js";
import { findCycle } from "./plan-order.js";
import type { PlanReport } from "./report.js";

/** So many dependencies a plan has at most: a phase stands for all its tasks, and each task may name it. */
const EDGES_MAX = 500_000;
/** So many tasks that aren't there are named for each task. */
const MISSING_MAX = 10;

/** A phase whose tasks are linked; `key` is what dependencies call it. */
export interface LinkedPhase {
  readonly key: string;
  readonly tasks: readonly LinkedTask[];
}

/** A task and what it says that it depends on. */
export interface LinkedTask {
  readonly id: string;
  readonly position: PlanPosition;
  /** Read when it is asked for: a word such as `1.1-1.99` may be many ids. */
  readonly named: () => readonly Named[];
}

/**
 * The ids that each task depends on, by its own. A phase stands for all its tasks. What isn't there, or is
 * the task itself, is reported and left out.
 */
export function linkTasks(phases: readonly LinkedPhase[], report: PlanReport): Map<string, readonly string[]> {
  const tasks = phases.flatMap((phase) => phase.tasks);
  const known = new Map(tasks.map(({ id }) => [id.toLowerCase(), id]));
  const links = new Map<string, readonly string[]>();
  const keys = new Map<string, LinkedPhase>();
  for (const phase of phases) if (!keys.has(phase.key)) keys.set(phase.key, phase);
  let edges = 0;
  for (const phase of phases) {
    for (const task of phase.tasks) {
      const found = new Set<string>();
      for (const named of task.named()) {
        reportUnread(named, task, report);
        for (const key of named.phases) {
          for (const id of tasksOfPhase(key, task, phase, keys, report)) found.add(id);
        }
        for (const id of tasksNamed(named.tasks, task, known, report)) found.add(id);
      }
      edges += found.size;
      if (edges > EDGES_MAX && found.size > 0) {
        reportUnread({ unread: `so much that there are more than ${EDGES_MAX} dependencies in all` }, task, report);
      }
      links.set(task.id, edges > EDGES_MAX ? [] : [...found]);
    }
  }
  reportCycle(links, tasks, report);
  return links;
}

function reportUnread(
  { unread, tooLong = [] }: Pick<Named, "unread" | "tooLong">,
  { id, position }: LinkedTask,
  report: PlanReport,
): void {
  for (const range of tooLong.slice(0, MISSING_MAX)) {
    const said = `of '${range}', which task ${id} depends on, only the two ends count: it is more than ${RANGE_MAX} tasks`;
    report.warn("DEPENDENCY_UNREAD", position, said, "Name the phase instead, or shorter ranges.");
  }
  if (unread === undefined) return;
  const message = `'${unread}' names no task that ${id} depends on`;
  report.warn("DEPENDENCY_UNREAD", position, message, "Name tasks by their ids, or write None.");
}

function tasksNamed(
  names: readonly string[],
  { id, position }: LinkedTask,
  known: ReadonlyMap<string, string>,
  report: PlanReport,
): string[] {
  const missing = names.filter((name) => !known.has(name.toLowerCase()));
  for (const name of missing.slice(0, MISSING_MAX)) unknown(`task ${name}`, id, position, report);
  if (missing.length > MISSING_MAX) unknown(`${missing.length - MISSING_MAX} more tasks`, id, position, report);
  const found = names.flatMap((name) => known.get(name.toLowerCase()) ?? []);
  if (found.includes(id)) {
    report.warn("DEPENDENCY_SELF", position, `task ${id} depends on itself`, "Take the dependency out.");
  }
  return found.filter((other) => other !== id);
}

/** That its own phase comes first goes without saying, and would be a circle. */
function tasksOfPhase(
  key: string,
  { id, position }: LinkedTask,
  own: LinkedPhase,
  phases: ReadonlyMap<string, LinkedPhase>,
  report: PlanReport,
): string[] {
  const found = phases.get(key.toLowerCase());
  if (found === undefined) unknown(`phase ${key}`, id, position, report);
  return found === undefined || found === own ? [] : found.tasks.map((task) => task.id);
}

function unknown(what: string, id: string, position: PlanPosition, report: PlanReport): void {
  const hint = "Name what is in this plan, or take the dependency out.";
  report.warn("DEPENDENCY_UNKNOWN", position, `task ${id} depends on ${what}, which is not there`, hint);
}

function reportCycle(
  links: ReadonlyMap<string, readonly string[]>,
  tasks: readonly LinkedTask[],
  report: PlanReport,
): void {
  const cycle = findCycle(links);
  if (cycle === undefined) return;
  const position = tasks.find(({ id }) => id === cycle[0])?.position ?? { line: 1 };
  const message = `tasks wait for each other: ${[...cycle, cycle[0]].join(" → ")}`;
  report.error("DEPENDENCY_CYCLE", position, message, "Take one of these dependencies out.");
}
