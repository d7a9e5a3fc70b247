/**
 * The log in tables of SQLite, over whichever driver the runtime has: `storage/sqlite/` and `storage/durable-objects/` keep it so.
 * This is the entry file of the folder.
 *
 * - database.ts: what is needed of a driver.
 * - tables.ts: the tables and statements.
 * - rows.ts: how commits and texts become rows.
 * - migrations.ts: how the tables are made; a step is never changed once it is released.
 * - append.ts: a commit must follow the newest one; a removed id is never used again.
 * - read-log.ts: how many commits of a log are read at once.
 * - list.ts: each query of a list uses one index.
 * - feed.ts: watching is reading on from a sequence number.
 * - views.ts: what people see at a SQL prompt.
 * - failures.ts: the errors that the above throw.
 */
import { notWritten } from "./failures.js";
import type { Statements, TableNames } from "./tables.js";

/** A value that a statement gets. */
export type SqlValue = null | number | string | Uint8Array;
/** A row, by the names of its columns. */
export type Row = Readonly<Record<string, SqlValue | bigint>>;

/** A prepared statement. */
export interface Statement {
  all(...values: readonly SqlValue[]): readonly Row[];
  get(...values: readonly SqlValue[]): Row | undefined;
  run(...values: readonly SqlValue[]): {
    readonly changes: number | bigint;
    readonly lastInsertRowid: number | bigint;
  };
}

/** A database with the tables of a log. */
export interface LogDatabase {
  readonly names: TableNames;
  readonly sql: Statements;
  prepare(sql: string): Statement;
  /** Runs several statements. */
  exec(sql: string): void;
  /** Returns the body of a commit's row; undefined if it can't be one. */
  bodyOf(row: Row): string | undefined;
  /** True for a failure that passes: another connection holds a lock. */
  isLocked(error: unknown): boolean;
  /** Returns a failure as the caller gets it. */
  asFailure(operation: string, error: unknown): unknown;
}

/**
 * Runs a statement that must change exactly one row, and returns that row's id for an insert. SQLite reports no
 * error if a trigger ignores a row (`RAISE(IGNORE)`) or a view has replaced the table; only the count shows it.
 * Throws `STORAGE_FAILED`, which rolls the transaction back.
 */
export function changeOne(database: LogDatabase, table: string, sql: string, values: readonly SqlValue[]): number {
  const { changes, lastInsertRowid } = database.prepare(sql).run(...values);
  if (changes !== 1) throw notWritten(table);
  return Number(lastInsertRowid);
}
