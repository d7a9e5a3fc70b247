/**
 * Where code between fences ends. CommonMark ends a fence at the first bare fence, so that a sample within a
 * sample (```` ```bash ```` in ```` ```markdown ````) turns code and text around: whatever follows is lost
 * until the next fence. Here a fence with a language inside another one opens a level of its own, if both are
 * closed and the outer one isn't code that holds headings of the plan.
 */
import { type Container, leaves } from "./containers.js";
import type { Region } from "./region.js";
import type { SourceText } from "./source-text.js";

const FENCE = /^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(`{3,}|~{3,})/;
/** A fence of Markdown may hold headings of its own. */
const MARKDOWN = /^(?:md|markdown|mdx|text|txt)?(?:\s|$)/i;
/** What no code holds: behind it somebody has forgotten to close a fence. */
const PLANNED = /^#{1,6}[ \t].*\b(?:phase|task)[ \t]+\d/i;
/** What ends code that stands in a list item and isn't indented as the item is. */
const ENDS_CODE = /^[ \t>]*(?:[-*+][ \t]|\d{1,9}[.)][ \t]|#{1,6}[ \t])/;

/** A line that begins or ends code. */
export interface Fence {
  readonly run: string;
  readonly info: string;
}

/** What is known of the lines before. */
export interface Before {
  /** How many lines may still be looked through in vain. */
  lines: number;
}

/**
 * Code ends with its fence, or with the list item or the quote that it stands in; lines of code that aren't
 * indented as their item is are still code, if the fence comes before anything that no code would be.
 */
export function fenced(
  source: SourceText,
  start: number,
  opening: Fence,
  container: Container,
  before: Before,
): Region {
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

/** The fence that a line is. */
export function fenceOf(text: string): Fence | undefined {
  const [before = "", run] = FENCE.exec(text) ?? [];
  const info = text.slice(before.length);
  return run === undefined || (run.startsWith("`") && info.includes("`")) ? undefined : { run, info: info.trim() };
}

function closed(start: number, end: number, strictEnd: number | undefined): Region {
  const nested = strictEnd !== undefined && strictEnd !== end;
  return { kind: "code", start, end, unclosed: false, ...(nested ? { strictEnd } : {}) };
}
