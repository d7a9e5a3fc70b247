/**
 * Recognises the titles of phases, tasks and gates, and labels such as `**Goal:** …`, `Dependencies: …` or
 * `_Requirements: 1.2_`.
 */
import { withoutAtEnd } from "../workflow/from-markdown.js";
import { ANY_ID } from "./ids.js";
import { keyOf, type Vocabulary } from "./words.js";

/** The number or letter of a phase, in digits where it is in words, and its name. */
export interface PhaseTitle {
  /** Undefined in `Phase: Name`. */
  readonly key: string | undefined;
  readonly name: string;
}

/** Returns the title of a phase: `Phase 2: Name`, `Phase #2 (Week 1) - Name`, `Phase two: Name`, `第2阶段：Name`, `Phase: Name`. */
export function phaseTitle(title: string, words: Vocabulary): PhaseTitle | undefined {
  const text = unlinked(title)
    .replace(/(?:\*\*|__):?/g, "")
    .trim();
  const match = words.phaseTitle.exec(text);
  if (match === null) return undefined;
  const [, spaced, joined, ordinal, leading, remark, name, bracketed, unnumbered = ""] = match;
  const key = spaced ?? joined ?? ordinal ?? leading;
  if (key === undefined) return { key: undefined, name: unnumbered };
  return { key: keyOf(key), name: [name, remark?.trim(), bracketed].filter(Boolean).join(" ") };
}

/** Returns a title with the texts of its links in their place: `[Phase 2](build.md): Build`. */
function unlinked(title: string): string {
  return title.replace(/\[([^[\]]*)\]\([^()]*\)/g, "$1");
}

/** Returns what the two groups of a pattern find in a title, without the marks of links and bold. */
function partsOf(title: string, pattern: RegExp) {
  const [, first, second = ""] = pattern.exec(unlinked(title).replace(/\*\*|__/g, "")) ?? [];
  return first === undefined ? undefined : { first, second: second.trim() };
}

const LOOSE_PHASE = /^[^\p{L}\p{N}]*phase(?:\s+#?|#|-)(\d+)\s+(\p{L}.*)/iu;
/** The first or the last word after the number. Others may be part of a name: `Phase 1 Setup and Configuration`. */
const PART_OF_PHASE =
  /^(?:tasks?|gates?|checkpoint|criteria|deliverables?|summary|results?|status|completed?|success|dependenc(?:y|ies)|depends|risks?|notes?|overview|timeline|goals?|and|to|is|can|must)\b/i;

/** Returns the title of a phase without punctuation, `Phase 2 Name`; not of a part of a phase, such as `Phase 2 Tasks`. */
export function loosePhaseTitle(title: string) {
  const found = partsOf(title, LOOSE_PHASE);
  if (found === undefined) return undefined;
  const { first: key, second: name } = found;
  const isPart = PART_OF_PHASE.test(name) || PART_OF_PHASE.test(name.slice(name.lastIndexOf(" ") + 1));
  return isPart ? undefined : { key, name };
}

const NUMBERED = /^[^\p{L}\p{N}]*(\d+)(?:[.)]\s+|、\s*)(\S.*)/u;

/** Returns a title such as `3. Setup`. */
export function numberedTitle(title: string) {
  const found = partsOf(title, NUMBERED);
  return found && { key: found.first, name: found.second };
}

/** A title such as `Wave 2: Name`, with any word that is not a known one. */
const WORD_AND_NUMBER = /^[^\p{L}\p{N}]*(\p{L}{2,20})\s+(\d+(?:\.\d+)?)\s*(?:[:：.–—-]|$)/u;

/** Returns the word and the number of a title such as `Wave 2: Name`. */
export function wordAndNumber(title: string) {
  const found = partsOf(title, WORD_AND_NUMBER);
  return found && { word: found.first.toLowerCase(), key: found.second };
}

/** A part of the plan with a name of its own: `Week 12: Quality Gates & Review`. */
const TIMED_PART = /^[^\p{L}\p{N}]*(?:week|day|sprint|month)\s+\d+\s*[:：–—-]/iu;

/**
 * Returns true for the title of a section about gates: `Phase 2 Validation Gate`, `🛑 VALIDATION GATE: Final Checkpoint`. Not for a
 * part of a phase: `Checkpoint 5.1: Name`.
 */
export function isGateTitle(title: string): boolean {
  if (TIMED_PART.test(title)) return false;
  return /\b(?:validation|quality|exit|phase(?:\s+\w{1,4})?)\s+gates?\b|^\W*gates?(?=\s*(?:\d|[:–—-]|$))|\bcheckpoint\b(?!\s+\d+\.\d)|\b(?:exit|gate)\s+criteria\b|critères de sortie|criterios de salida|critérios de saída|criteri di uscita|критерии выхода|критерии завершения|退出标准|終了条件|종료 조건/iu.test(
    title,
  );
}

/** A word that makes a title with a phase's number, `Phase 2 Completion Checklist`, one of its gate. */
export const CHECKS_PHASE =
  /\b(?:validation|verification|acceptance|completion|checklist|sign-?off)\b|验证|验收|检查清单|檢查清單/i;

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
export type Field = (typeof FIELDS)[number][0] | (typeof WORDED)[number] | "other";

/** A label and the text after it. */
export interface Label {
  readonly field: Field;
  /** The label as it is written, without marks. */
  readonly name: string;
  /** The text after the label, in the same line. */
  readonly text: string;
}

const NO_WORK_WORDS = "(?:note|risk|question|reference|out of scope|metric)s?";
/** One of these words begins or ends a name, also before a remark. A sentence may have one inside: `Reduce the risk of loss:`. */
const NO_WORK_NAME = String.raw`^[^\p{L}]*(?:(?:key|known|main|open|other) )?${NO_WORK_WORDS}(?!\p{L})|(?<!\p{L})${NO_WORK_WORDS}[^\p{L}()]*(?:\([^()]*\)[^\p{L}()]*)?$`;

/** Labels and headings above checkboxes that are no work to do, even if the phase has no other ones. */
export const NO_WORK = new RegExp(NO_WORK_NAME, "iu");

const NO_TASK_WORDS = "deliverable|checklist|test case";

/** Labels below which checkboxes without ids are not tasks. */
export const NO_TASKS = new RegExp(String.raw`\b(?:${NO_TASK_WORDS})|${NO_WORK_NAME}`, "iu");

/** Headings of such sections: the word ends them. `Notes API` and `Risk engine` name things to build. */
export const NO_TASKS_HEADING = new RegExp(String.raw`\b(?:(?:${NO_TASK_WORDS})s?|${NO_WORK_WORDS})\W*$`, "i");

/** Returns the label that a line of text or a list item begins with, if it does. */
export function labelOf(text: string, words: Vocabulary): Label | undefined {
  const line = text.replace(/^[^\p{L}\p{N}*_[`]+/u, "");
  const code = /^`([^`]*)`$/.exec(line)?.[1];
  if (code !== undefined)
    return words.isLabel("status", plain(code.split(/[:：]/, 1)[0] ?? "")) ? plainLabel(code, words) : undefined;
  return (
    boldLabel(line, words) ?? slantedLabel(line, words) ?? plainLabel(line, words) ?? dependenciesLabel(line, words)
  );
}

const FIELDS = [
  ["goal", /^(?:goals?|objectives?|purpose|aim)$/],
  ["description", /^(?:description|summary|details)$/],
  [
    "time",
    /^(?:(?:total )?estimate[ds]?(?: (?:time|duration|effort|hours))?|(?:time|effort) estimates?|duration|effort|time|human baseline)$/,
  ],
  ["success", /^success criteria$/],
  [
    "gate",
    /^(?:.* )?(?:(?:validation|quality|exit|phase) gates?|checkpoint|gate criteria|exit criteria)(?: criteria)?$|^\d* ?gates?$/,
  ],
  ["tasks", /^(?:implementation )?tasks?(?: list)?$/],
  ["files", /^files?(?: (?:modified|created|changed|to (?:create|modify|change)))?$/],
  ["blocks", /^(?:blocks|blocking|unblocks|blocker for)$/],
  ["criteria", /^(?!tasks )(?:[a-z]+ )?sub-?tasks?$/],
  ["parallel", /^(?:parallel|parallelizable|can run in parallel)$/],
] as const;

/** The fields whose labels are in the table of words. */
const WORDED = ["dependencies", "criteria", "requirements", "status"] as const;

/** Returns the meaning of a title or of a label's name. The completion criteria of a phase are its gate. */
export function fieldOf(name: string, words: Vocabulary): Field {
  const said = plain(name);
  if (/\bphase\b/i.test(name)) {
    if (/^(?:completion criteria|(?:is )?(?:complete|done) when)$/.test(said)) return "gate";
    if (/criteria$/.test(said) && !/gate|exit/.test(said)) return "success";
  }
  const joined = said.replaceAll("-", " ");
  return (
    FIELDS.find(([, pattern]) => pattern.test(said))?.[0] ??
    WORDED.find((field) => words.isLabel(field, said) || words.isLabel(field, joined)) ??
    "other"
  );
}

const BOLD = /^(?:\*\*|__)(?=\S)/;

/** Reads a label in bold with a colon in or after it, or alone on its line. */
function boldLabel(line: string, words: Vocabulary): Label | undefined {
  const mark = BOLD.exec(line)?.[0];
  if (mark === undefined) return undefined;
  const end = line.indexOf(mark, mark.length + 1);
  if (end === -1) return undefined;
  const inside = line.slice(mark.length, end);
  const behind = line.slice(end + mark.length);
  const rest = behind.replace(/^[ \t]*[:：]?/, "");
  const inner = inside.search(/[:：]/);
  if (inner > 0) return label(inside.slice(0, inner), `${inside.slice(inner + 1)} ${rest}`, words);
  const isLabel = rest === "" || /^[ \t]*[:：]/.test(behind) || words.isLabel("status", plain(inside));
  return isLabel ? label(inside, rest, words) : undefined;
}

export function label(name: string, text: string, words: Vocabulary): Label {
  // `After:` alone may be above the code that replaces other code.
  const isAfter = words.isLabel("after", plain(name)) && namesOnlyIds(text);
  const field = isAfter ? "dependencies" : fieldOf(name, words);
  return { field, name: name.trim(), text: text.trim() };
}

/** `_Requirements: 1.2_`, `*Goal:* …`, `_Goal_: …`. */
const SLANTED = /^([*_])(?![*_])(?=\S)([^*_:：]+)(?:[:：](\1?)|\1[ \t]*[:：])(.*)/;

function slantedLabel(line: string, words: Vocabulary): Label | undefined {
  const [, , name, closed, rest = ""] = SLANTED.exec(line) ?? [];
  if (name === undefined) return undefined;
  // An empty `closed` is a mark that is still open after the colon.
  return label(name, closed === "" ? withoutAtEnd(rest, "*_") : rest, words);
}

const PLAIN = /^\p{L}[\p{L}\p{N} _'/&()-]{0,60}$/u;
const LEADING = /^([^:：]+)[:：][ \t]*$/;

/** Reads a label without marks: a known name, or a line that ends with a colon. */
function plainLabel(line: string, words: Vocabulary): Label | undefined {
  const [, status, said = ""] = /^(\p{L}[\p{L} ]{2,14}?)(?:::|\s[=–—-])\s(.+)/u.exec(line) ?? [];
  if (status !== undefined && words.isLabel("status", plain(status))) return label(status, said, words);
  const colon = line.search(/[:：]/);
  const name = line.slice(0, Math.max(0, colon));
  const rest = line.slice(colon + 1);
  if (PLAIN.test(name) && (line.charAt(colon) === "：" || /^[ \t]/.test(rest)) && rest.trim() !== "")
    return fieldOf(name, words) === "other" && !namesOnlyTasks(rest) ? undefined : label(name, rest, words);
  const leading = LEADING.exec(line)?.[1];
  return leading === undefined ? undefined : label(leading, "", words);
}

const DEPENDS = /^[*_]{0,3}(depends on|requires|blocked by)[*_]{0,3}[ \t](.*)/i;

/** Reads `depends on T001 (the model)` without a colon: other words make it a sentence. */
function dependenciesLabel(line: string, words: Vocabulary): Label | undefined {
  const [, name = "", text = ""] = DEPENDS.exec(line) ?? [];
  return namesOnlyIds(text.replace(/\([^()]*\)/g, " ")) ? label(name, text, words) : undefined;
}

const ID_WORDS = new RegExp(
  String.raw`(?<![\p{L}\p{N}])(?:${ANY_ID}|\d+|[Tt]asks?|[Pp]hases?|and|to|through|complete)(?![\p{L}\p{N}])|[\s,;&#.、，–—-]`,
  "gu",
);

/** Checks whether a text has ids of tasks and phases, and nothing else. */
export function namesOnlyIds(text: string): boolean {
  return /\d/.test(text) && text.replace(/[*_`]/g, " ").replace(ID_WORDS, "") === "";
}

const IDS = new RegExp(String.raw`(?<![\p{L}\p{N}])(?:${ANY_ID})(?![\p{L}\p{N}])`, "u");

/** Checks whether a text has ids of tasks, at least one that is not a plain number, and nothing else. */
export function namesOnlyTasks(text: string): boolean {
  return IDS.test(text) && namesOnlyIds(text.replace(/[[\]]/g, " "));
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
