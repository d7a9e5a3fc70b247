/**
 * Reads the parts of a task's line, and checkboxes as people write them. GFM accepts only `[ ]` and `[x]` after a list
 * marker; here `[-]`, `[~]`, `[]`, a bare `[ ]`, and checkboxes in bold or in tables count too, so that none is lost.
 */
import { codeParts } from "../workflow/from-markdown.js";
import { namesOnlyIds, type TaskIds, taskTitle } from "./titles.js";

/** The parts of a task's line. */
interface TaskLine {
  readonly id: string | undefined;
  readonly name: string;
  readonly optional: boolean;
  readonly parallel: boolean;
  readonly story: string | undefined;
  readonly time: string | undefined;
  /** The text in parentheses, `(2h, depends on T012, T013)`, or at the end. */
  readonly dependencies: string | undefined;
  readonly requirements: readonly string[];
  readonly files: readonly string[];
}

const CRITERIA = /\(ACs?\b([^()]*)\)/i;

/** Reads the text of a task. */
export function readTaskLine(text: string, forms: readonly TaskIds[]): TaskLine {
  const optional = /^\*(?=\s|\d|$)/.test(text);
  const body = withoutComments(optional ? text.slice(1) : text).trim();
  const title = taskTitle(body, forms);
  const { rest, marks } = takeMarks(title?.rest ?? body);
  const { others, dependencies = dependenciesAtEnd(rest) } = takeDependencies(rest);
  const criteria = CRITERIA.exec(rest)?.[1];
  const { name, time } = splitTime(bare(others.replace(CRITERIA, "")));
  return {
    id: title?.id,
    name: /^(?:\(optional\))?$/i.test(name) ? (title === undefined ? body : `Task ${title.id}`) : name,
    optional: optional || /\boptional\b/i.test(/\(([^()]*)\)/.exec(rest)?.[1] ?? ""),
    parallel: marks.includes("P"),
    story: marks.find((mark) => mark.startsWith("US")),
    time,
    dependencies,
    requirements:
      criteria === undefined ? [] : readReferences(criteria.replace(/:|\bACs?\b/gi, "").trim()).map(criterionId),
    files: filesIn(rest),
  };
}

/** Parentheses at the end of a name, and what may follow them. */
const ENDING = /\(([^()]*)\)[^\p{L}\p{N}()]*(?:\p{Lu}{3,}\s*)?$/u;

const TIME_WORDS = "(?:minutes?|mins?|hours?|hrs?|h|days?|d|weeks?|wks?|w|months?|sprints?|points?|pts?)";
const DURATION = new RegExp(
  String.raw`(?<![\d.,])[.,]*\d[\d.,]*\s*(?:[-–—]\s*\d[\d.,]*\s*)?${TIME_WORDS}\b|\b(?:weeks?|days?)\s+\d`,
  "i",
);

/** Returns a name and the duration in parentheses at its end, if there is one. */
export function splitTime(text: string): { readonly name: string; readonly time?: string } {
  const ending = ENDING.exec(text);
  const inside = ending?.[1];
  if (ending === null || inside === undefined || !DURATION.test(inside)) return { name: text };
  return { name: text.slice(0, ending.index).trim(), time: inside.trim() };
}

/** Returns a text if it contains a duration. */
export function durationIn(text: string): string | undefined {
  return DURATION.test(text) ? text.trim() : undefined;
}

/** A word in code that looks like emphasis: `__init__`. */
const DUNDER = /^__[a-z0-9]+(?:_[a-z0-9]+)*__$/;

/** Returns a text without emphasis marks around all of it, or left over from a label. */
export function bare(text: string): string {
  const halves = (text.match(/\*\*/g) ?? []).length;
  const trimmed = text.trim();
  const whole = DUNDER.test(trimmed) ? undefined : /^(\*\*|__|~~)((?:(?!\1).)*)\1$/.exec(trimmed)?.[2];
  return (whole ?? (halves % 2 === 1 ? trimmed.replace("**", "") : trimmed)).replace(/^[\s:.–—-]+(?=\S)/, "").trim();
}

/** A path with a folder anywhere, or one without a folder in backticks. It begins after another character, in linear time. */
const PATH = /(?<![\w.@[\]:/-])\/?(?:[\w.@[\]-]+\/)+[\w.@[\]*-]*\.\w+|`(\/?(?:[\w.@[\]-]+\/)*[\w.@[\]-]+\.\w{1,6})`/g;

/** Returns the paths of files in a text. */
export function filesIn(text: string): string[] {
  return [...new Set([...text.matchAll(PATH)].map((match) => match[1] ?? match[0]))];
}

/** A comment without the start of another one, so that the time is linear. */
const COMMENT = /<!--(?:(?!<!--).)*?-->/g;

/** Returns a line without the comments in it. */
export function withoutComments(text: string): string {
  return text.replace(COMMENT, "");
}

/** A checkbox in a line: columns from 0. */
export interface FoundCheckbox {
  /** The text between the brackets, without spaces: `""`, `x`, `-`, … */
  readonly mark: string;
  /** The column of the character to change; for `[]`, the column where one is inserted. */
  readonly column: number;
  /** Number of characters between the brackets. */
  readonly width: number;
  /** The column after the brackets. */
  readonly end: number;
}

const TICK = /^(?:[xX]|[✓✔☑✅]\uFE0F?)$/u;

/** Checks whether a mark means done. */
export function isTicked(mark: string): boolean {
  return TICK.test(mark);
}

/** A letter or a digit is not a mark: `[P]` means parallel, `[1]` is a reference. Some signs have a variation selector. */
const BOX = String.raw`\[([ \t]*)(?:([xX]|[^\p{L}\p{N}\s[\]\\]\uFE0F?)([ \t]*))?\]`;
/** `[x](…)` is a link. */
const AT_START = new RegExp(String.raw`(?:\*\*|__|~~|[*_])?[ \t]*${BOX}(?!\()`, "uy");

/** Returns the checkbox at a column, also after emphasis marks. */
export function checkboxAt(text: string, column: number): FoundCheckbox | undefined {
  AT_START.lastIndex = column;
  const match = AT_START.exec(text);
  return match === null ? undefined : found(match);
}

const ANYWHERE = new RegExp(BOX, "gu");

/** Returns all checkboxes of a line, except those in code spans. */
export function checkboxesIn(text: string): FoundCheckbox[] {
  if (!text.includes("[")) return [];
  const open = withoutCode(text);
  return [...open.matchAll(ANYWHERE)].filter((match) => isCheckbox(match, open)).map(found);
}

/** A list in parentheses, or the text of `[FR-001](spec.md#fr-001)` and `[FR-001]`. */
const IN_BRACKETS = /^\(([^()]*)\)\.?$|\[([^[\]]*)\](?:\([^()]*\))?/g;
/** `1.2`, `#3`, `FR-001`, `NFR-Sc1`, `Story 4`, or a range of two; a remark may follow. */
const ID =
  /^((story|section) )?[#§]?[a-z_-]{0,40}\d[\d.]*[a-z]?( ?([-–—]|to |through ) ?[a-z_-]{0,40}\d[\d.]*[a-z]?)?( \([^()]*\))?$/i;

/**
 * Returns the requirements in a list of ids, as they are written, without marks, links and the word "requirement". Any
 * other text is one requirement; `None` is none.
 */
export function readReferences(text: string): readonly string[] {
  const ids = text
    .replace(IN_BRACKETS, ",$1$2,")
    .replace(/[*`]|\breq(uirement)?s? (?=\d)|\.$/gi, "")
    .split(/[,;&+/]|\band\b/i)
    .flatMap((id) => id.trim() || []);
  if (/^(none|n\/?a|-+)\.?$/i.test(text)) return [];
  return ids.every((id) => ID.test(id)) ? ids : [text];
}

/** Splits the marks from a text such as `[P] [US1] Create …`. */
function takeMarks(text: string): { readonly rest: string; readonly marks: readonly string[] } {
  const [found = ""] = /^(?:\[(?:P|US\d+|Story)\]\s*)+/i.exec(text) ?? [];
  const rest = text.slice(found.length);
  return { rest, marks: [...found.matchAll(/\[([^[\]]+)\]/g)].map((match) => (match[1] ?? "").toUpperCase()) };
}

function found(match: RegExpExecArray): FoundCheckbox {
  const [whole, before = "", mark = "", after = ""] = match;
  const end = match.index + whole.length;
  const width = before.length + mark.length + after.length;
  const inside = end - 1 - width;
  return { mark, column: inside + (mark === "" ? 0 : before.length), width, end };
}

/** A text in parentheses, with others in it. */
const IN_PARENTHESES = /\(([^()]*(?:\([^()]*\)[^()]*)*)\)/g;
const DEPENDS = /(?:^|\()\s*(?:(?:depends on|requires|blocked by|after)\b:?|(?:depends|dependenc(?:y|ies)|deps):)/i;

/** Splits the dependencies in parentheses from a text. A duration beside them stays: `(2h, depends on T001)`. */
function takeDependencies(text: string): { readonly others: string; readonly dependencies?: string } {
  for (const { 0: whole, 1: inside = "", index } of text.matchAll(IN_PARENTHESES)) {
    const parts = inside.split(/[,;]/);
    const first = parts.findIndex((part) => DEPENDS.test(part));
    if (first === -1) continue;
    const isOther = (part: string, at: number) => at < first || (at > first && durationIn(part) !== undefined);
    const left = parts.filter(isOther).join(",").trim();
    const others = text.slice(0, index) + (left === "" ? "" : `(${left})`) + text.slice(index + whole.length);
    const said = parts.filter((part, at) => !isOther(part, at)).join(",");
    const named = DEPENDS.exec(said);
    return { others, dependencies: named === null ? said : said.slice(named.index + named[0].length) };
  }
  return { others: text };
}

const LAST =
  /(?<![a-z0-9])(?:(?:depends on|requires|blocked by)[*_]{0,3}:?|(?:depends|dependenc(?:y|ies)|deps)[*_]{0,3}:)[*_]{0,3}\s/gi;

/** Returns the dependencies at the end of a text without parentheses, `…, depends on T001 and T002`, if only ids follow. */
function dependenciesAtEnd(text: string): string | undefined {
  const end = text.slice(-300);
  const last = [...end.matchAll(LAST)].at(-1);
  const said = last === undefined ? undefined : end.slice(last.index + last[0].length);
  return said === undefined || !namesOnlyIds(said) ? undefined : said;
}

/** Returns the id of an acceptance criterion: `(AC: 1, 2)` names only numbers. */
function criterionId(reference: string): string {
  return /^AC/i.test(reference) ? reference : `AC ${reference}`;
}

/** Returns a line with backticks in place of its code spans. */
function withoutCode(text: string): string {
  if (!text.includes("`")) return text;
  let open = "";
  for (const { code, text: part } of codeParts(text)) open += code ? "`".repeat(part.length) : part;
  return open;
}

/** Checks that brackets are not the end of a name (`string[]`, `list[-]`) or a link. `[ ]` is always a checkbox. */
function isCheckbox({ 0: whole, 1: space = "", 2: mark, index }: RegExpExecArray, text: string): boolean {
  if (mark === undefined && space !== "") return true;
  return !/[\p{L}\p{N}_)\]]/u.test(text.charAt(index - 1)) && text.charAt(index + whole.length) !== "(";
}
