/**
 * A server that carries out the statements of PostgresStorage on rows in memory: each statement at once and alone, as
 * PostgreSQL does for the rows that a statement locks. It knows the statements by their names, and refuses any other, so
 * it can't drift from the adapter unnoticed. What the SQL itself means is tested on real servers (test/storage/postgres).
 */
import type { PgQuery, PgRow } from "phasegate/postgres";
import type { Commit } from "../../src/ports/storage-adapter.js";
import { type CommitRow, commitOf, createStatements, Preparation } from "../../src/storage/postgres/rows.js";
import { IS_OPEN, MIGRATIONS, OPEN } from "../../src/storage/postgres/schema.js";

/** The result of a statement. */
export interface Result {
  readonly rows: PgRow[];
  readonly rowCount: number;
}

interface StoredRow extends CommitRow {
  readonly xid: bigint;
}

interface SessionRow extends PgRow {
  readonly session_id: string;
  readonly status: string;
  readonly created_at: string;
}

/** The columns of a session's row that statements set, in the order of their parameters from the ninth on. */
const COLUMNS = ["status", "kind", "workflow_type", "target", "current_step", "created_at", "updated_at", "", "owner"];
const STATEMENTS = Object.entries(createStatements("phasegate", new Preparation(true)));
const NAMES = new Map(STATEMENTS.map(([name, statement]) => [baseOf(statement([])), name]));

/** What a statement that is not prepared is recognized by, and what it returns. */
const FIXED: readonly (readonly [part: string, row: PgRow])[] = [
  ["server_version_num", { version: 170_000, encoding: "UTF8", synced: true }],
  ["FROM pg_tables", { tables: 1 }],
  ["max(number)", { found: MIGRATIONS.length }],
  ["xid >= pg_snapshot_xmax(pg_current_snapshot())) AS found", { found: false }],
];

/** The server, and all its rows. */
export class SimPostgres {
  readonly #onCommit: (sessionId: string, version: number) => void;
  readonly #sessions = new Map<string, SessionRow>();
  readonly #commits = new Map<string, StoredRow[]>();
  readonly #payloads = new Map<string, string>();
  #xid = 100n;

  constructor(onCommit: (sessionId: string, version: number) => void) {
    this.#onCommit = onCommit;
  }

  /** Returns all commits of a session. */
  commits(id: string): Commit[] {
    return this.#rows(id).map(commitOf);
  }

  /** Returns the name of a statement, for the trace. */
  nameOf(query: PgQuery): string {
    const { text } = query;
    return (
      NAMES.get(baseOf(query)) ?? (text.includes("page.xid") ? "news" : text.includes("AS each") ? "list" : "look")
    );
  }

  /** Carries out a statement. */
  run(query: PgQuery): Result {
    const { text, values = [] } = query;
    const rows = this.#rowsOf(this.nameOf(query), text, values);
    return { rows, rowCount: rows.length };
  }

  /** Returns what a statement does while the row of its first session is locked: only one for several skips it. */
  withoutLocked(query: PgQuery): PgQuery {
    const skips = this.nameOf(query) === "appendAll";
    return skips ? { ...query, values: transposed(transposed(query.values ?? []).slice(1)) } : query;
  }

  #rowsOf(name: string, text: string, values: readonly unknown[]): PgRow[] {
    const id = String(values[0]);
    const own = this.#rows(id);
    const newest = own.at(-1);
    const isThere = () => this.#rows(id)[Number(values[1]) - 1]?.hash === values[2];
    switch (name) {
      case "read":
        return newest === undefined ? [] : [newest];
      case "log":
        return own.filter(({ version }) => Number(version) > Number(values[1])).slice(0, Number(values[2]));
      case "state":
        return newest === undefined ? [] : [{ version: newest.version, hash: newest.hash, removed: false }];
      case "makeDurable":
        return newest === undefined ? [] : [{ session_id: id }];
      case "confirm":
        return isThere() ? [{ done: true }] : [];
      case "payload": {
        const body = this.#payloads.get(`${id} ${values[1]}`);
        return body === undefined ? [] : [{ body }];
      }
      case "countActive":
        return [{ found: [...this.#sessions.values()].filter(({ status }) => status === "active").length }];
      case "wake":
        return [];
      case "append":
        return this.#write(values);
      case "appendAll":
        return transposed(values).flatMap((row) => this.#write(row));
      case "list":
        return this.#list(text, values);
      case "news":
        return this.#news(values);
      case "look":
        return this.#look(text);
      default:
        throw new Error(`the simulated server has no statement ${name}`);
    }
  }

  #rows(id: string): readonly StoredRow[] {
    return this.#commits.get(id) ?? [];
  }

  /** Writes a commit if it follows the newest one, or is the first one. */
  #write(values: readonly unknown[]): PgRow[] {
    const newest = this.#rows(String(values[0])).at(-1);
    if (values[1] === 1) return newest === undefined ? this.#append(values) : [];
    return Number(newest?.version) === Number(values[1]) - 1 && newest?.hash === values[4] ? this.#append(values) : [];
  }

  #append(values: readonly unknown[]): PgRow[] {
    const [id, at, previous_hash, hash, summary, body] = [0, 2, 4, 5, 6, 7].map((index) => String(values[index]));
    if (id === undefined || at === undefined || previous_hash === undefined || hash === undefined) return [];
    if (summary === undefined || body === undefined) return [];
    const [version, schema] = [Number(values[1]), Number(values[3])];
    const row = { session_id: id, version: `${version}`, at, schema, previous_hash, hash, summary, body };
    this.#commits.set(id, [...this.#rows(id), { ...row, xid: ++this.#xid }]);
    const columns = Object.fromEntries(COLUMNS.map((column, index) => [column, values[8 + index]]));
    this.#sessions.set(id, {
      ...columns,
      session_id: id,
      status: String(values[8]),
      created_at: String(values[13]),
    });
    const [hashes, bodies] = [values[17], values[18]];
    if (Array.isArray(hashes) && Array.isArray(bodies)) {
      for (const [index, payload] of hashes.entries()) this.#payloads.set(`${id} ${payload}`, String(bodies[index]));
    }
    this.#onCommit(id, version);
    return [{ session_id: id }];
  }

  /** Lists sessions: of each branch, the conditions are evaluated one by one. */
  #list(text: string, values: readonly unknown[]): PgRow[] {
    const branches = [...text.matchAll(/sessions WHERE (.*?) ORDER BY created_at DESC/g)];
    const found = [...this.#sessions.values()].filter((session) =>
      branches.some(([, where = ""]) => where.split(" AND ").every((one) => meets(session, one, values))),
    );
    found.sort((a, b) => (a.created_at === b.created_at ? (a.session_id < b.session_id ? -1 : 1) : 0));
    found.sort((a, b) => (a.created_at < b.created_at ? 1 : a.created_at > b.created_at ? -1 : 0));
    return found.slice(0, Number(values[0])).map(({ session_id, created_at }) => {
      const { hash, summary } = this.#rows(session_id).at(-1) ?? {};
      return { session_id, created_at, hash, summary };
    });
  }

  /**
   * Returns the next commits after a snapshot, and whether the newest one that was seen is there. Here no transaction is ever
   * in progress, and each has one commit: a snapshot is its end.
   */
  #news([from, newest, hash]: readonly unknown[]): PgRow[] {
    const begin = endOf(String(from));
    const all = [...this.#commits.values()].flat();
    const known = newest === null || all.some((row) => String(row.xid) === newest && row.hash === hash);
    const until = this.#snapshot;
    const found = known ? all.filter(({ xid }) => xid >= begin) : [];
    const page = found.sort((a, b) => (a.xid < b.xid ? -1 : 1)).slice(0, 100);
    if (page.length === 0) return [{ until, known, xid: null }];
    return page.map((row) => ({ ...row, until, known, xid: String(row.xid) }));
  }

  get #snapshot(): string {
    return `${this.#xid + 1n}:${this.#xid + 1n}:`;
  }

  #look(text: string): PgRow[] {
    const fixed = FIXED.find(([part]) => text.includes(part));
    if (fixed !== undefined) return [fixed[1]];
    if (text.includes("ORDER BY c.xid DESC LIMIT 1")) {
      const [last] = [...this.#commits.values()].flat().sort((a, b) => (a.xid < b.xid ? 1 : -1));
      return [
        { snapshot: this.#snapshot, xid: last === undefined ? null : String(last.xid), hash: last?.hash ?? null },
      ];
    }
    throw new Error(`the simulated server does not know ${text}`);
  }
}

/** Returns the name that a statement has without the number of its plan. */
function baseOf({ name = "" }: PgQuery): string {
  return name.slice(0, name.lastIndexOf("_"));
}

/** Returns the rows of columns, or the columns of rows. */
function transposed(lists: readonly unknown[]): unknown[][] {
  const all = lists.map((list): readonly unknown[] => (Array.isArray(list) ? list : []));
  return (all[0] ?? []).map((_, index) => all.map((list) => list[index]));
}

function endOf(snapshot: string): bigint {
  return BigInt(snapshot.split(":")[1] ?? 0);
}

/** Returns true if a session's row meets a condition of a list. */
function meets(session: SessionRow, condition: string, values: readonly unknown[]): boolean {
  // No session is removed here; and an indexed beginning is followed by the whole text.
  if (condition === "removed_at IS NULL" || condition === "owner <> ''" || condition.startsWith("left(")) return true;
  if (condition === IS_OPEN) return OPEN.some((status) => status === session.status);
  const [, column = "", operator, number] = /^(\w+) (=|<|>=) \$(\d+)(?:::text)?$/.exec(condition) ?? [];
  const [stored, given] = [String(session[column]), String(values[Number(number) - 1])];
  if (operator === "=") return stored === given;
  if (operator === "<") return stored < given;
  if (operator === ">=") return stored >= given;
  throw new Error(`the simulated server does not know the condition ${condition}`);
}
