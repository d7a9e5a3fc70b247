/**
 * The tables, and how commits, texts and payloads are stored in rows.
 *
 * SQLite stores text as UTF-8, which cannot represent a lone surrogate, and Node's driver ends a text at its first
 * NUL. Such a text is stored as a blob of its UTF-16 units. All others stay readable at a SQL prompt.
 */
import { kMaxLength } from "node:buffer";
import type { SQLInputValue, SQLOutputValue } from "node:sqlite";
import { promisify } from "node:util";
import * as zlib from "node:zlib";
import { PhasegateError } from "../../errors.js";
import type { Commit, Payload, SessionSummary } from "../../ports/storage-adapter.js";
import { parseSessionId, type SessionId, shown } from "../../workflow/names.js";
import { isSummary } from "../common/session-query.js";
import { storageFailed, tampered } from "./failures.js";

/** The names of the tables, with the host's prefix. */
export interface TableNames {
  readonly prefix: string;
  readonly migrations: string;
  readonly sessions: string;
  readonly commits: string;
  readonly payloads: string;
  readonly removed: string;
  readonly events: string;
  readonly instances: string;
  readonly history: string;
}

/** A row as the driver returns it. */
export type Row = Readonly<Record<string, SQLOutputValue>>;

/**
 * A stored payload: zstd over its text in UTF-8. Without zstd, and for a text with a lone surrogate, which UTF-8 cannot
 * represent: gzip over the text as a JSON string.
 */
export interface PackedPayload {
  readonly hash: string;
  readonly bytes: Uint8Array;
}

/** Takes a third of gzip's time for as many bytes. Node has it since 22.15. */
const hasZstd = "zstdCompressSync" in zlib;
const ZSTD_MAGIC = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);

/**
 * Shorter texts are compressed in this thread: that takes about a millisecond, as long as the way to another thread.
 */
const HERE_MAX = 128 * 1024;

/** A control character is one byte, and six in JSON. */
const MAX_JSON_GROWTH = 6;

/**
 * Returns the table names with a prefix. Throws `INVALID_INPUT` for a prefix that is not the beginning of an
 * identifier.
 */
export function tableNames(prefix: string): TableNames {
  if (!/^([A-Za-z_][A-Za-z0-9_]{0,31})?$/.test(prefix) || /^sqlite_/i.test(prefix)) throw badPrefix(prefix);
  const own = (name: string) => `${prefix}phasegate_${name}`;
  return {
    prefix,
    migrations: own("migrations"),
    sessions: own("sessions"),
    commits: own("commits"),
    payloads: own("payloads"),
    removed: own("removed"),
    events: own("events"),
    instances: `${prefix}workflow_instances`,
    history: `${prefix}workflow_history`,
  };
}

function badPrefix(prefix: unknown): PhasegateError {
  return new PhasegateError("INVALID_INPUT", `tablePrefix is not valid: ${shown(prefix)}`, {
    remedy: "Use at most 32 letters, digits and '_', the first no digit, and not 'sqlite_'.",
    details: { field: "tablePrefix", expected: "[A-Za-z_][A-Za-z0-9_]{0,31}" },
  });
}

/**
 * The tables of the log, which is the only source, and of its indexes.
 *
 * - `seq` numbers the commits of all sessions in the order of writing, and is never reused, so that a reader can
 *   continue after any value.
 * - `updated_day` changes once a day: an index on the time would cost every commit two more pages. Other values that
 *   change with each commit are not stored with the session, except for `version`, the number of its commits.
 * - Of a removed session, the id remains, and its tombstone if that was its last commit.
 */
export function logTables(names: TableNames): string {
  const { sessions, commits, payloads, removed } = names;
  const index = (name: string, columns: string) => `CREATE INDEX ${sessions}_${name} ON ${sessions} (${columns});`;
  return `
    CREATE TABLE ${sessions} (
      number INTEGER PRIMARY KEY,
      session_id TEXT NOT NULL,
      version INTEGER NOT NULL,
      hash TEXT NOT NULL,
      newest INTEGER NOT NULL,
      kind TEXT NOT NULL,
      workflow_type TEXT NOT NULL,
      target TEXT NOT NULL,
      status TEXT NOT NULL,
      created_at TEXT NOT NULL,
      updated_at TEXT NOT NULL,
      updated_day TEXT NOT NULL,
      bytes INTEGER NOT NULL
    );
    CREATE UNIQUE INDEX ${sessions}_by_id ON ${sessions} (session_id);
    ${index("by_created", "created_at DESC, session_id")}
    ${index("by_status", "status, created_at DESC, session_id")}
    ${index("by_workflow_type", "workflow_type, created_at DESC, session_id")}
    ${index("by_target", "target, created_at DESC, session_id")}
    ${index("by_kind", "kind, created_at DESC, session_id")}
    ${index("by_updated_day", "updated_day")}
    CREATE TABLE ${commits} (
      seq INTEGER PRIMARY KEY,
      session INTEGER NOT NULL REFERENCES ${sessions} (number) ON DELETE CASCADE,
      version INTEGER NOT NULL,
      at TEXT NOT NULL,
      schema INTEGER NOT NULL,
      previous_hash TEXT NOT NULL,
      hash TEXT NOT NULL,
      summary TEXT NOT NULL,
      body TEXT NOT NULL
    );
    CREATE UNIQUE INDEX ${commits}_by_version ON ${commits} (session, version);
    CREATE TABLE ${payloads} (
      number INTEGER PRIMARY KEY,
      session INTEGER NOT NULL REFERENCES ${sessions} (number) ON DELETE CASCADE,
      hash TEXT NOT NULL,
      body BLOB NOT NULL
    );
    CREATE UNIQUE INDEX ${payloads}_by_hash ON ${payloads} (session, hash);
    CREATE TABLE ${removed} (
      session_id TEXT PRIMARY KEY,
      seq INTEGER NOT NULL,
      removed_at TEXT NOT NULL,
      version INTEGER,
      at TEXT,
      schema INTEGER,
      previous_hash TEXT,
      hash TEXT,
      summary TEXT,
      body TEXT
    );
    CREATE UNIQUE INDEX ${removed}_by_seq ON ${removed} (seq);
  `;
}

/** The columns of a commit, in every table that contains commits. */
export const COMMIT_COLUMNS = "version, at, schema, previous_hash, hash, summary, body";

/** In bytes. No commit has a longer body; reading one that was put there by hand would take many seconds. */
const MAX_BODY_BYTES = 2 ** 29;
/** Reads a body; NULL if it is longer than that. SQLite knows the length without reading the text. */
export const READ_BODY = `CASE WHEN octet_length(c.body) <= ${MAX_BODY_BYTES} THEN c.body END AS body`;

/**
 * Returns a commit's values in the order of {@link COMMIT_COLUMNS}. Fields of the summary that other columns contain
 * are left out: most commits then take half a page.
 */
export function storeCommit(commit: Commit): SQLInputValue[] {
  const { version, at, schema, previousHash, hash } = commit;
  const { sessionId, updatedAt, ...others } = commit.summary;
  const summary = JSON.stringify(updatedAt === at ? others : { ...others, updatedAt });
  const [time, body] = [storedText(at), storedText(commit.body)];
  return [version, time, schema, storedText(previousHash), storedText(hash), summary, body];
}

/** Reads the commit in a row. Throws `TAMPERED` if its summary is unreadable. */
export function commitIn(row: Row): Commit {
  const summary = storedSummary(row);
  if (summary === undefined) {
    throw tampered(textIn(row, "session_id"), numberIn(row, "version"), "its summary can't be read");
  }
  if (row.body === null) {
    throw tampered(summary.sessionId, numberIn(row, "version"), `its body has more than ${MAX_BODY_BYTES} bytes`);
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

/**
 * Reads the summary in a row; undefined if it lacks fields that lists use. Its truth is verified by the body, which
 * is hashed.
 */
export function summaryIn(row: Row): SessionSummary | undefined {
  const stored = storedSummary(row);
  return isSummary(stored) ? stored : undefined;
}

/** Merges the stored summary with the other columns; undefined if it is not JSON. */
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

/**
 * Builds a SELECT of commits `c` and sessions `s` with the columns that {@link commitIn} reads, and further columns.
 */
export function selectCommits({ commits, sessions }: TableNames, rest: string, ...others: readonly string[]): string {
  const columns = COMMIT_COLUMNS.split(", ").map((column) => (column === "body" ? READ_BODY : `c.${column}`));
  return `SELECT ${["c.seq", "s.session_id", ...columns, ...others].join(", ")}
    FROM ${commits} c JOIN ${sessions} s ON s.number = c.session ${rest}`;
}

/** Returns a text as a value to bind. */
export function storedText(text: string): string | Uint8Array {
  return isOdd(text) ? Buffer.from(text, "utf16le") : text;
}

function isOdd(text: string): boolean {
  return !text.isWellFormed() || text.includes("\0");
}

/** Reads the text in a column. */
export function textIn(row: Row, column: string): string {
  const value = row[column];
  if (typeof value === "string") return value;
  if (value instanceof Uint8Array) return bufferOf(value).toString("utf16le");
  throw notHeld(column, "text");
}

/** Reads the integer in a column. */
export function numberIn(row: Row, column: string): number {
  const value = row[column];
  if (typeof value === "number") return value;
  throw notHeld(column, "number");
}

/** Reads the bytes in a column. */
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

/** Compresses payloads before the transaction, at a fast level because the caller waits. */
export function packPayloads(payloads: readonly Payload[]): Promise<PackedPayload[]> {
  return Promise.all(payloads.map(async ({ hash, body }) => ({ hash, bytes: await pack(body) })));
}

function pack(text: string): Uint8Array | Promise<Uint8Array> {
  if (hasZstd && text.isWellFormed()) {
    const options = { params: { [zlib.constants.ZSTD_c_compressionLevel]: 1 } };
    return text.length <= HERE_MAX
      ? zlib.zstdCompressSync(text, options)
      : promisify(zlib.zstdCompress)(Buffer.from(text), options);
  }
  const json = JSON.stringify(text);
  const options = { level: zlib.constants.Z_BEST_SPEED };
  return json.length <= HERE_MAX ? zlib.gzipSync(json, options) : promisify(zlib.gzip)(json, options);
}

/** Returns the text of a compressed payload. Throws `TAMPERED`. */
export async function unpackPayload(bytes: Uint8Array, id: SessionId, hash: string, maxBytes: number): Promise<string> {
  const isZstd = ZSTD_MAGIC.equals(bytes.subarray(0, ZSTD_MAGIC.length));
  if (isZstd && !hasZstd) {
    const remedy = "Use Node 22.15 or later, as the process that wrote it.";
    throw storageFailed(
      "read",
      `payload ${hash.slice(0, 12)} is compressed with zstd, which this runtime has not`,
      remedy,
    );
  }
  const maxOutputLength = Math.min(MAX_JSON_GROWTH * maxBytes + 2, kMaxLength);
  const unpacked = isZstd
    ? promisify(zlib.zstdDecompress)(bytes, { maxOutputLength }).then((text) => text.toString("utf8"))
    : promisify(zlib.gunzip)(bytes, { maxOutputLength }).then(parse);
  const text = await unpacked.catch(ignore);
  if (typeof text === "string") return text;
  throw tampered(id, 0, `payload ${hash.slice(0, 12)} is damaged, or larger than maxCommitBytes lets it be`);
}

function parse(json: Buffer): unknown {
  return JSON.parse(json.toString("utf8"));
}

function ignore(): void {}
