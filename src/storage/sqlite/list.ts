/**
 * Lists and counts sessions. Each query is driven by one index, so that a page costs the same however many sessions
 * there are.
 */
import type { SQLInputValue } from "node:sqlite";
import type { Changes, Page, SessionQuery, SessionSummary } from "../../ports/storage-adapter.js";
import { isSessionId } from "../../workflow/names.js";
import { decodeCursor, decodePosition, encodePosition, pageLimit, pageOf } from "../common/session-query.js";
import type { Connection } from "./connection.js";
import { numberIn, storedText, summaryIn, type TableNames, textIn } from "./rows.js";

/**
 * A condition with fewer matches than this drives the query, and its matches are sorted; otherwise an index in list
 * order is used.
 */
const FEW = 1000;

/** Lists and counts sessions. */
export class SessionLister {
  readonly #connection: Connection;
  readonly #names: TableNames;

  constructor(connection: Connection, names: TableNames) {
    this.#connection = connection;
    this.#names = names;
  }

  list(query: SessionQuery): Page<SessionSummary> {
    const limit = pageLimit(query);
    const after = query.cursor === undefined ? undefined : decodeCursor(query.cursor);
    const conditions = conditionsOf(query);
    if (after !== undefined) {
      const { createdAt, sessionId } = after;
      const values = [createdAt, createdAt, sessionId];
      conditions.push({ sql: "s.created_at <= ? AND (s.created_at < ? OR s.session_id > ?)", values });
    }
    const driver = this.#driver(conditions);
    // Each status has its own range of the index: a page merges the first sessions of each.
    const parts = driver?.alternatives ?? [undefined];
    if (parts.length === 0) return { items: [] };
    const rest = conditions.filter((condition) => condition !== driver || condition.alternatives === undefined);
    const selects = parts.map((part) => this.#select(driver, part === undefined ? rest : [part, ...rest], limit + 1));
    const sql = `${selects.map((select) => `SELECT * FROM (${select.sql})`).join(" UNION ALL ")}
      ORDER BY created_at DESC, session_id LIMIT ?`;
    const rows = this.#connection.prepare(sql).all(...selects.flatMap((select) => select.values), limit + 1);
    const found = rows.map((row) => {
      const at = { createdAt: textIn(row, "created_at"), sessionId: textIn(row, "session_id") };
      return summaryIn(row) ?? ({ ...at, damaged: true } as const);
    });
    return pageOf(found, limit);
  }

  // A database is known by the time at which it was made. Commits of others that come in between are named, too.
  changes(kind: string, since: string | undefined): Changes {
    const { sessions, commits, removed, migrations } = this.#names;
    const position = `SELECT (SELECT applied_at FROM ${migrations} WHERE version = 1) AS made, max(
      coalesce((SELECT max(seq) FROM ${commits}), 0), coalesce((SELECT max(seq) FROM ${removed}), 0)) AS seq`;
    const now = this.#connection.prepare(position).get() ?? {};
    const [made, last] = [textIn(now, "made"), numberIn(now, "seq")];
    const after = since === undefined ? 0 : decodePosition(since, made, last);
    const changed = `SELECT session_id FROM ${sessions}
        WHERE kind = ? AND number IN (SELECT session FROM ${commits} WHERE seq > ?)
      UNION ALL SELECT session_id FROM ${removed} WHERE seq > ?`;
    const rows = this.#connection.prepare(changed).all(storedText(kind), after, since === undefined ? last : after);
    const sessionIds = rows.map((row) => textIn(row, "session_id")).filter(isSessionId);
    return { sessionIds, position: encodePosition(made, last) };
  }

  countActive(upTo: number): number {
    const status = { sql: "s.status = ?", values: ["active"], index: "by_status" };
    return this.#count(status, Math.max(0, Math.min(upTo, Number.MAX_SAFE_INTEGER)));
  }

  // Prefer any condition with few matches, otherwise the first whose index has the list's order.
  #driver(conditions: readonly Condition[]): Condition | undefined {
    const driving = conditions.filter(({ index }) => index !== undefined);
    const ordered = driving.find((condition) => condition.ordered);
    if (driving.length === 1 && ordered !== undefined) return ordered;
    return driving.find((condition) => this.#count(condition, FEW) < FEW) ?? ordered;
  }

  #count({ sql, values, index }: Condition, upTo: number): number {
    const { sessions } = this.#names;
    const found = `SELECT 1 FROM ${sessions} s INDEXED BY ${sessions}_${index} WHERE ${sql} LIMIT ?`;
    const row = this.#connection.prepare(`SELECT count(*) AS count FROM (${found})`).get(...values, Math.ceil(upTo));
    return numberIn(row ?? {}, "count");
  }

  #select(driver: Condition | undefined, conditions: readonly Condition[], limit: number) {
    const { sessions, commits } = this.#names;
    const where = conditions.map(({ sql }) => `(${sql})`).join(" AND ");
    const sql = `SELECT s.created_at, s.session_id, c.version, c.at, c.summary
      FROM ${sessions} s INDEXED BY ${sessions}_${driver?.index ?? "by_created"}
      CROSS JOIN ${commits} c ON c.seq = (
        SELECT seq FROM ${commits} WHERE session = s.number ORDER BY version DESC LIMIT 1)
      ${where === "" ? "" : `WHERE ${where}`} ORDER BY s.created_at DESC, s.session_id LIMIT ?`;
    const values: SQLInputValue[] = [...conditions.flatMap((condition) => condition.values), limit];
    return { sql, values };
  }
}

/** A condition on a session's row `s`, or on its newest commit `c` if there is no index. */
interface Condition {
  readonly sql: string;
  readonly values: readonly SQLInputValue[];
  /** The index for this condition, by the end of its name. */
  readonly index?: string;
  /** True if that index is in list order. */
  readonly ordered?: boolean;
  /** Conditions in list order, one of which must be met, if this one is not in list order itself. */
  readonly alternatives?: readonly Condition[];
}

/** Returns the filters of a query, usually the most selective first. */
function conditionsOf(query: SessionQuery): Condition[] {
  const { status, workflowType, target, kind, idPrefix, updatedBefore } = query;
  const conditions: Condition[] = [];
  if (target !== undefined) conditions.push(equals("target", target));
  if (idPrefix !== undefined && idPrefix !== "") conditions.push(beginsWith(idPrefix));
  if (updatedBefore !== undefined) conditions.push(...olderThan(updatedBefore));
  if (workflowType !== undefined) conditions.push(equals("workflow_type", workflowType));
  if (status !== undefined) conditions.push(isOneOf(status));
  if (kind !== undefined) conditions.push(equals("kind", kind));
  return conditions;
}

function equals(column: string, value: string): Condition {
  return { sql: `s.${column} = ?`, values: [storedText(value)], index: `by_${column}`, ordered: true };
}

function isOneOf(status: readonly string[]): Condition {
  const alternatives = [...new Set(status)].map((one) => equals("status", one));
  const values = alternatives.flatMap((one) => one.values);
  const sql = `s.status IN (${alternatives.map(() => "?").join(", ")})`;
  return { sql, values, index: "by_status", ordered: true, alternatives };
}

// Ids are ASCII, so every id with this prefix sorts before the prefix followed by the largest character.
function beginsWith(prefix: string): Condition {
  return {
    sql: "s.session_id >= ? AND s.session_id < ?",
    values: [storedText(prefix), storedText(`${prefix}\u{10ffff}`)],
    index: "by_id",
  };
}

// The index on the day finds the candidates; for the last day, the newest commit decides. Its summary contains the time
// only if it differs from the commit's. A damaged summary is reported when it is read.
function olderThan(time: string): Condition[] {
  const day = storedText(time.slice(0, 10));
  const updatedAt = `CASE WHEN instr(c.summary, '"updatedAt":') > 0 AND json_valid(c.summary)
    THEN c.summary ->> '$.updatedAt' ELSE c.at END`;
  return [
    { sql: "s.updated_day <= ?", values: [day], index: "by_updated_day" },
    { sql: `s.updated_day < ? OR ${updatedAt} < ?`, values: [day, storedText(time)] },
  ];
}
