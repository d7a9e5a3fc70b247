import type { PHASE_PLACEHOLDERS, TASK_PLACEHOLDERS } from "../workflow/placeholders.js";
import type { PhaseDefinition, TaskDefinition } from "../workflow/structure.js";
import { renderTemplate, type TemplateValues } from "./template.js";

/** A value for each of these names. */
type ValuesOf<Names extends readonly string[]> = TemplateValues &
  Readonly<Record<Names[number], TemplateValues[string]>>;

/** What stands where a plan says nothing of a duration. */
const NO_DURATION = "Variable";

/** What stands where there is no phase after this one. */
const NO_PHASE = "None";

/** What the template of phases shows of one; `next` is the number of the phase after it, if there is one. */
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

/** What stands where a task has no dependencies. */
const NO_DEPENDENCIES = "None";

/** What the template of tasks shows of one. Its id is the plan's own, the phase's number the session's. */
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

/** The text of a phase out of a plan; `next` is the number of the phase after it, if there is one. */
export function renderPhase(template: string, phase: PhaseDefinition, next: number | undefined): string {
  return renderTemplate(template, phaseValues(phase, next));
}

/** The text of a task out of a plan. */
export function renderTask(template: string, phase: PhaseDefinition, task: TaskDefinition): string {
  return renderTemplate(template, taskValues(phase, task));
}
