/** Lists sessions: each filter has an index in list order, and a page starts at its cursor. */
import type { Page, SessionQuery, SessionSummary } from "../../ports/storage-adapter.js";
import { decodeCursor, pageLimit, readSummary, sessionPage } from "../common/session-query.js";
import type { Retrier } from "./connections.js";
import { type CommitRow, decodeText, encodeText, type Preparation } from "./rows.js";
import { IS_OPEN, OPEN } from "./schema.js";

/** Sorts after every character of a session id. */
const LAST_CHARACTER = "\u{10ffff}";

type ListRow = Pick<CommitRow, "session_id" | "hash" | "summary"> & { readonly created_at: string };

export async function listSessions(
  retrier: Retrier,
  schema: string,
  preparation: Preparation,
  query: SessionQuery,
): Promise<Page<SessionSummary>> {
  const limit = pageLimit(query);
  const statement = listStatement(schema, preparation, query, limit + 1);
  if (statement === undefined) return { items: [] };
  const rows = await retrier.rows<ListRow>("list", statement);
  const found = rows.map(({ session_id: sessionId, created_at: createdAt, summary }) => {
    return readSummary(summary, sessionId) ?? ({ sessionId, createdAt: decodeText(createdAt), damaged: true } as const);
  });
  const hashes = new Map(rows.map(({ session_id, hash }) => [session_id, decodeText(hash)]));
  return sessionPage(found, limit, hashes);
}

/** Undefined if no session can match. Most are not prepared: the server then chooses the index by their values. */
function listStatement(schema: string, preparation: Preparation, query: SessionQuery, limit: number) {
  const values: unknown[] = [limit];
  const value = (given: unknown) => `$${values.push(given)}`;
  const conditions = [...filters(query, value), ...position(query, value)];
  const hasOwnIndex = listsOpenOnTarget(query);
  const branches = (hasOwnIndex ? [[IS_OPEN]] : statusConditions(query, value)).map((own) => {
    const where = [...own, ...conditions].join(" AND ");
    return `(SELECT session_id, version, created_at FROM "${schema}".sessions WHERE ${where} ${ORDER} LIMIT $1)`;
  });
  if (branches.length === 0) return undefined;
  // OFFSET 0 has each commit looked up by its key. The server would rather go through all partitions of a few thousand commits.
  const text = `SELECT page.session_id, page.created_at, c.hash, c.summary
    FROM (SELECT * FROM (${branches.join(" UNION ALL ")}) AS each ${ORDER} LIMIT $1) AS page
    CROSS JOIN LATERAL (SELECT hash, summary FROM "${schema}".commits c
      WHERE c.session_id = page.session_id AND c.version = page.version OFFSET 0) c
    ORDER BY page.created_at DESC, page.session_id`;
  return hasOwnIndex ? preparation.statement(text)(values) : { text, values };
}

const ORDER = "ORDER BY created_at DESC, session_id";

/** The open sessions on a target have an index. Each start asks for them; planning would take ten times as long. */
function listsOpenOnTarget({ status = [], target, workflowType, owner, updatedBefore }: SessionQuery): boolean {
  const isOpen = status.length === OPEN.length && OPEN.every((one) => status.includes(one));
  // Few of them may have this owner or this time, and other indexes find these.
  const isMore = owner !== undefined || updatedBefore !== undefined;
  return isOpen && !isMore && target !== undefined && workflowType !== undefined;
}

/**
 * Returns the conditions of a branch for each status: it comes in list order from the index, as several at once would not. Stale
 * sessions come from an index of days, which is in no such order: it is read once for all.
 */
function statusConditions(
  { status, updatedBefore }: SessionQuery,
  value: (given: unknown) => string,
): (readonly string[])[] {
  const isThere = "removed_at IS NULL";
  if (status === undefined) return [[isThere]];
  if (updatedBefore !== undefined && status.length > 0) return [[isThere, `status = ANY(${value([...status])})`]];
  return [...new Set(status)].map((one) => [isThere, `status = ${value(one)}`]);
}

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
