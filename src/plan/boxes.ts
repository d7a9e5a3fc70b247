/**
 * Checkboxes as people and formatters write them. GFM accepts only `[ ]` and `[x]` after a list marker; here any sign or
 * letter between brackets counts at the start of a line, and so do `\[x\]`, `☐`, brackets in bold and in tables, so that
 * none is lost.
 */
import { codeParts } from "../workflow/from-markdown.js";
import { STATE_SIGN } from "./words.js";

/** A checkbox in a line: columns from 0. */
export interface FoundCheckbox {
  /** The text between the brackets, without spaces: `""`, `x`, `-`, `done`. Without brackets, the whole: `☐`, `TODO`. */
  readonly mark: string;
  /** The column of the character to change; for `[]`, the column where one is inserted. */
  readonly column: number;
  /** The column where it begins, and the column after it. */
  readonly start: number;
  readonly end: number;
}

/** Boxes in one character: open, and ticked. */
const BALLOTS: ReadonlyMap<string, string> = new Map([
  ["☐", "☑"],
  ["🗆", "🗹"],
  ["□", "☑"],
]);

const TICK = /^[*_]*(?:x|[✓✔☑✅🗹☒]\uFE0F?|done|completed?)[*_]*$/iu;

export function isTicked(mark: string): boolean {
  return TICK.test(mark);
}

/** Checks whether a mark means open: nothing, or an empty ballot box. */
export function isOpen(mark: string): boolean {
  return mark === "" || BALLOTS.has(mark);
}

/** The empty ballot boxes, by those that are ticked; one with a tick in brackets gets a blank. */
const EMPTY: ReadonlyMap<string, string> = new Map([
  ["☑", "☐"],
  ["☒", "☐"],
  ["🗹", "🗆"],
]);

/** Returns the mark that takes the place of another one: a ballot box stays one. */
export function markFor(done: boolean, mark: string): string {
  const [ticked, open] = /^[A-Z]{3,}$/.test(mark) ? ["DONE", "TODO"] : ["x", " "];
  return done ? (BALLOTS.get(mark) ?? ticked) : (EMPTY.get(mark) ?? open);
}

const BLANK = String.raw`[^\S\r\n]`;
/** Any one sign, also escaped. A letter is one only at the start of an item: `[P]` means parallel. */
const SIGN = String.raw`\\?(?:[^\s[\]［］【】\\\p{L}\p{N}]\uFE0F?|[xX])`;
/** English words for states, as people write them between brackets. */
const STATES = "done complete completed todo open pending wip doing in-progress blocked skipped canceled cancelled n/a";
/** At the start of an item: a letter, a mark in bold, or a word for a state. */
const WORD = String.raw`\p{L}|[*_]{1,2}[xX][*_]{1,2}|${STATES.split(" ").flatMap(inCases).join("|")}`;
/** The words that outliners have in place of a box. */
const KEYWORD = String.raw`(?:TODO|DONE|DOING|LATER|NOW|WAITING|CANCELL?ED)(?=[ \t]+[^\s:])`;
const BALLOT = "[☐☑☒🗆🗹□]";
const OPENING = String.raw`\\?[[［【]`;
const CLOSING = String.raw`\\?[\]］】]`;

/** The source of a pattern for what a checkbox begins with. */
export const BOX_BEGIN = `(?:${OPENING}|${BALLOT})`;

/** Returns a word in small letters, with a capital, with capitals, and in capitals; its hyphen may be a blank. */
function inCases(word: string): string[] {
  const title = word.replace(/(?<![a-z])[a-z]/g, (letter) => letter.toUpperCase());
  const forms = [word, word.charAt(0).toUpperCase() + word.slice(1), title, word.toUpperCase()];
  return forms.map((form) => form.replace("-", "[ -]"));
}

function brackets(sign: string): string {
  return `${OPENING}(${BLANK}*)(?:(${sign})(${BLANK}*))?${CLOSING}`;
}

/** After emphasis. `[x](…)` is a link, unless the brackets hold a number; `[x][…]` is one, too, and `[a]: …` is a definition. */
const AT_START = new RegExp(
  String.raw`(?:\*\*|__|~~|[*_])?[ \t]*(?:${brackets(`${SIGN}|${WORD}`)}(?![[:]|\((?!\d[\d.]*[a-z]?\)))|(${BALLOT}|${KEYWORD})\uFE0F?)`,
  "uy",
);
const ANYWHERE = new RegExp(`${brackets(SIGN)}|(${BALLOT})\uFE0F?`, "gu");

/** What stands for a checkbox to people: an emoji, brackets with something else in them, or a character by its number. */
export const SYMBOL = new RegExp(
  String.raw`^(?:${STATE_SIGN}|🟢|:\w{1,30}:\s|<input\b|\[(?!\^)[^[\]]{0,20}\](?![[(:])\s|\([xX ]?\)\s|&#?\w{2,10};\s)`,
  "u",
);

const BEGIN = new RegExp(BOX_BEGIN, "u");

/** `[P]` of spec-kit means parallel. */
const NO_BOX = /^P$/;
const NOT_A_SIGN = /^(?![xX]$)[\p{L}*_]/u;

/** Returns the checkbox at a column, also after emphasis marks. `words` allows letters and words in it, as in a list. */
export function checkboxAt(text: string, column: number, words = false): FoundCheckbox | undefined {
  AT_START.lastIndex = column;
  const match = AT_START.exec(text);
  if (match === null) return undefined;
  const mark = match[2] ?? match[4] ?? "";
  return NOT_A_SIGN.test(mark) && (!words || NO_BOX.test(mark)) ? undefined : found(match);
}

/** Returns all checkboxes of a line, except those in code spans. Letters count only in `checkboxAt`. */
export function checkboxesIn(text: string): FoundCheckbox[] {
  if (!BEGIN.test(text)) return [];
  const open = withoutCode(text);
  return [...open.matchAll(ANYWHERE)].filter((match) => isCheckbox(match, open)).map(found);
}

function found(match: RegExpExecArray | RegExpMatchArray): FoundCheckbox {
  const [whole, before = "", mark = "", after = "", ballot] = match;
  const index = match.index ?? 0;
  const end = index + whole.length;
  if (ballot !== undefined) {
    const column = index + whole.indexOf(ballot);
    return { mark: ballot, column, start: column, end };
  }
  const closing = whole.endsWith("\\]") ? 2 : 1;
  const inside = end - closing - before.length - mark.length - after.length;
  const escaped = mark.startsWith("\\") ? 1 : 0;
  const start = index + Math.max(0, whole.search(BEGIN));
  return { mark: mark.slice(escaped), column: inside + (mark === "" ? 0 : before.length + escaped), start, end };
}

/** Returns a line with backticks in place of its code spans. */
function withoutCode(text: string): string {
  let open = "";
  for (const { code, text: part } of codeParts(text)) open += code ? "`".repeat(part.length) : part;
  return open;
}

/** Checks that brackets are not the end of a name (`string[]`, `list[-]`) or a link. `[ ]` is always a checkbox. */
function isCheckbox({ 0: whole, 1: space = "", 2: mark, 4: ballot, index }: RegExpMatchArray, text: string): boolean {
  if (ballot !== undefined || (mark === undefined && space !== "")) return true;
  return !/[\p{L}\p{N}_)\]]/u.test(text.charAt((index ?? 0) - 1)) && text.charAt((index ?? 0) + whole.length) !== "(";
}
