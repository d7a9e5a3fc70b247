/** A connection to a database: its statements, transactions, retries while others hold locks, and the check of its files. */
import { type Stats, statSync } from "node:fs";
import { dirname } from "node:path";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import type { LogDatabase, Row } from "../sql/database.js";
import { storageFailed } from "../sql/failures.js";
import { textIn } from "../sql/rows.js";
import { type Statements, statements, type TableNames } from "../sql/tables.js";
import {
  asStorageFailure,
  fileMoved,
  isLocked,
  isOutcomeUnknown,
  locked,
  outcomeUnknown,
  sqliteCode,
} from "./failures.js";

interface KnownFile {
  readonly name: string;
  readonly stats: Stats;
}

/** A folder that changed less than this ago may change again unnoticed: some file systems keep its time to the second. */
const STABLE_MS = 3000;

/** Throws `STORAGE_FAILED` if a file was moved, deleted or replaced; after a write with `outcome: "unknown"`. */
type FileCheck = (operation: string, isWritten: boolean) => void;

/**
 * Returns the check of the files that a database has open; undefined for one in memory. SQLite keeps writing to the file it has
 * opened, even after it was moved or deleted: such commits would be acknowledged, but nobody would find them. So each write
 * checks that the names still lead to the same files: before it, so that it can be refused with nothing written, and before it
 * is acknowledged.
 *
 * A folder's time tells whether a name in it was added, removed or changed, so most checks look at the folder alone. To
 * ask for the status of the log itself makes Linux 6.13 and later record a new time in it with the next write, and the
 * sync that follows takes half as long again.
 */
export function fileCheck(database: DatabaseSync, opened?: KnownFile): FileCheck | undefined {
  const { file } = database.prepare("SELECT file FROM pragma_database_list WHERE name = 'main'").get() ?? {};
  if (typeof file !== "string" || file === "") return undefined;
  const main = knownFile(opened?.name ?? file);
  // A host's own virtual file system may have no file under this name.
  if (main === undefined && opened === undefined) return undefined;
  if (main === undefined || (opened !== undefined && !isSame(main.stats, opened.stats))) {
    throw storageFailed("open", "its file was moved or replaced while it was opened", "Open it again.");
  }
  const files = [main, knownFile(`${file}-wal`)].filter((found) => found !== undefined);
  /** The folder's status when all files were last found, if a later change shows in it. */
  let stable: Stats | undefined;
  return (operation, isWritten) => {
    // Where the name is a link, the files are in another folder.
    const folder = main.name === file ? statSync(dirname(file), { throwIfNoEntry: false }) : undefined;
    if (folder !== undefined && stable !== undefined && isUnchanged(folder, stable)) return;
    const gone = files.find(({ name, stats }) => {
      const now = knownFile(name);
      return now === undefined || !isSame(now.stats, stats);
    });
    if (gone !== undefined) throw fileMoved(operation, gone.name, isWritten);
    // Taken before the files were looked up, or a change in between would never be seen.
    stable = folder !== undefined && folder.mtimeMs < Date.now() - STABLE_MS ? folder : undefined;
  };
}

function isUnchanged(now: Stats, known: Stats): boolean {
  return now.mtimeMs === known.mtimeMs && now.ctimeMs === known.ctimeMs && isSame(now, known);
}

export function knownFile(name: string): KnownFile | undefined {
  const stats = statSync(name, { throwIfNoEntry: false });
  return stats && { name, stats };
}

function isSame(a: Stats, b: Stats): boolean {
  return a.ino === b.ino && a.dev === b.dev;
}

const PAUSE_MAX = 20;

/** Returns the pause after so many attempts that have met a lock, in milliseconds. */
export function pauseAfter(tries: number): number {
  return 1 + Math.random() * Math.min(2 ** tries, PAUSE_MAX);
}

export class Connection implements LogDatabase {
  readonly database: DatabaseSync;
  readonly names: TableNames;
  readonly sql: Statements;
  readonly isLocked = isLocked;
  readonly asFailure = asStorageFailure;
  /** How long a lock is waited for, in milliseconds. */
  readonly busyTimeout: number;
  readonly #statements = new Map<string, StatementSync>();
  checkFile: FileCheck | undefined;
  #closed = false;

  constructor(database: DatabaseSync, names: TableNames, busyTimeout: number) {
    this.database = database;
    this.names = names;
    this.sql = statements(names);
    this.busyTimeout = busyTimeout;
  }

  prepare(sql: string): StatementSync {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = this.database.prepare(sql);
    // Overrides settings of the host's database. Node 22.13 does not have `setReturnArrays`.
    statement.setReadBigInts(false);
    if ("setReturnArrays" in statement) statement.setReturnArrays(false);
    this.#statements.set(sql, statement);
    return statement;
  }

  exec(sql: string): void {
    this.database.exec(sql);
  }

  /** A body that is too long to be read is null. */
  bodyOf(row: Row): string | undefined {
    return row.body === null ? undefined : textIn(row, "body");
  }

  /** Retries what meets a lock; the event loop goes on between. The first attempt is synchronous. Throws `BUSY`. */
  async withRetry<T>(operation: string, work: () => T, timeout = this.busyTimeout): Promise<T> {
    const begun = performance.now();
    for (let tries = 1; ; tries += 1) {
      try {
        return work();
      } catch (error) {
        if (!isLocked(error)) throw asStorageFailure(operation, error);
        const waited = performance.now() - begun;
        if (waited >= timeout) throw locked(operation, waited, error);
      }
      await delay(pauseAfter(tries));
    }
  }

  /** Runs an action in a transaction, and retries it while others hold the lock. */
  write<T>(operation: string, work: () => T, timeout = this.busyTimeout): Promise<T> {
    return this.withRetry(operation, () => this.transaction(operation, work), timeout);
  }

  /** Runs an action in a transaction that holds the write lock from its beginning. Throws SQLite's own errors. */
  transaction<T>(operation: string, work: () => T): T {
    this.checkFile?.(operation, false);
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
      throw isOutcomeUnknown(error) ? outcomeUnknown(operation, error) : error;
    }
    this.checkFile?.(operation, true);
    return result;
  }

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
      // SQLite rolls back by itself after some failures. The caller throws the original error.
    }
  }
}
