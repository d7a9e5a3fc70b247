/**
 * Adds a table to a TOML text, and takes it out again. The table is appended as text, so comments, order and line ends of
 * the rest stay. Whether the result means what it should is decided by reading it: `mcp_servers = {…}` in the file, for
 * example, admits no such table.
 */
import { parse, TomlError, type TomlTable, type TomlValue } from "smol-toml";
import type { Insertion } from "./cuts.js";

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

/** Returns what to insert for a table. The text with it may have a {@link tomlProblem}. */
export function addToml(text: string, keys: readonly string[], table: TextTable): Insertion[] {
  const eol = text.includes("\r\n") ? "\r\n" : "\n";
  const before = text === "" ? "" : text.endsWith("\n") ? eol : `${eol}${eol}`;
  return [{ offset: text.length, text: `${before}${tableLines(keys, table).join(eol)}${eol}` }];
}

/** Replaces a table as {@link addToml} writes it. Returns undefined if it is written in another way. */
export function replaceToml(text: string, keys: readonly string[], table: TextTable): string | undefined {
  const range = rangeOf(text, keys);
  if (range === undefined) return undefined;
  const eol = text.includes("\r\n") ? "\r\n" : "\n";
  return `${text.slice(0, range.start)}${tableLines(keys, table).join(eol)}${eol}${text.slice(range.end)}`;
}

/** Removes a table as {@link addToml} writes it, and a blank line before it. Returns undefined as {@link replaceToml} does. */
export function removeToml(text: string, keys: readonly string[]): string | undefined {
  const range = rangeOf(text, keys);
  if (range === undefined) return undefined;
  const before = text.slice(0, range.start);
  const blank = ["\r\n\r\n", "\n\n"].find((end) => before.endsWith(end));
  const kept = blank === undefined ? before : before.slice(0, -blank.length / 2);
  return kept + text.slice(range.end);
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
function rangeOf(text: string, keys: readonly string[]): { readonly start: number; readonly end: number } | undefined {
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
