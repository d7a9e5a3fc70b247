/** The migrations of a database. A released migration is never changed, because databases exist that it has made. */
import { PhasegateError } from "../../errors.js";
import type { Connection } from "./connection.js";
import { isLocked, storageFailed } from "./failures.js";
import { Projections, type SummaryBefore } from "./projections.js";
import { commitIn, logTables, numberIn, projectionTables, selectCommits, type TableNames } from "./rows.js";

/** Migrates a database from one version to the next. */
type Migration = (connection: Connection, names: TableNames) => void;

/** The first one takes an empty database to version 1. */
export const MIGRATIONS: readonly Migration[] = [
  ({ database }, names) => database.exec(logTables(names)),
  (connection, names) => {
    connection.database.exec(projectionTables(names));
    projectLog(connection, names, { isOld: true });
  },
  ({ database }, names) => {
    try {
      database.exec(fewerPages(names));
    } catch (error) {
      throw isLocked(error) ? error : schemaInTheWay(error);
    }
  },
  (connection, names) => {
    const { instances, history, sessions } = names;
    const routed = `(SELECT session_id FROM ${sessions} WHERE kind = 'routed')`;
    connection.database.exec(`
      ALTER TABLE ${instances} ADD COLUMN version INTEGER;
      UPDATE ${instances} AS i
        SET version = 1 + (SELECT count(*) FROM ${history} WHERE instance_id = i.instance_id);
      DELETE FROM ${history} WHERE instance_id IN ${routed};
      DELETE FROM ${instances} WHERE instance_id IN ${routed};
    `);
    projectLog(connection, names, { where: "s.kind = 'routed'" });
  },
];

/** Returns the version of a database; 0 if it has no tables of ours. Changes nothing. Throws `FORMAT_TOO_NEW`. */
export function databaseVersion(connection: Connection, names: TableNames): number {
  const { migrations } = names;
  const table = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?";
  if (connection.prepare(table).get(migrations) === undefined) return 0;
  const row = connection.prepare(`SELECT coalesce(max(version), 0) AS version FROM ${migrations}`).get();
  const found = numberIn(row ?? {}, "version");
  refuseViews(connection, names);
  if (found <= MIGRATIONS.length) return found;
  throw new PhasegateError(
    "FORMAT_TOO_NEW",
    `The database has format ${found}, and ${MIGRATIONS.length} is supported`,
    {
      remedy: "Update phasegate, or use another database.",
      details: { found, supported: MIGRATIONS.length },
    },
  );
}

/**
 * Migrates a database to the newest version. Called in a transaction, so that of several processes one does it and
 * the others find it done.
 */
export function migrate(
  connection: Connection,
  names: TableNames,
  migrations: readonly Migration[] = MIGRATIONS,
): void {
  const version = databaseVersion(connection, names);
  if (version >= migrations.length) return;
  if (version === 0) refuseTaken(connection, names);
  connection.database.exec(
    `CREATE TABLE IF NOT EXISTS ${names.migrations} (version INTEGER PRIMARY KEY, applied_at TEXT NOT NULL)`,
  );
  for (const [index, migration] of migrations.entries()) {
    if (index < version) continue;
    migration(connection, names);
    const insert = `INSERT INTO ${names.migrations} (version, applied_at) VALUES (?, ?)`;
    connection.changeOne(names.migrations, insert, [index + 1, new Date().toISOString()]);
  }
}

/** Refuses a view or virtual table in the place of a table: its query may never end, and nothing can stop it. */
function refuseViews(connection: Connection, names: TableNames): void {
  const { prefix: _, events, ...tables } = names;
  const find = connection.prepare(
    "SELECT name FROM sqlite_schema WHERE lower(name) = lower(?) AND (type <> 'table' OR sql LIKE 'CREATE VIRTUAL %')",
  );
  const odd = Object.values(tables).find((name) => find.get(name) !== undefined);
  if (odd === undefined) return;
  throw storageFailed("open", `${odd} is a view, and no table`, "Restore the database from a backup.");
}

/** Refuses a host's table with the same name, which must not be used, and must not make a migration fail halfway. */
function refuseTaken(connection: Connection, names: TableNames): void {
  const { prefix, ...tables } = names;
  const find = connection.prepare("SELECT name FROM sqlite_schema WHERE lower(name) = lower(?)");
  const taken = Object.values(tables).find((name) => find.get(name) !== undefined);
  if (taken === undefined) return;
  throw storageFailed(
    "open",
    `a table ${taken} of somebody else's is there`,
    `Give tablePrefix another value than ${JSON.stringify(prefix)}, or use a database of its own.`,
  );
}

// SQLite checks the whole schema before it drops a column, including the host's views and triggers.
function schemaInTheWay(error: unknown) {
  const cause = error instanceof Error ? error.message : "SQLite refused it";
  const remedy =
    "Fix or drop the view, trigger or table that is named, then open the database again. Create it again afterwards if you need it.";
  return storageFailed("open", cause, remedy, error);
}

/** Fills the tables for people from the log: of all sessions, or of those that a condition selects. */
function projectLog(connection: Connection, names: TableNames, { isOld = false, where = "true" }): void {
  const projections = new Projections(connection, names, { isOld });
  const select = connection.prepare(selectCommits(names, `WHERE c.seq > ? AND ${where} ORDER BY c.seq LIMIT 100`));
  const before = new Map<string, SummaryBefore>();
  for (let after = 0; ; ) {
    const rows = select.all(after);
    for (const row of rows) {
      const commit = commitIn(row);
      after = numberIn(row, "seq");
      projections.write(commit, after, before.get(commit.sessionId));
      before.set(commit.sessionId, commit.summary);
    }
    if (rows.length === 0) return;
  }
}

/** Columns of a session's row that changed with every commit. */
const WITH_EACH_COMMIT = ["version", "hash", "newest", "updated_at", "bytes"];
const HISTORY =
  "history_entry_id, instance_id, timestamp, step_name, user_report, outcome_status, determined_next_step";

/**
 * Writes and syncs two pages fewer per commit: a session's row keeps only indexed columns, the rest is in the log;
 * and a session's history is stored together in its table, which then needs no index.
 */
function fewerPages({ prefix, sessions, instances, history }: TableNames): string {
  const kept = `${prefix}phasegate_history_before`;
  // Copied, not renamed: SQLite would also rename the table in the host's views.
  return `
    ${WITH_EACH_COMMIT.map((column) => `ALTER TABLE ${sessions} DROP COLUMN ${column};`).join("\n    ")}
    CREATE TABLE ${kept} AS SELECT ${HISTORY} FROM ${history};
    DROP TABLE ${history};
    CREATE TABLE ${history} (
      history_entry_id INTEGER NOT NULL,
      instance_id TEXT NOT NULL,
      timestamp DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP,
      step_name TEXT NOT NULL,
      user_report TEXT,
      outcome_status TEXT,
      determined_next_step TEXT,
      PRIMARY KEY (instance_id, history_entry_id),
      FOREIGN KEY (instance_id) REFERENCES ${instances} (instance_id) ON DELETE CASCADE
    ) WITHOUT ROWID;
    INSERT INTO ${history} (${HISTORY}) SELECT ${HISTORY} FROM ${kept};
    DROP TABLE ${kept};
  `;
}
