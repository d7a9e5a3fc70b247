import { PhasegateError } from "../../errors.js";
import type { Connection } from "./connection.js";
import { isLocked, storageFailed } from "./failures.js";
import { Projections, type SummaryBefore } from "./projections.js";
import { commitIn, logTables, numberIn, projectionTables, selectCommits, type TableNames } from "./rows.js";

/** Brings a database from one version to the next. */
type Migration = (connection: Connection, names: TableNames) => void;

/** The first brings an empty database to version 1. None is ever changed: what it has made lies in files. */
export const MIGRATIONS: readonly Migration[] = [
  ({ database }, names) => database.exec(logTables(names)),
  (connection, names) => {
    connection.database.exec(projectionTables(names));
    projectLog(connection, names);
  },
  ({ database }, names) => {
    try {
      database.exec(fewerPages(names));
    } catch (error) {
      throw isLocked(error) ? error : schemaInTheWay(error);
    }
  },
];

/** The version of a database; 0 if it has no tables of ours. Throws `FORMAT_TOO_NEW`, and changes nothing. */
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
 * Brings a database to the newest version, in one transaction: of processes that start at once one does it, and the
 * others find it done. Called in a transaction.
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

/**
 * A view in the place of a table may be a query without an end, which nothing stops once it runs; a virtual table may be
 * anything.
 */
function refuseViews(connection: Connection, names: TableNames): void {
  const { prefix: _, events, ...tables } = names;
  const find = connection.prepare(
    "SELECT name FROM sqlite_schema WHERE lower(name) = lower(?) AND (type <> 'table' OR sql LIKE 'CREATE VIRTUAL %')",
  );
  const odd = Object.values(tables).find((name) => find.get(name) !== undefined);
  if (odd === undefined) return;
  throw storageFailed("open", `${odd} is a view, and no table`, "Restore the database from a backup.");
}

/** A host's own table of the same name must neither be used nor fail somewhere in the middle. */
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

// SQLite looks through the whole schema before it takes a column away: views and triggers of a host's, too.
function schemaInTheWay(error: unknown) {
  const cause = error instanceof Error ? error.message : "SQLite refused it";
  const remedy = "Mend or drop the view, trigger or table that is named, open the database again, then make it anew.";
  return storageFailed("open", cause, remedy, error);
}

/** Writes the tables for people from the log. */
function projectLog(connection: Connection, names: TableNames): void {
  const projections = new Projections(connection, names);
  const select = connection.prepare(selectCommits(names, "WHERE c.seq > ? ORDER BY c.seq LIMIT 100"));
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

/** What of a session's row changed with every commit. */
const WITH_EACH_COMMIT = ["version", "hash", "newest", "updated_at", "bytes"];
const HISTORY =
  "history_entry_id, instance_id, timestamp, step_name, user_report, outcome_status, determined_next_step";

/**
 * Two pages fewer to be written and synced with each commit: a session's row keeps what it is found by, and the log says
 * the rest; a session's history lies together in its table, which needs no index for it.
 */
function fewerPages({ prefix, sessions, instances, history }: TableNames): string {
  const kept = `${prefix}phasegate_history_before`;
  // Copied and not renamed: SQLite would rename the table in a host's own views, too.
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
