import { Pool } from "pg";
import { PostgresStorage } from "phasegate/postgres";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Commit } from "../../../src/ports/storage-adapter.js";
import { collect, makeCommit, nextCommit } from "../../../src/testing/contract.js";
import { parseSessionId } from "../../../src/workflow/names.js";
import { newSchema, postgresUrl, sessionRowsRead } from "../../support/postgres.ts";

/** How many sessions there are when the server plans its prepared statements, and then. */
const [FEW, MANY] = [20, 20_000];
const { workflowType, target } = makeCommit().summary;

let pool: Pool;
let schema: string;
let storage: PostgresStorage;
let newest: Commit[];
let begun = 0;
let used = 0;
/** The time for the storage, in milliseconds. */
let now = 0;
beforeEach(async () => {
  vi.spyOn(performance, "now").mockImplementation(() => now);
  pool = new Pool({ connectionString: await postgresUrl(), max: 1 });
  schema = newSchema();
  storage = await PostgresStorage.open({ pool, schema });
  // Until the server does that again, it knows nothing of what came after.
  await pool.query(`ALTER TABLE ${schema}.sessions SET (autovacuum_enabled = off)`);
  await useNew();
});
afterEach(async () => {
  vi.restoreAllMocks();
  await pool.query(`DROP SCHEMA ${schema} CASCADE`);
  await pool.end();
});

/** Begins the sessions that the operations use from now on. */
async function useNew(): Promise<void> {
  used += 1;
  newest = Array.from({ length: FEW }, (_, index) => makeCommit({ sessionId: `few-${used}-${index}` }));
  for (const commit of newest) await storage.append(commit);
}

/** Appends the next commit of so many sessions at the same time. */
async function follow(count: number): Promise<void> {
  const following = newest.slice(0, count).map((commit) => nextCommit(commit));
  await Promise.all(following.map((commit) => storage.append(commit)));
  newest = [...following, ...newest.slice(count)];
}

/** Appends the first commits of new sessions at the same time. */
async function begin(count: number): Promise<void> {
  const firsts = Array.from({ length: count }, (_, index) => makeCommit({ sessionId: `begun-${begun + index}` }));
  begun += count;
  await Promise.all(firsts.map((commit) => storage.append(commit)));
}

const one = () => parseSessionId(`few-${used}-0`);
const OPERATIONS = {
  "a commit": () => follow(1),
  "commits of the same time": () => follow(FEW),
  "first commits of the same time": () => begin(FEW),
  "a read": () => storage.read(one()),
  "a log": () => collect(storage.log(one())),
  "a size": () => storage.size(one()),
  "the limit of active sessions": () => storage.countActive(5),
  "the open sessions on a target": () =>
    storage.list({ workflowType, target, idPrefix: `few-${used}-`, status: ["active", "paused", "failed"], limit: 3 }),
};

/**
 * The server plans a prepared statement for its values five times, and then keeps a plan for all. The storage has it planned
 * anew when its commits have doubled, the last time after 512 commits here: in the thirteenth of these rounds.
 */
async function planAll(): Promise<void> {
  for (let round = 0; round < 20; round += 1) {
    for (const operation of Object.values(OPERATIONS)) await operation();
  }
}

/**
 * How many rows of sessions, and entries of their indexes, each operation reads. The sessions must be new: the server keeps and
 * counts each version of a row that a transaction of another test may still see.
 */
async function rowsOfEach(): Promise<Record<string, number>> {
  const rows: Record<string, number> = {};
  for (const [name, operation] of Object.entries(OPERATIONS)) {
    const before = await sessionRowsRead(pool, schema);
    await operation();
    rows[name] = (await sessionRowsRead(pool, schema)) - before;
  }
  return rows;
}

/** Begins sessions as another process does: this storage does not know of them. */
async function beginElsewhere(): Promise<void> {
  await pool.query(`INSERT INTO ${schema}.sessions (session_id, version, hash, status, kind, workflow_type, target,
      current_step, created_at, updated_at)
    SELECT 'many-' || n, 1, 'hash', 'completed', kind, workflow_type, target, current_step, created_at, updated_at
    FROM (SELECT * FROM ${schema}.sessions LIMIT 1) AS one, generate_series(1, ${MANY}) n`);
}

/** With the indexes, the row of each session is read a few times. */
const AT_MOST = 10 * FEW;
const few = (names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, expect.toSatisfy(isFew, "few")]));
const allFew = few(Object.keys(OPERATIONS));
function isFew(rows: number): boolean {
  return rows <= AT_MOST;
}

describe("a database that has grown since the server planned the statements", () => {
  it("is not gone through by a call for one session, if the server had never looked at the tables", async () => {
    await planAll();
    await useNew();
    await beginElsewhere();
    const forOne = Object.keys(OPERATIONS).filter((name) => !name.includes("same time"));
    expect(await rowsOfEach()).toMatchObject(few(forOne));
  });

  it("is not gone through once the storage has been open for twice as long", async () => {
    now += 5_000;
    await planAll();
    await beginElsewhere();
    now += 5_000;
    await useNew();
    expect(await rowsOfEach()).toEqual(allFew);
  });

  it("is not gone through if the storage has begun the sessions itself", async () => {
    await pool.query(`ANALYZE ${schema}.sessions`);
    await planAll();
    await begin(MANY / 10);
    await planAll();
    await useNew();
    expect(await rowsOfEach()).toEqual(allFew);
  });
});
