/** The templates of phases and tasks out of a plan, and what they may hold: names in capitals, in brackets. */

/** The names that a template of phases may hold. */
export const PHASE_PLACEHOLDERS = [
  "PHASE_NUMBER",
  "PHASE_NAME",
  "PHASE_DESCRIPTION",
  "ESTIMATED_DURATION",
  "TASK_COUNT",
  "VALIDATION_GATE",
  "NEXT_PHASE_NUMBER",
] as const;

/** The names that a template of tasks may hold. */
export const TASK_PLACEHOLDERS = [
  "TASK_ID",
  "TASK_NAME",
  "PHASE_NUMBER",
  "PHASE_NAME",
  "TASK_DESCRIPTION",
  "ESTIMATED_TIME",
  "DEPENDENCIES",
  "ACCEPTANCE_CRITERIA",
  "REQUIREMENTS",
  "NEXT_TASK_NUMBER",
] as const;

/** Which template: that of phases, or that of their tasks. */
export type TemplateKind = "phase" | "task";

/** Where templates lie in a workflow's folder if its metadata doesn't say. */
export const USUAL_TEMPLATES: Readonly<Record<TemplateKind, string>> = {
  phase: "phases/dynamic/phase-template.md",
  task: "phases/dynamic/task-template.md",
};

/** The names that a template of each kind may hold. */
export const PLACEHOLDERS: Readonly<Record<TemplateKind, readonly string[]>> = {
  phase: PHASE_PLACEHOLDERS,
  task: TASK_PLACEHOLDERS,
};

/** A name that a template holds, and where its bracket opens: an offset in characters. */
export interface FoundPlaceholder {
  readonly name: string;
  readonly offset: number;
}

/** A placeholder, its name in the first group. */
const PLACEHOLDER = /\[([A-Z][A-Z0-9_]*)\]/g;

/**
 * What in a template was meant as a placeholder: neither `[x]` nor `[N]`, which stand for ticks and
 * numbers in prose, nor the text of a link.
 */
export function findPlaceholders(template: string): FoundPlaceholder[] {
  return [...template.matchAll(PLACEHOLDER)].flatMap(({ 0: whole, 1: name = "", index }) =>
    name.length === 1 || template[index + whole.length] === "(" ? [] : [{ name, offset: index }],
  );
}
