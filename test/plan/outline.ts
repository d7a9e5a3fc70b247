import { parsePlan } from "../../src/plan/parse-plan.js";
import type { PlanReading, PlanTask } from "../../src/plan/plan.js";

const MARKS = { pending: " ", in_progress: "-", queued: "~", blocked: "!", done: "x", dropped: "~~" } as const;

/**
 * Returns a plan as lines that a test can compare: `1 Setup @3` is phase 1 in line 3, `[x] 1.1 Name @5 1/2 < 1.2` a
 * done task in line 5 with one of two criteria ticked, after 1.2; `gate 2` the items of a gate, `! CODE 7` a diagnostic.
 */
export function outline(text: string, dialect?: string): string[] {
  return lines(parsePlan(text, dialect === undefined ? {} : { dialect }));
}

/** Returns the same for a plan that was read already. */
export function lines({ plan, diagnostics }: PlanReading): string[] {
  return [
    ...plan.phases.flatMap(({ number, name, tasks, validationGate, position }) => [
      `${number} ${name} @${position.line}`,
      ...tasks.map(taskLine),
      ...(validationGate.length === 0 ? [] : [`gate ${validationGate.map(({ text }) => text).join(", ")}`]),
    ]),
    ...diagnostics.map(({ code, line }) => `! ${code} ${line}`),
  ];
}

function taskLine({ id, name, state, position, acceptanceCriteria: all, dependencies }: PlanTask): string {
  const ticked = all.filter(({ checked }) => checked).length;
  const criteria = all.length === 0 ? "" : ` ${ticked}/${all.length}`;
  const after = dependencies.length === 0 ? "" : ` < ${dependencies.join(" ")}`;
  return `[${MARKS[state]}] ${id} ${name} @${position.line}${criteria}${after}`;
}

/** Returns the only task of a plan, or the one with that id. */
export function taskOf(text: string, id?: string): PlanTask {
  const tasks = parsePlan(text).plan.phases.flatMap((phase) => phase.tasks);
  const task = id === undefined ? tasks[0] : tasks.find((candidate) => candidate.id === id);
  if (task === undefined) throw new Error(`no task ${id ?? ""}`);
  return task;
}
