/**
 * The plan as a session sees it. A task such as `2` whose parts are `2.1` and `2.2`, and that says nothing itself, is no task of
 * its own: it is done when they are, and its box is ticked with the last of them.
 */
import { partsFirst } from "../../plan/order.js";
import type { Plan, PlanReading, PlanTask } from "../../plan/plan.js";
import type { SourceParser } from "../../ports/content-provider.js";

/** Returns a parser of plans as sessions see them: without groups, and with the parts of a task before it. */
export function forSessions(parser: SourceParser): SourceParser {
  let last: { readonly text: string; readonly file: string; readonly reading: PlanReading } | undefined;
  /** Reads a text; the one that was ticked is read as it is and without groups, and parsed once. */
  const read = (text: string, file: string) => {
    if (last?.text !== text) last = { text, file, reading: parser.parse(text, file) };
    return last.reading;
  };
  const parse: SourceParser["parse"] = (text, file) => {
    const reading = read(text, file);
    return { ...reading, plan: withoutGroups(reading.plan) };
  };
  if (parser.tick === undefined) return { parse };
  const tick = parser.tick.bind(parser);
  return {
    parse,
    tick: (text, plan, request) => {
      const ticked = tick(text, plan, request);
      if (ticked === text || request.tasks.length === 0) return ticked;
      const whole = read(ticked, last?.file ?? "plan").plan;
      const { done } = request;
      const groups = [...groupsOf(whole)].filter(([group, parts]) => group.checkbox && isDone(parts) === done);
      const tasks = groups.flatMap(([{ id, state }]) => ((state === "done") === done ? [] : [id]));
      return tasks.length === 0 ? ticked : tick(ticked, whole, { tasks, criteria: false, done });
    },
  };
}

/** Returns the tasks that are only groups of others of their phase, each with its parts. */
function groupsOf({ phases }: Plan): ReadonlyMap<PlanTask, readonly PlanTask[]> {
  const groups = new Map<PlanTask, PlanTask[]>();
  for (const { tasks } of phases) {
    const byId = new Map(tasks.map((task) => [task.id, task]));
    for (const task of tasks) {
      const dots = [...task.id.matchAll(/\./g)].map(({ index }) => task.id.slice(0, index));
      for (const id of dots) {
        const above = byId.get(id);
        if (above === undefined || saysSomething(above)) continue;
        groups.set(above, [...(groups.get(above) ?? []), task]);
      }
    }
  }
  return new Map([...groups].map(([group, parts]) => [group, parts.filter((part) => !groups.has(part))]));
}

function saysSomething({ description, acceptanceCriteria, optional, state }: PlanTask): boolean {
  return description !== undefined || acceptanceCriteria.length > 0 || optional || state === "dropped";
}

function isDone(parts: readonly PlanTask[]): boolean {
  return parts.every(({ state, optional }) => state === "done" || state === "dropped" || optional);
}

/** Whoever waits for a group waits for its parts, and they wait for what it waits for. */
function withoutGroups(plan: Plan): Plan {
  const groups = groupsOf(plan);
  const parts = new Map([...groups].map(([{ id }, own]) => [id, own.map((task) => task.id)]));
  const above = new Map<PlanTask, string[]>();
  for (const [{ dependencies }, own] of groups) {
    for (const part of own) above.set(part, [...(above.get(part) ?? []), ...dependencies]);
  }
  const needs = (task: PlanTask) => {
    const ids = [...task.dependencies, ...(above.get(task) ?? [])].flatMap((id) => parts.get(id) ?? [id]);
    return [...new Set(ids)].filter((id) => id !== task.id);
  };
  const phases = plan.phases.map((phase) => ({
    ...phase,
    tasks: partsFirst(
      phase.tasks.flatMap((task) => (groups.has(task) ? [] : [{ ...task, dependencies: needs(task) }])),
    ),
  }));
  return { ...plan, phases };
}
