/** Lists sessions: each filter has an index in list order, and a page starts at its cursor. */
import type { Page, SessionQuery, SessionStatus, SessionSummary } from "../../ports/storage-adapter.js";
import { decodeCursor, pageLimit, pageOf } from "../common/session-query.js";
import type { Retrier } from "./connections.js";
import type { PgQuery } from "./options.js";
import { decodeText, encodeText, readSummary } from "./rows.js";

/** Sorts after every character of a session id. */
const LAST_CHARACTER = "\u{10ffff}";

type ListRow = { readonly session_id: string; readonly created_at: string; readonly summary: string };

/** Lists sessions. */
export class SessionLister {
  readonly #retrier: Retrier;
  readonly #schema: string;

  constructor(retrier: Retrier, schema: string) {
    this.#retrier = retrier;
    this.#schema = schema;
  }

  async list(query: SessionQuery): Promise<Page<SessionSummary>> {
    const limit = pageLimit(query);
    const statement = listStatement(this.#schema, query, limit + 1);
    if (statement === undefined) return { items: [] };
    const rows = await this.#retrier.rows<ListRow>("list", statement);
    const found = rows.map(({ session_id: sessionId, created_at: createdAt, summary }) => {
      return (
        readSummary(sessionId, summary) ?? ({ sessionId, createdAt: decodeText(createdAt), damaged: true } as const)
      );
    });
    return pageOf(found, limit);
  }
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
  const text = `SELECT c.session_id, page.created_at, c.summary
    FROM (SELECT * FROM (${branches.join(" UNION ALL ")}) AS each ${ORDER} LIMIT $1) AS page
    JOIN "${schema}".commits c USING (session_id, version) ORDER BY page.created_at DESC, page.session_id`;
  return { text, values };
}

const ORDER = "ORDER BY created_at DESC, session_id";

function filters(query: SessionQuery, value: (given: unknown) => string): string[] {
  const { workflowType, target, kind, idPrefix, updatedBefore } = query;
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
  if (idPrefix !== undefined && idPrefix !== "") {
    const prefix = encodeText(idPrefix);
    conditions.push(`session_id >= ${value(prefix)} AND session_id < ${value(prefix + LAST_CHARACTER)}`);
  }
  if (updatedBefore !== undefined) conditions.push(`updated_at < ${value(encodeText(updatedBefore))}`);
  return conditions;
}

function position({ cursor }: SessionQuery, value: (given: unknown) => string): string[] {
  if (cursor === undefined) return [];
  const { createdAt, sessionId } = decodeCursor(cursor);
  const time = value(createdAt);
  return [`created_at <= ${time} AND (created_at < ${time} OR session_id > ${value(sessionId)})`];
}
