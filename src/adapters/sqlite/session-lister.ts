import type { SQLInputValue } from "node:sqlite";
import type { Page, SessionQuery, SessionSummary } from "../../ports/storage-adapter.js";
import { decodeCursor, pageLimit, pageOf } from "../session-query.js";
import { summaryIn } from "./commit-rows.js";
import type { Connection } from "./connection.js";
import { type Condition, conditionsOf } from "./list-conditions.js";
import { numberIn, textIn } from "./stored-text.js";
import type { TableNames } from "./table-names.js";

/** What leaves fewer sessions than this is sorted; from then on an index that has the order is walked. */
const FEW = 1000;

/** Lists and counts sessions, always by an index, and so that a page costs the same however many sessions there are. */
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
    // Each status has its own part of its index: a page is the best of the first ones of each.
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

  countActive(upTo: number): number {
    const status = { sql: "s.status = ?", values: ["active"], index: "by_status" };
    return this.#count(status, Math.max(0, Math.min(upTo, Number.MAX_SAFE_INTEGER)));
  }

  // What finds few is best, whatever it is; else the first that has the list's order.
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
