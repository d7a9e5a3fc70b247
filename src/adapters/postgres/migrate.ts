import { PhasegateError } from "../../errors.js";
import { MIGRATIONS } from "./migrations.js";
import { notWritten, unusable } from "./pg-failure.js";
import type { PgClient } from "./pg-types.js";

/** 13 is the first with 64-bit transaction numbers, which `watch` rests on. */
const OLDEST_SERVER = 130_000;

/** What the server promises for an acknowledged commit. */
type ServerDurability = "process" | "power";

/** What is known of a schema that is up to date, and of its server. */
export interface PreparedSchema {
  readonly durability: ServerDurability;
  readonly hasTriggers: boolean;
}

/**
 * Brings the tables of a schema up to date, once, however many hosts start at once: under a lock of the database's, in
 * one transaction. Where nothing is to be done, nothing is locked and no right to make tables is needed.
 */
export async function prepareSchema(client: PgClient, schema: string, migrate: boolean): Promise<PreparedSchema> {
  const durability = await checkServer(client);
  const found = await versionOf(client, schema);
  if (found < MIGRATIONS.length) {
    if (!migrate) throw notMigrated(schema, found);
    await migrateAll(client, schema);
  }
  await healTransactions(client, schema);
  return { durability, hasTriggers: await hasTriggers(client, schema) };
}

/** Whether triggers of somebody else's, or rules, can change what is written to the tables. */
async function hasTriggers(client: PgClient, schema: string): Promise<boolean> {
  const text = `SELECT EXISTS (SELECT FROM pg_trigger t JOIN pg_class r ON r.oid = t.tgrelid
      JOIN pg_namespace n ON n.oid = r.relnamespace WHERE n.nspname = $1 AND NOT t.tgisinternal)
    OR EXISTS (SELECT FROM pg_rules WHERE schemaname = $1 AND tablename IN ('sessions', 'commits', 'payloads')) AS found`;
  const { rows } = await client.query<{ found: boolean }>({ text, values: [schema] });
  return rows[0]?.found === true;
}

async function checkServer(client: PgClient): Promise<ServerDurability> {
  const text = `SELECT current_setting('server_version_num')::int AS version,
    current_setting('server_encoding') AS encoding,
    current_setting('fsync') <> 'off' AND current_setting('synchronous_commit') <> 'off' AS synced`;
  const { rows } = await client.query<{ version: number; encoding: string; synced: boolean }>({ text });
  const [server] = rows;
  if (server === undefined || server.version < OLDEST_SERVER) {
    throw unusable("the server is older than PostgreSQL 13", "Use PostgreSQL 13 or newer.");
  }
  if (server.encoding !== "UTF8") {
    throw unusable(`the database's encoding is ${server.encoding}`, "Make the database with ENCODING 'UTF8'.");
  }
  return server.synced ? "power" : "process";
}

async function versionOf(client: PgClient, schema: string): Promise<number> {
  const text = "SELECT count(*)::int AS tables FROM pg_tables WHERE schemaname = $1 AND tablename = 'migrations'";
  const { rows } = await client.query<{ tables: number }>({ text, values: [schema] });
  if (rows[0]?.tables !== 1) return 0;
  const versions = await client.query<{ found: number }>({
    text: `SELECT coalesce(max(number), 0) AS found FROM "${schema}".migrations`,
  });
  const found = versions.rows[0]?.found ?? 0;
  if (found > MIGRATIONS.length) throw tooNew(found);
  return found;
}

async function migrateAll(client: PgClient, schema: string): Promise<void> {
  await inTransaction(client, async () => {
    await client.query({
      text: "SELECT pg_advisory_xact_lock(hashtext('phasegate migrations'), hashtext($1))",
      values: [schema],
    });
    // Somebody else may have done it while this one waited.
    const done = await versionOf(client, schema);
    if (done === 0) await makeSchema(client, schema);
    for (const [index, statements] of MIGRATIONS.entries()) {
      if (index < done) continue;
      await client.query({ text: statements(`"${schema}"`) });
      const insert = `INSERT INTO "${schema}".migrations (number) VALUES ($1)`;
      const { rowCount } = await client.query({ text: insert, values: [index + 1] });
      if (rowCount !== 1) throw notWritten("open");
    }
  });
}

async function makeSchema(client: PgClient, schema: string): Promise<void> {
  const found = await client.query({ text: "SELECT 1 FROM pg_namespace WHERE nspname = $1", values: [schema] });
  // Also with IF NOT EXISTS it would ask for the right to make schemas, where one was made for this role.
  if (found.rows.length === 0) await client.query({ text: `CREATE SCHEMA "${schema}"` });
  await client.query({
    text: `CREATE TABLE "${schema}".migrations
      (number integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())`,
  });
}

/**
 * Commits that were restored from a dump of another server can carry transactions that this one has yet to come to:
 * `watch` would take them for new when it does.
 */
async function healTransactions(client: PgClient, schema: string): Promise<void> {
  const ahead = `FROM "${schema}".commits WHERE xid >= pg_snapshot_xmax(pg_current_snapshot())`;
  const { rows } = await client.query<{ found: boolean }>({ text: `SELECT EXISTS (SELECT ${ahead}) AS found` });
  if (rows[0]?.found !== true) return;
  await client.query({
    text: `UPDATE "${schema}".commits SET xid = '3' WHERE xid >= pg_snapshot_xmax(pg_current_snapshot())`,
  });
}

/** Runs statements in one transaction, in which each sees what was committed before it. */
export async function inTransaction<T>(client: PgClient, work: () => Promise<T>): Promise<T> {
  await client.query({ text: "BEGIN ISOLATION LEVEL READ COMMITTED" });
  try {
    const result = await work();
    await client.query({ text: "COMMIT" });
    return result;
  } catch (error) {
    // Where the connection is gone this fails too, and the server has rolled back: the first failure says more.
    await client.query({ text: "ROLLBACK" }).catch(() => undefined);
    throw error;
  }
}

function tooNew(found: number): PhasegateError {
  const supported = MIGRATIONS.length;
  return new PhasegateError("FORMAT_TOO_NEW", `The tables have version ${found}, and ${supported} is supported`, {
    remedy: "Update phasegate on this host, or use another schema.",
    details: { found, supported },
  });
}

function notMigrated(schema: string, found: number): PhasegateError {
  return unusable(
    `the schema ${schema} has version ${found} of the tables, and ${MIGRATIONS.length} is needed`,
    "Open it once with migrate: true, as `phasegate serve` does, by a role that may make tables.",
  );
}
