/**
 * The frequent statements of a schema, and how commits and texts are stored in rows.
 *
 * PostgreSQL's `text` cannot contain U+0000 or lone surrogates. Each of them is stored as U+001A ("substitute") and
 * its four hexadecimal digits, and so is U+001A itself, so that the text can be restored. Any other text, including
 * all output of `JSON.stringify`, is stored unchanged.
 */
import type { Commit } from "../../ports/storage-adapter.js";
import { digest } from "../../workflow/json.js";
import { tampered } from "../common/failures.js";
import { readSummary } from "../common/session-query.js";
import type { PgQuery } from "./options.js";

/** A row with a commit. Numbers that may be large are texts. */
export interface CommitRow extends Record<string, unknown> {
  readonly session_id: string;
  readonly version: string;
  readonly at: string;
  readonly schema: number;
  readonly previous_hash: string;
  readonly hash: string;
  readonly summary: string;
  readonly body: string;
}

/** The columns of a {@link CommitRow}, from a table with the alias `c`. */
export const COMMIT_COLUMNS = "c.session_id, c.version, c.at, c.schema, c.previous_hash, c.hash, c.summary, c.body";

/** Returns the commit in a row. Throws `TAMPERED` if its summary is unreadable. */
export function commitOf(row: CommitRow): Commit {
  const summary = readSummary(row.summary, row.session_id);
  if (summary === undefined) {
    const remedy = "Restore the session from a backup, or remove it.";
    throw tampered(row.session_id, Number(row.version), "its summary can't be read", remedy);
  }
  return {
    sessionId: summary.sessionId,
    version: Number(row.version),
    at: decodeText(row.at),
    schema: row.schema,
    previousHash: decodeText(row.previous_hash),
    hash: decodeText(row.hash),
    summary,
    body: decodeText(row.body),
  };
}

export type ColumnValue = string | number | null;

export function valuesOf(commit: Commit): ColumnValue[] {
  const { sessionId, version, at, schema, previousHash, hash, summary, body } = commit;
  return [
    sessionId,
    version,
    encodeText(at),
    schema,
    encodeText(previousHash),
    encodeText(hash),
    // JSON escapes what PostgreSQL cannot store.
    JSON.stringify(summary),
    encodeText(body),
    summary.status,
    encodeText(summary.kind),
    encodeText(summary.workflowType),
    encodeText(summary.target),
    encodeText(String(summary.current)),
    encodeText(summary.createdAt),
    encodeText(summary.updatedAt),
    summary.completedAt === undefined ? null : encodeText(summary.completedAt),
    encodeText(summary.owner ?? ""),
  ];
}

const MARK = "\u001a";
// With the `u` flag, a surrogate in brackets matches lone surrogates only.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what can't be stored
const UNSTORABLE = /[\u0000\u001a\ud800-\udfff]/gu;
// biome-ignore lint/suspicious/noControlCharactersInRegex: the mark
const ENCODED = /\u001a([0-9a-f]{4})/g;

/** Most texts are unchanged, which is checked without a regular expression over the whole body. */
export function encodeText(text: string): string {
  if (text.isWellFormed() && !text.includes("\0") && !text.includes(MARK)) return text;
  return text.replace(UNSTORABLE, (character) => MARK + character.charCodeAt(0).toString(16).padStart(4, "0"));
}

export function decodeText(stored: string): string {
  if (!stored.includes(MARK)) return stored;
  return stored.replace(ENCODED, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)));
}

/** The frequent statements of one schema. Parameters of appending ones are those of `valuesOf`. */
export type Statements = ReturnType<typeof createStatements>;

type Statement = (values: unknown[]) => PgQuery;

/**
 * Prepares statements, under names with a hash of their text.
 *
 * The server keeps the plan of a prepared statement until it has analyzed the table again, a minute later or never. A plan for
 * a few sessions goes through all of them, which is slow when there are many. So each time the commits of this storage have
 * doubled, statements have new names, and are planned anew. Others may begin sessions, too: so statements are also planned anew
 * each time that the storage has been open for twice as long.
 */
export class Preparation {
  readonly #isOn: boolean;
  readonly #opened = performance.now();
  #written = 0;

  constructor(isOn: boolean) {
    this.#isOn = isOn;
  }

  wrote(): void {
    this.#written += 1;
  }

  statement(text: string): Statement {
    const name = `phasegate_${digest(text).slice(0, 16)}`;
    return (values) => (this.#isOn ? { text, values, name: `${name}_${this.#round}` } : { text, values });
  }

  get #round(): number {
    const seconds = (performance.now() - this.#opened) / 1000;
    return doublings(this.#written, 64) + doublings(seconds, 4);
  }
}

/** How often a number has doubled from a first one on; after a thousand times as much, plans stay good. */
function doublings(number: number, first: number): number {
  return Math.min(Math.max(Math.floor(Math.log2(number / first)), 0), 12);
}

/**
 * Creates the frequent statements for a schema.
 *
 * They may be planned while the tables are new and have no statistics. The server then takes sessions that are not removed for
 * rare, and goes through all of them for each call. So a removed session is told by its empty hash.
 */
export function createStatements(schema: string, preparation: Preparation) {
  const s = `"${schema}"`;
  const statement = (text: string) => preparation.statement(text);
  return {
    read: statement(`SELECT ${COMMIT_COLUMNS} FROM ${s}.sessions s
      JOIN ${s}.commits c ON c.session_id = s.session_id AND c.version = s.version
      WHERE s.session_id = $1 AND s.hash <> ''`),
    log: statement(`SELECT ${COMMIT_COLUMNS} FROM ${s}.commits c WHERE c.session_id = $1 AND c.version > $2
      AND EXISTS (SELECT FROM ${s}.sessions s WHERE s.session_id = $1 AND s.hash <> '') ORDER BY c.version LIMIT $3`),
    state: statement(`SELECT version, hash, removed_at IS NOT NULL AS removed FROM ${s}.sessions
      WHERE session_id = $1`),
    /** An update without a change: acknowledged when all that was written before is on the disk and the standbys. */
    makeDurable: statement(`UPDATE ${s}.sessions SET version = version WHERE session_id = $1 RETURNING session_id`),
    /** Does the same, and returns a row if a version has this hash: the row tells if a trigger kept it from being done. */
    confirm: statement(`WITH done AS (UPDATE ${s}.sessions SET version = version WHERE session_id = $1 RETURNING 1)
      SELECT EXISTS (SELECT FROM done) AS done FROM ${s}.commits WHERE session_id = $1 AND version = $2 AND hash = $3`),
    payload: statement(`SELECT body FROM ${s}.payloads WHERE session_id = $1 AND hash = $2`),
    countActive: statement(`SELECT count(*)::int AS found FROM
      (SELECT FROM ${s}.sessions WHERE status = 'active' AND removed_at IS NULL LIMIT $1) AS active`),
    size: statement(`SELECT s.version, coalesce((SELECT sum(pg_column_size(c.body) + pg_column_size(c.summary))
        FROM ${s}.commits c WHERE c.session_id = s.session_id), 0)
      + coalesce((SELECT sum(pg_column_size(p.body)) FROM ${s}.payloads p WHERE p.session_id = s.session_id), 0)
      AS bytes FROM ${s}.sessions s WHERE s.session_id = $1 AND s.hash <> ''`),
    append: statement(appending(s)),
    appendAll: statement(appendingAll(s)),
    /** Notifies a channel if anybody listens. */
    wake: statement(`SELECT pg_notify($1, '') WHERE EXISTS (SELECT FROM ${s}.listeners WHERE until > now())`),
  };
}

/** The columns of a session's row that each commit sets. */
const SET_COLUMNS =
  "version, hash, status, kind, workflow_type, target, current_step, created_at, updated_at, completed_at, owner";
const SESSION_COLUMNS = `session_id, ${SET_COLUMNS}`;
const LOG_COLUMNS = "session_id, version, at, schema, previous_hash, hash, summary, body, status, current_step";

/** The text that the server's error quotes if a row was not written. */
export const NOT_WRITTEN = "phasegate: a row was not written";

/** A trigger may drop a row without an error. Then the statement fails, by casting a text to a number, and is rolled back. */
function unless(isWritten: string): string {
  return `(CASE WHEN ${isWritten} THEN '1' ELSE '${NOT_WRITTEN}' END)::integer`;
}

/**
 * Builds the statement that writes a commit if its predecessor is the newest, or its id was never used. After waiting for
 * another transaction, the server checks the row again, so one of several writers succeeds. No commit follows one without a
 * hash, which is that of a removed session.
 */
function appending(s: string): string {
  return `WITH begun AS (INSERT INTO ${s}.sessions (${SESSION_COLUMNS})
      SELECT $1, $2::bigint, $6, $9, $10, $11, $12, $13, $14, $15, $16, $17 WHERE $2::bigint = 1
      ON CONFLICT (session_id) DO NOTHING RETURNING session_id),
    followed AS (UPDATE ${s}.sessions SET version = $2, hash = $6, status = $9, kind = $10, workflow_type = $11,
        target = $12, current_step = $13, created_at = $14, updated_at = $15, completed_at = $16, owner = $17
      WHERE session_id = $1 AND version = $2 - 1 AND hash = $5 RETURNING session_id),
    moved AS (SELECT session_id FROM begun UNION ALL SELECT session_id FROM followed),
    stored AS (INSERT INTO ${s}.payloads (session_id, hash, body)
      SELECT moved.session_id, p.hash, p.body FROM moved, unnest($18::text[], $19::text[]) AS p(hash, body)
      ON CONFLICT (session_id, hash) DO NOTHING RETURNING hash),
    written AS (INSERT INTO ${s}.commits (${LOG_COLUMNS})
      SELECT session_id, $2, $3::text, $4::integer, $5, $6, $7::text, $8::text, $9, $13 FROM moved RETURNING session_id)
    SELECT ${unless(`EXISTS (SELECT FROM written) AND NOT EXISTS (SELECT FROM unnest($18::text[]) AS p(hash)
      WHERE NOT EXISTS (SELECT FROM stored WHERE stored.hash = p.hash)
      AND NOT EXISTS (SELECT FROM ${s}.payloads q WHERE q.session_id = $1 AND q.hash = p.hash))`)} FROM moved`;
}

/**
 * Builds the statement for commits of several sessions. Each parameter is a column of the one for a single commit. Returns the
 * ids of the sessions whose commits are written. The others don't follow the newest one, or somebody else has locked their row
 * just now. No row is found by a join, for which the server would go through all sessions in a new database.
 *
 * Two such statements can't wait for each other in a circle. One waits only while it begins sessions: for others that begin the
 * same ones, in the order of their ids, or that already follow them, and then wait for nobody.
 */
function appendingAll(s: string): string {
  const set = SET_COLUMNS.split(", ")
    .map((column) => `${column} = excluded.${column}`)
    .join(", ");
  return `WITH given AS (SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::integer[], $5::text[], $6::text[],
        $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[],
        $16::text[], $17::text[]) AS g (session_id, version, at, schema, previous_hash, hash, summary, body, status, kind,
        workflow_type, target, current_step, created_at, updated_at, completed_at, owner)),
    begun AS (INSERT INTO ${s}.sessions (${SESSION_COLUMNS}) SELECT ${SESSION_COLUMNS} FROM given g
      WHERE version = 1 AND NOT EXISTS (SELECT FROM ${s}.sessions s WHERE s.session_id = g.session_id) ORDER BY session_id
      ON CONFLICT (session_id) DO NOTHING RETURNING session_id),
    free AS (SELECT session_id, version, hash FROM ${s}.sessions WHERE session_id = ANY($1::text[])
      FOR NO KEY UPDATE SKIP LOCKED),
    next AS (SELECT g.* FROM given g JOIN free f ON f.session_id = g.session_id AND f.version = g.version - 1
        AND f.hash = g.previous_hash
      WHERE (SELECT count(*) FROM begun) IS NOT NULL),
    followed AS (INSERT INTO ${s}.sessions AS s (${SESSION_COLUMNS}) SELECT ${SESSION_COLUMNS} FROM next
      ON CONFLICT (session_id) DO UPDATE SET ${set}
      RETURNING s.session_id),
    moved AS (SELECT session_id FROM begun UNION ALL SELECT session_id FROM followed),
    written AS (INSERT INTO ${s}.commits (${LOG_COLUMNS}) SELECT ${LOG_COLUMNS} FROM given JOIN moved USING (session_id)
      RETURNING session_id)
    SELECT session_id, ${unless("(SELECT count(*) FROM written) = (SELECT count(*) FROM moved)")} FROM moved`;
}
