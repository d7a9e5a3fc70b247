/**
 * The tables of the log, the statements on them, and how commits, texts and payloads are stored in rows.
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
import { type SessionId, shown } from "../../workflow/names.js";
import { readSummary } from "../common/session-query.js";
import { storageFailed, tampered } from "./failures.js";

export type TableNames = ReturnType<typeof tableNames>;
export type Row = Readonly<Record<string, SQLOutputValue>>;

export interface PackedPayload {
  readonly hash: string;
  readonly bytes: Uint8Array;
}

/** Takes a third of gzip's time for as many bytes. Node has it since 22.15. */
const hasZstd = "zstdCompressSync" in zlib;
const ZSTD_MAGIC = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);

/** A control character is one byte, and six in JSON. */
const MAX_JSON_GROWTH = 6;

/** The columns by which sessions are found. All of them are indexed. */
export const FOUND_BY = ["kind", "workflow_type", "target", "owner", "status", "created_at", "updated_day"] as const;

/** Returns the table names with a prefix. Throws `INVALID_INPUT` for one that is not the beginning of an identifier. */
export function tableNames(prefix: string) {
  if (!/^([A-Za-z_][A-Za-z0-9_]{0,31})?$/.test(prefix) || /^sqlite_/i.test(prefix)) {
    throw new PhasegateError("INVALID_INPUT", `tablePrefix is not valid: ${shown(prefix)}`, {
      remedy: "Use at most 32 letters, digits and '_', the first no digit, and not 'sqlite_'.",
      details: { field: "tablePrefix", expected: "[A-Za-z_][A-Za-z0-9_]{0,31}" },
    });
  }
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
const COMMIT_COLUMNS = "version, at, schema, previous_hash, hash, summary, body";

/** In bytes. No commit has a longer body; reading one that was put there by hand would take many seconds. */
const MAX_BODY_BYTES = 2 ** 29;

/** Returns the texts of the statements on the log. A commit's row has the columns that {@link commitIn} reads. */
export function statements({ sessions, commits, payloads, removed }: TableNames) {
  // SQLite knows the length of a body without reading it. A longer one is NULL.
  const body = `CASE WHEN octet_length(c.body) <= ${MAX_BODY_BYTES} THEN c.body END AS body`;
  const columns = COMMIT_COLUMNS.split(", ").map((column) => (column === "body" ? body : `c.${column}`));
  const select = (rest: string, ...others: readonly string[]) =>
    `SELECT ${["c.seq", "s.session_id", ...columns, ...others].join(", ")}
    FROM ${commits} c JOIN ${sessions} s ON s.number = c.session ${rest}`;
  const keys = FOUND_BY.map((column) => `s.${column}`);
  const tombstone = COMMIT_COLUMNS.split(", ").map((name) => `CASE s.status WHEN 'deleted' THEN c.${name} END`);
  return {
    newest: select("WHERE s.session_id = ? ORDER BY c.version DESC LIMIT 1", "s.number", ...keys),
    log: select("WHERE s.session_id = ? AND c.version > ? ORDER BY c.version LIMIT ?"),
    /** The commits of all sessions after one, and the tombstones of those that were removed since. */
    next: `${select("WHERE c.seq > ?")}
      UNION ALL SELECT seq, session_id, ${COMMIT_COLUMNS} FROM ${removed} WHERE seq > ? AND body IS NOT NULL
      ORDER BY 1 LIMIT ?`,
    nextOwn: select("WHERE c.seq > ? AND s.session_id = ? ORDER BY c.seq"),
    /** The largest number ever used belongs to a commit, or to a removed session's last commit. */
    last: `SELECT max(
      coalesce((SELECT max(seq) FROM ${commits}), 0), coalesce((SELECT max(seq) FROM ${removed}), 0)) AS seq`,
    version: `SELECT version FROM ${sessions} WHERE session_id = ?`,
    payload: `SELECT p.body FROM ${payloads} p JOIN ${sessions} s ON p.session = s.number
      WHERE s.session_id = ? AND p.hash = ?`,
    size: `SELECT count(*) AS commits, sum(octet_length(c.summary) + octet_length(c.body))
        + coalesce((SELECT sum(octet_length(p.body)) FROM ${payloads} p WHERE p.session = s.number), 0) AS bytes
      FROM ${sessions} s JOIN ${commits} c ON c.session = s.number WHERE s.session_id = ? GROUP BY s.number`,
    wasRemoved: `SELECT 1 FROM ${removed} WHERE session_id = ?`,
    begin: `INSERT INTO ${sessions} (session_id, ${FOUND_BY.join(", ")}, version) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1)`,
    // Counted, not copied from the commit: after commits were deleted by hand, an audit still finds that some are missing.
    count: `UPDATE ${sessions} SET version = version + 1 WHERE number = ?`,
    move: `UPDATE ${sessions} SET ${FOUND_BY.map((column) => `${column} = ?`).join(", ")}, version = version + 1
      WHERE number = ?`,
    insert: `INSERT INTO ${commits} (seq, session, ${COMMIT_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    store: `INSERT INTO ${payloads} (session, hash, body) VALUES (?, ?, ?) ON CONFLICT (session, hash) DO NOTHING`,
    isStored: `SELECT 1 FROM ${payloads} WHERE session = ? AND hash = ?`,
    drop: `DELETE FROM ${payloads} WHERE session = ? AND hash = ?`,
    keepTombstone: `INSERT INTO ${removed} (session_id, seq, removed_at, ${COMMIT_COLUMNS})
      SELECT s.session_id, c.seq, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), ${tombstone.join(", ")}
      FROM ${sessions} s JOIN ${commits} c ON c.session = s.number
      WHERE s.session_id = ? ORDER BY c.version DESC LIMIT 1`,
  };
}

/** Leaves out of {@link COMMIT_COLUMNS} what other columns have: most commits then take half a page. */
export function storeCommit(commit: Commit): SQLInputValue[] {
  const { version, at, schema, previousHash, hash } = commit;
  const { sessionId, updatedAt, ...others } = commit.summary;
  const summary = JSON.stringify(updatedAt === at ? others : { ...others, updatedAt });
  const [time, body] = [storedText(at), storedText(commit.body)];
  return [version, time, schema, storedText(previousHash), storedText(hash), summary, body];
}

/** Returns the values of {@link FOUND_BY}. */
export function keysOf({ kind, workflowType, target, owner = "", status, createdAt, updatedAt }: SessionSummary) {
  return [kind, workflowType, target, owner, status, createdAt, updatedAt.slice(0, 10)];
}

export function commitIn(row: Row): Commit {
  const version = numberIn(row, "version");
  const summary = summaryIn(row);
  if (summary === undefined) throw tampered(textIn(row, "session_id"), version, "its summary can't be read");
  const { sessionId } = summary;
  if (row.body === null) throw tampered(sessionId, version, `its body has more than ${MAX_BODY_BYTES} bytes`);
  return {
    sessionId,
    version,
    at: textIn(row, "at"),
    schema: numberIn(row, "schema"),
    previousHash: textIn(row, "previous_hash"),
    hash: textIn(row, "hash"),
    summary,
    body: textIn(row, "body"),
  };
}

/** Merges the stored summary with the other columns; undefined if it lacks fields that lists use. */
export function summaryIn(row: Row): SessionSummary | undefined {
  return readSummary(textIn(row, "summary"), row.session_id, { updatedAt: textIn(row, "at") });
}

export function storedText(text: string): string | Uint8Array {
  return text.isWellFormed() && !text.includes("\0") ? text : Buffer.from(text, "utf16le");
}

export function textIn(row: Row | undefined, column: string): string {
  const value = row?.[column];
  if (typeof value === "string") return value;
  if (value instanceof Uint8Array) return bufferOf(value).toString("utf16le");
  throw notHeld(column, "text");
}

export function numberIn(row: Row | undefined, column: string): number {
  const value = row?.[column];
  if (typeof value === "number") return value;
  throw notHeld(column, "number");
}

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

/** Compresses fast, as the caller waits: by zstd; where that is missing, and for lone surrogates, JSON by gzip. */
export function packPayloads(payloads: readonly Payload[]): Promise<PackedPayload[]> {
  return Promise.all(payloads.map(async ({ hash, body }) => ({ hash, bytes: await pack(body) })));
}

function pack(text: string): Promise<Uint8Array> {
  if (!hasZstd || !text.isWellFormed()) {
    return promisify(zlib.gzip)(JSON.stringify(text), { level: zlib.constants.Z_BEST_SPEED });
  }
  return promisify(zlib.zstdCompress)(text, { params: { [zlib.constants.ZSTD_c_compressionLevel]: 1 } });
}

/** Returns the text of a compressed payload. Throws `TAMPERED`. */
export async function unpackPayload(bytes: Uint8Array, id: SessionId, hash: string, maxBytes: number): Promise<string> {
  const name = `payload ${hash.slice(0, 12)}`;
  const isZstd = ZSTD_MAGIC.equals(bytes.subarray(0, ZSTD_MAGIC.length));
  if (isZstd && !hasZstd) {
    const remedy = "Use Node 22.15 or later, as the process that wrote it.";
    throw storageFailed("read", `${name} is compressed with zstd, which this runtime has not`, remedy);
  }
  const maxOutputLength = Math.min(MAX_JSON_GROWTH * maxBytes + 2, kMaxLength);
  try {
    if (isZstd) return (await promisify(zlib.zstdDecompress)(bytes, { maxOutputLength })).toString("utf8");
    const text: unknown = JSON.parse((await promisify(zlib.gunzip)(bytes, { maxOutputLength })).toString("utf8"));
    if (typeof text === "string") return text;
  } catch {
    // Reported below.
  }
  throw tampered(id, 0, `${name} is damaged, or larger than maxCommitBytes lets it be`);
}
