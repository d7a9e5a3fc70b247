import { type Stats, statSync } from "node:fs";
import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import type { PhasegateError } from "../../errors.js";
import {
  asStorageFailure,
  fileMoved,
  isLocked,
  leavesOpen,
  locked,
  notWritten,
  outcomeUnknown,
  sqliteCode,
  storageFailed,
} from "./failures.js";

/** A file by its name, and which one it was when the database was opened. */
interface Known {
  readonly name: string;
  readonly stats: Stats;
}

/**
 * The files of an open database. SQLite writes to what it has opened, wherever that is moved to, and also once it is
 * deleted: commits would be acknowledged that nobody finds under the database's name. So each write asks whether the names
 * still lead to the same files, which takes some microseconds.
 */
export class OpenFile {
  readonly #main: Known;
  readonly #log: Known | undefined;

  private constructor(main: Known, log: Known | undefined) {
    this.#main = main;
    this.#log = log;
  }

  /** Looks which files a database has open, under the name that it was opened by; undefined for one in memory. */
  static of(database: DatabaseSync, opened?: Known): OpenFile | undefined {
    const { file } = database.prepare("SELECT file FROM pragma_database_list WHERE name = 'main'").get() ?? {};
    if (typeof file !== "string" || file === "") return undefined;
    const main = knownFile(opened?.name ?? file);
    // Without a name there is nothing to lead anywhere, as with a file system of the host's own.
    if (main === undefined && opened === undefined) return undefined;
    if (main === undefined || (opened !== undefined && !isSame(main.stats, opened.stats))) throw movedWhileOpened();
    return new OpenFile(main, knownFile(`${file}-wal`));
  }

  /** Throws `STORAGE_FAILED` if the database's name leads to another file, or to none. Nothing was written then. */
  requireHere(operation: string): void {
    if (!isThere(this.#main)) throw fileMoved(operation, this.#main.name, false);
  }

  /** The same of all files, after something was written: with `outcome: "unknown"`. */
  requireWritten(operation: string): void {
    const gone = [this.#main, this.#log].find((file) => file !== undefined && !isThere(file));
    if (gone !== undefined) throw fileMoved(operation, gone.name, true);
  }
}

/** A file as it is now; undefined if there is none of that name. */
export function knownFile(name: string): Known | undefined {
  const stats = statSync(name, { throwIfNoEntry: false });
  return stats && { name, stats };
}

function isThere({ name, stats }: Known): boolean {
  const now = statSync(name, { throwIfNoEntry: false });
  return now !== undefined && isSame(now, stats);
}

function isSame(a: Stats, b: Stats): boolean {
  return a.ino === b.ino && a.dev === b.dev;
}

function movedWhileOpened(): PhasegateError {
  return storageFailed("open", "its file was moved or replaced while it was opened", "Open it again.");
}

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
