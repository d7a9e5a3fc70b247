/**
 * Parses the blocks of a source. A long source is parsed in pieces, because micromark takes quadratic time; it is only
 * cut where no block continues. Code and comments are blanked out first, and inline marks are not parsed. The parser gets
 * only the beginning of each line, which decides about blocks: it takes time for each character.
 */
import type { Nodes, RootContent } from "mdast";
import { fromMarkdown, hasTooManyLines } from "../workflow/from-markdown.js";
import { planError } from "./plan.js";
import type { Region, SourceText } from "./source.js";
import { checkboxesIn } from "./task-line.js";

/** The blocks of one piece of the source. */
export interface Section {
  /** Added to the line numbers of the blocks, which count from 1, to get lines from 0. */
  readonly base: number;
  readonly blocks: readonly RootContent[];
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
      const piece = lines.slice(base, line).map(beginOf).join("\n");
      const blocks = length === line - base ? [] : fromMarkdown(piece, BLOCKS_ONLY).children;
      yield { base: base - 1, blocks };
      base = line;
      length = 0;
    }
    length += (lines[line] ?? "").length + 1;
  }
}

/** The marks before the words of a line, and the first character of these. */
const BEGIN = /^[\s\d>*+=_#).-]*[^`~]?/;

/**
 * Returns the part of a line that decides about blocks, so that the parser need not go through the words. Where a fence
 * may begin, it is the whole line: its end shows whether it is one.
 */
function beginOf(line: string): string {
  const [begin = ""] = BEGIN.exec(line) ?? [];
  const next = line[begin.length];
  return next === "`" || next === "~" ? line : begin;
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
      `it has ${lines.length} lines, too many for its length and nesting`,
      "Remove what is not part of the plan, or nest its lists less.",
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

/**
 * Returns the lines, from 0, of checkboxes in code that strict Markdown reads as text. Parses only if there may be some.
 */
export function strictTextLines(source: SourceText, regions: readonly Region[]): ReadonlySet<number> {
  const lines = afterPlain(source, regions).flatMap((region) => linesWithCheckbox(source, region));
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

const PLAIN_BEGIN = /^(?:`{3}|~{3})/;
const PLAIN_END = /^ {0,3}(?:`{3,}|~{3,})[ \t]*$/;
const HTML = /^[\s\d>*+).-]*</;

/**
 * Returns the regions from the first one on that may not be code in strict Markdown. One before it is surely code: no HTML
 * is above it, its fences are in no list or quote, and so are those before.
 */
function afterPlain(source: SourceText, regions: readonly Region[]): readonly Region[] {
  let line = 0;
  for (const [index, region] of regions.entries()) {
    for (; line < region.start; line += 1) if (HTML.test(source.text(line))) return regions.slice(index);
    if (!isPlain(source, region)) return regions.slice(index);
    line = region.end;
  }
  return [];
}

/** Checks for code between two fences that are in no list or quote. */
function isPlain(source: SourceText, { start, end, strictEnd, unclosed }: Region): boolean {
  if (unclosed || strictEnd !== undefined) return false;
  return PLAIN_BEGIN.test(source.text(start)) && PLAIN_END.test(source.text(end - 1));
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
