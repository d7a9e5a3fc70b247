/**
 * Checkboxes as people write them. To GFM only `[ ]` and `[x]` after a list marker are any; the rest (`[-]`,
 * `[~]`, `[ ]*`, `[]`, a bare `[ ]`, `**[ ] Task**`, one in a table) is plain text to it, and would be lost.
 */

import { codeParts } from "../definition/markdown/inline-text.js";

/** A checkbox in a line: columns from 0. */
export interface FoundCheckbox {
  /** What stands between the brackets, without spaces: `""`, `x`, `-`, … */
  readonly mark: string;
  /** The column of the character to change; for `[]`, where one is to be put in. */
  readonly column: number;
  /** How many characters stand between the brackets. */
  readonly width: number;
  /** The column after the brackets. */
  readonly end: number;
}

/** A letter or a digit is no mark: `[P]` says parallel, `[1]` is a reference. Some signs come with a selector. */
const BOX = String.raw`\[([ \t]*)(?:([xX]|[^\p{L}\p{N}\s[\]\\]\uFE0F?)([ \t]*))?\]`;
/** `[x](…)` is a link. */
const AT_START = new RegExp(String.raw`(?:\*\*|__|~~|[*_])?[ \t]*${BOX}(?!\()`, "uy");
const ANYWHERE = new RegExp(BOX, "gu");
const TICK = /^(?:[xX]|[✓✔☑✅]\uFE0F?)$/u;

/** Whether a mark says that something is done. */
export function isTicked(mark: string): boolean {
  return TICK.test(mark);
}

/** The checkbox that a text begins with, after `column`; emphasis may stand before it. */
export function checkboxAt(text: string, column: number): FoundCheckbox | undefined {
  AT_START.lastIndex = column;
  const match = AT_START.exec(text);
  return match === null ? undefined : found(match);
}

/** All checkboxes of a line, wherever they stand, but those in code spans. */
export function checkboxesIn(text: string): FoundCheckbox[] {
  if (!text.includes("[")) return [];
  const open = withoutCode(text);
  return [...open.matchAll(ANYWHERE)].filter((match) => isCheckbox(match, open)).map(found);
}

/** A line with backticks in place of its code spans. */
function withoutCode(text: string): string {
  if (!text.includes("`")) return text;
  let open = "";
  for (const { code, text: part } of codeParts(text)) open += code ? "`".repeat(part.length) : part;
  return open;
}

/** Neither the end of a name (`string[]`, `list[-]`) nor a link; `[ ]` is nothing else than a checkbox. */
function isCheckbox({ 0: whole, 1: space = "", 2: mark, index }: RegExpExecArray, text: string): boolean {
  if (mark === undefined && space !== "") return true;
  return !/[\p{L}\p{N}_)\]]/u.test(text.charAt(index - 1)) && text.charAt(index + whole.length) !== "(";
}

function found(match: RegExpExecArray): FoundCheckbox {
  const [whole, before = "", mark = "", after = ""] = match;
  const end = match.index + whole.length;
  const width = before.length + mark.length + after.length;
  const inside = end - 1 - width;
  return { mark, column: inside + (mark === "" ? 0 : before.length), width, end };
}
