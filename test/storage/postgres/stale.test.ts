import { Client } from "pg";
import { PostgresStorage } from "phasegate/postgres";
import { expect, it } from "vitest";
import { makeCommit } from "../../../src/testing/contract.js";
import { newSchema, postgresUrl } from "../../support/postgres.ts";

const COPIED = "session_id, version, hash, status, kind, workflow_type, target, current_step, created_at, updated_at";
const LATER = `to_char(timestamptz '2099-01-01' + n * interval '1 minute', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`;

it("a stale session is found among thousands without a look at the others", { timeout: 120_000 }, async () => {
  const client = new Client({ connectionString: await postgresUrl() });
  await client.connect();
  const schema = newSchema();
  const storage = await PostgresStorage.open({ client, schema });
  const old = makeCommit({ sessionId: "old" });
  await storage.append(old);
  await client.query(`INSERT INTO ${schema}.sessions (${COPIED})
    SELECT 'new-' || n, version, hash, status, kind, workflow_type, target, current_step, ${LATER}, ${LATER}
    FROM ${schema}.sessions, generate_series(1, 20000) n`);
  await client.query(`VACUUM ANALYZE ${schema}.sessions`);
  const rowsRead = async () => {
    await client.query("SELECT pg_stat_force_next_flush()");
    const { rows } = await client.query(`SELECT sum(idx_tup_read) + (SELECT seq_tup_read FROM pg_stat_user_tables
        WHERE schemaname = '${schema}' AND relname = 'sessions') AS found
      FROM pg_stat_user_indexes WHERE schemaname = '${schema}' AND relname = 'sessions'`);
    return Number(rows[0].found);
  };
  const before = await rowsRead();
  const stale = { kind: "phased", status: ["active", "paused"], updatedBefore: "2098-01-01T00:00:00.000Z" } as const;
  expect((await storage.list(stale)).items.map(({ sessionId }) => sessionId)).toEqual(["old"]);
  expect((await rowsRead()) - before).toBeLessThan(100);
  await client.query(`DROP SCHEMA ${schema} CASCADE`);
  await storage.close();
  await client.end();
});
