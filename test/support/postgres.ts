import { setTimeout as delay } from "node:timers/promises";
import { Client } from "pg";
import { inject } from "vitest";

let schemas = 0;

/** Returns the URL of the run's server; throws with the server's output if it cannot start. */
export async function postgresUrl(): Promise<string> {
  const answer = await fetch(inject("postgresAt"));
  const text = await answer.text();
  if (!answer.ok) throw new Error(text);
  return text;
}

/** Returns a new schema name. */
export function newSchema(): string {
  schemas += 1;
  return `test_${process.pid}_${Math.random().toString(36).slice(2, 8)}_${schemas}`;
}

/** Empties the tables of a schema, which takes a tenth of the time that new ones take. */
export async function emptySchema(client: Pick<Client, "query">, schema: string): Promise<void> {
  const tables = ["sessions", "commits", "payloads", "listeners"];
  await client.query(tables.map((table) => `DELETE FROM ${schema}.${table}`).join(";"));
}

/** Runs statements on a separate connection; returns the rows of the last one. */
export async function runSql(url: string, ...statements: readonly string[]): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    let rows: Record<string, unknown>[] = [];
    for (const statement of statements) rows = (await client.query(statement)).rows;
    return rows;
  } finally {
    await client.end();
  }
}

/** Runs a query on a standby once it has applied all that it has: queries see nothing of what is only safe there. */
export async function queryStandby(url: string, text: string): ReturnType<typeof runSql> {
  const isBehind = "SELECT WHERE pg_last_wal_replay_lsn() < pg_last_wal_receive_lsn()";
  while ((await runSql(url, isBehind)).length > 0) await delay(5);
  return runSql(url, text);
}

/** Returns how many rows of sessions, and entries of their indexes, the server has read on this connection, and on others some time ago. */
export async function sessionRowsRead(client: Pick<Client, "query">, schema: string): Promise<number> {
  await client.query("SELECT pg_stat_force_next_flush()");
  const { rows } = await client.query(`SELECT sum(idx_tup_read) + (SELECT seq_tup_read FROM pg_stat_user_tables
      WHERE schemaname = '${schema}' AND relname = 'sessions') AS found
    FROM pg_stat_user_indexes WHERE schemaname = '${schema}' AND relname = 'sessions'`);
  return Number(rows[0].found);
}

/** Returns the URL of an empty database. */
export async function emptyDatabase(): Promise<string> {
  const url = await postgresUrl();
  const name = newSchema();
  await runSql(url, `CREATE DATABASE ${name}`);
  return url.replace(/\/postgres$/, `/${name}`);
}
