import type { PhaseDefinition, TaskDefinition } from "../definition/structure.js";
import { phaseValues, taskValues } from "./phase-values.js";
import { renderTemplate } from "./render-template.js";

/** The text of a phase out of a plan; `next` is the number of the phase after it, if there is one. */
export function renderPhase(template: string, phase: PhaseDefinition, next: number | undefined): string {
  return renderTemplate(template, phaseValues(phase, next));
}

/** The text of a task out of a plan. */
export function renderTask(template: string, phase: PhaseDefinition, task: TaskDefinition): string {
  return renderTemplate(template, taskValues(phase, task));
}
