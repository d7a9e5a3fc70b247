/** The blocks of a source as a list of rows: a heading, a list item or a line of text each. */
import type { BlockContent, DefinitionContent, List, Paragraph, RootContent } from "mdast";
import { checkboxAt, checkboxesIn, type FoundCheckbox } from "./checkboxes.js";
import type { Section } from "./sections.js";
import type { SourceText } from "./source-text.js";

/** One line of a plan that may say something. */
export interface Row {
  /** A `rule` is a line that parts sections. */
  readonly kind: "heading" | "item" | "text" | "rule";
  /**
   * The level of a heading; how deep an item is nested, from 0; of a line of text, the depth of the item
   * that it belongs to, or -1.
   */
  readonly depth: number;
  /** From 0. */
  readonly line: number;
  /** Where the text begins, from 0: after markers, before a checkbox. */
  readonly column: number;
  /** What stands after markers and checkbox, as it is written. */
  readonly text: string;
  readonly checkbox?: FoundCheckbox;
}

const MARKERS = /^(?:[ \t]*(?:>|[-*+]|\d{1,9}[.)])(?=[ \t]|$))*[ \t]*/;
/** GFM wants a space after a marker; before a checkbox people leave it out. */
const BARE_MARKER = /^[-*+](?=\[)/;
const INDENT = /^[ \t>]*/;
const HEADING = /^[ \t>]*#{1,6}[ \t]*/;
const TITLE = /^ {0,3}(?:phase|task)[ \t]+\d/i;
const RULE = /^[ \t]*(?:-{3,}|={3,})[ \t]*$/;

/** All rows of a source, in order. */
export function readRows(source: SourceText, sections: Iterable<Section>): Row[] {
  const rows: Row[] = [];
  for (const { base, blocks } of sections) addBlocks(blocks, { source, rows, base }, -1);
  return rows;
}

interface Reading {
  readonly source: SourceText;
  readonly rows: Row[];
  readonly base: number;
}

type Block = RootContent | BlockContent | DefinitionContent;

function addBlocks(blocks: readonly Block[], reading: Reading, depth: number): void {
  for (const block of blocks) {
    if (block.type === "list") addList(block, reading, depth + 1);
    else if (block.type === "blockquote") addBlocks(block.children, reading, depth);
    else if (block.type === "paragraph") addLines(block, reading, depth, false);
    else if (block.type === "heading") addHeading(firstLine(block, reading), block.depth, reading, depth);
    else if (block.type === "thematicBreak" && depth === -1) {
      reading.rows.push({ kind: "rule", depth, line: firstLine(block, reading), column: 0, text: "" });
    }
  }
}

function addList(list: List, reading: Reading, depth: number): void {
  for (const item of list.children) {
    const [first, ...others] = item.children;
    if (first?.type === "paragraph") addLines(first, reading, depth, true);
    else if (first !== undefined) addBlocks([first], reading, depth);
    addBlocks(others, reading, depth);
  }
}

/** A paragraph, line by line; the first line of an item is the item. */
function addLines(paragraph: Paragraph, reading: Reading, depth: number, item: boolean): void {
  const first = firstLine(paragraph, reading);
  const last = reading.base + (paragraph.position?.end.line ?? 1);
  if (!item && depth === -1 && isUnderlined(reading.source, first, last)) {
    addHeading(first, reading.source.text(first + 1).includes("=") ? 1 : 2, reading, depth);
    return;
  }
  for (let line = first; line <= last; line += 1) {
    const isItem = item && line === first;
    reading.rows.push(rowAt(reading.source.text(line), line, depth, isItem));
  }
}

function rowAt(text: string, line: number, depth: number, item: boolean): Row {
  const indent = (item ? MARKERS : INDENT).exec(text)?.[0].length ?? 0;
  // A number other than 1 doesn't interrupt a paragraph, and a marker without a space isn't one: with a checkbox it is.
  const marked = indent + markerLength(text.slice(indent));
  const checkbox = checkboxAt(text, marked);
  if (checkbox === undefined)
    return { kind: item ? "item" : "text", depth, line, column: indent, text: text.slice(indent).trim() };
  const emphasis = /^[*_~]*/.exec(text.slice(marked))?.[0] ?? "";
  const rest = `${emphasis}${text.slice(checkbox.end)}`.trim();
  return { kind: "item", depth: item ? depth : depth + 1, line, column: marked, text: rest, checkbox };
}

function markerLength(text: string): number {
  return (BARE_MARKER.exec(text) ?? /^(?:[-*+]|\d{1,9}[.)])[ \t]+(?=(?:\*\*|__|~~|[*_])?\[)/.exec(text) ?? [""])[0]
    .length;
}

/** In a list a heading is a line like others. Its checkbox may stand at its end. */
function addHeading(line: number, level: number, { source, rows }: Reading, depth: number): void {
  const text = source
    .text(line)
    .trimEnd()
    .replace(/[ \t]#+$/, "")
    .trimEnd();
  const column = HEADING.exec(text)?.[0].length ?? 0;
  const first = checkboxAt(text, column);
  const last = first ?? checkboxesIn(text).findLast(({ end }) => end === text.length);
  const title = first === undefined ? text.slice(column, startOf(last)) : text.slice(first.end);
  const place = depth === -1 ? ({ kind: "heading", depth: level } as const) : ({ kind: "text", depth } as const);
  rows.push({ ...place, line, column, text: title.trim(), ...(last === undefined ? {} : { checkbox: last }) });
}

function startOf(checkbox: FoundCheckbox | undefined): number | undefined {
  return checkbox && checkbox.end - checkbox.width - 2;
}

/** A line over one of `=`, or a title of a plan over one of `-`, which otherwise is a rule. */
function isUnderlined(source: SourceText, first: number, last: number): boolean {
  const next = source.text(first + 1);
  if (last > first + 1 || !RULE.test(next)) return false;
  return next.includes("=") ? last === first + 1 : last === first && TITLE.test(source.text(first));
}

function firstLine(block: { position?: { start: { line: number } } | undefined }, { base }: Reading): number {
  return base + (block.position?.start.line ?? 1);
}
