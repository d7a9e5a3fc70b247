/**
 * Changes of a text: insertions, and the cuts that undo them. Offsets are in UTF-16 units. And what is added to the end of a
 * text, and taken out again: lines between two marks, or a table of a TOML text. The other lines belong to somebody else:
 * their comments, order and line ends stay.
 */
import { parse, TomlError, type TomlTable, type TomlValue } from "smol-toml";

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
  const range = blockIn(text, marks);
  if (range === undefined) return undefined;
  const lines = text.slice(range.start, range.end).replaceAll("\r\n", "\n").split("\n");
  return lines.slice(1, lines.at(-1) === "" ? -2 : -1).join("\n");
}

/** Returns what to insert for a block at the end of a text. */
export function addBlock(text: string, marks: Marks, block: string): Insertion[] {
  const blank = text.trim() === "" ? "" : blankLine(text);
  return [{ offset: text.length, text: blank + written(marks, block, eolOf(text)) }];
}

/** Replaces the block of a text. */
export function replaceBlock(text: string, marks: Marks, block: string): string {
  const range = blockIn(text, marks);
  if (range === undefined) return text;
  return text.slice(0, range.start) + written(marks, block, eolOf(text)) + text.slice(range.end);
}

/** Removes the block of a text, and a blank line before it. */
export function removeBlock(text: string, marks: Marks): string {
  const range = blockIn(text, marks);
  return range === undefined ? text : without(text, range);
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
function blockIn(text: string, marks: Marks): Range | undefined {
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

/** A table of texts and lists of texts: what the configuration of a server consists of. */
export type TextTable = Readonly<Record<string, string | readonly string[]>>;

/** Says why a text can't be changed; undefined if it can. */
export function tomlProblem(text: string): string | undefined {
  try {
    parse(text);
    return undefined;
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const [message = ""] = error.message.split("\n");
    return `it is not TOML: ${message.replace("Invalid TOML document: ", "")} (line ${error.line})`;
  }
}

/** Returns the value at some keys; undefined if there is none. The text must have no {@link tomlProblem}. */
export function findToml(text: string, keys: readonly string[]): TomlValue | undefined {
  let value: TomlValue | undefined = parse(text);
  for (const key of keys) value = isTable(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  return value;
}

/**
 * Returns what to insert for a table. The text with it may have a {@link tomlProblem}: `mcp_servers = {…}` in the file, for
 * example, admits no such table.
 */
export function addToml(text: string, keys: readonly string[], table: TextTable): Insertion[] {
  const eol = eolOf(text);
  const blank = text === "" ? "" : blankLine(text);
  return [{ offset: text.length, text: `${blank}${tableLines(keys, table).join(eol)}${eol}` }];
}

/** Replaces a table as {@link addToml} writes it. Returns undefined if it is written in another way. */
export function replaceToml(text: string, keys: readonly string[], table: TextTable): string | undefined {
  const range = tableIn(text, keys);
  if (range === undefined) return undefined;
  const eol = eolOf(text);
  return `${text.slice(0, range.start)}${tableLines(keys, table).join(eol)}${eol}${text.slice(range.end)}`;
}

/** Removes a table as {@link addToml} writes it, and a blank line before it. Returns undefined as {@link replaceToml} does. */
export function removeToml(text: string, keys: readonly string[]): string | undefined {
  const range = tableIn(text, keys);
  return range === undefined ? undefined : without(text, range);
}

/** Returns the lines of a table. Both JSON and TOML write a text in this way. */
export function tableLines(keys: readonly string[], table: TextTable): string[] {
  const values = Object.entries(table).map(([key, value]) => {
    const written =
      typeof value === "string" ? JSON.stringify(value) : `[${value.map((one) => JSON.stringify(one)).join(", ")}]`;
    return `${key} = ${written}`;
  });
  return [`[${keys.join(".")}]`, ...values];
}

/** Finds the header of a table and the lines `key = value` under it, up to a line that is none. */
function tableIn(text: string, keys: readonly string[]): Range | undefined {
  const header = `[${keys.join(".")}]`;
  let offset = 0;
  let start: number | undefined;
  for (const line of text.split(/(?<=\n)/)) {
    if (start === undefined && line.trim() === header) start = offset;
    else if (start !== undefined && !/^\w+ = ["[].*["\]]$/.test(line.trimEnd())) break;
    offset += line.length;
  }
  return start === undefined ? undefined : { start, end: offset };
}

function isTable(value: TomlValue | undefined): value is TomlTable {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

/** Returns the line end of a text. */
function eolOf(text: string): string {
  return text.includes("\r\n") ? "\r\n" : "\n";
}

/** Returns what sets an addition off from the lines before it. */
function blankLine(text: string): string {
  return text.endsWith("\n") ? eolOf(text) : eolOf(text).repeat(2);
}

/** Takes a range out, and a blank line before it. */
function without(text: string, { start, end }: Range): string {
  const before = text.slice(0, start);
  const blank = ["\r\n\r\n", "\n\n"].find((lines) => before.endsWith(lines));
  return (blank === undefined ? before : before.slice(0, -blank.length / 2)) + text.slice(end);
}

/** A text that is inserted at an offset. */
export interface Insertion {
  readonly offset: number;
  readonly text: string;
}

/** The ranges of a text that were inserted, as offset and length, from the first to the last. */
export type Cuts = readonly (readonly [offset: number, length: number])[];

/** Inserts texts. Their offsets are those of the text before. */
export function insertAll(text: string, insertions: readonly Insertion[]): string {
  const parts: string[] = [];
  let from = 0;
  for (const { offset, text: inserted } of ordered(insertions)) {
    parts.push(text.slice(from, offset), inserted);
    from = offset;
  }
  return [...parts, text.slice(from)].join("");
}

/** Cuts ranges out. */
export function cutAll(text: string, cuts: Cuts): string {
  let from = 0;
  const parts = cuts.map(([offset, length]) => {
    const part = text.slice(from, offset);
    from = offset + length;
    return part;
  });
  return [...parts, text.slice(from)].join("");
}

/** Returns the ranges after further insertions, with these. */
export function movedCuts(cuts: Cuts, insertions: readonly Insertion[]): Cuts {
  let moved = cuts;
  // From the last to the first, so that no offset is moved by another insertion.
  for (const { offset, text } of ordered(insertions).toReversed()) {
    const inside = moved.find(([start, length]) => start < offset && offset <= start + length);
    const rest = moved.map(([start, length]): readonly [number, number] => {
      if (inside?.[0] === start) return [start, length + text.length];
      return start >= offset ? [start + text.length, length] : [start, length];
    });
    moved = inside === undefined ? [...rest, [offset, text.length] as const] : rest;
  }
  return moved.toSorted(([a], [b]) => a - b);
}

/** Returns the ranges after a change inside of one of them; undefined if it was not inside. */
export function resizedCuts(cuts: Cuts, before: string, after: string): Cuts | undefined {
  const difference = after.length - before.length;
  let same = 0;
  while (same < before.length && before[same] === after[same]) same += 1;
  const changed = cuts.find(([start, length]) => start <= same && same < start + length);
  const resized = cuts.map(([start, length]): readonly [number, number] => {
    if (start === changed?.[0]) return [start, length + difference];
    return [start > same ? start + difference : start, length];
  });
  return changed !== undefined && cutAll(after, resized) === cutAll(before, cuts) ? resized : undefined;
}

function ordered(insertions: readonly Insertion[]): readonly Insertion[] {
  return insertions.toSorted((a, b) => a.offset - b.offset);
}
