/** Writes commits and removes sessions. Both run in a transaction of the caller. */
import type { Commit, SessionSummary } from "../../ports/storage-adapter.js";
import type { SessionId } from "../../workflow/names.js";
import { commitConflict } from "../common/session-query.js";
import type { Connection } from "./connection.js";
import { notWritten } from "./failures.js";
import type { KnownSession, KnownSessions } from "./read.js";
import {
  COMMIT_COLUMNS,
  numberIn,
  type PackedPayload,
  READ_BODY,
  storeCommit,
  storedText,
  type TableNames,
  textIn,
} from "./rows.js";

/** The columns of `sessions` by which sessions are found. All of them are indexed. */
const FOUND_BY = ["kind", "workflow_type", "target", "owner", "status", "created_at", "updated_day"] as const;
type Keys = Readonly<Record<(typeof FOUND_BY)[number], string>>;

/** The key of a temporary payload row. It is not a digest, so no payload has it. */
const TOUCHED = "settled";

/** The state of a session before a commit. */
interface State {
  readonly number: number;
  readonly version: number;
  readonly hash: string;
  readonly keys: Keys;
}

/** Writes commits and their payloads. */
export class CommitWriter {
  readonly #connection: Connection;
  readonly #names: TableNames;
  readonly #known: KnownSessions;
  readonly #sql: ReturnType<typeof statements>;

  constructor(connection: Connection, names: TableNames, known: KnownSessions) {
    this.#connection = connection;
    this.#names = names;
    this.#known = known;
    this.#sql = statements(names);
  }

  /**
   * Returns the numbers of the session and of the commit. Throws `CONFLICT` if the commit does not follow the newest
   * one, or that one has another body than `follows`: somebody has edited it.
   */
  append(
    commit: Commit,
    follows: string | undefined,
    payloads: readonly PackedPayload[],
  ): { readonly number: number; readonly seq: number } {
    const { sessionId: id, version, previousHash } = commit;
    const known = this.#known.getInTransaction(id);
    const state = known === undefined ? this.#state(id) : stateOf(known);
    const { version: newest, hash } = state ?? { version: 0, hash: "" };
    if (version !== newest + 1 || previousHash !== hash) {
      throw commitConflict(id, version, "it does not follow the newest version");
    }
    if (state !== undefined && follows !== undefined && follows !== (known?.commit.body ?? this.#body(state))) {
      throw commitConflict(id, version, "the newest version was edited");
    }
    if (state === undefined && this.#prepare("removed").get(id) !== undefined) {
      throw commitConflict(id, version, "the session was removed");
    }
    const seq = (this.#known.seq ?? numberIn(this.#prepare("last").get() ?? {}, "seq")) + 1;
    const number = state === undefined ? this.#begin(commit) : this.#advance(commit, state);
    this.#connection.changeOne(this.#names.commits, this.#sql.insert, [seq, number, ...storeCommit(commit)]);
    this.#store(number, payloads);
    return { number, seq };
  }

  /**
   * Causes a sync without changing anything, by two writes: SQLite skips a single write that leaves a row unchanged.
   */
  touch(id: SessionId): void {
    const state = this.#state(id);
    if (state === undefined) return;
    const { payloads } = this.#names;
    this.#connection.changeOne(payloads, this.#sql.payload, [state.number, TOUCHED, new Uint8Array()]);
    this.#connection.changeOne(payloads, this.#sql.dropPayload, [state.number, TOUCHED]);
  }

  #state(id: SessionId): State | undefined {
    const row = this.#prepare("state").get(id);
    if (row === undefined) return undefined;
    const [number, version, hash] = [numberIn(row, "number"), numberIn(row, "version"), textIn(row, "hash")];
    const [kind, workflow_type, target] = [textIn(row, "kind"), textIn(row, "workflow_type"), textIn(row, "target")];
    const [owner, status, created_at] = [textIn(row, "owner"), textIn(row, "status"), textIn(row, "created_at")];
    const keys = { kind, workflow_type, target, owner, status, created_at, updated_day: textIn(row, "updated_day") };
    return { number, version, hash, keys };
  }

  /** Returns the body of a session's newest commit; undefined if it is too long to be read. */
  #body({ number, version }: State): string | undefined {
    const row = this.#prepare("body").get(number, version) ?? {};
    return row.body === null ? undefined : textIn(row, "body");
  }

  #begin({ sessionId, summary }: Commit): number {
    const values = [sessionId, ...keyValues(keysOf(summary))];
    return this.#connection.changeOne(this.#names.sessions, this.#sql.begin, values);
  }

  // An index is written only if what it has changes: each written page costs as much as a statement.
  #advance({ summary }: Commit, { number, keys: before }: State): number {
    const keys = keysOf(summary);
    const moves = FOUND_BY.some((column) => before[column] !== keys[column]);
    const values = moves ? [...keyValues(keys), number] : [number];
    this.#connection.changeOne(this.#names.sessions, moves ? this.#sql.move : this.#sql.count, values);
    return number;
  }

  // A payload that the session has already is not written again.
  #store(session: number, payloads: readonly PackedPayload[]): void {
    for (const { hash, bytes } of payloads) {
      const { changes } = this.#prepare("payload").run(session, storedText(hash), bytes);
      if (changes !== 1 && this.#prepare("hasPayload").get(session, storedText(hash)) === undefined) {
        throw notWritten(this.#names.payloads);
      }
    }
  }

  #prepare(name: keyof ReturnType<typeof statements>) {
    return this.#connection.prepare(this.#sql[name]);
  }
}

function keysOf({ kind, workflowType, target, owner = "", status, createdAt, updatedAt }: SessionSummary): Keys {
  const updatedDay = updatedAt.slice(0, 10);
  return { kind, workflow_type: workflowType, target, owner, status, created_at: createdAt, updated_day: updatedDay };
}

function keyValues(keys: Keys) {
  return FOUND_BY.map((column) => storedText(keys[column]));
}

function stateOf({ number, commit: { version, hash, summary } }: KnownSession): State {
  return { number, version, hash, keys: keysOf(summary) };
}

function statements({ sessions, commits, payloads, removed }: TableNames) {
  const keys = FOUND_BY.join(", ");
  return {
    state: `SELECT s.number, c.version, c.hash, ${FOUND_BY.map((column) => `s.${column}`).join(", ")}
      FROM ${sessions} s JOIN ${commits} c ON c.session = s.number
      WHERE s.session_id = ? ORDER BY c.version DESC LIMIT 1`,
    body: `SELECT ${READ_BODY} FROM ${commits} c WHERE c.session = ? AND c.version = ?`,
    removed: `SELECT 1 FROM ${removed} WHERE session_id = ?`,
    // The largest number ever used belongs to a commit, or to a removed session's last commit.
    last: `SELECT max(
        coalesce((SELECT max(seq) FROM ${commits}), 0), coalesce((SELECT max(seq) FROM ${removed}), 0)) AS seq`,
    begin: `INSERT INTO ${sessions} (session_id, ${keys}, version) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1)`,
    // Counted, not copied from the commit: after commits were deleted by hand, an audit still finds that some are missing.
    count: `UPDATE ${sessions} SET version = version + 1 WHERE number = ?`,
    move: `UPDATE ${sessions} SET ${FOUND_BY.map((column) => `${column} = ?`).join(", ")}, version = version + 1
      WHERE number = ?`,
    insert: `INSERT INTO ${commits} (seq, session, ${COMMIT_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    payload: `INSERT INTO ${payloads} (session, hash, body) VALUES (?, ?, ?) ON CONFLICT (session, hash) DO NOTHING`,
    dropPayload: `DELETE FROM ${payloads} WHERE session = ? AND hash = ?`,
    hasPayload: `SELECT 1 FROM ${payloads} WHERE session = ? AND hash = ?`,
  };
}

/**
 * Removes a session. Its id stays reserved, with its tombstone commit, which a watcher in another process may not
 * have seen. Rows are deleted table by table, because a host's database may not enforce foreign keys.
 */
export class SessionRemover {
  readonly #connection: Connection;
  readonly #names: TableNames;

  constructor(connection: Connection, names: TableNames) {
    this.#connection = connection;
    this.#names = names;
  }

  /** Removes a session if it exists. */
  remove(id: SessionId): void {
    const { sessions, commits, payloads, removed } = this.#names;
    const row = this.#connection.prepare(`SELECT number FROM ${sessions} WHERE session_id = ?`).get(id);
    if (row === undefined) return;
    const number = numberIn(row, "number");
    this.#keepTombstone(id, number, removed);
    this.#empty(payloads, "session", number);
    this.#empty(commits, "session", number);
    this.#empty(sessions, "number", number);
  }

  #keepTombstone(id: SessionId, number: number, removed: string): void {
    const { sessions, commits } = this.#names;
    // Somebody may have deleted all commits by hand.
    if (this.#connection.prepare(`SELECT 1 FROM ${commits} WHERE session = ?`).get(number) === undefined) return;
    const tombstone = COMMIT_COLUMNS.split(", ").map((name) => `CASE s.status WHEN 'deleted' THEN c.${name} END`);
    const sql = `INSERT INTO ${removed} (session_id, seq, removed_at, ${COMMIT_COLUMNS})
      SELECT s.session_id, c.seq, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), ${tombstone.join(", ")}
      FROM ${sessions} s JOIN ${commits} c ON c.session = s.number
      WHERE s.session_id = ? ORDER BY c.version DESC LIMIT 1`;
    this.#connection.changeOne(removed, sql, [id]);
  }

  /**
   * Deletes the session's rows of a table, and checks that none are left: the count does not include rows that a
   * trigger kept.
   */
  #empty(table: string, column: string, value: number): void {
    this.#connection.prepare(`DELETE FROM ${table} WHERE ${column} = ?`).run(value);
    const left = this.#connection.prepare(`SELECT 1 FROM ${table} WHERE ${column} = ? LIMIT 1`).get(value);
    if (left !== undefined) throw notWritten(table);
  }
}
