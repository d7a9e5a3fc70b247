/** Reads the blocks of a source as rows: headings, list items and lines of text. */
import type { BlockContent, DefinitionContent, List, Paragraph, RootContent } from "mdast";
import type { Section } from "./blocks.js";
import type { SourceText } from "./source.js";
import { checkboxAt, checkboxesIn, type FoundCheckbox } from "./task-line.js";
import { labelOf } from "./titles.js";

/** One line of a plan that may have a meaning. */
export interface Row {
  /** A `rule` is a line that separates sections. */
  readonly kind: "heading" | "item" | "text" | "rule";
  /** The level of a heading; the nesting depth of an item, from 0; for a line of text, that of its item, or -1. */
  readonly depth: number;
  /** The line, from 0. */
  readonly line: number;
  /** The column of the text, from 0: after markers, before a checkbox. */
  readonly column: number;
  /** The text after markers and checkbox, as it is written. */
  readonly text: string;
  readonly checkbox?: FoundCheckbox;
}

/** Returns all rows of a source, in order. */
export function readRows(source: SourceText, sections: Iterable<Section>): Row[] {
  const rows: Row[] = [];
  const all = [...sections];
  const isMarked = all.some(({ blocks }) => blocks.some(({ type }) => type === "heading"));
  for (const { base, blocks } of all) addBlocks(blocks, { source, rows, base, isMarked }, -1);
  return rows;
}

type Block = RootContent | BlockContent | DefinitionContent;

interface Reading {
  readonly source: SourceText;
  readonly rows: Row[];
  readonly base: number;
  /** True if the source has `#` headings: then a line of `-` is a rule, and the words above it are no heading. */
  readonly isMarked: boolean;
}

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

/** Adds a paragraph, line by line. The first line of an item is the item. */
function addLines(paragraph: Paragraph, reading: Reading, depth: number, item: boolean): void {
  const first = firstLine(paragraph, reading);
  const last = reading.base + (paragraph.position?.end.line ?? 1);
  if (!item && depth === -1 && isUnderlined(reading, first, last)) {
    addHeading(first, levelOf(reading.source.text(first + 1)), reading, depth);
    return;
  }
  for (let line = first; line <= last; line += 1) {
    const text = reading.source.text(line);
    const underline = reading.source.text(line + 1);
    if (OWN_TITLE.test(text) && RULE.test(underline)) {
      addHeading(line, levelOf(underline), reading, -1);
      line += 1;
    } else {
      const own = OWN_PHASE.test(text) ? -1 : depth;
      reading.rows.push(rowAt(text, line, own, item && line === first));
    }
  }
}

/**
 * Markdown joins a line to the item or the words above it if there is no blank line between them. These lines are not
 * joined: titles of the plan that are underlined, and phases in bold.
 */
const OWN_TITLE = /^(?:phase|task)[ \t]+\d/i;
const OWN_PHASE = /^\*\*phase[ \t]+\w/i;

function levelOf(underline: string): number {
  return underline.includes("=") ? 1 : 2;
}

function firstLine(block: { position?: { start: { line: number } } | undefined }, { base }: Reading): number {
  return base + (block.position?.start.line ?? 1);
}

const RULE = /^[ \t]*(?:-{3,}|={3,})[ \t]*$/;

const TITLE = /^ {0,3}(?:phase|task)[ \t]+\d/i;

/**
 * Checks for an underlined heading. With `-`, it must be a title of the plan, or words below a blank line that are no
 * sentence and no label: below these, plans have rules. Where a source has `#` headings, such words are none.
 */
function isUnderlined({ source, isMarked }: Reading, first: number, last: number): boolean {
  const next = source.text(first + 1);
  if (!RULE.test(next)) return false;
  if (next.includes("=")) return last === first + 1;
  return last === first && (TITLE.test(source.text(first)) || (!isMarked && isTitle(source, first)));
}

const BEGIN_OF_TITLE = /^ {0,3}[\p{L}\p{N}\p{Extended_Pictographic}]/u;
const END_OF_TITLE = /[^\p{P}]$|\)$/u;

function isTitle(source: SourceText, line: number): boolean {
  const text = source.text(line).trimEnd();
  if (source.text(line - 1).trim() !== "") return false;
  return BEGIN_OF_TITLE.test(text) && END_OF_TITLE.test(text) && labelOf(text) === undefined;
}

const HEADING = /^[ \t>]*#{1,6}[ \t]*/;

/** Adds a heading. In a list it is a line like others. Its checkbox may be at its end. */
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

const MARKERS = /^(?:[ \t]*(?:>|[-*+]|\d{1,9}[.)])(?=[ \t]|$))*[ \t]*/;

const INDENT = /^[ \t>]*/;

function rowAt(text: string, line: number, depth: number, item: boolean): Row {
  const indent = (item ? MARKERS : INDENT).exec(text)?.[0].length ?? 0;
  // In strict Markdown, a number other than 1 and a marker without a space begin no item. With a checkbox they do here.
  const marked = indent + markerLength(text.slice(indent));
  const checkbox = checkboxAt(text, marked);
  if (checkbox === undefined)
    return { kind: item ? "item" : "text", depth, line, column: indent, text: text.slice(indent).trim() };
  const emphasis = /^[*_~]*/.exec(text.slice(marked))?.[0] ?? "";
  const rest = `${emphasis}${text.slice(checkbox.end)}`.trim();
  return { kind: "item", depth: item ? depth : depth + 1, line, column: marked, text: rest, checkbox };
}

/** GFM requires a space after a marker; before a checkbox people omit it. */
const BARE_MARKER = /^[-*+](?=\[)/;

function markerLength(text: string): number {
  return (BARE_MARKER.exec(text) ?? /^(?:[-*+]|\d{1,9}[.)])[ \t]+(?=(?:\*\*|__|~~|[*_])?\[)/.exec(text) ?? [""])[0]
    .length;
}
