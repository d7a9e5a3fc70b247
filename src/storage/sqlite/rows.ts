import { kMaxLength } from "node:buffer";
import type { SQLInputValue, SQLOutputValue } from "node:sqlite";
import { promisify } from "node:util";
import { constants, gunzip, gzip, gzipSync } from "node:zlib";
import type { PhasegateError } from "../../errors.js";
import type { Commit, Payload, SessionSummary } from "../../ports/storage-adapter.js";
import { parseSessionId, type SessionId } from "../../workflow/names.js";
import { isSummary } from "../common/session-query.js";
import { storageFailed, tampered } from "./failures.js";
import type { TableNames } from "./tables.js";
/** What a commit is made of, in whatever table it stands. */
export const COMMIT_COLUMNS = "version, at, schema, previous_hash, hash, summary, body";

/**
 * A commit as it is stored, in the order of {@link COMMIT_COLUMNS}. Of the summary that is left out which stands beside it
 * anyway: most commits then take half a page.
 */
export function storeCommit(commit: Commit): SQLInputValue[] {
  const { version, at, schema, previousHash, hash } = commit;
  const { sessionId, updatedAt, ...others } = commit.summary;
  const summary = JSON.stringify(updatedAt === at ? others : { ...others, updatedAt });
  const [time, body] = [storedText(at), storedText(commit.body)];
  return [version, time, schema, storedText(previousHash), storedText(hash), summary, body];
}

/** The commit in a row. Throws `TAMPERED` if its summary is none. */
export function commitIn(row: Row): Commit {
  const summary = storedSummary(row);
  if (summary === undefined) {
    throw tampered(textIn(row, "session_id"), numberIn(row, "version"), "its summary can't be read");
  }
  return {
    sessionId: summary.sessionId,
    version: numberIn(row, "version"),
    at: textIn(row, "at"),
    schema: numberIn(row, "schema"),
    previousHash: textIn(row, "previous_hash"),
    hash: textIn(row, "hash"),
    summary,
    body: textIn(row, "body"),
  };
}

/** The summary in a row; undefined if lists can't go by it. Whether it is true is told by the body, which is under a hash. */
export function summaryIn(row: Row): SessionSummary | undefined {
  const stored = storedSummary(row);
  return isSummary(stored) ? stored : undefined;
}

/** What stands in place of a summary, with what stands beside it; undefined if that is no JSON. */
function storedSummary(row: Row): SessionSummary | undefined {
  const stored = parseSummary(textIn(row, "summary"));
  return stored && { updatedAt: textIn(row, "at"), ...stored, sessionId: parseSessionId(row.session_id) };
}

function parseSummary(json: string): Omit<SessionSummary, "sessionId" | "updatedAt"> | undefined {
  try {
    return JSON.parse(json) ?? undefined;
  } catch {
    return undefined;
  }
}

/** Selects commits `c` of sessions `s` with the columns that {@link commitIn} reads, and others that are named. */
export function selectCommits({ commits, sessions }: TableNames, rest: string, ...others: readonly string[]): string {
  const columns = COMMIT_COLUMNS.split(", ").map((column) => `c.${column}`);
  return `SELECT ${["c.seq", "s.session_id", ...columns, ...others].join(", ")}
    FROM ${commits} c JOIN ${sessions} s ON s.number = c.session ${rest}`;
}

/**
 * Texts as they are stored. SQLite keeps text as UTF-8, which has no place for a lone surrogate, and Node's driver ends
 * one at its first NUL. So an odd text becomes a blob of its UTF-16 units; all others stay readable at a SQL prompt.
 */

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

/** A payload as it is stored: gzip over its text as a JSON string, as UTF-8 has no place for a lone surrogate. */
export interface PackedPayload {
  readonly hash: string;
  readonly bytes: Uint8Array;
}

const compress = promisify(gzip);
const decompress = promisify(gunzip);
/** Shorter texts are packed in this thread: it takes about a millisecond, and another thread is not there any sooner. */
const HERE_MAX = 128 * 1024;
/** A control character is one byte, and six in JSON. */
const MAX_JSON_GROWTH = 6;

/** Packs payloads, outside of any transaction; the caller waits, so at the fastest level. */
export function packPayloads(payloads: readonly Payload[]): Promise<PackedPayload[]> {
  return Promise.all(payloads.map(async ({ hash, body }) => ({ hash, bytes: await pack(JSON.stringify(body)) })));
}

function pack(json: string): Uint8Array | Promise<Uint8Array> {
  const options = { level: constants.Z_BEST_SPEED };
  return json.length <= HERE_MAX ? gzipSync(json, options) : compress(json, options);
}

/** The text of a packed payload. Throws `TAMPERED` for what can't be one. */
export async function unpackPayload(bytes: Uint8Array, id: SessionId, hash: string, maxBytes: number): Promise<string> {
  const maxOutputLength = Math.min(MAX_JSON_GROWTH * maxBytes + 2, kMaxLength);
  const text = await decompress(bytes, { maxOutputLength }).then(parse).catch(ignore);
  if (typeof text === "string") return text;
  throw tampered(id, 0, `payload ${hash.slice(0, 12)} is damaged, or larger than maxCommitBytes lets it be`);
}

function parse(json: Buffer): unknown {
  return JSON.parse(json.toString("utf8"));
}

function ignore(): void {}
