/** Makes the tables of a log, and updates those of older versions. A released step is never changed: databases exist that it has made. */
import { tooNew } from "../common/failures.js";
import { changeOne, type LogDatabase } from "./database.js";
import { storageFailed } from "./failures.js";
import { numberIn } from "./rows.js";
import { logTables, type TableNames } from "./tables.js";
import { createViews } from "./views.js";

/** The tables for people of versions 2 to 5 are views since version 6: earlier steps no longer write into them. */
const MIGRATIONS: readonly ((database: LogDatabase, names: TableNames) => void)[] = [
  (database, names) => database.exec(logTables(names)),
  () => undefined,
  (database, { sessions }) => {
    // They changed with every commit.
    const columns = ["version", "hash", "newest", "updated_at", "bytes"];
    alterTables(database, columns.map((column) => `ALTER TABLE ${sessions} DROP COLUMN ${column};`).join("\n"));
  },
  () => undefined,
  // Sessions of older formats have no owner.
  (database, { sessions }) =>
    database.exec(`
      ALTER TABLE ${sessions} ADD COLUMN owner TEXT NOT NULL DEFAULT '';
      CREATE INDEX ${sessions}_by_owner ON ${sessions} (owner, created_at DESC, session_id) WHERE owner <> '';
    `),
  viewsForTables,
];

/** Replaces the tables for people by views, and keeps the number of commits that they had of each session. */
function viewsForTables(database: LogDatabase, names: TableNames): void {
  const { sessions, commits, events, instances, history } = names;
  const hasCount = database.prepare("SELECT 1 FROM pragma_table_info(?) WHERE name = 'version'").get(instances);
  const counted = hasCount === undefined ? "NULL" : `(SELECT version FROM ${instances} WHERE instance_id = session_id)`;
  alterTables(
    database,
    `ALTER TABLE ${sessions} ADD COLUMN version INTEGER NOT NULL DEFAULT 0;
    UPDATE ${sessions} SET version =
      coalesce(${counted}, (SELECT max(version) FROM ${commits} WHERE session = number), 0);
    DROP TABLE IF EXISTS ${history};
    DROP TABLE IF EXISTS ${instances};
    DROP VIEW IF EXISTS ${events};
    ${createViews(names)}`,
  );
}

// SQLite checks the whole schema before it drops a column, including the host's views and triggers.
function alterTables(database: LogDatabase, sql: string): void {
  try {
    database.exec(sql);
  } catch (error) {
    if (database.isLocked(error)) throw error;
    const cause = error instanceof Error ? error.message : "SQLite refused it";
    const remedy =
      "Fix or drop the view, trigger or table that is named, then open the database again. Create it again afterwards if you need it.";
    throw storageFailed("open", cause, remedy, error);
  }
}

/** True if a database needs it. Throws `STORAGE_FAILED` if that is not allowed, and `FORMAT_TOO_NEW`. */
export function needsMigration(database: LogDatabase, mayMigrate: boolean): boolean {
  const found = databaseVersion(database);
  if (found >= MIGRATIONS.length) return false;
  if (mayMigrate) return true;
  const cause = `it has version ${found} of the tables, and ${MIGRATIONS.length} is needed`;
  throw storageFailed("open", cause, "Open it once with migrate: true, as `phasegate serve` does.");
}

/** Returns the version of a database; 0 if it has no tables of ours. Changes nothing. Throws `FORMAT_TOO_NEW`. */
function databaseVersion(database: LogDatabase): number {
  const { prefix, instances, history, events, ...tables } = database.names;
  const table = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?";
  if (database.prepare(table).get(tables.migrations) === undefined) return 0;
  const row = database.prepare(`SELECT coalesce(max(version), 0) AS version FROM ${tables.migrations}`).get();
  const found = numberIn(row, "version");
  // A view or virtual table in the place of a table is refused: its query may never end, and nothing can stop it.
  const odd = takenName(database, found < 6 ? { ...tables, instances, history } : tables, NO_TABLE);
  if (odd !== undefined) {
    throw storageFailed("open", `${odd} is a view, and no table`, "Restore the database from a backup.");
  }
  if (found > MIGRATIONS.length) throw tooNew("The database has format", found, MIGRATIONS.length, "database");
  return found;
}

const NO_TABLE = "AND (type <> 'table' OR sql LIKE 'CREATE VIRTUAL %')";

function takenName(database: LogDatabase, names: Readonly<Record<string, string>>, condition = ""): string | undefined {
  const find = database.prepare(`SELECT 1 FROM sqlite_schema WHERE lower(name) = lower(?) ${condition}`);
  return Object.values(names).find((name) => find.get(name) !== undefined);
}

/** Migrates to the newest version, in a transaction: of several processes one does it, and the others find it done. */
export function migrate(database: LogDatabase): void {
  const { names } = database;
  const { prefix, ...tables } = names;
  const version = databaseVersion(database);
  // A host's table with the same name must not be used, and must not make a migration fail halfway.
  const taken = version === 0 ? takenName(database, tables) : undefined;
  if (taken !== undefined) {
    const remedy = `Give tablePrefix another value than ${JSON.stringify(prefix)}, or use a database of its own.`;
    throw storageFailed("open", `a table ${taken} of somebody else's is there`, remedy);
  }
  database.exec(
    `CREATE TABLE IF NOT EXISTS ${names.migrations} (version INTEGER PRIMARY KEY, applied_at TEXT NOT NULL)`,
  );
  for (const [index, migration] of MIGRATIONS.entries()) {
    if (index < version) continue;
    migration(database, names);
    const insert = `INSERT INTO ${names.migrations} (version, applied_at) VALUES (?, ?)`;
    changeOne(database, names.migrations, insert, [index + 1, new Date().toISOString()]);
  }
}
