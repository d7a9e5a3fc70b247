import { setTimeout as delay } from "node:timers/promises";
import { Client } from "pg";
import { PostgresStorage } from "phasegate/postgres";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { SessionQuery } from "../../../src/ports/storage-adapter.js";
import { MIGRATIONS } from "../../../src/storage/postgres/schema.js";
import { makeCommit } from "../../../src/testing/contract.js";
import { newSchema, postgresUrl, sessionRowsRead } from "../../support/postgres.ts";

/** The version of the tables before stale sessions had an index of their own. */
const OLD = 4;
const COLUMNS = "session_id, version, hash, status, kind, workflow_type, target, current_step, created_at, updated_at";
const LATER = `to_char(timestamptz '2099-01-01' + n * interval '1 minute', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`;
const stale = { kind: "phased", status: ["active", "paused"], updatedBefore: "2098-01-01T00:00:00.000Z" } as const;

let [url, schema, client] = ["", "", {} as Client];
beforeEach(async () => {
  url = await postgresUrl();
  schema = newSchema();
  client = new Client({ connectionString: url });
  await client.connect();
  await client.query(`CREATE SCHEMA ${schema}`);
  await client.query(`CREATE TABLE ${schema}.migrations
    (number integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())`);
  for (const [index, statements] of MIGRATIONS.slice(0, OLD).entries()) {
    await client.query(statements(schema));
    await client.query(`INSERT INTO ${schema}.migrations (number) VALUES (${index + 1})`);
  }
  const { sessionId, version, hash, at, summary, body } = makeCommit({ sessionId: "old" });
  const row = [sessionId, version, hash, "active", "phased", "w", "the target", "1", summary.createdAt, at];
  await client.query(`INSERT INTO ${schema}.sessions (${COLUMNS}) VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10)`, row);
  const commit = [sessionId, version, at, 1, "", hash, JSON.stringify(summary), body, "active", "1"];
  await client.query(
    `INSERT INTO ${schema}.commits (session_id, version, at, schema, previous_hash, hash, summary, body, status, current_step)
     VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10)`,
    commit,
  );
  await client.query(`INSERT INTO ${schema}.sessions (${COLUMNS})
    SELECT 'new-' || n, version, hash, status, kind, workflow_type, target || n, current_step, ${LATER}, ${LATER}
    FROM ${schema}.sessions, generate_series(1, 20000) n`);
});
afterEach(async () => {
  await client.query(`DROP SCHEMA ${schema} CASCADE`);
  await client.end();
});

describe("a database with thousands of sessions that is brought up to date", { timeout: 120_000 }, () => {
  it.each<[string, SessionQuery]>([
    ["a stale session", stale],
    ["the sessions on a target", { kind: "phased", target: "the target" }],
    [
      "the open sessions on a target",
      { workflowType: "w", target: "the target", status: ["active", "paused", "failed"] },
    ],
  ])("finds %s without a look at the others", async (_, query) => {
    const storage = await PostgresStorage.open({ client, schema });
    const before = await sessionRowsRead(client, schema);
    expect((await storage.list(query)).items.map(({ sessionId }) => sessionId)).toEqual(["old"]);
    expect((await sessionRowsRead(client, schema)) - before).toBeLessThan(100);
    await storage.close();
  });

  it("compresses no commit of which a page has three", async () => {
    const storage = await PostgresStorage.open({ client, schema });
    for (const length of [2200, 3000]) {
      await storage.append(makeCommit({ sessionId: `of-${length}`, body: "text ".repeat(length / 5) }));
    }
    const { rows } = await client.query(`SELECT octet_length(body) AS bytes FROM ${schema}.commits
      WHERE pg_column_compression(body) IS NOT NULL`);
    expect(rows).toEqual([{ bytes: 3000 }]);
    await storage.close();
  });

  it("is waited for, however long a statement may take", async () => {
    await client.query(`BEGIN; SELECT FROM ${schema}.sessions LIMIT 1`);
    const opened = PostgresStorage.open({ url, schema, statementTimeoutMs: 1000 });
    await delay(2000);
    await client.query("COMMIT");
    const storage = await opened;
    expect((await storage.list(stale)).items).toHaveLength(1);
    const { rows } = await client.query(`SELECT updated_day, updated_at FROM ${schema}.sessions`);
    for (const { updated_day, updated_at } of rows) expect(updated_at.startsWith(updated_day)).toBe(true);
    await storage.close();
  });
});
