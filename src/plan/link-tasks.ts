/** What tasks depend on, as edges between them. */
import type { Named } from "./dependencies.js";
import type { PlanPosition } from "./plan.js";
import { findCycle } from "./plan-order.js";
import type { PlanReport } from "./report.js";

/** A phase whose tasks are linked; `key` is what dependencies call it. */
export interface LinkedPhase {
  readonly key: string;
  readonly tasks: readonly LinkedTask[];
}

/** A task and what it says that it depends on. */
export interface LinkedTask {
  readonly id: string;
  readonly position: PlanPosition;
  readonly named: readonly Named[];
}

/**
 * The ids that each task depends on, by its own. A phase stands for all its tasks. What isn't there, or is
 * the task itself, is reported and left out.
 */
export function linkTasks(phases: readonly LinkedPhase[], report: PlanReport): Map<string, readonly string[]> {
  const tasks = phases.flatMap((phase) => phase.tasks);
  const known = new Map(tasks.map(({ id }) => [id.toLowerCase(), id]));
  const links = new Map<string, readonly string[]>();
  for (const phase of phases) {
    for (const task of phase.tasks) {
      const found = task.named.flatMap((named) => {
        reportUnread(named, task, report);
        const ofPhases = named.phases.flatMap((key) => tasksOfPhase(key, task, phase, phases, report));
        return [...ofPhases, ...named.tasks.flatMap((name) => taskOf(name, task, known, report))];
      });
      links.set(task.id, [...new Set(found)]);
    }
  }
  reportCycle(links, tasks, report);
  return links;
}

function reportUnread({ unread }: Named, { id, position }: LinkedTask, report: PlanReport): void {
  if (unread === undefined) return;
  const message = `'${unread}' names no task that ${id} depends on`;
  report.warn("DEPENDENCY_UNREAD", position, message, "Name tasks by their ids, or write None.");
}

function taskOf(
  name: string,
  { id, position }: LinkedTask,
  known: ReadonlyMap<string, string>,
  report: PlanReport,
): string[] {
  const found = known.get(name.toLowerCase());
  if (found === id) {
    report.warn("DEPENDENCY_SELF", position, `task ${id} depends on itself`, "Take the dependency out.");
    return [];
  }
  if (found !== undefined) return [found];
  unknown(`task ${name}`, id, position, report);
  return [];
}

/** That its own phase comes first goes without saying, and would be a circle. */
function tasksOfPhase(
  key: string,
  { id, position }: LinkedTask,
  own: LinkedPhase,
  phases: readonly LinkedPhase[],
  report: PlanReport,
): string[] {
  const found = phases.find((phase) => phase.key === key.toLowerCase());
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
