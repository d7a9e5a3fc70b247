/**
 * Reads the blocks of a source as rows: headings, list items and lines of text. A long source is parsed in pieces,
 * because micromark takes quadratic time; it is only cut where no block continues. Code and comments are blanked out
 * first, and inline marks are not parsed.
 */
import type { BlockContent, DefinitionContent, List, Nodes, Paragraph, RootContent } from "mdast";
import { fromMarkdown, hasTooManyLines } from "../workflow/from-markdown.js";
import { planError } from "./plan.js";
import type { Region, SourceText } from "./source.js";
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

/** The blocks of one piece of the source. */
interface Section {
  /** Added to the line numbers of the blocks, which count from 1, to get lines from 0. */
  readonly base: number;
  readonly blocks: readonly RootContent[];
}

/** Returns all rows of a source, in order. */
export function readRows(source: SourceText, sections: Iterable<Section>): Row[] {
  const rows: Row[] = [];
  const all = [...sections];
  const isMarked = all.some(({ blocks }) => blocks.some(({ type }) => type === "heading"));
  for (const { base, blocks } of all) addBlocks(blocks, { source, rows, base, isMarked }, -1);
  return rows;
}

/** Minimum length of a piece that is not the last, in characters. Parsing many small pieces costs more. */
const PIECE = 400;

/** Constructs inside a line, which don't matter for headings, lists and code. */
const INLINE = [
  ...["attention", "autolink", "htmlText", "labelStartImage", "labelStartLink", "labelEnd", "codeText"],
  ...["characterReference", "characterEscape", "hardBreakEscape"],
] as const;

/**
 * Disables constructs that plans don't need. Indented code: a list that is indented too far is still a list. HTML: a list
 * between `<details>` and `</details>` is still a list.
 */
const BLOCKS_ONLY = { disabled: ["codeIndented", "definition", "htmlFlow", "setextUnderline", ...INLINE] };

/** Parses a source piece by piece. Throws `PLAN_PARSE` for a section that is too large or nested too deep. */
export function* parseSections(source: SourceText, regions: readonly Region[], file: string): Generator<Section> {
  const lines = source.lines.map(({ text }) => text);
  for (const { start, end } of regions) lines.fill("", start, end);
  checkSections(lines, file);
  let base = 0;
  let length = 0;
  for (let line = 0; line <= lines.length; line += 1) {
    if (line === lines.length || (length > PIECE && beginsAnew(lines, line))) {
      const piece = lines.slice(base, line).join("\n");
      const blocks = length === line - base ? [] : fromMarkdown(piece, BLOCKS_ONLY).children;
      yield { base: base - 1, blocks };
      base = line;
      length = 0;
    }
    length += (lines[line] ?? "").length + 1;
  }
}

/** Returns the lines, from 0, of checkboxes in code that strict Markdown reads as text. Parses only if there may be some. */
export function strictTextLines(source: SourceText, regions: readonly Region[]): ReadonlySet<number> {
  const lines = regions.flatMap((region) => linesWithCheckbox(source, region));
  if (lines.length === 0) return new Set();
  const code = new Set<number>();
  const wanted = new Set(lines);
  for (const [start, end] of stretches(source, regions)) {
    let found = false;
    for (let line = start; line < end && !found; line += 1) found = wanted.has(line);
    if (found) addCode(source, start, end, code);
  }
  return new Set(lines.filter((line) => !code.has(line)));
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

const ATX_HEADING = /^#{1,6}(?:[ \t]|$)/;

/** Maximum number of characters between two headings. */
const SECTION_MAX = 64 * 1024;
/** Maximum nesting depth of lists and quotes in one line. */
const NESTING_MAX = 50;

const NESTED = new RegExp(String.raw`^(?:[ \t]*(?:>|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t]))){${NESTING_MAX}}`);

function checkSections(lines: readonly string[], file: string): void {
  if (hasTooManyLines(lines)) {
    throw planError(
      { file, line: 1 },
      `it has ${lines.length} lines, too many for its length`,
      "Remove what is not part of the plan.",
    );
  }
  let start = 0;
  let length = 0;
  for (const [line, text] of lines.entries()) {
    if (ATX_HEADING.test(text)) {
      start = line;
      length = 0;
    }
    length += text.length + 1;
    if (length > SECTION_MAX) {
      const hint = "Add headings, or split the file.";
      throw planError(
        { file, line: start + 1 },
        `there are more than ${SECTION_MAX} characters between two headings`,
        hint,
      );
    }
    if (NESTED.test(text)) {
      const hint = "Remove some of the markers of lists and quotes.";
      throw planError(
        { file, line: line + 1 },
        `lists and quotes are nested more than ${NESTING_MAX} levels deep`,
        hint,
      );
    }
  }
}

const BULLET = /^[-*+][ \t]+\S/;

/** Checks whether no block continues in a line: it is a heading or a bullet, or follows a blank line. */
function beginsAnew(lines: readonly string[], line: number): boolean {
  const text = lines[line] ?? "";
  return ATX_HEADING.test(text) || BULLET.test(text) || (/^\S/.test(text) && (lines[line - 1] ?? "").trim() === "");
}

function linesWithCheckbox(source: SourceText, { kind, start, end }: Region): number[] {
  if (kind !== "code") return [];
  const lines = Array.from({ length: end - start }, (_, index) => start + index);
  return lines.filter((line) => checkboxesIn(source.text(line)).length > 0);
}

/** Maximum length of a source that is parsed as a whole. A longer one is parsed between headings. */
const WHOLE_MAX = 256 * 1024;

const HEADING_LINE = /^#{1,6}[ \t]/;

/** Returns the whole source, or the lines between headings outside of code. */
function stretches(source: SourceText, regions: readonly Region[]): (readonly [number, number])[] {
  const last = source.lines.length;
  if ((source.lines.at(-1)?.offset ?? 0) <= WHOLE_MAX) return [[0, last]];
  const hidden = new Set<number>();
  for (const { start, end } of regions) for (let line = start; line < end; line += 1) hidden.add(line);
  const cuts = source.lines.flatMap(({ text }, line) => (HEADING_LINE.test(text) && !hidden.has(line) ? [line] : []));
  return [0, ...cuts].map((start, index) => [start, cuts[index] ?? last] as const);
}

/** HTML elements with code; the content of others is text. */
const RAW = /^<(?:pre|script|style|textarea)(?=[\s>])/i;

function addCode(source: SourceText, start: number, end: number, code: Set<number>): void {
  const text = Array.from({ length: end - start }, (_, index) => source.text(start + index)).join("\n");
  const visit = (node: Nodes): void => {
    const raw = node.type === "html" && RAW.test(node.value);
    if ((node.type === "code" || raw) && node.position !== undefined) {
      for (let { line } = node.position.start; line <= node.position.end.line; line += 1) code.add(start + line - 1);
    }
    if ("children" in node) for (const child of node.children) visit(child);
  };
  visit(fromMarkdown(text, { disabled: INLINE }));
}
