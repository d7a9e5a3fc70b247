/** The placeholders of texts: `[NAME]` in the templates of a plan's phases and tasks, `{name}` in every text. */

export const PHASE_PLACEHOLDERS = [
  "PHASE_NUMBER",
  "PHASE_IN_PLAN",
  "PHASE_NAME",
  "PHASE_DESCRIPTION",
  "ESTIMATED_DURATION",
  "TASK_COUNT",
  "VALIDATION_GATE",
  "NEXT_PHASE_NUMBER",
] as const;

export const TASK_PLACEHOLDERS = [
  "TASK_ID",
  "TASK_NAME",
  "PHASE_NUMBER",
  "PHASE_IN_PLAN",
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

export const PLACEHOLDERS: Readonly<Record<TemplateKind, readonly string[]>> = {
  phase: PHASE_PLACEHOLDERS,
  task: TASK_PLACEHOLDERS,
};

/** A placeholder in a template; `offset` is the position of its bracket, in characters. */
export interface FoundPlaceholder {
  readonly name: string;
  readonly whole: string;
  readonly offset: number;
}

/** `[NAME or "default"]` in a template: the name is in the first group, the default in the second. */
export const TEMPLATE_PLACEHOLDER = /\[([A-Z][A-Z0-9_]*)(?: or ([^[\]\n]{1,200}))?\]/;

/**
 * `{target}`, with its name in the second group; or `{{target}}`, which becomes `{target}`, in the first group.
 * `${target}` is a variable of a shell or of JavaScript, and is not matched.
 */
export const TEXT_PLACEHOLDER =
  /\{\{(target|target_file|plan|spec_path)\}\}|(?<![${])\{(target|target_file|plan|spec_path)\}(?!\})/;

/** The values of the placeholders of all texts. */
export interface TextValues {
  /** The session's target: `{target}` or `{target_file}`. */
  readonly target: string;
  /** The path of the session's plan, if it has one: `{plan}` or `{spec_path}`. */
  readonly plan?: string | undefined;
}

export function textValue(name: string, { target, plan }: TextValues): string | undefined {
  return name.startsWith("target") ? target : plan;
}

const IN_TEXTS = new RegExp(TEXT_PLACEHOLDER, "g");

/** Returns a text with its placeholders filled. Those without a value, and everything else in braces, stay as they are. */
export function fillText(text: string, values: TextValues): string {
  if (!text.includes("{")) return text;
  return text.replace(IN_TEXTS, (whole: string, literal: string | undefined, name: string) =>
    literal === undefined ? (textValue(name, values) ?? whole) : `{${literal}}`,
  );
}

const IN_TEMPLATES = new RegExp(TEMPLATE_PLACEHOLDER, "g");

/** Checks whether brackets are no placeholder: `[N]` and `[PASS or FAIL]` are common in prose, others are links. */
export function isProse(name: string, instead: string | undefined, after: string | undefined): boolean {
  return name.length === 1 || (instead !== undefined && !name.includes("_")) || after === "(";
}

/** Returns the placeholders of a template, without prose in brackets and the texts of links. */
export function findPlaceholders(template: string): FoundPlaceholder[] {
  return [...template.matchAll(IN_TEMPLATES)].flatMap(({ 0: whole, 1: name = "", 2: instead, index }) =>
    isProse(name, instead, template[index + whole.length]) ? [] : [{ name, whole, offset: index }],
  );
}

/** `{{options.name}}`, a literal, in the first group, else `{options.name}` in the second. `${options.name}` is code. */
export const OPTION_PLACEHOLDER = /(?<!\$\{?)(?:\{\{(options(?:\.[\w-]+)+)\}\}|\{(options(?:\.[\w-]+)+)\})/g;

export function findOptions(text: string): Omit<FoundPlaceholder, "whole">[] {
  return [...text.matchAll(OPTION_PLACEHOLDER)].flatMap(({ 2: path, index }) => {
    const name = path?.split(".")[1];
    return name === undefined ? [] : [{ name, offset: index }];
  });
}
