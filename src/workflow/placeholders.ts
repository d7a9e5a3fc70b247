/**
 * The placeholders of the templates for phases and tasks from a plan, names in capitals, in square brackets; and those of
 * options in any text, `{options.name}`.
 */

/** The placeholders of a phase template. */
export const PHASE_PLACEHOLDERS = [
  "PHASE_NUMBER",
  "PHASE_NAME",
  "PHASE_DESCRIPTION",
  "ESTIMATED_DURATION",
  "TASK_COUNT",
  "VALIDATION_GATE",
  "NEXT_PHASE_NUMBER",
] as const;

/** The placeholders of a task template. */
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

/** The kind of a template: for phases, or for their tasks. */
export type TemplateKind = "phase" | "task";

/** Default paths of the templates in a workflow's folder. */
export const USUAL_TEMPLATES: Readonly<Record<TemplateKind, string>> = {
  phase: "phases/dynamic/phase-template.md",
  task: "phases/dynamic/task-template.md",
};

/** The placeholders of each kind of template. */
export const PLACEHOLDERS: Readonly<Record<TemplateKind, readonly string[]>> = {
  phase: PHASE_PLACEHOLDERS,
  task: TASK_PLACEHOLDERS,
};

/** A placeholder in a template; `offset` is the position of its bracket, in characters. */
export interface FoundPlaceholder {
  readonly name: string;
  readonly offset: number;
}

/** A placeholder, with its name in the first group. */
const PLACEHOLDER = /\[([A-Z][A-Z0-9_]*)\]/g;

/**
 * Returns the placeholders of a template. `[x]` and `[N]`, which are common in prose, and the texts of links are not
 * placeholders.
 */
export function findPlaceholders(template: string): FoundPlaceholder[] {
  return [...template.matchAll(PLACEHOLDER)].flatMap(({ 0: whole, 1: name = "", index }) =>
    name.length === 1 || template[index + whole.length] === "(" ? [] : [{ name, offset: index }],
  );
}

/**
 * Matches the placeholder of an option: `{{options.name}}`, which stands for `{options.name}`, in the first group, else
 * `{options.name}` in the second. `${options.name}` is code.
 */
export const OPTION_PLACEHOLDER = /(?<!\$\{?)(?:\{\{(options(?:\.[\w-]+)+)\}\}|\{(options(?:\.[\w-]+)+)\})/g;

/** Returns the options that a text names in placeholders. */
export function findOptions(text: string): FoundPlaceholder[] {
  return [...text.matchAll(OPTION_PLACEHOLDER)].flatMap(({ 2: path, index }) => {
    const name = path?.split(".")[1];
    return name === undefined ? [] : [{ name, offset: index }];
  });
}
