/**
 * The lines of a Markdown source, and which of them are code or comments. CommonMark ends a fence at the first bare
 * fence, so a sample within a sample turns code and text around. Here a fence with a language inside another one opens
 * a level of its own, if both are closed and the outer one holds no headings of the plan.
 */
import type { PlanPosition } from "./plan.js";

/** One line of a source, without its line end. */
interface SourceLine {
  readonly text: string;
  /** Where it begins, in characters of the source. */
  readonly offset: number;
}

/**
 * A source by its lines, whatever their ends are. Everything that is read later names its place by line
 * and column here, so that positions are those of the file: with CRLF, with a byte order mark, with tabs.
 */
export class SourceText {
  readonly lines: readonly SourceLine[];

  constructor(source: string) {
    const lines: SourceLine[] = [];
    const start = source.startsWith("\uFEFF") ? 1 : 0;
    const ends = /\r\n|\n|\r/g;
    ends.lastIndex = start;
    let offset = start;
    for (let end = ends.exec(source); end !== null; end = ends.exec(source)) {
      lines.push({ text: source.slice(offset, end.index), offset });
      offset = end.index + end[0].length;
    }
    lines.push({ text: source.slice(offset), offset });
    this.lines = lines;
  }

  /** Returns the text of a line, from 0; empty for one that is not there. */
  text(line: number): string {
    return this.lines[line]?.text ?? "";
  }

  /** Returns the place of a character: line and column from 0, as they are counted here. */
  position(line: number, column: number): PlanPosition {
    return { line: line + 1, column: column + 1, offset: (this.lines[line]?.offset ?? 0) + column };
  }

  /** Returns the place of a character by its offset. */
  at(offset: number): PlanPosition {
    let [low, high] = [0, this.lines.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((this.lines[middle]?.offset ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return this.position(low, offset - (this.lines[low]?.offset ?? 0));
  }
}

/** What a line is, where it isn't Markdown to be read. */
type RegionKind = "code" | "comment";

/** Lines that belong together: from the first to before the last. */
export interface Region {
  readonly kind: RegionKind;
  readonly start: number;
  readonly end: number;
  /** Where strict CommonMark would end it: only for a sample within a sample. */
  readonly strictEnd?: number;
  /** True if nothing closes it: it runs to the end. */
  readonly unclosed: boolean;
}

/** So many lines are looked through for the ends of samples that hold others, for each line of the source. */
const LOOK_AHEAD = 20;

/** Finds all code and all comments, in order. */
export function findRegions(source: SourceText): Region[] {
  const regions: Region[] = [];
  const containers = new Containers();
  const before = { lines: 2000 + source.lines.length * LOOK_AHEAD };
  for (let line = 0; line < source.lines.length; line += 1) {
    const text = source.text(line);
    const region = regionAt(source, line, containers, before);
    containers.follow(text);
    if (region === undefined) continue;
    regions.push(region);
    line = region.end - 1;
  }
  return regions;
}

/** Where a fence stands. */
interface Container {
  /** How many columns its text must be moved to the right to be still in it. */
  readonly column: number;
  readonly quoted: boolean;
}

/** Headings, fences, comments and rules end a text; what begins an item or a quote is no part of the text before. */
const NO_TEXT = /^(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*(?:#{1,6}(?:[ \t]|$)|`{3}[^`]*$|~{3}|<)/;
const RULE = /^[ \t]*(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,})$/;
const BEGINS = /^[ \t]*(?:>|[-*+](?:[ \t]|$)|\d{1,9}[.)](?:[ \t]|$))/;

const LATER = /^[ \t]*(?!1[.)])\d/;

const MARKER = /^([ \t]*)((?:[-*+]|\d{1,9}[.)])[ \t]+|(?:[-*+]|\d{1,9}[.)])$)/;

const QUOTED = /^[ \t]*>/;

/** Follows the lines of a source, and knows which list items are open. */
class Containers {
  /** The columns at which the text of the items that are open begins. */
  #open: number[] = [];
  /** True if the line before is text that the next one may go on with. */
  #text = false;

  /** Takes in the next line outside of code. */
  follow(text: string): void {
    const goesOn = this.#text;
    this.#text = text.trim() !== "" && !NO_TEXT.test(text) && !RULE.test(text);
    // A text goes on in lines that aren't indented as it is.
    if (text.trim() === "" || (goesOn && this.#text && !BEGINS.test(text))) return;
    const outside = this.#open.length === 0;
    this.#close(text);
    // A list that interrupts a text must begin with 1.
    if (goesOn && outside && LATER.test(text)) return;
    let rest = text;
    let column = 0;
    for (let match = MARKER.exec(rest); match !== null; match = MARKER.exec(rest)) {
      column += columnsOf(match[0], column);
      this.#open.push(column);
      rest = rest.slice(match[0].length);
    }
  }

  /** Returns what a line stands in that begins code. */
  around(text: string): Container {
    this.#close(text);
    const column = this.#open.at(-1) ?? 0;
    const marked = MARKER.exec(text)?.[0].length ?? 0;
    return { column: marked > 0 ? columnsOf(text.slice(0, marked)) : column, quoted: QUOTED.test(text) };
  }

  #close(text: string): void {
    const indent = indentOf(text);
    while ((this.#open.at(-1) ?? 0) > indent) this.#open.pop();
  }
}

const TAB = 4;

function columnsOf(text: string, from = 0): number {
  let column = from;
  for (const char of text) column += char === "\t" ? TAB - (column % TAB) : 1;
  return column - from;
}

/** By how many columns a line is indented. */
function indentOf(text: string): number {
  return columnsOf(/^[ \t]*/.exec(text)?.[0] ?? "");
}

/** What is known of the lines before. */
interface Before {
  /** How many lines may still be looked through in vain. */
  lines: number;
}

const COMMENT = /^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*<!--/;
const RAW = /^[ \t>]*<(pre|script|style|textarea)(?=[\s>]|$)/i;

function regionAt(source: SourceText, line: number, containers: Containers, before: Before): Region | undefined {
  const text = source.text(line);
  const fence = fenceOf(text);
  if (fence !== undefined) return fenced(source, line, fence, containers.around(text), before);
  if (COMMENT.test(text)) return comment(source, line, text.indexOf("<!--") + 2);
  const raw = RAW.exec(text)?.[1];
  if (raw === undefined) return undefined;
  const container = containers.around(text);
  if (indentOf(text) > container.column + 3) return undefined;
  return tagged(source, line, `</${raw.toLowerCase()}>`, container);
}

/** A line that begins or ends code. */
interface Fence {
  readonly run: string;
  readonly info: string;
}

const FENCE = /^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(`{3,}|~{3,})/;

/** Returns the fence that a line is. */
function fenceOf(text: string): Fence | undefined {
  const [before = "", run] = FENCE.exec(text) ?? [];
  const info = text.slice(before.length);
  return run === undefined || (run.startsWith("`") && info.includes("`")) ? undefined : { run, info: info.trim() };
}

/** What ends code that stands in a list item and isn't indented as the item is. */
const ENDS_CODE = /^[ \t>]*(?:[-*+][ \t]|\d{1,9}[.)][ \t]|#{1,6}[ \t])/;

/** A fence of Markdown may hold headings of its own. */
const MARKDOWN = /^(?:md|markdown|mdx|text|txt)?(?:\s|$)/i;
/** What no code holds: behind it somebody has forgotten to close a fence. */
const PLANNED = /^#{1,6}[ \t].*\b(?:phase|task)[ \t]+\d/i;

/**
 * Code ends with its fence, or with the list item or the quote that it stands in; lines of code that aren't
 * indented as their item is are still code, if the fence comes before anything that no code would be.
 */
function fenced(source: SourceText, start: number, opening: Fence, container: Container, before: Before): Region {
  let depth = 1;
  let strictEnd: number | undefined;
  let left = false;
  let suspicious = false;
  const last = source.lines.length;
  for (let line = start + 1; line < last; line += 1) {
    const text = source.text(line);
    if (!left && leaves(text, container)) {
      if (strictEnd !== undefined) break;
      left = true;
      strictEnd = line;
    }
    if (left && ENDS_CODE.test(text)) break;
    const fence = fenceOf(text);
    if (fence?.run.startsWith(opening.run)) {
      depth += fence.info === "" ? -1 : 1;
      if (fence.info === "") strictEnd ??= line + 1;
      if (depth === 0) return closed(start, line + 1, strictEnd);
    }
    suspicious ||= !MARKDOWN.test(opening.info) && PLANNED.test(text);
    if (strictEnd === undefined) continue;
    before.lines -= 1;
    if (suspicious || before.lines < 0) break;
  }
  if (strictEnd !== undefined) return closed(start, strictEnd, strictEnd);
  return { kind: "code", start, end: last, unclosed: true };
}

/** Checks whether a line stands outside of a container, which ends there. */
function leaves(text: string, { column, quoted }: Container): boolean {
  if (quoted && (!QUOTED.test(text) || indentOf(text) > column + 3)) return true;
  return column > 0 && text.trim() !== "" && indentOf(text) < column;
}

function closed(start: number, end: number, strictEnd: number | undefined): Region {
  const nested = strictEnd !== undefined && strictEnd !== end;
  return { kind: "code", start, end, unclosed: false, ...(nested ? { strictEnd } : {}) };
}

function comment(source: SourceText, start: number, from: number): Region {
  for (let line = start; line < source.lines.length; line += 1) {
    const text = line === start ? source.text(line).slice(from) : source.text(line);
    if (text.includes("-->")) return { kind: "comment", start, end: line + 1, unclosed: false };
  }
  return { kind: "comment", start, end: source.lines.length, unclosed: true };
}

/** `<pre>` and the like: up to the end of the tag, or of the item or quote that it stands in. */
function tagged(source: SourceText, start: number, close: string, container: Container): Region {
  for (let line = start; line < source.lines.length; line += 1) {
    const text = source.text(line);
    if (line > start && leaves(text, container)) return { kind: "code", start, end: line, unclosed: false };
    if (text.toLowerCase().includes(close)) return { kind: "code", start, end: line + 1, unclosed: false };
  }
  return { kind: "code", start, end: source.lines.length, unclosed: true };
}
