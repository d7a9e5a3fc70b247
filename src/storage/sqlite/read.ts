/**
 * Reads commits and payloads, caches the newest commits for as long as no other connection has written, and lists sessions.
 * Each query of a list is driven by one index, so that a page costs the same however many sessions there are.
 */
import type { SQLInputValue } from "node:sqlite";
import type { Changes, Commit, Page, SessionQuery, SessionSummary } from "../../ports/storage-adapter.js";
import { ENTRY_WEIGHT, RecentMap } from "../../workflow/cache.js";
import { isSessionId, type SessionId } from "../../workflow/names.js";
import { decodeCursor, decodePosition, encodePosition, pageLimit, sessionPage } from "../common/session-query.js";
import type { Connection } from "./connection.js";
import {
  bytesIn,
  commitIn,
  numberIn,
  selectCommits,
  storedText,
  summaryIn,
  type TableNames,
  textIn,
  unpackPayload,
} from "./rows.js";

/**
 * Commits read per query. No statement stays open between two queries, which would prevent checkpoints of the
 * write-ahead log.
 */
const READ_AHEAD = 8;

/** Reads the commits and payloads of sessions. */
export class CommitReader {
  readonly #connection: Connection;
  readonly #known: KnownSessions;
  readonly #sql: Readonly<Record<"newest" | "log" | "payload", string>>;

  constructor(connection: Connection, names: TableNames, known: KnownSessions) {
    const { sessions, payloads } = names;
    this.#connection = connection;
    this.#known = known;
    this.#sql = {
      newest: selectCommits(names, "WHERE s.session_id = ? ORDER BY c.version DESC LIMIT 1", "s.number"),
      log: selectCommits(names, "WHERE s.session_id = ? AND c.version > ? ORDER BY c.version LIMIT ?"),
      payload: `SELECT p.body FROM ${payloads} p JOIN ${sessions} s ON p.session = s.number
        WHERE s.session_id = ? AND p.hash = ?`,
    };
  }

  newest(id: SessionId): Commit | undefined {
    const known = this.#known.get(id);
    // Return a copy, since the caller may change it.
    if (known !== undefined) return { ...known.commit, summary: { ...known.commit.summary } };
    const row = this.#connection.prepare(this.#sql.newest).get(id);
    if (row === undefined) return undefined;
    const commit = commitIn(row);
    this.#known.set({ ...commit, summary: { ...commit.summary } }, numberIn(row, "number"));
    return commit;
  }

  async *log(id: SessionId, after: number, limit: number): AsyncGenerator<Commit> {
    for (let [last, left] = [after, limit]; left > 0; ) {
      const count = Math.min(READ_AHEAD, left);
      const from = last;
      const rows = await this.#connection.withRetry("read", () =>
        this.#connection.prepare(this.#sql.log).all(id, from, count),
      );
      for (const row of rows) {
        const commit = commitIn(row);
        last = commit.version;
        yield commit;
      }
      if (rows.length < count) return;
      left -= rows.length;
    }
  }

  async payload(id: SessionId, hash: string, maxBytes: number): Promise<string | undefined> {
    const row = await this.#connection.withRetry("read", () =>
      this.#connection.prepare(this.#sql.payload).get(id, storedText(hash)),
    );
    return row && unpackPayload(bytesIn(row, "body"), id, hash, maxBytes);
  }
}

/** A session's newest commit and the number of its rows. */
export interface KnownSession {
  readonly number: number;
  readonly commit: Omit<Commit, "payloads">;
}

/** Limits the commits that are cached: characters of their bodies. The engine that wrote one keeps the same string. */
const KNOWN_WEIGHT = 16 * 1024 * 1024;

/**
 * Caches what this connection last read or wrote. SQLite counts the commits of all other connections (`PRAGMA
 * data_version`); the first of them clears the cache. So the cache always equals the database, and a file that
 * somebody edits is read again.
 */
export class KnownSessions {
  readonly #connection: Connection;
  readonly #isEnabled: boolean;
  #sessions = newCache();
  #dataVersion = -1;
  #seq: number | undefined;

  /** Off for a host's database, because the host may write through the same connection. */
  constructor(connection: Connection, isEnabled: boolean) {
    this.#connection = connection;
    this.#isEnabled = isEnabled;
  }

  get(id: SessionId): KnownSession | undefined {
    this.clearIfChanged();
    return this.#sessions.get(id);
  }

  /** The same, but in a transaction that has called `clearIfChanged`: nobody else writes until it ends. */
  getInTransaction(id: SessionId): KnownSession | undefined {
    return this.#sessions.get(id);
  }

  /** The number of the newest commit of all sessions. Must be read in such a transaction, too. */
  get seq(): number | undefined {
    return this.#seq;
  }

  /**
   * Caches a commit that was written, or read in the same turn of the event loop as `get` was called; `seq` if it was
   * written. The commit is not copied.
   */
  set(commit: Omit<Commit, "payloads">, number: number, seq?: number): void {
    if (!this.#isEnabled) return;
    this.#seq = seq ?? this.#seq;
    this.#sessions.set(commit.sessionId, { number, commit });
  }

  delete(id: SessionId): void {
    this.#sessions.delete(id);
  }

  /**
   * Clears the cache after a failed write: it may have been written, and SQLite does not count a connection's own
   * commits.
   */
  clear(): void {
    this.#sessions = newCache();
    this.#seq = undefined;
  }

  /** Forgets everything if another connection has written. */
  clearIfChanged(): void {
    if (!this.#isEnabled) return;
    const dataVersion = this.#connection.dataVersion();
    if (dataVersion === this.#dataVersion) return;
    this.clear();
    this.#dataVersion = dataVersion;
  }
}

function newCache(): RecentMap<SessionId, KnownSession> {
  return new RecentMap(KNOWN_WEIGHT, ({ commit }) => commit.body.length + ENTRY_WEIGHT);
}

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
    return sessionPage(found, limit);
  }

  // A database is known by the time at which it was made. Commits of others that come in between are named, too. A session may
  // be removed long after its tombstone, so that removed ones are found by the row that was made then.
  changes(kind: string, since: string | undefined): Changes {
    const { sessions, commits, removed, migrations } = this.#names;
    const position = `SELECT (SELECT applied_at FROM ${migrations} WHERE version = 1) AS made, max(
      coalesce((SELECT max(seq) FROM ${commits}), 0), coalesce((SELECT max(seq) FROM ${removed}), 0)) AS seq,
      coalesce((SELECT max(rowid) FROM ${removed}), 0) AS row`;
    const now = this.#connection.prepare(position).get() ?? {};
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
        ? this.#connection.prepare(all).all(storedText(kind))
        : this.#connection.prepare(changed).all(after, storedText(kind), afterRow);
    const sessionIds = rows.map((row) => textIn(row, "session_id")).filter(isSessionId);
    return { sessionIds, position: `${encodePosition(made, last)}~${lastRow}` };
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
  const { status, workflowType, target, owner, kind, idPrefix, updatedBefore } = query;
  const conditions: Condition[] = [];
  if (target !== undefined) conditions.push(equals("target", target));
  if (owner !== undefined) conditions.push(ownedBy(owner));
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

// The index has the sessions with an owner only.
function ownedBy(owner: string): Condition {
  const { sql, ...condition } = equals("owner", owner);
  return { ...condition, sql: `${sql} AND s.owner <> ''` };
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
