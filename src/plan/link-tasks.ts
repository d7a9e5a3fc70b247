/** Dependencies in words as edges between tasks. */
import { type Named, readDependencies } from "./dependencies.js";
import type { NumberedPhase } from "./finish-plan.js";
import { findCycle } from "./plan-order.js";
import type { PlanReport } from "./report.js";

/**
 * The ids that each task depends on, by its own. A phase stands for all its tasks. What isn't there, or is
 * the task itself, is reported and left out.
 */
export function linkTasks(phases: readonly NumberedPhase[], report: PlanReport): Map<string, readonly string[]> {
  const tasks = phases.flatMap((phase) => phase.tasks.map((task) => ({ ...task, phase })));
  const known = new Map(tasks.map(({ id }) => [id.toLowerCase(), id]));
  const links = new Map<string, readonly string[]>();
  for (const { id, draft, phase } of tasks) {
    const found: string[] = [];
    for (const text of draft.dependencies) {
      const named = readDependencies(text);
      if (named.unread !== undefined) {
        const message = `'${named.unread}' names no task that ${id} depends on`;
        report.warn("DEPENDENCY_UNREAD", draft.position, message, "Name tasks by their ids, or write None.");
      }
      found.push(...resolve(named, { id, phase, position: draft.position }, phases, known, report));
    }
    links.set(id, [...new Set(found)]);
  }
  reportCycle(links, tasks, report);
  return links;
}

interface Waiting {
  readonly id: string;
  readonly phase: NumberedPhase;
  readonly position: { readonly line: number; readonly column: number };
}

function resolve(
  named: Named,
  { id, phase, position }: Waiting,
  phases: readonly NumberedPhase[],
  known: ReadonlyMap<string, string>,
  report: PlanReport,
): string[] {
  const tasks = named.tasks.flatMap((name) => {
    const found = known.get(name.toLowerCase());
    if (found === id) {
      report.warn("DEPENDENCY_SELF", position, `task ${id} depends on itself`, "Take the dependency out.");
      return [];
    }
    if (found !== undefined) return [found];
    const hint = "Name a task of this plan, or take the dependency out.";
    report.warn("DEPENDENCY_UNKNOWN", position, `task ${id} depends on task ${name}, which is not there`, hint);
    return [];
  });
  const ofPhases = named.phases.flatMap((key) => {
    const found = phases.find(({ draft, number }) => (draft.key ?? `${number}`) === key.toLowerCase());
    if (found === undefined) {
      const hint = "Name a phase of this plan, or take the dependency out.";
      report.warn("DEPENDENCY_UNKNOWN", position, `task ${id} depends on phase ${key}, which is not there`, hint);
      return [];
    }
    return found === phase ? [] : found.tasks.map((task) => task.id);
  });
  return [...ofPhases, ...tasks];
}

function reportCycle(
  links: ReadonlyMap<string, readonly string[]>,
  tasks:
    | readonly Waiting[]
    | readonly { readonly id: string; readonly draft: { readonly position: Waiting["position"] } }[],
  report: PlanReport,
): void {
  const cycle = findCycle(links);
  if (cycle === undefined) return;
  const first = tasks.find(({ id }) => id === cycle[0]);
  const position = first === undefined ? { line: 1 } : "draft" in first ? first.draft.position : first.position;
  const message = `tasks wait for each other: ${[...cycle, cycle[0]].join(" → ")}`;
  report.error("DEPENDENCY_CYCLE", position, message, "Take one of these dependencies out.");
}
