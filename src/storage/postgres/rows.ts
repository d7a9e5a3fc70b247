import { PhasegateError } from "../../errors.js";
import type { Commit, SessionSummary } from "../../ports/storage-adapter.js";
import { digest } from "../../workflow/json.js";
import { isSummary } from "../common/session-query.js";
import type { PgQuery } from "./options.js";
/** What a statement that reads commits gives. Numbers that may be large come as texts. */
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

/** The columns of a {@link CommitRow}, of the table that is called `c`. */
export const COMMIT_COLUMNS = "c.session_id, c.version, c.at, c.schema, c.previous_hash, c.hash, c.summary, c.body";

/** A row as the commit that was appended; `TAMPERED` if its summary isn't one. */
export function commitOf(row: CommitRow): Commit {
  const summary = readSummary(row.session_id, row.summary);
  if (summary === undefined) throw damaged(row.session_id, row.version);
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

/** The parameters of both statements that append, in their order. */
export function valuesOf(commit: Commit): unknown[] {
  const { sessionId, version, at, schema, previousHash, hash, summary, body } = commit;
  return [
    sessionId,
    version,
    encodeText(at),
    schema,
    encodeText(previousHash),
    encodeText(hash),
    // JSON escapes what PostgreSQL can't hold.
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
  ];
}

/** A summary out of its JSON; undefined if it is none of this session. */
export function readSummary(sessionId: string, json: string): SessionSummary | undefined {
  const value = parse(json);
  return isSummary(value) && value.sessionId === sessionId ? value : undefined;
}

function damaged(sessionId: string, version: string): PhasegateError<"TAMPERED"> {
  return new PhasegateError("TAMPERED", `Version ${version} of session ${sessionId} is damaged: its summary is none`, {
    remedy: "Restore the session from a backup, or remove it.",
    details: { sessionId, version: Number(version), reason: "its summary is none" },
  });
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

/**
 * Texts as PostgreSQL can hold them. Its `text` has no place for U+0000 and for lone surrogates: each of those becomes
 * U+001A ("substitute") and its four hexadecimal digits, and so does U+001A itself, so that it can be told what was
 * written. Any other text, and with it every JSON text that `JSON.stringify` makes, is stored as it is.
 */

const MARK = "\u001a";
// With the `u` flag a surrogate in brackets is one that has no partner.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what can't be stored
const UNSTORABLE = /[\u0000\u001a\ud800-\udfff]/gu;
// biome-ignore lint/suspicious/noControlCharactersInRegex: the mark
const ENCODED = /\u001a([0-9a-f]{4})/g;

/** A text as it is stored. Most are stored as they are, which is seen without a regular expression over all of a body. */
export function encodeText(text: string): string {
  if (text.isWellFormed() && !text.includes("\0") && !text.includes(MARK)) return text;
  return text.replace(UNSTORABLE, (character) => MARK + character.charCodeAt(0).toString(16).padStart(4, "0"));
}

/** The text that was stored. */
export function decodeText(stored: string): string {
  if (!stored.includes(MARK)) return stored;
  return stored.replace(ENCODED, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)));
}

/** What is asked often, in the words of one schema. Parameters of what appends are those of `valuesOf`. */
export type Statements = ReturnType<typeof createStatements>;

/** A statement, to be given its parameters. */
type Statement = (values: unknown[]) => PgQuery;

/** Makes the statements for a schema; prepared ones are named by their text, so that no two have the same name. */
export function createStatements(schema: string, prepared: boolean) {
  const s = `"${schema}"`;
  const statement = (text: string): Statement => {
    const name = `phasegate_${digest(text).slice(0, 16)}`;
    return (values) => (prepared ? { text, values, name } : { text, values });
  };
  return {
    /** The newest commit of a session. */
    read: statement(`SELECT ${COMMIT_COLUMNS} FROM ${s}.sessions s
      JOIN ${s}.commits c ON c.session_id = s.session_id AND c.version = s.version
      WHERE s.session_id = $1 AND s.removed_at IS NULL`),
    /** So many commits of a session above a version. */
    log: statement(`SELECT ${COMMIT_COLUMNS} FROM ${s}.sessions s
      JOIN ${s}.commits c ON c.session_id = s.session_id
      WHERE s.session_id = $1 AND s.removed_at IS NULL AND c.version > $2 ORDER BY c.version LIMIT $3`),
    /** Whether a commit with that hash is at a version. */
    has: statement(`SELECT 1 AS found FROM ${s}.commits WHERE session_id = $1 AND version = $2 AND hash = $3`),
    /** Where a session is: for a commit that was refused. */
    standing: statement(`SELECT version, hash, removed_at IS NOT NULL AS removed FROM ${s}.sessions
      WHERE session_id = $1`),
    /**
     * Writes a session's row as it is: the server acknowledges that as it would the append, once all that was written
     * before it is on its disk and on its standbys.
     */
    settle: statement(`UPDATE ${s}.sessions SET version = version WHERE session_id = $1 RETURNING session_id`),
    /** The same where a commit with that hash is at a version. */
    confirm: statement(`UPDATE ${s}.sessions SET version = version WHERE session_id = $1
      AND EXISTS (SELECT FROM ${s}.commits WHERE session_id = $1 AND version = $2 AND hash = $3) RETURNING session_id`),
    payload: statement(`SELECT body FROM ${s}.payloads WHERE session_id = $1 AND hash = $2`),
    countActive: statement(`SELECT count(*)::int AS found FROM
      (SELECT FROM ${s}.sessions WHERE status = 'active' AND removed_at IS NULL LIMIT $1) AS active`),
    size: statement(`SELECT s.version, coalesce((SELECT sum(pg_column_size(c.body) + pg_column_size(c.summary))
        FROM ${s}.commits c WHERE c.session_id = s.session_id), 0)
      + coalesce((SELECT sum(pg_column_size(p.body)) FROM ${s}.payloads p WHERE p.session_id = s.session_id), 0)
      AS bytes FROM ${s}.sessions s WHERE s.session_id = $1 AND s.removed_at IS NULL`),
    /** A first commit, where the id was never used: one row where it was written. */
    begin: statement(appending(s, BEGIN(s))),
    /** A commit after another one, where that is the newest: one row where it was written. */
    follow: statement(appending(s, FOLLOW(s))),
    /** The same, counted: see {@link counting}. */
    beginCounted: statement(counting(s, BEGIN(s), false)),
    followCounted: statement(counting(s, FOLLOW(s), false)),
    beginWithPayloads: statement(counting(s, BEGIN(s), true)),
    followWithPayloads: statement(counting(s, FOLLOW(s), true)),
    /** Takes a session's row back to the commit before one that was dropped; and away, if that was the first. */
    undo: statement(`UPDATE ${s}.sessions s SET version = c.version, hash = c.hash, status = c.status,
        current_step = c.current_step, updated_at = c.at, completed_at = CASE c.status WHEN 'completed' THEN c.at END
      FROM ${s}.commits c WHERE ${DROPPED(s)} AND c.session_id = $1 AND c.version = $2 - 1`),
    undoBegin: statement(`DELETE FROM ${s}.sessions s WHERE ${DROPPED(s)} AND $2 = 1`),
    /** Wakes who listens on a channel, if anybody does. */
    wake: statement(`SELECT pg_notify($1, '') WHERE EXISTS (SELECT FROM ${s}.listeners WHERE until > now())`),
  };
}

const BEGIN = (s: string) => `INSERT INTO ${s}.sessions (session_id, version, hash, status, kind, workflow_type, target,
    current_step, created_at, updated_at, completed_at)
  VALUES ($1, $2, $6, $9, $10, $11, $12, $13, $14, $15, $16)
  ON CONFLICT (session_id) DO NOTHING RETURNING session_id`;

// Who waits here for another transaction looks again at the row that it left: so of several one wins.
const FOLLOW = (s: string) => `UPDATE ${s}.sessions SET version = $2, hash = $6, status = $9, kind = $10,
    workflow_type = $11, target = $12, current_step = $13, created_at = $14, updated_at = $15, completed_at = $16
  WHERE session_id = $1 AND version = $2 - 1 AND hash = $5 AND removed_at IS NULL RETURNING session_id`;

/** What the server's error quotes where a row was not written. */
export const NOT_WRITTEN = "phasegate: a row was not written";

/** Where a session's row names a commit that is not there. */
const DROPPED = (s: string) => `s.session_id = $1 AND s.version = $2 AND s.hash = $3
  AND NOT EXISTS (SELECT FROM ${s}.commits WHERE session_id = $1 AND version = $2)`;

const INSERT = (s: string) => `INSERT INTO ${s}.commits
    (session_id, version, at, schema, previous_hash, hash, summary, body, status, current_step)
  SELECT session_id, $2, $3::text, $4::integer, $5, $6, $7::text, $8::text, $9, $13 FROM moved`;

/** One statement: the session's row, and where that could be had the commit. */
function appending(s: string, moving: string): string {
  return `WITH moved AS (${moving}) ${INSERT(s)}`;
}

/**
 * The same with payloads, and for tables that have triggers of somebody else's. One that returns NULL drops a row without
 * an error. So the rows are counted in the statement itself: where one is missing it fails, by a text that is no number, and
 * the server rolls all of it back. It takes a tenth longer, mostly for the row that it gives.
 */
function counting(s: string, moving: string, payloads: boolean): string {
  const stored = `, stored AS (INSERT INTO ${s}.payloads (session_id, hash, body)
    SELECT moved.session_id, p.hash, p.body FROM moved, unnest($17::text[], $18::text[]) AS p(hash, body)
    ON CONFLICT (session_id, hash) DO NOTHING RETURNING hash)`;
  const allStored = `AND NOT EXISTS (SELECT FROM unnest($17::text[]) AS p(hash)
    WHERE NOT EXISTS (SELECT FROM stored WHERE stored.hash = p.hash)
    AND NOT EXISTS (SELECT FROM ${s}.payloads q WHERE q.session_id = $1 AND q.hash = p.hash))`;
  return `WITH moved AS (${moving})${payloads ? stored : ""}, written AS (${INSERT(s)} RETURNING session_id)
    SELECT (CASE WHEN EXISTS (SELECT FROM written) ${payloads ? allStored : ""} THEN '1' ELSE '${NOT_WRITTEN}' END)::integer
    FROM moved`;
}
