/**
 * Texts as they are stored. SQLite keeps text as UTF-8, which has no place for a lone surrogate, and Node's driver ends
 * one at its first NUL. So an odd text becomes a blob of its UTF-16 units; all others stay readable at a SQL prompt.
 */
import type { SQLOutputValue } from "node:sqlite";
import type { PhasegateError } from "../../errors.js";
import { storageFailed } from "./sqlite-failure.js";

/** A row as the driver gives it. */
export type Row = Readonly<Record<string, SQLOutputValue>>;

/** A text as a value to bind. */
export function storedText(text: string): string | Uint8Array {
  return isOdd(text) ? Buffer.from(text, "utf16le") : text;
}

/** A text for people: an odd one as JSON, where it can be read and never ends early. */
export function readableText(text: string): string {
  return isOdd(text) ? JSON.stringify(text) : text;
}

function isOdd(text: string): boolean {
  return !text.isWellFormed() || text.includes("\0");
}

/** The text in a column. */
export function textIn(row: Row, column: string): string {
  const value = row[column];
  if (typeof value === "string") return value;
  if (value instanceof Uint8Array) return bufferOf(value).toString("utf16le");
  throw notHeld(column, "text");
}

/** The whole number in a column. */
export function numberIn(row: Row, column: string): number {
  const value = row[column];
  if (typeof value === "number") return value;
  throw notHeld(column, "number");
}

/** The bytes in a column. */
export function bytesIn(row: Row, column: string): Buffer {
  const value = row[column];
  if (value instanceof Uint8Array) return bufferOf(value);
  throw notHeld(column, "bytes");
}

function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

function notHeld(column: string, what: string): PhasegateError {
  const remedy = "The database was changed by hand: restore it from a backup.";
  return storageFailed("read", `the column ${column} holds no ${what}`, remedy);
}
