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
}

/** Not a link, and not the end of a name such as `list[-]`. */
const BOX = /(?<![\p{L}\p{N}_\])[])\[(?:[ \t]+|[xX~-])\](?![([])/gu;
/** Code within a line. To CommonMark, backticks in two lines may be a pair; to a parser of lines they are not. */
const SPAN = /(?<!`)(`+)(?!`)[^\r\n]*?(?<!`)\1(?!`)/g;

/** Returns all checkboxes outside of code and comments, with the offsets of their opening brackets. */
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
  // A byte order mark is not part of the text for CommonMark, but it is a character of the file.
  visit(fromMarkdown(markdown.startsWith("\uFEFF") ? ` ${markdown.slice(1)}` : markdown));
  return found;
}
