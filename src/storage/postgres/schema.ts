/** Checks the server and runs the migrations. A released one is never changed: tables exist that it has made. */
import { setTimeout as delay } from "node:timers/promises";
import { errnoOf } from "../../errors.js";
import type { SessionStatus } from "../../ports/storage-adapter.js";
import { tooNew } from "../common/failures.js";
import { isRolledBack, notWritten, unusable } from "./failures.js";
import { MIGRATION_MS, type PgClient, patient } from "./options.js";
import { checkDivisible, copyCommits, createPartitions, replaceCommits } from "./partitions.js";
import { viewsOf } from "./views.js";

/** 14 is the first with statistics of expressions, without which lists read far too much. */
const OLDEST_SERVER = 140_000;

/**
 * Migrates a schema's tables once, however many hosts start: each migration in a transaction, under an advisory lock. Returns
 * what an acknowledged commit survives. Without work it takes no lock, and needs no right to create tables.
 */
export async function prepareSchema(client: PgClient, schema: string, migrate: boolean): Promise<"process" | "power"> {
  const durability = await checkServer(client);
  const found = await versionOf(client, schema);
  if (found < MIGRATIONS.length) {
    if (!migrate) {
      throw unusable(
        `the schema ${schema} has version ${found} of the tables, and ${MIGRATIONS.length} is needed`,
        "Open it once with migrate: true, as `phasegate serve` does, by a role that may make tables.",
      );
    }
    await migrateAll(client, schema);
  }
  await healTransactions(client, schema);
  return durability;
}

async function checkServer(client: PgClient): Promise<"process" | "power"> {
  const text = `SELECT current_setting('server_version_num')::int AS version,
    current_setting('server_encoding') AS encoding,
    current_setting('fsync') <> 'off' AND current_setting('synchronous_commit') <> 'off' AS synced`;
  const { rows } = await client.query<{ version: number; encoding: string; synced: boolean }>({ text });
  const [server] = rows;
  if (server === undefined || server.version < OLDEST_SERVER) {
    throw unusable("the server is older than PostgreSQL 14", "Use PostgreSQL 14 or newer.");
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
  if (found > MIGRATIONS.length) throw tooNew("The tables have version", found, MIGRATIONS.length, "schema");
  return found;
}

async function migrateAll(client: PgClient, schema: string): Promise<void> {
  let since = performance.now();
  for (let isMore = true; isMore; ) {
    try {
      isMore = await migrateOnce(client, schema);
      since = performance.now();
    } catch (error) {
      const isInTheWay = errnoOf(error) === LOCK_NOT_AVAILABLE || isRolledBack(error);
      if (!isInTheWay || performance.now() - since > MIGRATION_MS) throw error;
      await delay(LOCK_MS);
    }
  }
}

/**
 * Carries out one migration, or copies a part of the commits. Returns false if there is nothing left to do. Hosts that start
 * together take turns, and one goes on where another was killed.
 */
async function migrateOnce(client: PgClient, schema: string): Promise<boolean> {
  return inTransaction(client, async () => {
    await client.query({ text: `SET LOCAL statement_timeout = ${MIGRATION_MS}` });
    await client.query({ text: `SET LOCAL idle_in_transaction_session_timeout = ${GONE_MS}` });
    await client.query(
      patient("SELECT pg_advisory_xact_lock(hashtext('phasegate migrations'), hashtext($1))", [schema]),
    );
    await client.query({ text: `SET LOCAL lock_timeout = ${LOCK_MS}` });
    // Another host may have migrated while this one waited for the lock.
    const done = await versionOf(client, schema);
    const statements = MIGRATIONS[done];
    if (statements === undefined) return false;
    if (done === 0) await makeSchema(client, schema);
    if (statements === createPartitions || statements === replaceCommits) await checkDivisible(client, schema);
    if (statements === replaceCommits && (await copyCommits(client, `"${schema}"`))) return true;
    await client.query(patient(statements(`"${schema}"`)));
    const insert = `INSERT INTO "${schema}".migrations (number) VALUES ($1)`;
    const { rowCount } = await client.query({ text: insert, values: [done + 1] });
    if (rowCount !== 1) throw notWritten("open");
    return true;
  });
}

/**
 * A migration waits so long for the lock of a table, then lets those pass who wait behind it, and tries again. In milliseconds. It
 * is longer than the server's `deadlock_timeout` of a second, after which the server ends an autovacuum that is in the way.
 */
const LOCK_MS = 1500;
const LOCK_NOT_AVAILABLE = "55P03";

/** After so many milliseconds without a statement the server gives up a migration: its host is gone, and its locks hold up others. */
const GONE_MS = 5000;

async function makeSchema(client: PgClient, schema: string): Promise<void> {
  const found = await client.query({ text: "SELECT 1 FROM pg_namespace WHERE nspname = $1", values: [schema] });
  // CREATE SCHEMA IF NOT EXISTS needs the right to create schemas even if the schema exists.
  if (found.rows.length === 0) await client.query({ text: `CREATE SCHEMA "${schema}"` });
  await client.query({
    text: `CREATE TABLE "${schema}".migrations
      (number integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())`,
  });
}

/** Resets transaction ids of another server's dump that are ahead: `watch` would take them for new, once reached. */
async function healTransactions(client: PgClient, schema: string): Promise<void> {
  for (const [table, xid] of [
    ["commits", "xid"],
    ["sessions", "removed_xid"],
  ] as const) {
    const ahead = `${xid} >= pg_snapshot_xmax(pg_current_snapshot())`;
    const text = `SELECT EXISTS (SELECT FROM "${schema}".${table} WHERE ${ahead}) AS found`;
    const { rows } = await client.query<{ found: boolean }>({ text });
    if (rows[0]?.found !== true) continue;
    await client.query({ text: `UPDATE "${schema}".${table} SET ${xid} = '3' WHERE ${ahead}` });
  }
}

/** Runs statements in one transaction, in which each sees everything committed before it. */
export async function inTransaction<T>(client: PgClient, work: () => Promise<T>): Promise<T> {
  await client.query({ text: "BEGIN ISOLATION LEVEL READ COMMITTED" });
  try {
    const result = await work();
    await client.query({ text: "COMMIT" });
    return result;
  } catch (error) {
    // If the connection is gone, this fails too and the server rolls back. The first error is more useful.
    await client.query({ text: "ROLLBACK" }).catch(() => undefined);
    throw error;
  }
}

/** The statuses of sessions that are open. A removed session has another one. */
export const OPEN = ["active", "paused", "failed"] as const satisfies readonly SessionStatus[];
/** The condition of the index of open sessions. */
export const IS_OPEN = `status IN (${OPEN.map((status) => `'${status}'`).join(", ")})`;

/**
 * The migrations in order; `s` is the quoted schema.
 *
 * Compared texts have the collation "C", which is the order of the storage port on every server. Times are the port's
 * texts. `xid` is the transaction that wrote a commit: snapshots tell what was committed since, which a sequence cannot,
 * because its numbers are assigned before commits complete.
 *
 * Most transitions change no indexed column: of the time of the last commit only the day has an index. So the row is replaced
 * on its page, in the free space of the fill factor, and only the log's index is updated.
 */
export const MIGRATIONS: readonly ((s: string) => string)[] = [
  (s) => `
CREATE TABLE ${s}.sessions (
  session_id text COLLATE "C" PRIMARY KEY,
  version bigint NOT NULL,
  hash text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  workflow_type text COLLATE "C" NOT NULL,
  target text COLLATE "C" NOT NULL,
  current_step text COLLATE "C" NOT NULL,
  created_at text COLLATE "C" NOT NULL,
  updated_at text COLLATE "C" NOT NULL,
  completed_at text COLLATE "C",
  removed_at timestamptz,
  sweep_at timestamptz
) WITH (fillfactor = 70);
CREATE TABLE ${s}.commits (
  session_id text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  at text NOT NULL,
  schema integer NOT NULL,
  previous_hash text COLLATE "C" NOT NULL,
  hash text COLLATE "C" NOT NULL,
  summary text NOT NULL,
  body text NOT NULL,
  status text COLLATE "C" NOT NULL,
  current_step text COLLATE "C" NOT NULL,
  entry_id bigint GENERATED ALWAYS AS IDENTITY,
  xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
  PRIMARY KEY (session_id, version)
);
CREATE TABLE ${s}.payloads (
  session_id text COLLATE "C" NOT NULL,
  hash text COLLATE "C" NOT NULL,
  body text NOT NULL,
  PRIMARY KEY (session_id, hash)
);
CREATE TABLE ${s}.listeners (
  listener_id uuid PRIMARY KEY,
  until timestamptz NOT NULL
);
CREATE INDEX sessions_by_creation ON ${s}.sessions (created_at DESC, session_id) WHERE removed_at IS NULL;
CREATE INDEX sessions_by_status ON ${s}.sessions (status, created_at DESC, session_id) WHERE removed_at IS NULL;
CREATE INDEX sessions_by_kind ON ${s}.sessions (left(kind, 256), created_at DESC, session_id) WHERE removed_at IS NULL;
CREATE INDEX sessions_by_type ON ${s}.sessions (left(workflow_type, 256), created_at DESC, session_id)
  WHERE removed_at IS NULL;
CREATE INDEX sessions_by_target ON ${s}.sessions (left(target, 256), created_at DESC, session_id)
  WHERE removed_at IS NULL;
CREATE INDEX sessions_by_update ON ${s}.sessions USING brin (updated_at) WITH (pages_per_range = 8, autosummarize = on);
CREATE INDEX sessions_to_sweep ON ${s}.sessions (sweep_at) WHERE sweep_at IS NOT NULL;
CREATE INDEX commits_by_transaction ON ${s}.commits (xid);
`,
  viewsOf,
  // Sessions of older versions have no owner.
  (s) => `
ALTER TABLE ${s}.sessions ADD COLUMN owner text COLLATE "C" NOT NULL DEFAULT '';
CREATE INDEX sessions_by_owner ON ${s}.sessions (owner, created_at DESC, session_id)
  WHERE removed_at IS NULL AND owner <> '';
`,
  // The transaction that removed a session, for those who ask what has changed. Nobody has asked before.
  (s) => `
ALTER TABLE ${s}.sessions ADD COLUMN removed_xid xid8;
CREATE INDEX sessions_by_removal ON ${s}.sessions (removed_xid) WHERE removed_xid IS NOT NULL;
`,
  // Stale sessions are found by the day of their last commit. An index on its time would change with each commit, and the one on
  // blocks named those of all removed sessions. The planner does not use statistics of a partial index's expressions: without
  // those made here it takes each kind, workflow and target for rare. An empty table is not analyzed: the server would take it
  // for small, and plan to go through all of it.
  (s) => `
ALTER TABLE ${s}.sessions ADD COLUMN updated_day text COLLATE "C" NOT NULL
  GENERATED ALWAYS AS (left(updated_at, 10)) STORED;
DROP INDEX ${s}.sessions_by_update;
CREATE INDEX sessions_by_day ON ${s}.sessions (updated_day) WHERE removed_at IS NULL;
CREATE STATISTICS ${s}.sessions_of_kind ON left(kind, 256) FROM ${s}.sessions;
CREATE STATISTICS ${s}.sessions_of_type ON left(workflow_type, 256) FROM ${s}.sessions;
CREATE STATISTICS ${s}.sessions_of_target ON left(target, 256) FROM ${s}.sessions;
DO $$ BEGIN IF EXISTS (SELECT FROM ${s}.sessions) THEN ANALYZE ${s}.sessions; END IF; END $$;
`,
  // A start lists the sessions on its target that are open. In an index of its own, none that has ended is in the way.
  (s) => `
CREATE INDEX sessions_open ON ${s}.sessions (left(target, 256), left(workflow_type, 256), created_at DESC, session_id)
  WHERE ${IS_OPEN};
`,
  // The server compresses a row, or moves a part of it to another table, if it has more than 2,712 bytes, of which a page has
  // three; before, if it had more than 2,032. With 1 kB of evidence that took a sixth of the server's time for many commits.
  (s) => `
ALTER TABLE ${s}.commits SET (toast_tuple_target = 2712);
`,
  // The log in partitions. Between these two, commits are copied.
  createPartitions,
  replaceCommits,
];
