import { Pool } from "pg";
import { PostgresStorage } from "phasegate/postgres";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Commit } from "../../../src/ports/storage-adapter.js";
import { collect, makeCommit, nextCommit } from "../../../src/testing/contract.js";
import { parseSessionId } from "../../../src/workflow/names.js";
import { newSchema, postgresUrl, sessionRowsRead } from "../../support/postgres.ts";

/** How many sessions there are when the server plans its prepared statements, and then. */
const [FEW, MANY] = [20, 20_000];
const { workflowType, target } = makeCommit().summary;

let pool: Pool;
let storage: PostgresStorage;
const schema = newSchema();
let newest: Commit[];
beforeAll(async () => {
  pool = new Pool({ connectionString: await postgresUrl(), max: 1 });
  storage = await PostgresStorage.open({ pool, schema });
  // As in a database that is seconds old: the server has planned, and knows nothing of what came after.
  await pool.query(`ALTER TABLE ${schema}.sessions SET (autovacuum_enabled = off)`);
  newest = Array.from({ length: FEW }, (_, index) => makeCommit({ sessionId: `few-${index}` }));
  for (const commit of newest) await storage.append(commit);
  for (let round = 0; round < 12; round += 1) {
    for (const operation of Object.values(OPERATIONS)) await operation();
  }
  await pool.query(`INSERT INTO ${schema}.sessions (session_id, version, hash, status, kind, workflow_type, target, current_step,
      created_at, updated_at)
    SELECT 'many-' || n, 1, 'hash', 'completed', kind, workflow_type, target, current_step, created_at, updated_at
    FROM (SELECT * FROM ${schema}.sessions LIMIT 1) AS one, generate_series(1, ${MANY}) n`);
}, 120_000);
afterAll(async () => {
  await pool.query(`DROP SCHEMA ${schema} CASCADE`);
  await pool.end();
});

/** Appends the next commit of so many sessions at the same time. */
async function follow(count: number): Promise<void> {
  const following = newest.slice(0, count).map((commit) => nextCommit(commit));
  await Promise.all(following.map((commit) => storage.append(commit)));
  newest = [...following, ...newest.slice(count)];
}

let begun = 0;
/** Appends the first commits of new sessions at the same time. */
async function begin(count: number): Promise<void> {
  const firsts = Array.from({ length: count }, (_, index) => makeCommit({ sessionId: `begun-${begun + index}` }));
  begun += count;
  await Promise.all(firsts.map((commit) => storage.append(commit)));
}

const one = parseSessionId("few-0");
const OPERATIONS = {
  "a commit": () => follow(1),
  "commits of the same time": () => follow(FEW),
  "first commits of the same time": () => begin(FEW),
  "a read": () => storage.read(one),
  "a log": () => collect(storage.log(one)),
  "its size": () => storage.size(one),
  "a limit of active sessions": () => storage.countActive(5),
  "the open sessions on a target": () =>
    storage.list({ workflowType, target, status: ["active", "paused", "failed"], limit: 3 }),
};

describe("a database that has grown since the server planned its statements", () => {
  it.each(Object.entries(OPERATIONS))("reads no other sessions for %s", async (_, operation) => {
    const before = await sessionRowsRead(pool, schema);
    await operation();
    // With its indexes, a session's row is read a few times.
    expect((await sessionRowsRead(pool, schema)) - before).toBeLessThan(200);
  });
});
