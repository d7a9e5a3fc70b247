/**
 * Recognises the titles of phases, tasks and gates, and labels such as `**Goal:** …`, `Dependencies: …` or
 * `_Requirements: 1.2_`.
 */
import { withoutAtEnd } from "../workflow/from-markdown.js";

/** The number or letter of a phase as it is written, and its name. */
export interface PhaseTitle {
  readonly key: string;
  readonly name: string;
}

/** The forms in which a plan names its tasks: `Task 1.1`, `T012`, `1.1`. */
export type TaskIds = "task" | "T" | "number";

const PHASE =
  /^[^\p{L}\p{N}]*(?:\d+(?:\.\d+)*[.)]?\s+)?phase(?:\s+#?|#|-)(\d+[a-z]?|\d+\.\d+|[a-z]|[ivx]+)\s*((?:(?:\([^()]*\)|\[[^[\]]*\])\s*)?)(?:[:.)|–—-]+(?!\d)\s*(.*)|(\(.*\)))?$/isu;

/** Returns the title of a phase: `Phase 2: Name`, `Phase 2) Name`, `Phase 2 (Week 1) - Name`, `Phase #2`, `Phase 2`. */
export function phaseTitle(title: string): PhaseTitle | undefined {
  const text = unlinked(title)
    .replace(/(?:\*\*|__):?/g, "")
    .trim();
  const [, key, remark = "", name = "", bracketed = ""] = PHASE.exec(text) ?? [];
  if (key === undefined) return undefined;
  return { key: key.toLowerCase(), name: [name, remark.trim(), bracketed].filter(Boolean).join(" ") };
}

/** Returns a title with the texts of its links in their place: `[Phase 2](build.md): Build`. */
function unlinked(title: string): string {
  return title.replace(/\[([^[\]]*)\]\([^()]*\)/g, "$1");
}

const LOOSE_PHASE = /^[^\p{L}\p{N}]*phase(?:\s+#?|#|-)(\d+)\s+(\p{L}.*)/iu;
/** The first or the last word after the number. Others may be part of a name: `Phase 1 Setup and Configuration`. */
const PART_OF_PHASE =
  /^(?:tasks?|gates?|checkpoint|criteria|deliverables?|summary|results?|status|completed?|success|dependenc(?:y|ies)|depends|risks?|notes?|overview|timeline|goals?|and|to|is|can|must)\b/i;

/** Returns the title of a phase without punctuation, `Phase 2 Name`; not of a part of a phase, such as `Phase 2 Tasks`. */
export function loosePhaseTitle(title: string): PhaseTitle | undefined {
  const [, key, name = ""] = LOOSE_PHASE.exec(unlinked(title).replace(/\*\*|__/g, "")) ?? [];
  return key === undefined || isPart(name.trim()) ? undefined : { key, name: name.trim() };
}

function isPart(name: string): boolean {
  return PART_OF_PHASE.test(name) || PART_OF_PHASE.test(name.slice(name.lastIndexOf(" ") + 1));
}

const NUMBERED = /^[^\p{L}\p{N}]*(\d+)[.)]\s+(\S.*)/u;

/** Returns a title such as `3. Setup`. */
export function numberedTitle(title: string): PhaseTitle | undefined {
  const [, key, name = ""] = NUMBERED.exec(unlinked(title).replace(/\*\*|__/g, "")) ?? [];
  return key === undefined ? undefined : { key, name: name.trim() };
}

/** The id of a task as it is written, and the rest of its text. */
interface TaskTitle {
  readonly id: string;
  readonly rest: string;
}

const TASK_IDS: Readonly<Record<TaskIds, RegExp>> = {
  task: /^[*_~\s]*task(?:\s+#?|-)(\d+(?!\d)(?:\.\d+(?!\d))*[a-z]?)(?!\.?[\w–-]*\d)(?=[\s:.)*_(–—-]|$)/i,
  T: /^[*_~\s]*(T(?:\d+(?!\d)(?:\.\d+(?!\d))*[a-z]?|XXX))(?=[\s:.)*_–—-]|$)/,
  number: /^[*_~\s]*(\d+(?!\d)(?:(?:\.\d+(?!\d))+|(?=[.)](?!\d))))(?=[\s:.)*_–—-]|$)/,
};

/** Spaces, a colon and the rest of a bold label. Underscores at the start of a name, `__proto__`, belong to the name. */
const AFTER_ID = /^(?:[\s*~]|_+(?![_\p{L}\p{N}]))*[:.)–—-]*(?:[\s*~]|_+(?![_\p{L}\p{N}]))*/u;

/** Returns the title of a task, in the first of the given forms that it has. */
export function taskTitle(text: string, forms: readonly TaskIds[]): TaskTitle | undefined {
  for (const form of forms) {
    const [before = "", id] = TASK_IDS[form].exec(text) ?? [];
    if (id !== undefined) return { id, rest: text.slice(before.length).replace(AFTER_ID, "") };
  }
  return undefined;
}

/** Returns the title of a section about gates: `Phase 2 Validation Gate`, `🛑 VALIDATION GATE: Final Checkpoint`. */
export function isGateTitle(title: string): boolean {
  return /\b(?:validation|quality|exit|phase(?:\s+\w{1,4})?)\s+gates?\b|^\W*gates?(?=\s*(?:\d|[:–—-]|$))|\bcheckpoint\b|\b(?:exit|gate)\s+criteria\b/iu.test(
    title,
  );
}

/** The phase after a gate: `before Phase 2`, `→ Phase 2`. */
const NEXT_PHASE = /(?:\b(?:before|to|into|entering|starting)|→|[-=]>)\s*phase\s+\w+/gi;

/** Returns the key of the phase that a title mentions, or `final` for the last one. Ignores a phase that it leads to. */
export function mentionedPhase(title: string): string | undefined {
  const key = /\bphase\s+(\d+(?:\.\d+)?[a-z]?|[a-z])\b/i.exec(title.replace(NEXT_PHASE, " "))?.[1];
  if (key !== undefined) return key.toLowerCase();
  return /\bfinal\b/i.test(title) ? "final" : undefined;
}

/** Returns the number of the phase that a title names in any way: `MVP, phase 2`, `Phases 2-3`. */
export function namedPhaseNumber(title: string): string | undefined {
  const key = /\bphases?(?:\s+#?|#|-)(\d+(?:\.\d+)?[a-z]?)\b/i.exec(title.replace(NEXT_PHASE, " "))?.[1];
  return key?.toLowerCase();
}

/** The meaning of a label. `other` is a label without a meaning for plans. */
export type Field =
  | "goal"
  | "description"
  | "time"
  | "dependencies"
  | "criteria"
  | "success"
  | "gate"
  | "tasks"
  | "files"
  | "requirements"
  | "parallel"
  | "status"
  | "other";

/** A label and the text after it. */
export interface Label {
  readonly field: Field;
  /** The label as it is written, without marks. */
  readonly name: string;
  /** The text after the label, in the same line. */
  readonly text: string;
}

const NO_TASK_WORDS = "(?:deliverable|note|risk|question|reference|out of scope|metric|checklist|test case)";

/** Labels below which checkboxes without ids are not tasks. */
export const NO_TASKS = new RegExp(`\\b${NO_TASK_WORDS}`, "i");

/** Headings of such sections: the word ends them. `Notes API` and `Risk engine` name things to build. */
export const NO_TASKS_HEADING = new RegExp(`\\b${NO_TASK_WORDS}s?\\W*$`, "i");

/** Returns the label that a line of text or a list item begins with, if it does. */
export function labelOf(text: string): Label | undefined {
  const line = text.replace(/^[^\p{L}\p{N}*_[`]+/u, "");
  return boldLabel(line) ?? slantedLabel(line) ?? plainLabel(line) ?? dependenciesLabel(line);
}

const FIELDS: readonly (readonly [Exclude<Field, "other">, RegExp])[] = [
  ["goal", /^(?:goals?|objectives?|purpose|aim)$/],
  ["description", /^(?:description|summary|details)$/],
  [
    "time",
    /^(?:(?:total )?estimate[ds]?(?: (?:time|duration|effort|hours))?|(?:time|effort) estimates?|duration|effort|time|human baseline)$/,
  ],
  ["dependencies", /^(?:dependenc(?:y|ies)|deps|depends(?: on)?|requires|blocked by|prerequisites?)$/],
  [
    "criteria",
    /^(?:acceptance(?: (?:criteria|tests?))?|criteria|(?:validation|verification|completion|done) criteria|done when|definition of done|sub-?tasks)$/,
  ],
  ["success", /^success criteria$/],
  [
    "gate",
    /^(?:.* )?(?:(?:validation|quality|exit|phase) gates?|checkpoint|gate criteria|exit criteria)(?: criteria)?$|^\d* ?gates?$/,
  ],
  ["tasks", /^(?:implementation )?tasks?(?: list)?$/],
  ["files", /^files?(?: (?:modified|created|changed|to (?:create|modify|change)))?$/],
  ["requirements", /^(?:requirements?|traces to|traceability|validates|implements|refs?|references)$/],
  ["parallel", /^(?:parallel|parallelizable|can run in parallel)$/],
  ["status", /^status$/],
];

/** Returns the meaning of a title or of a label's name. The completion criteria of a phase are its gate. */
export function fieldOf(name: string): Field {
  const words = plain(name);
  if (/\bphase\b/i.test(name)) {
    if (words === "completion criteria") return "gate";
    if (/criteria$/.test(words) && !/gate|exit/.test(words)) return "success";
  }
  return FIELDS.find(([, pattern]) => pattern.test(words))?.[0] ?? "other";
}

const BOLD = /^(?:\*\*|__)(?=\S)/;

/** Reads a label in bold with a colon in or after it, or alone on its line. */
function boldLabel(line: string): Label | undefined {
  const mark = BOLD.exec(line)?.[0];
  if (mark === undefined) return undefined;
  const end = line.indexOf(mark, mark.length + 1);
  if (end === -1) return undefined;
  const inside = line.slice(mark.length, end);
  const behind = line.slice(end + mark.length);
  const rest = behind.replace(/^[ \t]*:?/, "");
  const inner = inside.indexOf(":");
  if (inner > 0) return label(inside.slice(0, inner), `${inside.slice(inner + 1)} ${rest}`);
  return rest === "" || /^[ \t]*:/.test(behind) ? label(inside, rest) : undefined;
}

function label(name: string, text: string): Label {
  return { field: fieldOf(name), name: name.trim(), text: text.trim() };
}

/** `_Requirements: 1.2_`, `*Goal:* …`, `_Goal_: …`. */
const SLANTED = /^([*_])(?![*_])(?=\S)([^*_:]+)(?::(\1?)|\1[ \t]*:)[ \t]*(.*)$/;

function slantedLabel(line: string): Label | undefined {
  const [, , name, closed, rest = ""] = SLANTED.exec(line) ?? [];
  if (name === undefined) return undefined;
  // An empty `closed` is a mark that is still open after the colon.
  return label(name, closed === "" ? withoutAtEnd(rest, "*_") : rest);
}

const PLAIN = /^\p{L}[\p{L}\p{N} '/&()-]{0,60}$/u;
const LEADING = /^([^:]+):[ \t]*$/;

/** Reads a label without marks: a known name, or a line that ends with a colon. */
function plainLabel(line: string): Label | undefined {
  const colon = line.indexOf(":");
  const name = line.slice(0, Math.max(0, colon));
  const rest = line.slice(colon + 1);
  if (PLAIN.test(name) && /^[ \t]/.test(rest) && rest.trim() !== "")
    return fieldOf(name) === "other" ? undefined : label(name, rest);
  const leading = LEADING.exec(line)?.[1];
  return leading === undefined ? undefined : label(leading, "");
}

const DEPENDS = /^[*_]{0,3}(depends on|requires|blocked by)[*_]{0,3}[ \t](.*)/i;

/** Reads `depends on T001 (the model)` without a colon: other words make it a sentence. */
function dependenciesLabel(line: string): Label | undefined {
  const [, name, text = ""] = DEPENDS.exec(line) ?? [];
  if (name === undefined) return undefined;
  return namesOnlyIds(text.replace(/\([^()]*\)/g, " ")) ? label(name, text) : undefined;
}

const ID_WORDS = /\b(?:T\d+[a-z]?|\d+(?:\.\d+)*[a-z]?|tasks?|phases?|and|to|through|complete)\b|[\s,;&#.–—-]/gi;

/** Checks whether a text has ids of tasks and phases, and nothing else. */
export function namesOnlyIds(text: string): boolean {
  return /\d/.test(text) && text.replace(/[*_`]/g, " ").replace(ID_WORDS, "") === "";
}

/** Returns a name for the table: in lower case, without marks, remarks and the number of a phase or task. */
function plain(name: string): string {
  return name
    .toLowerCase()
    .replace(/\([^()]*\)/g, " ")
    .replace(/[^\p{L}\p{N}-]+/gu, " ")
    .replace(/\b(?:phase|task|final)(?: \d\w*)*\b(?! gate| list)(?! *$)/g, " ")
    .trim()
    .replace(/ +/g, " ");
}
