/** Blocks between two marks, each a line of its own, in texts whose other lines belong to somebody else. */
import type { Insertion } from "./cuts.js";

/** The lines that enclose a block. */
export interface Marks {
  readonly begin: string;
  readonly end: string;
}

/** Marks in Markdown, which no page shows. */
export const MARKDOWN_MARKS: Marks = { begin: "<!-- phasegate:begin -->", end: "<!-- phasegate:end -->" };
/** Marks in a file such as `.gitignore`. */
export const COMMENT_MARKS: Marks = { begin: "# phasegate:begin", end: "# phasegate:end" };

/** Says why a text has no block that could be found; undefined if it has one, or none at all. */
export function markProblem(text: string, marks: Marks): string | undefined {
  const [begins, ends] = [linesOf(text, marks.begin), linesOf(text, marks.end)];
  if (begins.length === 0 && ends.length === 0) return undefined;
  const isWhole = begins.length === 1 && ends.length === 1 && (begins[0]?.start ?? 0) < (ends[0]?.start ?? 0);
  if (isWhole) return undefined;
  return `its marks "${marks.begin}" and "${marks.end}" don't enclose one block`;
}

/** Returns the lines between the marks, with LF; undefined if there is no block. */
export function findBlock(text: string, marks: Marks): string | undefined {
  const range = rangeOf(text, marks);
  if (range === undefined) return undefined;
  const lines = text.slice(range.start, range.end).replaceAll("\r\n", "\n").split("\n");
  return lines.slice(1, lines.at(-1) === "" ? -2 : -1).join("\n");
}

/** Returns what to insert for a block at the end of a text. */
export function addBlock(text: string, marks: Marks, block: string): Insertion[] {
  const eol = text.includes("\r\n") ? "\r\n" : "\n";
  const before = text.trim() === "" ? "" : text.endsWith("\n") ? eol : `${eol}${eol}`;
  return [{ offset: text.length, text: before + written(marks, block, eol) }];
}

/** Replaces the block of a text. */
export function replaceBlock(text: string, marks: Marks, block: string): string {
  const range = rangeOf(text, marks);
  if (range === undefined) return text;
  const eol = text.includes("\r\n") ? "\r\n" : "\n";
  return text.slice(0, range.start) + written(marks, block, eol) + text.slice(range.end);
}

/** Removes the block of a text, and a blank line before it. */
export function removeBlock(text: string, marks: Marks): string {
  const range = rangeOf(text, marks);
  if (range === undefined) return text;
  const before = text.slice(0, range.start);
  const blank = ["\r\n\r\n", "\n\n"].find((end) => before.endsWith(end));
  return (blank === undefined ? before : before.slice(0, -blank.length / 2)) + text.slice(range.end);
}

/** Returns a block with its marks. */
export function written({ begin, end }: Marks, block: string, eol = "\n"): string {
  return `${[begin, ...block.split("\n"), end].join(eol)}${eol}`;
}

interface Range {
  readonly start: number;
  readonly end: number;
}

/** Returns where a block is, with its marks and the end of its last line. */
function rangeOf(text: string, marks: Marks): Range | undefined {
  const [begin] = linesOf(text, marks.begin);
  const [end] = linesOf(text, marks.end);
  return begin === undefined || end === undefined ? undefined : { start: begin.start, end: end.end };
}

function linesOf(text: string, mark: string): Range[] {
  let offset = 0;
  const found: Range[] = [];
  for (const line of text.split(/(?<=\n)/)) {
    if (line.trim() === mark) found.push({ start: offset, end: offset + line.length });
    offset += line.length;
  }
  return found;
}
