/**
 * Finds checkboxes independently of the plan parser: plain CommonMark determines what is code, and
 * a short pattern what a checkbox is. The parser must find all of them.
 */
import type { Nodes } from "mdast";
import { fromMarkdown } from "mdast-util-from-markdown";

/** Position of a checkbox: line from 1, offset from 0. */
export interface ScannedCheckbox {
  readonly line: number;
  readonly offset: number;
  /** Length of the brackets, or of the character. */
  readonly length: number;
}

/** Between escaped or plain brackets; not a link, a definition, or the end of a name such as `list[-]`. */
const BOX = /(?<![\p{L}\p{N}_\])\\[])\\?\[(?:[^\S\r\n]+|[^\S\r\n]*\\?[xX~✓✔/-]\uFE0F?[^\S\r\n]*)\\?\](?![([:])/gu;
/** Any one letter counts at the start of an item; `[P]` means parallel. */
const LETTERED = /(?<=^[ \t>]*(?:[-*+]|\d{1,9}[.)])[ \t]+)\[(?!P)\p{L}\](?![([:])/gmu;
/** An item that only explains a sign, in a legend. */
const SIGN = /^[ \t]*[-*+][ \t]+\[.?\][ \t]+(?:not started|pending|in progress|completed|done|blocked)[ \t]*$/gim;
const BALLOT = /[☐☑☒🗆🗹]/gu;
/** Code within a line. To CommonMark, backticks in two lines may be a pair; to a parser of lines they are not. */
const SPAN = /(?<!`)(`+)(?!`)[^\r\n]*?(?<!`)\1(?!`)/g;

/** Returns all checkboxes outside of code and comments, with the offsets of their opening brackets. */
export function scanCheckboxes(markdown: string): ScannedCheckbox[] {
  const spans = [...markdown.matchAll(SPAN)].map(({ 0: span, index }) => [index, index + span.length] as const);
  const signs = [...markdown.matchAll(SIGN)].map(({ 0: sign, index }) => [index, index + sign.length] as const);
  const hidden = [...codeAndComments(markdown), ...spans, ...signs].sort(([one], [other]) => one - other);
  const found = [BOX, LETTERED, BALLOT].flatMap((pattern) => [...markdown.matchAll(pattern)]);
  const boxes = new Map(found.map(({ 0: box, index }) => [index, box.length]));
  const starts = lineStarts(markdown);
  return [...boxes]
    .filter(([index]) => !hidden.some(([start, end]) => start <= index && index < end))
    .sort(([one], [other]) => one - other)
    .map(([offset, length]) => ({ offset, length, line: starts.findLastIndex((start) => start <= offset) + 1 }));
}

function lineStarts(markdown: string): number[] {
  return [0, ...[...markdown.matchAll(/\r\n|\n|\r/g)].map(({ 0: end, index }) => index + end.length)];
}

function codeAndComments(markdown: string): (readonly [number, number])[] {
  const found: (readonly [number, number])[] = [];
  const visit = (node: Nodes): void => {
    if (node.type === "code" || node.type === "html") {
      const { start, end } = node.position ?? { start: {}, end: {} };
      found.push([start.offset ?? 0, end.offset ?? 0]);
    }
    if ("children" in node) for (const child of node.children) visit(child);
  };
  // A byte order mark is not part of the text for CommonMark, but it is a character of the file.
  // Indented code is none: people indent lists, and samples in them, too far.
  const options = { extensions: [{ disable: { null: ["codeIndented"] } }] };
  visit(fromMarkdown(markdown.startsWith("\uFEFF") ? ` ${markdown.slice(1)}` : markdown, options));
  return found;
}
