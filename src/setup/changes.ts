/**
 * What is added to the end of a text, and taken out again: lines between two marks, or a table of a TOML text. The other lines
 * belong to somebody else: their comments, order and line ends stay. And the ranges that were inserted into a text, which must
 * be cut out to have it as it was. Offsets are in UTF-16 units.
 */
import { applyEdits, type Edit } from "jsonc-parser";
import { parse, TomlError } from "smol-toml";
import { isJsonObject, type JsonObject, type JsonValue } from "../workflow/json.js";
import { flat } from "./json-text.js";

/** The lines that enclose a block: in Markdown, such that no page shows. */
function marksOf(path: string): { readonly begin: string; readonly end: string } {
  const [open, close] = path.endsWith(".md") ? ["<!-- ", " -->"] : ["# ", ""];
  return { begin: `${open}phasegate:begin${close}`, end: `${open}phasegate:end${close}` };
}

/** Says why a text has no block that could be found; undefined if it has one, or no mark at all. */
export function blockProblem(text: string, path: string): string | undefined {
  const { begin, end } = marksOf(path);
  const marks = linesIn(text).flatMap(({ line }) => (line === begin || line === end ? line : []));
  const isWhole = marks.length === 2 && marks[0] === begin && marks[1] === end;
  return isWhole || marks.length === 0 ? undefined : `its marks "${begin}" and "${end}" don't enclose one block`;
}

/** Returns the lines between the marks, with LF; undefined if there is no block. */
export function findBlock(text: string, path: string): string | undefined {
  const range = blockIn(text, path);
  return range && text.slice(range.start, range.end).trimEnd().split(/\r?\n/).slice(1, -1).join("\n");
}

/** Returns where a block is, with its marks and the end of its last line. */
export function blockIn(text: string, path: string): Range | undefined {
  const { begin, end } = marksOf(path);
  const lines = linesIn(text);
  const [first, last] = [begin, end].map((mark) => lines.find(({ line }) => line === mark));
  return first && last && { start: first.start, end: last.end };
}

export function blockLines(path: string, block: JsonValue): string[] {
  const { begin, end } = marksOf(path);
  return [begin, ...String(block).split("\n"), end];
}

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
export function findToml(text: string, keys: readonly string[]): unknown {
  return keys.reduce<unknown>(
    (value, key) => (isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined),
    parse(text),
  );
}

/** Returns where a table is that has the form of {@link tableLines}: its header, and the lines `key = value` under it. */
export function tableIn(text: string, keys: readonly string[]): Range | undefined {
  const lines = linesIn(text);
  const first = lines.findIndex(({ line }) => line === headerOf(keys));
  const header = lines[first];
  if (header === undefined) return undefined;
  const values = lines.slice(first + 1);
  const next = values.findIndex(({ text: line }) => !/^\w+ = ["[].*["\]]$/.test(line.trimEnd()));
  return { start: header.start, end: (next === -1 ? lines.at(-1) : lines[first + next])?.end ?? header.end };
}

/** Returns the lines of a table of texts and lists of texts, which JSON and TOML write in the same way. */
export function tableLines(keys: readonly string[], table: JsonObject): string[] {
  return [headerOf(keys), ...Object.entries(table).map(([key, value]) => `${key} = ${flat(value)}`)];
}

function headerOf(keys: readonly string[]): string {
  return `[${keys.join(".")}]`;
}

interface Range {
  readonly start: number;
  readonly end: number;
}

/** Returns the lines of a text, without the blanks around them, and where each is with its line end. */
function linesIn(text: string) {
  let end = 0;
  return text.split(/(?<=\n)/).map((whole) => {
    const start = end;
    end += whole.length;
    return { line: whole.trim(), text: whole, start, end };
  });
}

/** Returns the edit that adds lines to the end of a text, after a blank line. */
export function addLines(text: string, lines: readonly string[]): Edit {
  const eol = eolOf(text);
  const blank = text.trim() === "" ? "" : eol.repeat(text.endsWith("\n") ? 1 : 2);
  return { offset: text.length, length: 0, content: `${blank}${lines.join(eol)}${eol}` };
}

export function replaceLines(text: string, range: Range | undefined, lines: readonly string[]): Edit | undefined {
  if (range === undefined) return undefined;
  const eol = eolOf(text);
  return { offset: range.start, length: range.end - range.start, content: `${lines.join(eol)}${eol}` };
}

/** Takes a range out, and a blank line before it. */
export function removeLines(text: string, range: Range | undefined): string | undefined {
  if (range === undefined) return undefined;
  const before = text.slice(0, range.start);
  return before.replace(/(\r?\n)\r?\n$/, "$1") + text.slice(range.end);
}

function eolOf(text: string): string {
  return text.includes("\r\n") ? "\r\n" : "\n";
}

/** The ranges of a text that were inserted, as offset and length, from the first to the last. */
export type Cuts = readonly (readonly [offset: number, length: number])[];

export function cutAll(text: string, cuts: Cuts): string {
  return applyEdits(
    text,
    cuts.map(([offset, length]) => ({ offset, length, content: "" })),
  );
}

/** Returns the inserted ranges after edits; undefined if an edit replaces what was not inserted. */
export function cutsAfter(cuts: Cuts, edits: readonly Edit[]): Cuts | undefined {
  let moved = cuts;
  // From the last to the first, so that no offset is moved by another edit.
  for (const { offset, length, content } of edits.toSorted((a, b) => a.offset - b.offset).toReversed()) {
    const end = offset + length;
    const inside = moved.find(([start, size]) => start <= offset && start < end && end <= start + size);
    if (inside === undefined && length > 0) return undefined;
    const grown = content.length - length;
    const others = moved.filter((cut) => cut !== inside);
    const [start, size] = inside ?? [offset, 0];
    moved = [
      ...others.map(([at, own]) => [at >= offset ? at + grown : at, own] as const),
      [start, size + grown] as const,
    ];
  }
  return moved.toSorted(([a], [b]) => a - b);
}
