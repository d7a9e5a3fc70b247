/**
 * Fills the placeholders of a template in one pass, and provides the values of the placeholders for phases and tasks from
 * a plan.
 */
import {
  findPlaceholders,
  isProse,
  PHASE_PLACEHOLDERS,
  TASK_PLACEHOLDERS,
  TEMPLATE_PLACEHOLDER,
  TEXT_PLACEHOLDER,
  type TemplateKind,
  type TextValues,
  textValue,
} from "../workflow/placeholders.js";
import { numberInPlan, type PhaseDefinition, type TaskDefinition } from "../workflow/structure.js";

/** Values by the names of placeholders. A list becomes a checklist. */
export type TemplateValues = Readonly<Record<string, string | number | readonly string[]>>;

/**
 * Replaces the placeholders of a template: names in capitals, in brackets, such as `[TASK_NAME]`. Values are never
 * expanded themselves. Placeholders without a value and other text in brackets stay as they are.
 *
 * A list becomes a Markdown checklist, an empty list the word `None`.
 */
export function renderTemplate(template: string, values: TemplateValues): string {
  return template.replace(/\[([A-Z][A-Z0-9_]*)\]/g, (whole, name: string) => {
    const value = Object.hasOwn(values, name) ? values[name] : undefined;
    return value === undefined ? whole : asText(value);
  });
}

function asText(value: TemplateValues[string]): string {
  if (typeof value === "string") return value;
  return typeof value === "number" ? String(value) : checklist(value);
}

// Further lines of an item are indented, so that they stay part of it.
function checklist(items: readonly string[]): string {
  if (items.length === 0) return "None";
  return items.map((item) => `- [ ] ${item.replaceAll("\n", "\n  ")}`).join("\n");
}

/** A text from a template. */
export interface FilledText {
  readonly text: string;
  /** The placeholders without a value, as written, each once: they are not in the text. */
  readonly leftOut: readonly string[];
}

/** A part of a text from a template. */
export interface OwnText extends FilledText {
  /** The number of the phase whose text has the rest. */
  readonly restIn: number;
}

/** Values by the names of placeholders; undefined for a known placeholder without a value. */
type Values = Readonly<Record<string, TemplateValues[string] | undefined>>;

const ALL = new RegExp(`${TEMPLATE_PLACEHOLDER.source}|${TEXT_PLACEHOLDER.source}`, "g");

/** Fills a template for a session, in one pass, so that values are never expanded themselves. */
function fillTemplate(template: string, values: Values, own: TextValues, defaults: Values = {}): FilledText {
  const leftOut = new Set<string>();
  const replaced = (
    whole: string,
    name: string | undefined,
    instead: string | undefined,
    literal: string | undefined,
    ofText: string,
    offset: number,
  ) => {
    if (literal !== undefined) return `{${literal}}`;
    if (name === undefined) return textValue(ofText, own) ?? whole;
    const isKnown = Object.hasOwn(values, name);
    const found = isKnown ? values[name] : undefined;
    if (isKnown && isNothing(found) && instead !== undefined) return unquoted(instead);
    const value = found ?? (isKnown ? defaults[name] : undefined);
    if (value !== undefined) return asText(value);
    if (!isKnown && isProse(name, instead, template[offset + whole.length])) return whole;
    leftOut.add(whole);
    return "";
  };
  return { text: withoutEmpty(template, values).replace(ALL, replaced), leftOut: [...leftOut] };
}

/** The placeholders whose paragraph is left out if the plan has nothing for them. */
const LISTED: ReadonlySet<string> = new Set([
  "VALIDATION_GATE",
  "DEPENDENCIES",
  "ACCEPTANCE_CRITERIA",
  "REQUIREMENTS",
] satisfies (typeof PHASE_PLACEHOLDERS | typeof TASK_PLACEHOLDERS)[number][]);

/** The descriptions whose paragraph is left out too, if the template has the name of what they describe. */
const DESCRIBED: ReadonlyMap<string, string> = new Map([
  ["TASK_DESCRIPTION", "[TASK_NAME]"],
  ["PHASE_DESCRIPTION", "[PHASE_NAME]"],
]);

/** Returns true if the plan has no value for a placeholder, or an empty one. */
function isNothing(value: TemplateValues[string] | undefined): boolean {
  return value === undefined || value === "" || (Array.isArray(value) && value.length === 0);
}

/**
 * Leaves out the paragraphs in which no placeholder has a value, if all of them are in `LISTED` or describe what is named
 * elsewhere. Code stays as it is.
 */
function withoutEmpty(template: string, values: Values): string {
  const canGo = (name: string) => {
    const named = DESCRIBED.get(name);
    return LISTED.has(name) || (named !== undefined && template.includes(named));
  };
  const kept: string[] = [];
  let paragraph: string[] = [];
  let isCode = false;
  const end = () => {
    const found = findPlaceholders(paragraph.join("\n"));
    const isEmpty = found.every(
      ({ name, whole }) =>
        canGo(name) && whole === `[${name}]` && Object.hasOwn(values, name) && isNothing(values[name]),
    );
    if (found.length === 0 || !isEmpty || paragraph.some((line) => FENCE.test(line))) kept.push(...paragraph);
    paragraph = [];
  };
  for (const line of template.split("\n")) {
    if (FENCE.test(line)) isCode = !isCode;
    paragraph.push(line);
    if (!isCode && line.trim() === "") end();
  }
  end();
  return kept.join("\n");
}

function unquoted(text: string): string {
  return text.replace(/^"(.*)"$/, "$1");
}

type ValuesOf<Names extends readonly string[]> = Readonly<Record<Names[number], TemplateValues[string] | undefined>>;

/** Returns the values for a phase template; `next` is the number of the next phase, if there is one. */
export function phaseValues(phase: PhaseDefinition, next: number | undefined): ValuesOf<typeof PHASE_PLACEHOLDERS> {
  const { number, name, plan, tasks, gate } = phase;
  return {
    PHASE_NUMBER: number,
    PHASE_IN_PLAN: numberInPlan(phase) ?? number,
    PHASE_NAME: name,
    PHASE_DESCRIPTION: plan?.goal ?? phase.purpose,
    ESTIMATED_DURATION: plan?.estimatedDuration ?? phase.estimatedEffort,
    TASK_COUNT: tasks.length,
    VALIDATION_GATE: gate.kind === "plan" ? gate.items : [],
    NEXT_PHASE_NUMBER: next,
  };
}

/** Returns the values for a task template. The task's id is the plan's, the phase's number is the session's. */
export function taskValues(phase: PhaseDefinition, task: TaskDefinition): ValuesOf<typeof TASK_PLACEHOLDERS> {
  const { number, name, plan } = task;
  return {
    TASK_ID: plan?.id ?? String(number),
    TASK_NAME: name,
    PHASE_NUMBER: phase.number,
    PHASE_IN_PLAN: numberInPlan(phase) ?? phase.number,
    PHASE_NAME: phase.name,
    TASK_DESCRIPTION: plan?.description ?? task.purpose,
    ESTIMATED_TIME: plan?.estimatedTime,
    DEPENDENCIES: plan?.dependencies.join(", ") || undefined,
    ACCEPTANCE_CRITERIA: plan?.acceptanceCriteria ?? [],
    REQUIREMENTS: plan?.requirements?.join(", ") || undefined,
    NEXT_TASK_NUMBER: number + 1,
  };
}

/** The placeholders that differ from phase to phase, or from task to task. Each answer of a tool names the next call. */
const OWN: Readonly<Record<TemplateKind, ReadonlySet<string>>> = {
  phase: new Set<string>(PHASE_PLACEHOLDERS.filter((name) => name !== "NEXT_PHASE_NUMBER")),
  task: new Set<string>(TASK_PLACEHOLDERS.filter((name) => name !== "NEXT_TASK_NUMBER" && !name.startsWith("PHASE_"))),
};

/** The fewest characters that texts must share for a split to be worth it. */
const SHARED_LEAST = 200;

/**
 * Splits a template in two: the blocks with the first use of a placeholder of `OWN`, and those that are the same for every
 * phase or task. Each part keeps the headings of its blocks. Undefined if a split saves little.
 */
export function splitTemplate(
  template: string,
  kind: TemplateKind,
): { readonly own: string; readonly shared: string } | undefined {
  const [own, shared]: [string[], string[]] = [[], []];
  const shown = new Set<string>();
  let heading: string | undefined;
  const headed = new Map<string[], string>();
  for (const block of blocksOf(template)) {
    const added = findPlaceholders(block).filter(({ name }) => OWN[kind].has(name) && !shown.has(name));
    for (const { name } of added) shown.add(name);
    if (HEADING.test(block) && added.length === 0) heading = block;
    else {
      const part = added.length > 0 ? own : shared;
      if (heading !== undefined && headed.get(part) !== heading) part.push(heading);
      if (heading !== undefined) headed.set(part, heading);
      part.push(block);
      if (HEADING.test(block)) heading = undefined;
    }
  }
  const text = shared.join("\n\n");
  return text.length < SHARED_LEAST ? undefined : { own: own.join("\n\n"), shared: text };
}

const HEADING = /^#{1,6}\s/;
const FENCE = /^\s*(?:```|~~~)/;

/** Returns headings, paragraphs, lists and code samples. Rules between sections are left out. */
function blocksOf(template: string): string[] {
  const blocks: string[] = [];
  let lines: string[] = [];
  let isCode = false;
  const end = () => {
    const block = lines.join("\n").trimEnd();
    if (block.trim() !== "" && !/^\s*(?:-{3,}|\*{3,}|_{3,})\s*$/.test(block)) blocks.push(block);
    lines = [];
  };
  for (const line of template.split("\n")) {
    if (FENCE.test(line)) isCode = !isCode;
    const isBlank = !isCode && line.trim() === "";
    if (isBlank || (!isCode && HEADING.test(line))) end();
    if (!isBlank) lines.push(line);
    if (!isCode && HEADING.test(line)) end();
  }
  end();
  return blocks;
}

/** The duration if the plan has none, and the template no other text for that. */
const NO_DURATION = "Variable";

/** Returns the text of a phase from a plan; `next` is the number of the next phase, if there is one. */
export function renderPhase(
  template: string,
  phase: PhaseDefinition,
  next: number | undefined,
  own: TextValues,
): FilledText {
  const defaults = { PHASE_DESCRIPTION: phase.name, ESTIMATED_DURATION: NO_DURATION };
  return fillTemplate(template, phaseValues(phase, next), own, defaults);
}

export function renderTask(
  template: string,
  phase: PhaseDefinition,
  task: TaskDefinition,
  own: TextValues,
): FilledText {
  const defaults = {
    TASK_DESCRIPTION: task.name,
    ESTIMATED_TIME: NO_DURATION,
    DEPENDENCIES: "None",
    REQUIREMENTS: "None",
  };
  return fillTemplate(template, taskValues(phase, task), own, defaults);
}

/** Returns the text that all tasks of a phase share; a task's own placeholders stay as they are. */
export function renderShared(template: string, { number, name }: PhaseDefinition, own: TextValues): FilledText {
  const kept = Object.fromEntries(TASK_PLACEHOLDERS.map((placeholder) => [placeholder, `[${placeholder}]`]));
  return fillTemplate(template, { ...kept, PHASE_NUMBER: number, PHASE_NAME: name }, own);
}
