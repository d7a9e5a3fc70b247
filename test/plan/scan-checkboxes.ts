/**
 * Finds checkboxes in a way that has nothing to do with the reader's: plain CommonMark says what is code, and
 * a short pattern what a checkbox is. What it finds, the reader must have found too.
 */
import type { Nodes } from "mdast";
import { fromMarkdown } from "mdast-util-from-markdown";

/** Where a checkbox stands: line from 1, offset from 0. */
export interface ScannedCheckbox {
  readonly line: number;
  readonly offset: number;
}

/** Not a link, and not the end of a name such as `list[-]`. */
const BOX = /(?<![\p{L}\p{N}_\])[])\[(?:[ \t]+|[xX~-])\](?![([])/gu;
/** Code within a line. Backticks in two lines may be a pair to CommonMark; to a reader of lines they are none. */
const SPAN = /(?<!`)(`+)(?!`)[^\r\n]*?(?<!`)\1(?!`)/g;

/** All checkboxes outside of code and comments. Offsets are those of the opening bracket. */
export function scanCheckboxes(markdown: string): ScannedCheckbox[] {
  const spans = [...markdown.matchAll(SPAN)].map(({ 0: span, index }) => [index, index + span.length] as const);
  const hidden = [...codeAndComments(markdown), ...spans];
  return [...markdown.matchAll(BOX)]
    .filter(({ index }) => !hidden.some(([start, end]) => start <= index && index < end))
    .map(({ index }) => ({ offset: index, line: markdown.slice(0, index).split(/\r\n|\n|\r/).length }));
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
  // A byte order mark is no part of the text to CommonMark, but it is a character of the file.
  visit(fromMarkdown(markdown.startsWith("\uFEFF") ? ` ${markdown.slice(1)}` : markdown));
  return found;
}
