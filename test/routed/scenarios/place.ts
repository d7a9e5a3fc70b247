import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { StorageAdapter } from "phasegate";
import { PostgresStorage } from "phasegate/postgres";
import { SqliteStorage } from "phasegate/sqlite";
import { temporaryFolder } from "../../sandbox/temporary-folder.js";
import { newSchema, postgresUrl, runSql } from "../../support/postgres.js";

/** A database for one test alone. */
export interface Place {
  /** The name for `openPlace`. */
  readonly name: string;
  open(): Promise<StorageAdapter>;
  /** Returns what the tables have of an instance: its row, and the number of its history entries. */
  tables(sessionId: string): Promise<{ readonly instance: Record<string, unknown>; readonly entries: number }>;
  /** Deletes the log while others have it open. */
  destroy(): Promise<void>;
}

/** The databases that scenarios run on. */
export const PLACES: Readonly<Record<string, () => Promise<Place>>> = {
  SQLite: sqlitePlace,
  PostgreSQL: postgresPlace,
};

async function sqlitePlace(): Promise<Place> {
  const file = join(await temporaryFolder(), "workflows.db");
  const run = (sql: string, ...values: string[]) => {
    const database = new DatabaseSync(file);
    try {
      return database.prepare(sql).all(...values);
    } finally {
      database.close();
    }
  };
  return {
    name: file,
    open: () => SqliteStorage.open(file),
    tables: async (id) => read((table) => run(`SELECT * FROM ${table} WHERE instance_id = ?`, id)),
    destroy: async () => void run("ALTER TABLE phasegate_commits RENAME TO gone"),
  };
}

async function postgresPlace(): Promise<Place> {
  const [url, schema] = [await postgresUrl(), newSchema()];
  return {
    name: `${url}#${schema}`,
    open: () => PostgresStorage.open({ url, schema }),
    tables: async (id) =>
      read((table) =>
        runSql(url, `SELECT * FROM ${schema}.${table} WHERE instance_id = '${id.replaceAll("'", "''")}'`),
      ),
    destroy: async () => void (await runSql(url, `ALTER TABLE ${schema}.commits RENAME TO gone`)),
  };
}

async function read(rows: (table: string) => Promise<Record<string, unknown>[]> | Record<string, unknown>[]) {
  const [instance = {}] = await rows("workflow_instances");
  return { instance, entries: (await rows("workflow_history")).length };
}
