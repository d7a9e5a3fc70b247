/**
 * Which lines of a source are code or comments. CommonMark ends a fence at the first bare fence, so that a
 * sample within a sample (```` ```bash ```` in ```` ```markdown ````) turns code and text around: whatever
 * follows is lost until the next fence. Here a fence with a language inside another one opens a level of its
 * own, if both are closed and the outer one isn't code that holds headings of the plan.
 */
import { type Container, Containers, indentOf, leaves } from "./containers.js";
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
  /** Whether strict CommonMark takes it for text: it is indented too far, or stands in HTML. */
  readonly loose?: true;
}

const FENCE = /^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(`{3,}(?!.*`)|~{3,})[ \t]*(.*)$/;
const COMMENT = /^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*<!--/;
const RAW = /^[ \t>]*<(pre|script|style|textarea)(?=[\s>]|$)/i;
const HTML = /^(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*<[/a-z?!]/i;
/** A fence of Markdown may hold headings of its own. */
const MARKDOWN = /^(?:md|markdown|mdx|text|txt)?(?:\s|$)/i;
/** What no code holds: behind it somebody has forgotten to close a fence. */
const PLANNED = /^#{1,6}[ \t].*\b(?:phase|task)[ \t]+\d/i;
/** What ends code that stands in a list item and isn't indented as the item is. */
const ENDS_CODE = /^[ \t>]*(?:[-*+][ \t]|\d{1,9}[.)][ \t]|#{1,6}[ \t])/;
/** So many lines are looked through for the ends of samples that hold others, for each line of the source. */
const LOOK_AHEAD = 20;

interface Fence {
  readonly run: string;
  readonly info: string;
}

/** Finds all code and all comments, in order. */
export function findRegions(source: SourceText): Region[] {
  const regions: Region[] = [];
  const containers = new Containers();
  const before = { lines: 2000 + source.lines.length * LOOK_AHEAD, html: false };
  for (let line = 0; line < source.lines.length; line += 1) {
    const text = source.text(line);
    const region = regionAt(source, line, containers, before);
    containers.follow(text);
    before.html = text.trim() !== "" && (before.html || HTML.test(text));
    if (region === undefined) continue;
    regions.push(region);
    line = region.end - 1;
  }
  return regions;
}

/** What is known of the lines before. */
interface Before {
  /** How many lines may still be looked through in vain. */
  lines: number;
  /** Whether HTML has begun, which goes on up to a blank line. */
  html: boolean;
}

function regionAt(source: SourceText, line: number, containers: Containers, before: Before): Region | undefined {
  const text = source.text(line);
  const fence = fenceOf(text);
  if (fence !== undefined) return fenced(source, line, fence, containers.around(text), before);
  if (COMMENT.test(text)) return comment(source, line, text.indexOf("<!--") + 2);
  const raw = RAW.exec(text)?.[1];
  const container = containers.around(text);
  if (raw === undefined || indentOf(text) > container.column + 3) return undefined;
  return tagged(source, line, new RegExp(`</${raw}>`, "i"), container);
}

function comment(source: SourceText, start: number, from: number): Region {
  for (let line = start; line < source.lines.length; line += 1) {
    const text = line === start ? source.text(line).slice(from) : source.text(line);
    if (text.includes("-->")) return { kind: "comment", start, end: line + 1, unclosed: false };
  }
  return { kind: "comment", start, end: source.lines.length, unclosed: true };
}

/** `<pre>` and the like: up to the end of the tag, or of the item or quote that it stands in. */
function tagged(source: SourceText, start: number, close: RegExp, container: Container): Region {
  for (let line = start; line < source.lines.length; line += 1) {
    const text = source.text(line);
    if (line > start && leaves(text, container)) return { kind: "code", start, end: line, unclosed: false };
    if (close.test(text)) return { kind: "code", start, end: line + 1, unclosed: false };
  }
  return { kind: "code", start, end: source.lines.length, unclosed: true };
}

/**
 * Code ends with its fence, or with the list item or the quote that it stands in; lines of code that aren't
 * indented as their item is are still code, if the fence comes before anything that no code would be.
 */
function fenced(source: SourceText, start: number, opening: Fence, container: Container, before: Before): Region {
  const far = indentOf(source.text(start)) > container.column + 3;
  const loose = far || before.html ? ({ loose: true } as const) : {};
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
      if (depth === 0) return { ...closed(start, line + 1, strictEnd), ...loose };
    }
    suspicious ||= !MARKDOWN.test(opening.info) && PLANNED.test(text);
    if (strictEnd === undefined) continue;
    before.lines -= 1;
    if (suspicious || before.lines < 0) break;
  }
  if (strictEnd !== undefined) return { ...closed(start, strictEnd, strictEnd), ...loose };
  return { kind: "code", start, end: last, unclosed: true };
}

function fenceOf(text: string): Fence | undefined {
  const [, run, info = ""] = FENCE.exec(text) ?? [];
  return run === undefined ? undefined : { run, info: info.trim() };
}

function closed(start: number, end: number, strictEnd: number | undefined): Region {
  const nested = strictEnd !== undefined && strictEnd !== end;
  return { kind: "code", start, end, unclosed: false, ...(nested ? { strictEnd } : {}) };
}
