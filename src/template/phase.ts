/** The values of the placeholders for phases and tasks from a plan. */
import type { PHASE_PLACEHOLDERS, TASK_PLACEHOLDERS } from "../workflow/placeholders.js";
import type { PhaseDefinition, TaskDefinition } from "../workflow/structure.js";
import { renderTemplate, type TemplateValues } from "./template.js";

/** A value for each of these names. */
type ValuesOf<Names extends readonly string[]> = TemplateValues &
  Readonly<Record<Names[number], TemplateValues[string]>>;

/** The duration if the plan has none. */
const NO_DURATION = "Variable";

/** The number of the next phase if there is none. */
const NO_PHASE = "None";

/** Returns the values for a phase template; `next` is the number of the next phase, if there is one. */
export function phaseValues(phase: PhaseDefinition, next: number | undefined): ValuesOf<typeof PHASE_PLACEHOLDERS> {
  const { number, name, plan, tasks, gate } = phase;
  return {
    PHASE_NUMBER: number,
    PHASE_NAME: name,
    PHASE_DESCRIPTION: plan?.goal ?? phase.purpose ?? name,
    ESTIMATED_DURATION: plan?.estimatedDuration ?? phase.estimatedEffort ?? NO_DURATION,
    TASK_COUNT: tasks.length,
    VALIDATION_GATE: gate.kind === "plan" ? gate.items : [],
    NEXT_PHASE_NUMBER: next ?? NO_PHASE,
  };
}

/** The dependencies of a task without any. */
const NO_DEPENDENCIES = "None";

/** Returns the values for a task template. The task's id is the plan's, the phase's number is the session's. */
export function taskValues(phase: PhaseDefinition, task: TaskDefinition): ValuesOf<typeof TASK_PLACEHOLDERS> {
  const { number, name, plan } = task;
  return {
    TASK_ID: plan?.id ?? String(number),
    TASK_NAME: name,
    PHASE_NUMBER: phase.number,
    PHASE_NAME: phase.name,
    TASK_DESCRIPTION: plan?.description ?? task.purpose ?? name,
    ESTIMATED_TIME: plan?.estimatedTime ?? NO_DURATION,
    DEPENDENCIES: plan?.dependencies.join(", ") || NO_DEPENDENCIES,
    ACCEPTANCE_CRITERIA: plan?.acceptanceCriteria ?? [],
    REQUIREMENTS: plan?.requirements?.join(", ") ?? "",
    NEXT_TASK_NUMBER: number + 1,
  };
}

/** Returns the text of a phase from a plan; `next` is the number of the next phase, if there is one. */
export function renderPhase(template: string, phase: PhaseDefinition, next: number | undefined): string {
  return renderTemplate(template, phaseValues(phase, next));
}

/** Returns the text of a task from a plan. */
export function renderTask(template: string, phase: PhaseDefinition, task: TaskDefinition): string {
  return renderTemplate(template, taskValues(phase, task));
}
