/** A plan as `phasegate plan` prints it: for people, and as JSON. */
import type { Writable } from "node:stream";
import type { PlanItem, PlanReading, PlanTask } from "../plan/plan.js";
import { planOrder } from "../plan/plan-order.js";
import { printable, styled } from "./terminal.js";

const MARKS = { pending: "[ ]", in_progress: "[-]", queued: "[~]", blocked: "[!]", done: "[x]" } as const;

/** A plan as lines for a terminal. */
export function planLines({ plan, diagnostics }: PlanReading, stream: Writable): string[] {
  const { waves } = planOrder(plan);
  const tasks = plan.phases.flatMap((phase) => phase.tasks);
  const done = tasks.filter(({ state }) => state === "done").length;
  const lines = plan.phases.flatMap(({ number, name, estimatedDuration, tasks: own, validationGate }) => {
    const here = new Set(own.map(({ id }) => id));
    const side = waves.filter((wave) => wave.some((id) => here.has(id)));
    return [
      styled(
        stream,
        "bold",
        printable(`Phase ${number}: ${name}${estimatedDuration === undefined ? "" : ` (${estimatedDuration})`}`),
      ),
      ...own.map((task) => `  ${taskLine(task)}`),
      ...(validationGate.length === 0 ? [] : [`  gate: ${counted(validationGate.length, "item")}`]),
      ...(own.length < 2 ? [] : [`  waves: ${printable(side.map((wave) => wave.join(", ")).join(" | "))}`]),
      "",
    ];
  });
  const errors = diagnostics.filter(({ severity }) => severity === "error").length;
  const warnings = counted(diagnostics.length - errors, "warning");
  const summary = `${counted(plan.phases.length, "phase")}, ${counted(tasks.length, "task")}, ${done} done`;
  return [...lines, `${plan.dialect}: ${summary}; ${counted(errors, "error")}, ${warnings}`];
}

function taskLine({ id, name, state, dependencies, optional, acceptanceCriteria }: PlanTask): string {
  const after = dependencies.length === 0 ? "" : ` (after ${dependencies.join(", ")})`;
  const criteria =
    acceptanceCriteria.length === 0 ? "" : ` · ${counted(acceptanceCriteria.length, "criterion", "criteria")}`;
  return printable(`${MARKS[state]} ${id} ${name}${optional ? " (optional)" : ""}${after}${criteria}`);
}

/** A plan as JSON. */
export function planJson({ plan, diagnostics }: PlanReading) {
  const { waves } = planOrder(plan);
  return {
    dialect: plan.dialect,
    phases: plan.phases.map(({ number, name, goal, estimatedDuration, tasks, validationGate, position }) => ({
      number,
      name,
      goal,
      estimatedDuration,
      line: position.line,
      tasks: tasks.map(taskJson),
      validationGate: validationGate.map(itemJson),
    })),
    waves,
    diagnostics: diagnostics.map(({ code, severity, message, line, column, hint }) => ({
      code,
      severity,
      message,
      line,
      column,
      hint,
    })),
  };
}

function taskJson({ position, acceptanceCriteria, checkbox: _, ...task }: PlanTask) {
  return { ...task, line: position.line, acceptanceCriteria: acceptanceCriteria.map(itemJson) };
}

function itemJson({ text, checked, details, position }: PlanItem) {
  return { text, checked, line: position.line, ...(details === undefined ? {} : { details }) };
}

function counted(number: number, what: string, many = `${what}s`): string {
  return `${number} ${number === 1 ? what : many}`;
}
