/**
 * The lines of a Markdown source, and which of them are code or comments. CommonMark ends a fence at the first bare
 * fence, so a sample in a sample turns code into text and text into code. Here a fence with a language inside another
 * one opens a new level, if both are closed and the outer one has no headings of the plan.
 */
import type { Nodes } from "mdast";
import type { PlanPosition } from "./plan.js";

/** One line of a source, without its line end. */
export interface SourceLine {
  readonly text: string;
  /** The offset of its first character in the file. */
  readonly offset: number;
  /** Its number in the file, from 0, where that is not its place among the lines. */
  readonly line?: number;
}

/** The first and the last line of a node, from 0. */
export type Span = readonly [first: number, last: number];

/** A source by its lines. It computes all positions, so that they are those of the file, also with CRLF, a byte order mark and tabs. */
export class SourceText {
  /** The lines, in order; at least one. */
  readonly lines: readonly SourceLine[];

  constructor(source: string | readonly SourceLine[]) {
    this.lines = typeof source === "string" ? linesOf(source) : source;
  }

  /** Returns the lines of a node; undefined if it has no position. Code that its list ends may end before the next line. */
  span({ position }: Nodes): Span | undefined {
    if (position === undefined) return undefined;
    const { start, end } = position;
    return [start.line - 1, end.column === 1 && end.line > start.line ? end.line - 2 : end.line - 1];
  }

  /** Returns the text of a line, counted from 0; empty for a line that doesn't exist. */
  text(line: number): string {
    return this.lines[line]?.text ?? "";
  }

  /** Returns the position of a character by line and column, which count from 0 here. */
  position(line: number, column: number): PlanPosition {
    const { line: number = line, offset = 0 } = this.lines[line] ?? {};
    return { line: number + 1, column: column + 1, offset: offset + column };
  }

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

function linesOf(source: string): SourceLine[] {
  let offset = source.startsWith("\uFEFF") ? 1 : 0;
  return source
    .slice(offset)
    .split(/(\r\n|\n|\r)/)
    .flatMap((text, index) => {
      offset += text.length;
      return index % 2 === 0 ? [{ text, offset: offset - text.length }] : [];
    });
}

/** Lines of code or of a comment, from `start` to before `end`, counted from 0. */
export interface Region {
  readonly kind: "code" | "comment";
  readonly start: number;
  readonly end: number;
  /** The line where strict CommonMark would end it; only for a sample in a sample. */
  readonly strictEnd?: number | undefined;
  /** True if it is never closed, so that it ends with the source. */
  readonly unclosed: boolean;
}

/** The list item or quote around a fence. */
interface Container {
  /** The minimum indentation of its content, in columns. */
  readonly column: number;
  readonly quoted: boolean;
}

/** Headings, fences, comments and rules end a paragraph. The start of an item or a quote is not part of one. */
const NO_TEXT = /^(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*(?:#{1,6}(?:[ \t]|$)|`{3}[^`]*$|~{3}|<)/;
const RULE = /^[ \t]*(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,})$/;
const BEGINS = /^[ \t]*(?:>|[-*+](?:[ \t]|$)|\d{1,9}[.)](?:[ \t]|$))/;
const LATER = /^[ \t]*(?!1[.)])\d/;
const MARKER = /^([ \t]*)((?:[-*+]|\d{1,9}[.)])[ \t]+|(?:[-*+]|\d{1,9}[.)])$)/;
const QUOTED = /^[ \t]*>/;

const COMMENT = /^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*<!--/;
export const RAW = /^[ \t>]*<(pre|script|style|textarea)(?=[\s>]|$)/i;
export const FENCE = /^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(`{3,}|~{3,})/;

/** Lines that end code in a list item that is indented less than the item. */
const ENDS_CODE = /^[ \t>]*(?:[-*+][ \t]|\d{1,9}[.)][ \t]|#{1,6}[ \t])/;

/** The languages of fences that may contain headings. */
const MARKDOWN = /^(?:md|markdown|mdx|text|txt)?(?:\s|$)/i;
/** A fence around a list of tasks, which GitHub shows as one. */
const TASK_LIST = /^\[tasklist\]/i;
/** A heading of the plan: code that contains one was probably never closed. */
const PLANNED = /^#{1,6}[ \t].*\b(?:phase|task)[ \t]+\d/i;

/** Budget for lines that are searched for the ends of nested samples, for each line of the source. */
const LOOK_AHEAD = 20;

/** A line of YAML. A checkbox is not one, so that front matter hides none. */
const YAML_LINE = /^(?:[ \t]*$|[\w"'.-]+[ \t]*:(?:[ \t]|$)|[ \t]*-[ \t](?!\\?\[)|[ \t]+(?![ \t]|[-*+][ \t])|[\]}])/;

/** Returns the line behind the YAML front matter; 0 without one. */
function frontMatterEnd(source: SourceText): number {
  if (!/^---[ \t]*$/.test(source.text(0)) || !/^[\w"']/.test(source.text(1))) return 0;
  const end = source.lines.findIndex(({ text }, line) => line > 0 && !YAML_LINE.test(text));
  return /^(?:---|\.\.\.)[ \t]*$/.test(source.text(end)) ? end + 1 : 0;
}

/** Finds all code and all comments, in order; front matter is code. */
export function findRegions(source: SourceText): Region[] {
  /** The columns where the text of the open items begins. */
  const open: number[] = [];
  /** True if the line before is part of a paragraph that the next line may continue. */
  let isText = false;
  /** The number of lines that may still be searched without a result. */
  let budget = 2000 + source.lines.length * LOOK_AHEAD;
  const regions: Region[] = [];
  /** The lines that end fences whose content is read. */
  const ends = new Set<number>();
  const begin = frontMatterEnd(source);
  if (begin > 0) regions.push({ kind: "code", start: 0, end: begin, unclosed: false });
  for (let line = begin; line < source.lines.length; line += 1) {
    const region = regionAt(line);
    follow(source.text(line));
    if (region === undefined) continue;
    regions.push(region);
    line = region.end - 1;
  }
  return regions;

  /** Reads the next line outside of code. */
  function follow(text: string): void {
    const continues = isText;
    isText = text.trim() !== "" && !NO_TEXT.test(text) && !RULE.test(text);
    // A paragraph continues in lines that are indented less.
    if (text.trim() === "" || (continues && isText && !BEGINS.test(text))) return;
    const outside = open.length === 0;
    closeItems(text);
    // A list that interrupts a paragraph must begin with 1.
    if (continues && outside && LATER.test(text)) return;
    let rest = text;
    let column = 0;
    for (let match = MARKER.exec(rest); match !== null; match = MARKER.exec(rest)) {
      column += columnsOf(match[0], column);
      open.push(column);
      rest = rest.slice(match[0].length);
    }
  }

  /** Returns the region that begins at a line, if one does. */
  function regionAt(line: number): Region | undefined {
    const text = source.text(line);
    const fence = fenceOf(text);
    if (ends.has(line)) return { kind: "code", start: line, end: line + 1, unclosed: false };
    if (fence !== undefined) {
      const region = fenced(line, fence, around(text));
      if (!TASK_LIST.test(fence.info)) return region;
      if (fenceOf(source.text(region.end - 1)) !== undefined) ends.add(region.end - 1);
      return { ...region, end: line + 1 };
    }
    if (COMMENT.test(text)) return until("-->", "comment", line);
    const raw = RAW.exec(text)?.[1];
    if (raw === undefined) return undefined;
    const container = around(text);
    return indentOf(text) > container.column + 3
      ? undefined
      : until(`</${raw.toLowerCase()}>`, "code", line, container);
  }

  /** Returns the container of a line that begins code. */
  function around(text: string): Container {
    closeItems(text);
    const marked = MARKER.exec(text)?.[0] ?? "";
    return { column: marked === "" ? (open.at(-1) ?? 0) : columnsOf(marked), quoted: QUOTED.test(text) };
  }

  function closeItems(text: string): void {
    const indent = indentOf(text);
    while ((open.at(-1) ?? 0) > indent) open.pop();
  }

  /** Returns the region of a fence: up to its end, or that of its item or quote, also if its lines are indented less and an end follows. */
  function fenced(start: number, opening: Fence, container: Container): Region {
    let depth = 1;
    let strictEnd: number | undefined;
    let left = false;
    let suspicious = false;
    for (let line = start + 1; line < source.lines.length; line += 1) {
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
        const isNested = strictEnd !== line + 1;
        if (depth === 0)
          return { kind: "code", start, end: line + 1, unclosed: false, strictEnd: isNested ? strictEnd : undefined };
      }
      suspicious ||= !MARKDOWN.test(opening.info) && PLANNED.test(text);
      if (strictEnd === undefined) continue;
      budget -= 1;
      if (suspicious || budget < 0) break;
    }
    return { kind: "code", start, end: strictEnd ?? source.lines.length, unclosed: strictEnd === undefined };
  }

  /** Returns the region up to the line with its end, or to the end of the item or quote around it. */
  function until(close: string, kind: Region["kind"], start: number, container?: Container): Region {
    for (let line = start; line < source.lines.length; line += 1) {
      const text = source.text(line);
      if (container !== undefined && leaves(text, container)) return { kind, start, end: line, unclosed: false };
      if (text.toLowerCase().includes(close)) return { kind, start, end: line + 1, unclosed: false };
    }
    return { kind, start, end: source.lines.length, unclosed: true };
  }
}

type Fence = NonNullable<ReturnType<typeof fenceOf>>;

/** Reads a line that begins or ends code. */
function fenceOf(text: string) {
  const [before = "", run] = FENCE.exec(text) ?? [];
  const info = text.slice(before.length);
  return run === undefined || (run.startsWith("`") && info.includes("`")) ? undefined : { run, info: info.trim() };
}

/** Checks whether a line is outside a container, which ends there. */
function leaves(text: string, { column, quoted }: Container): boolean {
  if (quoted && (!QUOTED.test(text) || indentOf(text) > column + 3)) return true;
  return text.trim() !== "" && indentOf(text) < column;
}

const TAB = 4;

/** Returns the width of a text, in columns; it begins at the column `from`. */
export function columnsOf(text: string, from = 0): number {
  let column = from;
  for (const char of text) column += char === "\t" ? TAB - (column % TAB) : 1;
  return column - from;
}

function indentOf(text: string): number {
  return columnsOf(/^[ \t]*/.exec(text)?.[0] ?? "");
}
