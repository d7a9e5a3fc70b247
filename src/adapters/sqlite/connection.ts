import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import type { OpenFile } from "./open-file.js";
import {
  asStorageFailure,
  isLocked,
  leavesOpen,
  locked,
  notWritten,
  outcomeUnknown,
  sqliteCode,
  storageFailed,
} from "./sqlite-failure.js";

/** The longest pause before a lock is tried again, in milliseconds. */
const PAUSE_MAX = 20;

/** A database with its prepared statements, transactions, and patience with the locks of others. */
export class Connection {
  readonly database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  readonly #busyTimeout: number;
  #file: OpenFile | undefined;
  #closed = false;

  constructor(database: DatabaseSync, busyTimeout: number) {
    this.database = database;
    this.#busyTimeout = busyTimeout;
  }

  /** From now on each write asks whether these still are the files under the database's name. */
  guard(file: OpenFile | undefined): void {
    this.#file = file;
  }

  /** The statement of a text, prepared once. */
  prepare(sql: string): StatementSync {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = this.database.prepare(sql);
    // What a host may have set for its whole database. Node 22.13 has no arrays to turn off.
    statement.setReadBigInts(false);
    if ("setReturnArrays" in statement) statement.setReturnArrays(false);
    this.#statements.set(sql, statement);
    return statement;
  }

  /**
   * Runs a statement that must change exactly one row, and gives that row's id where it is an insert. SQLite reports no
   * error where a trigger ignores a row (`RAISE(IGNORE)`) or a view has taken the table's place: only the count tells.
   * Throws `STORAGE_FAILED`, which rolls the transaction back.
   */
  changeOne(table: string, sql: string, values: readonly SQLInputValue[]): number {
    const { changes, lastInsertRowid } = this.prepare(sql).run(...values);
    if (changes !== 1) throw notWritten(table);
    return Number(lastInsertRowid);
  }

  /**
   * Does something that may meet a lock, again and again until the busy timeout is over; between the tries the event loop
   * goes on, which SQLite's own waiting would stop. The first try is made before this returns.
   */
  async patiently<T>(operation: string, work: () => T, timeout = this.#busyTimeout): Promise<T> {
    let begun: number | undefined;
    for (let tries = 1; ; tries += 1) {
      try {
        return work();
      } catch (error) {
        if (!isLocked(error)) throw asStorageFailure(operation, error);
        begun ??= performance.now();
        const waited = performance.now() - begun;
        if (waited >= timeout) throw locked(operation, Math.round(waited), error);
      }
      await delay(1 + Math.random() * Math.min(2 ** tries, PAUSE_MAX));
    }
  }

  /** Does something in one transaction that holds the write lock from its beginning. */
  write<T>(operation: string, work: () => T, timeout = this.#busyTimeout): Promise<T> {
    return this.patiently(operation, () => this.transaction(operation, work), timeout);
  }

  /** The same without patience: throws what SQLite throws. */
  transaction<T>(operation: string, work: () => T): T {
    this.#file?.requireHere(operation);
    this.#begin(operation);
    let result: T;
    try {
      result = work();
    } catch (error) {
      this.#rollBack();
      throw error;
    }
    try {
      this.prepare("COMMIT").run();
    } catch (error) {
      this.#rollBack();
      throw leavesOpen(error) ? outcomeUnknown(operation, error) : error;
    }
    this.#file?.requireWritten(operation);
    return result;
  }

  /** Closes the database; no error if it is closed. */
  close(): void {
    this.#statements.clear();
    if (!this.#closed) this.database.close();
    this.#closed = true;
  }

  #begin(operation: string): void {
    try {
      this.prepare("BEGIN IMMEDIATE").run();
    } catch (error) {
      if (sqliteCode(error) !== "SQLITE_ERROR") throw error;
      const remedy =
        "End the transaction that is open on this database first: what is written in it is not durable yet.";
      throw storageFailed(operation, "a transaction of the host's is open", remedy, error);
    }
  }

  #rollBack(): void {
    try {
      this.prepare("ROLLBACK").run();
    } catch {
      // SQLite has rolled back by itself, as it does after some failures; what failed is thrown by the caller.
    }
  }
}
