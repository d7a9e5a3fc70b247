/**
 * The statements of a schema, how commits and texts are stored in rows, and how sessions are listed.
 *
 * PostgreSQL's `text` cannot contain U+0000 or lone surrogates. Each of them is stored as U+001A ("substitute") and
 * its four hexadecimal digits, and so is U+001A itself, so that the text can be restored. Any other text, including
 * all output of `JSON.stringify`, is stored unchanged.
 */
import { PhasegateError } from "../../errors.js";
import type { Commit, Page, SessionQuery, SessionStatus, SessionSummary } from "../../ports/storage-adapter.js";
import { digest } from "../../workflow/json.js";
import { decodeCursor, isSummary, pageLimit, pageOf } from "../common/session-query.js";
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

/** Returns the parameters of the appending statements. */
export function valuesOf(commit: Commit): unknown[] {
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

/** Parses a summary; undefined if it is not one of this session. */
function readSummary(sessionId: string, json: string): SessionSummary | undefined {
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

const MARK = "\u001a";
// With the `u` flag, a surrogate in brackets matches lone surrogates only.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what can't be stored
const UNSTORABLE = /[\u0000\u001a\ud800-\udfff]/gu;
// biome-ignore lint/suspicious/noControlCharactersInRegex: the mark
const ENCODED = /\u001a([0-9a-f]{4})/g;

/**
 * Encodes a text for storage. Most are unchanged, which is checked without a regular expression over the whole body.
 */
export function encodeText(text: string): string {
  if (text.isWellFormed() && !text.includes("\0") && !text.includes(MARK)) return text;
  return text.replace(UNSTORABLE, (character) => MARK + character.charCodeAt(0).toString(16).padStart(4, "0"));
}

/** Decodes a stored text. */
export function decodeText(stored: string): string {
  if (!stored.includes(MARK)) return stored;
  return stored.replace(ENCODED, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)));
}

/** The frequent statements of one schema. Parameters of appending ones are those of `valuesOf`. */
export type Statements = ReturnType<typeof createStatements>;

/** Builds a query from parameters. */
type Statement = (values: unknown[]) => PgQuery;

/** Creates the statements for a schema. Prepared ones are named by a hash of their text, so that names are unique. */
export function createStatements(schema: string, prepared: boolean) {
  const s = `"${schema}"`;
  const statement = (text: string): Statement => {
    const name = `phasegate_${digest(text).slice(0, 16)}`;
    return (values) => (prepared ? { text, values, name } : { text, values });
  };
  return {
    /** Reads the newest commit of a session. */
    read: statement(`SELECT ${COMMIT_COLUMNS} FROM ${s}.sessions s
      JOIN ${s}.commits c ON c.session_id = s.session_id AND c.version = s.version
      WHERE s.session_id = $1 AND s.removed_at IS NULL`),
    /** Reads a number of commits of a session above a version. */
    log: statement(`SELECT ${COMMIT_COLUMNS} FROM ${s}.sessions s
      JOIN ${s}.commits c ON c.session_id = s.session_id
      WHERE s.session_id = $1 AND s.removed_at IS NULL AND c.version > $2 ORDER BY c.version LIMIT $3`),
    /** Finds a version with this hash. */
    has: statement(`SELECT 1 AS found FROM ${s}.commits WHERE session_id = $1 AND version = $2 AND hash = $3`),
    /** Reads a session's state after a commit was refused. */
    state: statement(`SELECT version, hash, removed_at IS NOT NULL AS removed FROM ${s}.sessions
      WHERE session_id = $1`),
    /**
     * Updates a session's row without a change. The server acknowledges this when everything written before is on its
     * disk and on its standbys.
     */
    makeDurable: statement(`UPDATE ${s}.sessions SET version = version WHERE session_id = $1 RETURNING session_id`),
    /** Does the same if a version has this hash. */
    confirm: statement(`UPDATE ${s}.sessions SET version = version WHERE session_id = $1
      AND EXISTS (SELECT FROM ${s}.commits WHERE session_id = $1 AND version = $2 AND hash = $3) RETURNING session_id`),
    payload: statement(`SELECT body FROM ${s}.payloads WHERE session_id = $1 AND hash = $2`),
    countActive: statement(`SELECT count(*)::int AS found FROM
      (SELECT FROM ${s}.sessions WHERE status = 'active' AND removed_at IS NULL LIMIT $1) AS active`),
    size: statement(`SELECT s.version, coalesce((SELECT sum(pg_column_size(c.body) + pg_column_size(c.summary))
        FROM ${s}.commits c WHERE c.session_id = s.session_id), 0)
      + coalesce((SELECT sum(pg_column_size(p.body)) FROM ${s}.payloads p WHERE p.session_id = s.session_id), 0)
      AS bytes FROM ${s}.sessions s WHERE s.session_id = $1 AND s.removed_at IS NULL`),
    /** Writes a first commit if the id was never used; one row on success. */
    begin: statement(appending(s, BEGIN(s))),
    /** Writes a commit if its predecessor is the newest; one row on success. */
    follow: statement(appending(s, FOLLOW(s))),
    /** Writes commits of several sessions: see {@link followingAll}. */
    followAll: statement(followingAll(s)),
    /** Do the same and count the rows: see {@link counting}. */
    beginCounted: statement(counting(s, BEGIN(s), false)),
    followCounted: statement(counting(s, FOLLOW(s), false)),
    beginWithPayloads: statement(counting(s, BEGIN(s), true)),
    followWithPayloads: statement(counting(s, FOLLOW(s), true)),
    /** Resets a session's row to the commit before a dropped one, or deletes it if that was the first. */
    undo: statement(`UPDATE ${s}.sessions s SET version = c.version, hash = c.hash, status = c.status,
        current_step = c.current_step, updated_at = c.at, completed_at = CASE c.status WHEN 'completed' THEN c.at END
      FROM ${s}.commits c WHERE ${DROPPED(s)} AND c.session_id = $1 AND c.version = $2 - 1`),
    undoBegin: statement(`DELETE FROM ${s}.sessions s WHERE ${DROPPED(s)} AND $2 = 1`),
    /** Notifies a channel if anybody listens. */
    wake: statement(`SELECT pg_notify($1, '') WHERE EXISTS (SELECT FROM ${s}.listeners WHERE until > now())`),
  };
}

const BEGIN = (s: string) => `INSERT INTO ${s}.sessions (session_id, version, hash, status, kind, workflow_type, target,
    current_step, created_at, updated_at, completed_at, owner)
  VALUES ($1, $2, $6, $9, $10, $11, $12, $13, $14, $15, $16, $17)
  ON CONFLICT (session_id) DO NOTHING RETURNING session_id`;

// After waiting for another transaction, the server checks the row again, so one of several writers succeeds.
const FOLLOW = (s: string) => `UPDATE ${s}.sessions SET version = $2, hash = $6, status = $9, kind = $10,
    workflow_type = $11, target = $12, current_step = $13, created_at = $14, updated_at = $15, completed_at = $16,
    owner = $17
  WHERE session_id = $1 AND version = $2 - 1 AND hash = $5 AND removed_at IS NULL RETURNING session_id`;

/** The text that the server's error quotes if a row was not written. */
export const NOT_WRITTEN = "phasegate: a row was not written";

/** Matches a session's row that names a missing commit. */
const DROPPED = (s: string) => `s.session_id = $1 AND s.version = $2 AND s.hash = $3
  AND NOT EXISTS (SELECT FROM ${s}.commits WHERE session_id = $1 AND version = $2)`;

const INSERT = (s: string) => `INSERT INTO ${s}.commits
    (session_id, version, at, schema, previous_hash, hash, summary, body, status, current_step)
  SELECT session_id, $2, $3::text, $4::integer, $5, $6, $7::text, $8::text, $9, $13 FROM moved`;

/** Builds one statement that writes the session's row and, if that succeeded, the commit. */
function appending(s: string, moving: string): string {
  return `WITH moved AS (${moving}) ${INSERT(s)}`;
}

/**
 * Builds the statement for commits of several sessions. Each parameter is a column of the one for a single commit. Returns the
 * ids of the sessions whose commits are written. The others don't follow the newest one, or somebody else has locked their row
 * just now.
 */
function followingAll(s: string): string {
  return `WITH free AS (SELECT g.* FROM unnest($1::text[], $2::bigint[], $3::text[], $4::integer[], $5::text[], $6::text[],
        $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[],
        $16::text[], $17::text[]) AS g (session_id, version, at, schema, previous_hash, hash, summary, body, status, kind,
        workflow_type, target, current_step, created_at, updated_at, completed_at, owner)
      JOIN ${s}.sessions s ON s.session_id = g.session_id AND s.version = g.version - 1 AND s.hash = g.previous_hash
        AND s.removed_at IS NULL
      FOR NO KEY UPDATE OF s SKIP LOCKED),
    moved AS (UPDATE ${s}.sessions s SET version = g.version, hash = g.hash, status = g.status, kind = g.kind,
        workflow_type = g.workflow_type, target = g.target, current_step = g.current_step, created_at = g.created_at,
        updated_at = g.updated_at, completed_at = g.completed_at, owner = g.owner
      FROM free g WHERE s.session_id = g.session_id RETURNING g.*)
    INSERT INTO ${s}.commits
      (session_id, version, at, schema, previous_hash, hash, summary, body, status, current_step)
    SELECT session_id, version, at, schema, previous_hash, hash, summary, body, status, current_step FROM moved
    RETURNING session_id`;
}

/**
 * Builds the same statement with payloads, and for tables with foreign triggers. A trigger that returns NULL drops a
 * row without an error, so the statement counts the rows: if one is missing, it fails by casting a text to a number,
 * and the server rolls back. It takes a tenth longer.
 */
function counting(s: string, moving: string, payloads: boolean): string {
  const stored = `, stored AS (INSERT INTO ${s}.payloads (session_id, hash, body)
    SELECT moved.session_id, p.hash, p.body FROM moved, unnest($18::text[], $19::text[]) AS p(hash, body)
    ON CONFLICT (session_id, hash) DO NOTHING RETURNING hash)`;
  const allStored = `AND NOT EXISTS (SELECT FROM unnest($18::text[]) AS p(hash)
    WHERE NOT EXISTS (SELECT FROM stored WHERE stored.hash = p.hash)
    AND NOT EXISTS (SELECT FROM ${s}.payloads q WHERE q.session_id = $1 AND q.hash = p.hash))`;
  return `WITH moved AS (${moving})${payloads ? stored : ""}, written AS (${INSERT(s)} RETURNING session_id)
    SELECT (CASE WHEN EXISTS (SELECT FROM written) ${payloads ? allStored : ""} THEN '1' ELSE '${NOT_WRITTEN}' END)::integer
    FROM moved`;
}

/** Sorts after every character of a session id. */
const LAST_CHARACTER = "\u{10ffff}";

type ListRow = Pick<CommitRow, "session_id" | "hash" | "summary"> & { readonly created_at: string };

/** Runs reading statements, and repeats them after a lost connection. */
interface RowReader {
  rows<R extends Record<string, unknown>>(operation: string, query: PgQuery): Promise<R[]>;
}

/** Lists sessions: each filter has an index in list order, and a page starts at its cursor. */
export async function listSessions(
  reader: RowReader,
  schema: string,
  query: SessionQuery,
): Promise<Page<SessionSummary>> {
  const limit = pageLimit(query);
  const statement = listStatement(schema, query, limit + 1);
  if (statement === undefined) return { items: [] };
  const rows = await reader.rows<ListRow>("list", statement);
  const found = rows.map(({ session_id: sessionId, created_at: createdAt, summary }) => {
    return readSummary(sessionId, summary) ?? ({ sessionId, createdAt: decodeText(createdAt), damaged: true } as const);
  });
  const hashes = new Map(rows.map(({ session_id, hash }) => [session_id, decodeText(hash)]));
  return pageOf(found, limit, hashes);
}

/**
 * Builds the statement for a page; undefined if no session can match. It is not prepared: the server then plans it
 * for these values, and chooses the index by the selectivity of each filter.
 */
function listStatement(schema: string, query: SessionQuery, limit: number): PgQuery | undefined {
  const values: unknown[] = [limit];
  const value = (given: unknown) => `$${values.push(given)}`;
  const conditions = [...filters(query, value), ...position(query, value)];
  const statuses: (SessionStatus | undefined)[] = query.status === undefined ? [undefined] : [...new Set(query.status)];
  // One branch per status: each comes from the index in list order, which several in one condition would not.
  const branches = statuses.map((status) => {
    const own = status === undefined ? [] : [`status = ${value(status)}`];
    const where = ["removed_at IS NULL", ...own, ...conditions].join(" AND ");
    return `(SELECT session_id, version, created_at FROM "${schema}".sessions WHERE ${where} ${ORDER} LIMIT $1)`;
  });
  if (branches.length === 0) return undefined;
  const text = `SELECT c.session_id, page.created_at, c.hash, c.summary
    FROM (SELECT * FROM (${branches.join(" UNION ALL ")}) AS each ${ORDER} LIMIT $1) AS page
    JOIN "${schema}".commits c USING (session_id, version) ORDER BY page.created_at DESC, page.session_id`;
  return { text, values };
}

const ORDER = "ORDER BY created_at DESC, session_id";

function filters(query: SessionQuery, value: (given: unknown) => string): string[] {
  const { workflowType, target, owner, kind, idPrefix, updatedBefore } = query;
  const conditions: string[] = [];
  // The index contains only the beginning of a long text.
  const equals = (column: string, text: string | undefined) => {
    if (text === undefined) return;
    const parameter = `${value(encodeText(text))}::text`;
    conditions.push(`left(${column}, 256) = left(${parameter}, 256) AND ${column} = ${parameter}`);
  };
  equals("workflow_type", workflowType);
  equals("target", target);
  equals("kind", kind);
  // The index has the sessions with an owner only.
  if (owner !== undefined) conditions.push(`owner <> '' AND owner = ${value(encodeText(owner))}`);
  if (idPrefix !== undefined && idPrefix !== "") {
    const prefix = encodeText(idPrefix);
    conditions.push(`session_id >= ${value(prefix)} AND session_id < ${value(prefix + LAST_CHARACTER)}`);
  }
  if (updatedBefore !== undefined) {
    const time = `${value(encodeText(updatedBefore))}::text`;
    conditions.push(`updated_day <= left(${time}, 10) AND updated_at < ${time}`);
  }
  return conditions;
}

function position({ cursor }: SessionQuery, value: (given: unknown) => string): string[] {
  if (cursor === undefined) return [];
  const { createdAt, sessionId } = decodeCursor(cursor);
  const time = value(createdAt);
  return [`created_at <= ${time} AND (created_at < ${time} OR session_id > ${value(sessionId)})`];
}
