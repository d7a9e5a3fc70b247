/** Opens a database, or takes the host's, and migrates it. */
import { closeSync, existsSync, mkdirSync, openSync, statSync } from "node:fs";
import { open } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { errnoOf, PhasegateError } from "../../errors.js";
import { storageFailed } from "../sql/failures.js";
import { migrate, needsMigration } from "../sql/migrations.js";
import { numberIn, textIn } from "../sql/rows.js";
import type { TableNames } from "../sql/tables.js";
import { Connection, fileCheck, knownFile } from "./connection.js";
import { asStorageFailure } from "./failures.js";

const IN_MEMORY = ":memory:";
/** The write-ahead log is truncated to this size after a burst, in bytes. */
const WAL_MAX = 16 * 1024 * 1024;
/** A checkpoint writes each changed page once, however many commits have changed it. SQLite's 1,000 are too few. */
const CHECKPOINT_PAGES = WAL_MAX / 4096;

/** How long an old database's lock is waited for, at least: its holder may be migrating, which takes seconds. */
const MIGRATION_MS = 60_000;

/** Opens a database, or takes the host's, and migrates it; without `migrate` it refuses one that needs that. */
export async function openDatabase(
  given: string | DatabaseSync,
  names: TableNames,
  busyTimeout: number,
  { migrate: mayMigrate, readOnly }: { readonly migrate: boolean; readonly readOnly: boolean },
): Promise<Connection> {
  const isOwn = typeof given === "string";
  const { database, opened } = isOwn
    ? await openFile(given, mayMigrate, readOnly)
    : { database: given, opened: undefined };
  const connection = new Connection(database, names, busyTimeout);
  try {
    if (isOwn) await connection.withRetry("open", () => configure(connection, mayMigrate, readOnly));
    // Most databases are up to date, which is checked without a lock.
    if (await connection.withRetry("open", () => needsMigration(connection, mayMigrate))) {
      await connection.write("open", () => migrate(connection), Math.max(busyTimeout, MIGRATION_MS));
    }
    connection.checkFile = await connection.withRetry("open", () => fileCheck(database, opened));
    return connection;
  } catch (error) {
    if (isOwn) connection.close();
    throw error;
  }
}

/** Also returns the file's identity right before, to detect a swap. */
async function openFile(name: string, create: boolean, readOnly: boolean) {
  if (name === "") {
    throw new PhasegateError("INVALID_INPUT", "The database has no name", {
      remedy: `Name its file, or ${JSON.stringify(IN_MEMORY)} for one that goes with the process.`,
      details: { field: "database", expected: "the name of a file" },
    });
  }
  const { DatabaseSync } = loadSqlite();
  const file = name === IN_MEMORY ? name : resolve(name);
  try {
    if (file !== IN_MEMORY && create) await makeDatabaseFile(file);
    else if (file !== IN_MEMORY) requireDatabaseFile(file);
    const opened = file === IN_MEMORY ? undefined : knownFile(file);
    return { database: readOnly ? new DatabaseSync(unwritten(file), { readOnly }) : new DatabaseSync(file), opened };
  } catch (error) {
    throw asStorageFailure("open", error);
  }
}

/**
 * Returns how SQLite opens a file in a folder that can't be written: it makes its files of locks there, unless it is told that
 * nobody changes the file. That is so if there is no write-ahead log.
 */
function unwritten(file: string): string {
  if (existsSync(`${file}-wal`)) return file;
  return `${pathToFileURL(file).href}?immutable=1`;
}

/** Configures a connection of our own. A database that will be refused is refused before anything is changed. */
function configure(connection: Connection, mayMigrate: boolean, readOnly: boolean): void {
  const { database } = connection;
  // `withRetry` waits for locks without blocking the event loop.
  database.exec("PRAGMA busy_timeout = 0");
  needsMigration(connection, mayMigrate);
  if (readOnly) return;
  if (numberIn(connection.prepare("PRAGMA page_count").get(), "page_count") === 0)
    database.exec("PRAGMA auto_vacuum = INCREMENTAL");
  database.exec(`PRAGMA foreign_keys = ON; PRAGMA journal_size_limit = ${WAL_MAX}`);
  database.exec(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
  const mode = textIn(connection.prepare("PRAGMA journal_mode = WAL").get(), "journal_mode");
  if (mode !== "wal" && mode !== "memory") {
    const remedy = "Keep the database on a local disk: a file system without shared memory has no write-ahead log.";
    throw storageFailed("open", `its journal stays in mode ${mode}`, remedy);
  }
  // On macOS fsync alone does not reach the disk; elsewhere the last two settings have no effect.
  database.exec("PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON");
}

const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;
/** The database, and the files that SQLite makes next to it. */
const SUFFIXES = ["", "-journal", "-wal", "-shm"];

/** Makes file and folder for their owner only: SQLite's other files get the same mode. An old file stays. */
async function makeDatabaseFile(file: string): Promise<void> {
  const folder = dirname(file);
  const first = mkdirSync(folder, { recursive: true, mode: FOLDER_MODE });
  refuseOdd(file);
  if (createEmpty(file)) await syncFolder(folder);
  if (first === undefined) return;
  for (let made = folder; made.length >= resolve(first).length; made = dirname(made)) await syncFolder(dirname(made));
}

/** Refuses a missing file, which SQLite would create. */
function requireDatabaseFile(file: string): void {
  refuseOdd(file);
  if (existsSync(file)) return;
  throw storageFailed("open", "there is no such file", "Correct its name, or open it with migrate: true to make it.");
}

// Closing any handle on a database's file releases all locks of this process on it. So a handle is opened only for a file
// that does not exist yet, and closed synchronously.
function createEmpty(file: string): boolean {
  try {
    closeSync(openSync(file, "wx", FILE_MODE));
    return true;
  } catch (error) {
    if (errnoOf(error) === "EEXIST") return false;
    throw error;
  }
}

/** Refuses FIFOs and other special files: SQLite would wait forever for the other end of a FIFO. */
function refuseOdd(file: string): void {
  if (statSync(file, { throwIfNoEntry: false })?.isDirectory() === true) {
    throw storageFailed("open", "it is a folder", "Name a file: a folder is what FileStorage wants.");
  }
  for (const name of SUFFIXES.map((suffix) => `${file}${suffix}`)) {
    if (statSync(name, { throwIfNoEntry: false })?.isFile() !== false) continue;
    const cause = `${basename(name)} is not a regular file`;
    throw storageFailed("open", cause, `Remove ${basename(name)}, and find out who made it.`);
  }
}

/** Syncs a folder's entries to the disk. Windows has no call for it and does it by itself. */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === "win32") return;
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Loads Node's SQLite late, so that no import fails. Throws `STORAGE_FAILED` in a runtime without it. */
function loadSqlite(): typeof import("node:sqlite") {
  const module = withoutWarning(() => process.getBuiltinModule("node:sqlite"));
  if (typeof module?.DatabaseSync === "function") return module;
  throw new PhasegateError("STORAGE_FAILED", "This runtime has no node:sqlite", {
    remedy: "Use Node 22.13 or later, or a Deno or Bun that has it; or keep the sessions in a FileStorage.",
    details: { operation: "open", cause: "node:sqlite is missing" },
  });
}

/** Suppresses Node 22's warning that SQLite is experimental, and only that, during the synchronous load. */
function withoutWarning<T>(load: () => T): T {
  const { emitWarning } = process;
  process.emitWarning = (...args: unknown[]) => {
    if (!String(args[0]).startsWith("SQLite is an experimental feature")) Reflect.apply(emitWarning, process, args);
  };
  try {
    return load();
  } finally {
    process.emitWarning = emitWarning;
  }
}
