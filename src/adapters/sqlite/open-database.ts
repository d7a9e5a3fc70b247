import { resolve } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { PhasegateError } from "../../errors.js";
import { Connection } from "./connection.js";
import { makeDatabaseFile, requireDatabaseFile } from "./database-file.js";
import { loadSqlite } from "./load-sqlite.js";
import { databaseVersion, MIGRATIONS, migrate } from "./migrations.js";
import { knownFile, OpenFile } from "./open-file.js";
import { asStorageFailure, storageFailed } from "./sqlite-failure.js";
import { numberIn, textIn } from "./stored-text.js";
import type { TableNames } from "./table-names.js";

const IN_MEMORY = ":memory:";
/** What the log beside the database is cut back to after a burst, in bytes. */
const WAL_MAX = 16 * 1024 * 1024;

/** How long whoever opens an old database waits at least: who holds the lock may be migrating, seconds for a large one. */
const MIGRATION_MS = 60_000;

/** How a database is opened. */
interface OpenSettings {
  readonly names: TableNames;
  readonly busyTimeout: number;
  /** Whether tables may be made, or brought up to date; if not, a database that needs it is left as it is. */
  readonly migrate: boolean;
}

/** Opens a database by its file's name, or takes the host's own, and brings it to the newest version. */
export async function openDatabase(given: string | DatabaseSync, settings: OpenSettings): Promise<Connection> {
  const { busyTimeout, migrate } = settings;
  if (typeof given !== "string") {
    const connection = new Connection(given, busyTimeout);
    await bringUpToDate(connection, settings);
    connection.guard(OpenFile.of(connection.database));
    return connection;
  }
  const { database, opened } = await openFile(given, migrate);
  const connection = new Connection(database, busyTimeout);
  try {
    await connection.patiently("open", () => settle(connection, settings));
    await bringUpToDate(connection, settings);
    connection.guard(OpenFile.of(database, opened));
    return connection;
  } catch (error) {
    connection.close();
    throw error;
  }
}

/** Opens a file, and tells which one it was right before. */
async function openFile(name: string, create: boolean) {
  if (name === "") throw noName();
  const { DatabaseSync } = loadSqlite();
  const file = name === IN_MEMORY ? name : resolve(name);
  try {
    if (file !== IN_MEMORY && create) await makeDatabaseFile(file);
    else if (file !== IN_MEMORY) requireDatabaseFile(file);
    const opened = file === IN_MEMORY ? undefined : knownFile(file);
    return { database: new DatabaseSync(file), opened };
  } catch (error) {
    throw asStorageFailure("open", error);
  }
}

// Most databases are up to date, and need no lock to say so.
async function bringUpToDate(connection: Connection, settings: OpenSettings): Promise<void> {
  const isOld = await connection.patiently("open", () => needsMigration(connection, settings));
  if (!isOld) return;
  const timeout = Math.max(settings.busyTimeout, MIGRATION_MS);
  await connection.write("open", () => migrate(connection, settings.names), timeout);
}

function needsMigration(connection: Connection, { names, migrate }: OpenSettings): boolean {
  const found = databaseVersion(connection, names);
  if (found >= MIGRATIONS.length) return false;
  if (!migrate) throw notMigrated(found);
  return true;
}

/** How a connection of our own writes. A database that is refused is refused before anything is changed. */
function settle(connection: Connection, settings: OpenSettings): void {
  const { database } = connection;
  // Locks are waited for in `patiently`, where the event loop goes on.
  database.exec("PRAGMA busy_timeout = 0");
  needsMigration(connection, settings);
  const pages = numberIn(connection.prepare("PRAGMA page_count").get() ?? {}, "page_count");
  if (pages === 0) database.exec("PRAGMA auto_vacuum = INCREMENTAL");
  database.exec(`PRAGMA foreign_keys = ON; PRAGMA journal_size_limit = ${WAL_MAX}`);
  const mode = textIn(connection.prepare("PRAGMA journal_mode = WAL").get() ?? {}, "journal_mode");
  if (mode !== "wal" && mode !== "memory") throw noWal(mode);
  // On macOS an fsync alone does not reach the disk; elsewhere the last two say nothing.
  database.exec("PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON");
}

function noName(): PhasegateError {
  return new PhasegateError("INVALID_INPUT", "The database has no name", {
    remedy: `Name its file, or ${JSON.stringify(IN_MEMORY)} for one that goes with the process.`,
    details: { field: "database", expected: "the name of a file" },
  });
}

function notMigrated(found: number): PhasegateError {
  const cause = `it has version ${found} of the tables, and ${MIGRATIONS.length} is needed`;
  return storageFailed("open", cause, "Open it once with migrate: true, as `phasegate serve` does.");
}

function noWal(mode: string): PhasegateError {
  const remedy = "Keep the database on a local disk: a file system without shared memory has no write-ahead log.";
  return storageFailed("open", `its journal stays in mode ${mode}`, remedy);
}
