/** Lists sessions, and finds those that have changed. Each query is driven by one index: a page costs the same in a large store. */
import type { Changes, Page, SessionQuery, SessionSummary } from "../../ports/storage-adapter.js";
import { isSessionId } from "../../workflow/names.js";
import { decodeCursor, decodePosition, encodePosition, pageLimit, sessionPage } from "../common/session-query.js";
import type { LogDatabase, SqlValue } from "./database.js";
import { numberIn, storedText, summaryIn, textIn } from "./rows.js";

/** A condition on a session's row `s`, or on its newest commit `c` if there is no index. */
interface Condition {
  readonly sql: string;
  readonly values: readonly SqlValue[];
  /** The index for this condition, by the end of its name. */
  readonly index?: string;
  /** True if that index is in list order. */
  readonly ordered?: boolean;
  /** Conditions in list order, one of which must be met, if this one is not in list order itself. */
  readonly alternatives?: readonly Condition[];
}

export function listSessions(database: LogDatabase, query: SessionQuery): Page<SessionSummary> {
  const limit = pageLimit(query);
  const conditions = conditionsOf(query);
  const driver = driverOf(database, conditions);
  // Each status has its own range of the index: a page merges the first sessions of each.
  const parts = driver?.alternatives ?? [undefined];
  if (parts.length === 0) return { items: [] };
  const rest = conditions.filter((condition) => condition !== driver || condition.alternatives === undefined);
  const selects = parts.map((part) => {
    const all = part === undefined ? rest : [part, ...rest];
    return { sql: selectBy(database, driver, all), values: [...all.flatMap(({ values }) => values), limit + 1] };
  });
  const sql = `${selects.map((select) => `SELECT * FROM (${select.sql})`).join(" UNION ALL ")}
    ORDER BY created_at DESC, session_id LIMIT ?`;
  const rows = database.prepare(sql).all(...selects.flatMap(({ values }) => values), limit + 1);
  const found = rows.map((row) => {
    const at = { createdAt: textIn(row, "created_at"), sessionId: textIn(row, "session_id") };
    return summaryIn(row) ?? ({ ...at, damaged: true } as const);
  });
  return sessionPage(found, limit);
}

function selectBy({ names }: LogDatabase, driver: Condition | undefined, conditions: readonly Condition[]): string {
  const { sessions, commits } = names;
  const where = conditions.map(({ sql }) => `(${sql})`).join(" AND ");
  return `SELECT s.created_at, s.session_id, c.version, c.at, c.summary
    FROM ${sessions} s INDEXED BY ${sessions}_${driver?.index ?? "by_created"}
    CROSS JOIN ${commits} c ON c.seq = (
      SELECT seq FROM ${commits} WHERE session = s.number ORDER BY version DESC LIMIT 1)
    ${where === "" ? "" : `WHERE ${where}`} ORDER BY s.created_at DESC, s.session_id LIMIT ?`;
}

/** A condition with fewer matches than this drives the query: to sort them takes less than to skip the others. */
const FEW = 1000;

/** Returns the condition whose index finds the sessions: any with few matches, or the first in list order. */
function driverOf(database: LogDatabase, conditions: readonly Condition[]): Condition | undefined {
  const driving = conditions.filter(({ index }) => index !== undefined);
  const ordered = driving.find((condition) => condition.ordered);
  if (driving.length === 1 && ordered !== undefined) return ordered;
  return driving.find((condition) => countMatches(database, condition, FEW) < FEW) ?? ordered;
}

function countMatches(database: LogDatabase, { sql, values, index }: Condition, upTo: number): number {
  const { sessions } = database.names;
  const found = `SELECT 1 FROM ${sessions} s INDEXED BY ${sessions}_${index} WHERE ${sql} LIMIT ?`;
  const row = database.prepare(`SELECT count(*) AS count FROM (${found})`).get(...values, Math.ceil(upTo));
  return numberIn(row, "count");
}

export function countActive(database: LogDatabase, upTo: number): number {
  return countMatches(database, equals("status", "active"), Math.max(0, Math.min(upTo, Number.MAX_SAFE_INTEGER)));
}

/** Returns the filters of a query, usually the most selective first, and the condition of its cursor. */
function conditionsOf(query: SessionQuery): Condition[] {
  const { status, workflowType, target, owner, kind, idPrefix = "", updatedBefore, cursor } = query;
  const conditions: Condition[] = [];
  if (target !== undefined) conditions.push(equals("target", target));
  // The index has the sessions with an owner only.
  if (owner !== undefined) conditions.push({ ...equals("owner", owner), sql: "s.owner = ? AND s.owner <> ''" });
  if (idPrefix !== "") {
    // Ids are ASCII, so every id with this prefix sorts before the prefix followed by the largest character.
    const values = [storedText(idPrefix), storedText(`${idPrefix}\u{10ffff}`)];
    conditions.push({ sql: "s.session_id >= ? AND s.session_id < ?", values, index: "by_id" });
  }
  if (updatedBefore !== undefined) conditions.push(...olderThan(updatedBefore));
  if (workflowType !== undefined) conditions.push(equals("workflow_type", workflowType));
  if (status !== undefined) conditions.push(isOneOf(status));
  if (kind !== undefined) conditions.push(equals("kind", kind));
  if (cursor !== undefined) {
    const { createdAt, sessionId } = decodeCursor(cursor);
    const values = [createdAt, createdAt, sessionId];
    conditions.push({ sql: "s.created_at <= ? AND (s.created_at < ? OR s.session_id > ?)", values });
  }
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

/** The time of its making identifies a database. Removed sessions are found by rows made at their removal. */
export function findChanges(database: LogDatabase, kind: string, since: string | undefined): Changes {
  const { sessions, commits, removed, migrations } = database.names;
  const position = `SELECT (SELECT applied_at FROM ${migrations} WHERE version = 1) AS made,
    (${database.sql.last}) AS seq, coalesce((SELECT max(rowid) FROM ${removed}), 0) AS row`;
  const now = database.prepare(position).get();
  const [made, last, lastRow] = [textIn(now, "made"), numberIn(now, "seq"), numberIn(now, "row")];
  const [, place = "", row = "0"] = /^(.*?)(?:~(\d{1,15}))?$/s.exec(since ?? "") ?? [];
  const after = since === undefined ? 0 : decodePosition(place, made, last);
  // VACUUM may number rows anew. Then all are named.
  const afterRow = Number(row) > lastRow ? 0 : Number(row);
  // CROSS JOIN: the planner would look at all sessions of the kind.
  const changed = `SELECT DISTINCT s.session_id FROM ${commits} c CROSS JOIN ${sessions} s ON s.number = c.session
    WHERE c.seq > ? AND s.kind = ? UNION ALL SELECT session_id FROM ${removed} WHERE rowid > ?`;
  const all = `SELECT session_id FROM ${sessions} WHERE kind = ?`;
  const rows =
    since === undefined
      ? database.prepare(all).all(storedText(kind))
      : database.prepare(changed).all(after, storedText(kind), afterRow);
  const sessionIds = rows.map((found) => textIn(found, "session_id")).filter(isSessionId);
  return { sessionIds, position: `${encodePosition(made, last)}~${lastRow}` };
}
