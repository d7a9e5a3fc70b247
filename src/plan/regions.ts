/**
 * Which lines of a source are code or comments. CommonMark ends a fence at the first bare fence, so that a
 * sample within a sample (```` ```bash ```` in ```` ```markdown ````) turns code and text around: whatever
 * follows is lost until the next fence. Here a fence with a language inside another one opens a level of its
 * own, if both are closed and the outer one isn't code that holds headings of the plan.
 */
import type { SourceText } from "./source-text.js";

/** What a line is, where it isn't Markdown to be read. */
export type RegionKind = "code" | "comment";

/** Lines that belong together: from the first to before the last. */
export interface Region {
  readonly kind: RegionKind;
  readonly start: number;
  readonly end: number;
  /** Where strict CommonMark would end it: only for a sample within a sample. */
  readonly strictEnd?: number;
  /** Whether nothing closes it: it runs to the end. */
  readonly unclosed: boolean;
}

const FENCE = /^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(`{3,}(?!.*`)|~{3,})[ \t]*(.*)$/;
const COMMENT = /^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*<!--/;
const RAW = /^[ \t>]*<(pre|script|style|textarea)(?=[\s>]|$)/i;
/** A fence of Markdown may hold headings of its own. */
const MARKDOWN = /^(?:md|markdown|mdx|text|txt)?(?:\s|$)/i;
/** What no code holds: behind it somebody has forgotten to close a fence. */
const PLANNED = /^#{1,6}[ \t].*\b(?:phase|task)[ \t]+\d/i;
interface Fence {
  readonly run: string;
  readonly info: string;
}

const ITEM = /^(?:[-*+]|\d{1,9}[.)])[ \t]/;

/** Finds all code and all comments, in order. */
export function findRegions(source: SourceText): Region[] {
  const regions: Region[] = [];
  let inList = false;
  for (let line = 0; line < source.lines.length; line += 1) {
    const region = regionAt(source, line, inList);
    if (region !== undefined) {
      regions.push(region);
      line = region.end - 1;
    } else {
      inList = staysInList(source.text(line), inList);
    }
  }
  return regions;
}

/** A list goes on over blank and indented lines. */
function staysInList(text: string, inList: boolean): boolean {
  if (ITEM.test(text)) return true;
  return inList && (text.trim() === "" || /^[ \t]/.test(text));
}

function regionAt(source: SourceText, line: number, inList: boolean): Region | undefined {
  const text = source.text(line);
  const fence = fenceOf(text);
  if (fence !== undefined) return fenced(source, line, fence, inList && /^[ \t]|^(?:[-*+]|\d)/.test(text));
  if (COMMENT.test(text)) return until(source, line, "comment", /-->/, text.indexOf("<!--") + 4);
  const raw = RAW.exec(text);
  if (raw !== null) return until(source, line, "code", new RegExp(`</${raw[1]}>`, "i"), 0);
  return undefined;
}

function until(source: SourceText, start: number, kind: RegionKind, close: RegExp, from: number): Region {
  for (let line = start; line < source.lines.length; line += 1) {
    const text = line === start ? source.text(line).slice(from) : source.text(line);
    if (close.test(text)) return { kind, start, end: line + 1, unclosed: false };
  }
  return { kind, start, end: source.lines.length, unclosed: true };
}

/** `listed`: the fence is part of a list item, which ends with the first line that is not indented. */
function fenced(source: SourceText, start: number, opening: Fence, listed: boolean): Region {
  let depth = 1;
  let strictEnd: number | undefined;
  let suspicious = false;
  for (let line = start + 1; line < source.lines.length; line += 1) {
    const text = source.text(line);
    const fence = fenceOf(text);
    const counts = fence?.run.startsWith(opening.run);
    if (fence !== undefined && counts) {
      depth += fence.info === "" ? -1 : 1;
      if (fence.info === "") strictEnd ??= line + 1;
      if (depth === 0) return closed(start, line + 1, strictEnd);
    } else if (listed && strictEnd === undefined && /^\S/.test(text)) {
      return { kind: "code", start, end: line, unclosed: false };
    }
    suspicious ||= !MARKDOWN.test(opening.info) && PLANNED.test(text);
    if (suspicious && strictEnd !== undefined) break;
  }
  if (strictEnd !== undefined) return closed(start, strictEnd, strictEnd);
  return { kind: "code", start, end: source.lines.length, unclosed: true };
}

function fenceOf(text: string): Fence | undefined {
  const [, run, info = ""] = FENCE.exec(text) ?? [];
  return run === undefined ? undefined : { run, info: info.trim() };
}

function closed(start: number, end: number, strictEnd: number | undefined): Region {
  const nested = strictEnd !== undefined && strictEnd !== end;
  return { kind: "code", start, end, unclosed: false, ...(nested ? { strictEnd } : {}) };
}
