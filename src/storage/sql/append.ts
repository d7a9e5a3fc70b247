/** Writes commits and payloads, and removes sessions, in transactions of the caller. */
import type { Commit } from "../../ports/storage-adapter.js";
import type { SessionId } from "../../workflow/names.js";
import { commitConflict } from "../common/session-query.js";
import { changeOne, type LogDatabase, type SqlValue } from "./database.js";
import { notWritten } from "./failures.js";
import { keysOf, numberIn, storeCommit, storedText, textIn } from "./rows.js";
import { FOUND_BY } from "./tables.js";

interface AppendedAs {
  /** The body of the commit before, if it must have this one. */
  readonly follows: string | undefined;
  /** What its row has for the body. */
  readonly body: SqlValue;
}

/**
 * Writes a commit without its payloads, in a transaction, and returns the number of its session. Throws `CONFLICT`, with nothing
 * written, if it does not follow the newest one.
 */
export function appendCommit(
  database: LogDatabase,
  commit: Omit<Commit, "payloads">,
  { follows, body }: AppendedAs,
): number {
  const { names, sql } = database;
  const { sessionId: id, version, previousHash } = commit;
  const newest = database.prepare(sql.newest).get(id);
  const [last, hash] = newest === undefined ? [0, ""] : [numberIn(newest, "version"), textIn(newest, "hash")];
  if (version !== last + 1 || previousHash !== hash) {
    throw commitConflict(id, version, "it does not follow the newest version");
  }
  if (newest !== undefined && follows !== undefined && follows !== database.bodyOf(newest)) {
    throw commitConflict(id, version, "the newest version was edited");
  }
  if (newest === undefined && database.prepare(sql.wasRemoved).get(id) !== undefined) {
    throw commitConflict(id, version, "the session was removed");
  }
  const seq = numberIn(database.prepare(sql.last).get(), "seq") + 1;
  const keys = keysOf(commit.summary);
  const values = keys.map(storedText);
  let session: number;
  if (newest === undefined) session = changeOne(database, names.sessions, sql.begin, [id, ...values]);
  else {
    session = numberIn(newest, "number");
    // An index is written only if what it has changes: each written page costs as much as a statement.
    const moves = FOUND_BY.some((column, index) => textIn(newest, column) !== keys[index]);
    changeOne(database, names.sessions, moves ? sql.move : sql.count, moves ? [...values, session] : [session]);
  }
  changeOne(database, names.commits, sql.insert, [seq, session, ...storeCommit(commit, body)]);
  return session;
}

/** Writes a payload in a transaction. One that the session has already is not written again. */
export function storePayload(database: LogDatabase, session: number, hash: string, body: SqlValue): void {
  const { names, sql } = database;
  const name = storedText(hash);
  const { changes } = database.prepare(sql.store).run(session, name, body);
  if (changes !== 1 && !hasPayload(database, session, hash)) throw notWritten(names.payloads);
}

/** True if a session has a payload of this hash. */
export function hasPayload(database: LogDatabase, session: number, hash: string): boolean {
  return database.prepare(database.sql.isStored).get(session, storedText(hash)) !== undefined;
}

/** Keeps the id, and the tombstone for watchers. A host's database may not enforce foreign keys. */
export function removeSession(database: LogDatabase, id: SessionId): void {
  const { sessions, commits, payloads, removed } = database.names;
  const row = database.prepare(`SELECT number FROM ${sessions} WHERE session_id = ?`).get(id);
  if (row === undefined) return;
  const number = numberIn(row, "number");
  const has = (table: string, column: string) =>
    database.prepare(`SELECT 1 FROM ${table} WHERE ${column} = ? LIMIT 1`).get(number) !== undefined;
  // Somebody may have deleted all commits by hand.
  if (has(commits, "session")) changeOne(database, removed, database.sql.keepTombstone, [id]);
  for (const [table, column] of [
    [payloads, "session"],
    [commits, "session"],
    [sessions, "number"],
  ] as const) {
    database.prepare(`DELETE FROM ${table} WHERE ${column} = ?`).run(number);
    // The count of changes does not include rows that a trigger kept.
    if (has(table, column)) throw notWritten(table);
  }
}
