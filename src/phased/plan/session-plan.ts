/**
 * The plan as a session sees it. A task such as `2` whose parts are `2.1` and `2.2`, and that says nothing itself, is no task of
 * its own: it is done when they are, and its box is ticked with the last of them.
 */
import { EDGES_MAX } from "../../plan/links.js";
import { idsAbove, partsFirst } from "../../plan/order.js";
import { addTo, type Plan, type PlanReading, type PlanTask, planError } from "../../plan/plan.js";
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
    return { ...reading, plan: withoutGroups(reading.plan, file) };
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

/** Returns the tasks that are only groups of others of their phase, each with its parts. No part waits for its group. */
function groupsOf({ phases }: Plan): ReadonlyMap<PlanTask, readonly PlanTask[]> {
  const parts = new Map<PlanTask, PlanTask[]>();
  const needed = new Set<PlanTask>();
  for (const { tasks } of phases) {
    const byId = new Map(tasks.map((task) => [task.id, task]));
    for (const task of tasks) {
      for (const above of idsAbove(task.id).flatMap((id) => byId.get(id) ?? [])) {
        addTo(parts, above, task);
        if (task.dependencies.includes(above.id)) needed.add(above);
      }
    }
  }
  const groups = new Map([...parts].filter(([task]) => !needed.has(task) && !saysSomething(task)));
  return new Map([...groups].map(([group, own]) => [group, own.filter((part) => !groups.has(part))]));
}

function saysSomething({ description, acceptanceCriteria, optional, state }: PlanTask): boolean {
  return description !== undefined || acceptanceCriteria.length > 0 || optional || state === "dropped";
}

function isDone(parts: readonly PlanTask[]): boolean {
  return parts.every(({ state, optional }) => state === "done" || state === "dropped" || optional);
}

/** Whoever waits for a group waits for its parts, and they wait for what it waits for. Throws `PLAN_PARSE` for too many of these. */
function withoutGroups(plan: Plan, file: string): Plan {
  const groups = groupsOf(plan);
  const parts = new Map([...groups].map(([{ id }, own]) => [id, own.map((task) => task.id)]));
  const around = new Map<PlanTask, PlanTask[]>();
  for (const [group, own] of groups) for (const part of own) addTo(around, part, group);
  let edges = 0;
  const needs = (task: PlanTask) => {
    const named = [task, ...(around.get(task) ?? [])].flatMap(({ dependencies }) => dependencies);
    edges += named.reduce((sum, id) => sum + (parts.get(id)?.length ?? 1), 0);
    if (edges > EDGES_MAX) throw tooMany(task, file);
    return [...new Set(named.flatMap((id) => parts.get(id) ?? [id]))].filter((id) => id !== task.id);
  };
  const phases = plan.phases.map((phase) => ({
    ...phase,
    tasks: partsFirst(
      phase.tasks.flatMap((task) => (groups.has(task) ? [] : [{ ...task, dependencies: needs(task) }])),
    ),
  }));
  return { ...plan, phases };
}

function tooMany({ id, position: { line, column } }: PlanTask, file: string) {
  const message = `its tasks have more than ${EDGES_MAX} dependencies up to task ${id}: a task with parts means all of them`;
  return planError({ file, line, column }, message, "Let fewer tasks depend on tasks with parts.");
}
