/**
 * How commits and texts are stored in rows.
 *
 * SQLite stores text as UTF-8, which cannot represent a lone surrogate, and Node's driver ends a text at its first
 * NUL. Such a text is stored as a blob of its UTF-16 units. All others stay readable at a SQL prompt.
 */
import type { PhasegateError } from "../../errors.js";
import type { Commit, SessionSummary } from "../../ports/storage-adapter.js";
import { readSummary } from "../common/session-query.js";
import type { LogDatabase, Row, SqlValue } from "./database.js";
import { storageFailed, tampered } from "./failures.js";
import { MAX_BODY_BYTES } from "./tables.js";

/** Returns the values of a commit's columns, without what other columns have: most commits then take half a page. */
export function storeCommit(commit: Omit<Commit, "body">, body: SqlValue): SqlValue[] {
  const { version, at, schema, previousHash, hash } = commit;
  const { sessionId, updatedAt, ...others } = commit.summary;
  const summary = JSON.stringify(updatedAt === at ? others : { ...others, updatedAt });
  return [version, storedText(at), schema, storedText(previousHash), storedText(hash), summary, body];
}

/** Returns the values of `FOUND_BY`. */
export function keysOf({ kind, workflowType, target, owner = "", status, createdAt, updatedAt }: SessionSummary) {
  return [kind, workflowType, target, owner, status, createdAt, updatedAt.slice(0, 10)];
}

const TOO_LONG = `its body has more than ${MAX_BODY_BYTES} bytes`;

/** Returns the commit in a row. Throws `TAMPERED` for one that can't be read. */
export function commitIn(database: LogDatabase, row: Row): Commit {
  const version = numberIn(row, "version");
  const summary = summaryIn(row);
  if (summary === undefined) throw tampered(textIn(row, "session_id"), version, "its summary can't be read");
  const { sessionId } = summary;
  const body = database.bodyOf(row);
  if (body === undefined) throw tampered(sessionId, version, row.body === null ? TOO_LONG : "its body is missing");
  return {
    sessionId,
    version,
    at: textIn(row, "at"),
    schema: numberIn(row, "schema"),
    previousHash: textIn(row, "previous_hash"),
    hash: textIn(row, "hash"),
    summary,
    body,
  };
}

/** Merges the stored summary with the other columns; undefined if it lacks fields that lists use. */
export function summaryIn(row: Row): SessionSummary | undefined {
  return readSummary(textIn(row, "summary"), row.session_id, { updatedAt: textIn(row, "at") });
}

export function storedText(text: string): string | Uint8Array {
  return text.isWellFormed() && !text.includes("\0") ? text : utf16Of(text);
}

const LITTLE_ENDIAN = true;

function utf16Of(text: string): Uint8Array {
  const units = new DataView(new ArrayBuffer(2 * text.length));
  for (let index = 0; index < text.length; index++) units.setUint16(2 * index, text.charCodeAt(index), LITTLE_ENDIAN);
  return new Uint8Array(units.buffer);
}

/** Takes few arguments at once: all of them are on the stack. */
const UNITS_AT_ONCE = 4096;

/** A `TextDecoder` would replace lone surrogates. */
function textOfUtf16({ buffer, byteOffset, byteLength }: Uint8Array): string {
  const view = new DataView(buffer, byteOffset, byteLength);
  const units = Uint16Array.from({ length: byteLength >> 1 }, (_, index) => view.getUint16(2 * index, LITTLE_ENDIAN));
  let text = "";
  for (let from = 0; from < units.length; from += UNITS_AT_ONCE) {
    text += String.fromCharCode(...units.subarray(from, from + UNITS_AT_ONCE));
  }
  return text;
}

export function textIn(row: Row | undefined, column: string): string {
  const value = row?.[column];
  if (typeof value === "string") return value;
  if (value instanceof Uint8Array) return textOfUtf16(value);
  throw notHeld(column, "text");
}

export function numberIn(row: Row | undefined, column: string): number {
  const value = row?.[column];
  if (typeof value === "number") return value;
  throw notHeld(column, "number");
}

export function bytesIn(row: Row, column: string): Uint8Array {
  const value = row[column];
  if (value instanceof Uint8Array) return value;
  throw notHeld(column, "bytes");
}

function notHeld(column: string, what: string): PhasegateError {
  const remedy = "The database was changed by hand: restore it from a backup.";
  return storageFailed("read", `the column ${column} holds no ${what}`, remedy);
}
