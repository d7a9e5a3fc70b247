/**
 * How far one database carries: fills PostgreSQL with a million sessions (or as many as the argument says) and, in another
 * schema, with ten thousand. Measures the same calls in both in turn, and the sizes of tables and indexes. It takes
 * minutes and gigabytes, so it is not one of the benchmarks of `npm start`: `node million.mjs [sessions]`.
 */

import { createHash } from "node:crypto";
import { loadavg } from "node:os";
import pg from "pg";
import { createEngine, MemoryContent, MemoryStorage } from "phasegate";
import { PostgresStorage } from "phasegate/postgres";
import { startPostgres } from "../test/support/postgres-server.ts";
import { median } from "./measure.mjs";
import { benchWorkflow, evidenceOf } from "./workflow.mjs";

const MANY = Number(process.argv[2] ?? 1_000_000);
const FEW = 10_000;
const PHASES = 2;
/** Of so many sessions one is completed, and one of so many is active. The others are paused. */
const WHOLE = 5;
const ACTIVE = 200;
const AT_ONCE = 3;
const BATCH = 500;
const CALLS = 300;
/** A server as it is installed. Nothing is synced while it is filled. */
const SETTINGS = [
  "unix_socket_directories=",
  "max_connections=50",
  "max_wal_size=4GB",
  "fsync=off",
  "synchronous_commit=off",
];
const MEASURED = ["fsync=on", "synchronous_commit=on"];

const content = new MemoryContent({ workflows: [benchWorkflow(PHASES)] });
const limits = { maxActiveSessions: Number.POSITIVE_INFINITY };

/** The commits that an engine makes of one session, with a time and a target that can be replaced. */
async function template(commands) {
  const storage = new MemoryStorage();
  const clock = { now: () => Date.UTC(2001, 0, 1) };
  const engine = createEngine({ storage, content, clock, limits });
  const { sessionId } = await engine.start({ workflowType: `bench_${PHASES}`, target: "src/TARGET.ts" });
  await commands(engine, sessionId);
  const commits = [];
  for await (const commit of storage.log(sessionId)) commits.push(commit);
  return { sessionId, commits };
}

/** The same session under another id, a second after the one before. */
function renamed({ sessionId, commits }, index) {
  const id = `${sessionId.slice(0, -8)}${index.toString(16).padStart(8, "0")}`;
  const time = new Date(Date.UTC(2024, 0, 1) + index * 1000).toISOString();
  const own = (text) =>
    text
      .replaceAll(sessionId, id)
      .replaceAll("src/TARGET.ts", `src/${index}.ts`)
      .replaceAll("2001-01-01T00:00:00.000Z", time);
  let previousHash = "";
  return commits.map((commit) => {
    const body = own(commit.body);
    const hash = createHash("sha256").update(`${previousHash}\n${body}`).digest("hex");
    const made = { ...JSON.parse(own(JSON.stringify({ ...commit, body: "" }))), body, previousHash, hash };
    previousHash = hash;
    return made;
  });
}

/** The columns of the tables, each with its value in a commit. */
const SESSION = {
  session_id: ({ sessionId }) => sessionId,
  version: ({ version }) => version,
  hash: ({ hash }) => hash,
  status: ({ summary }) => summary.status,
  kind: ({ summary }) => summary.kind,
  workflow_type: ({ summary }) => summary.workflowType,
  target: ({ summary }) => summary.target,
  current_step: ({ summary }) => String(summary.current),
  created_at: ({ summary }) => summary.createdAt,
  updated_at: ({ summary }) => summary.updatedAt,
  completed_at: ({ summary }) => summary.completedAt ?? null,
};
const COMMIT = {
  session_id: ({ sessionId }) => sessionId,
  version: ({ version }) => version,
  at: ({ at }) => at,
  schema: ({ schema }) => schema,
  previous_hash: ({ previousHash }) => previousHash,
  hash: ({ hash }) => hash,
  summary: ({ summary }) => JSON.stringify(summary),
  body: ({ body }) => body,
  status: ({ summary }) => summary.status,
  current_step: ({ summary }) => String(summary.current),
};
const TYPES = { version: "bigint", schema: "integer" };

/** Inserts commits' values into a table in one statement. */
async function insert(pool, schema, table, columns, commits) {
  const names = Object.keys(columns);
  const arrays = names.map((name, index) => `$${index + 1}::${TYPES[name] ?? "text"}[]`);
  const text = `INSERT INTO ${schema}.${table} (${names.join(", ")}) SELECT * FROM unnest(${arrays.join(", ")})`;
  await pool.query({ text, values: names.map((name) => commits.map(columns[name])) });
}

/** Fills a schema's tables with rows as the storage writes them, many in a statement. Returns the number of commits. */
async function fill(pool, schema, count) {
  const evidence = evidenceOf(512);
  const whole = await template(async (engine, id) => {
    for (let phase = 1; phase <= PHASES; phase += 1) await engine.completePhase(id, { phase, evidence });
  });
  const paused = await template((engine, id) => engine.pause(id));
  const active = await template(() => undefined);
  const kinds = (index) => (index % WHOLE === 0 ? whole : index % ACTIVE === 1 ? active : paused);
  let next = 0;
  let filled = 0;
  const worker = async () => {
    for (let from = next; from < count; from = next) {
      next = from + BATCH;
      const sessions = Array.from({ length: Math.min(BATCH, count - from) }, (_, index) =>
        renamed(kinds(from + index), from + index),
      );
      await insert(
        pool,
        schema,
        "sessions",
        SESSION,
        sessions.map((commits) => commits.at(-1)),
      );
      await insert(pool, schema, "commits", COMMIT, sessions.flat());
      filled += sessions.flat().length;
      if (from % 100_000 === 0) console.error(new Date().toISOString(), from, loadavg()[0].toFixed(1));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return filled;
}

/** Times a call in both schemas in turn. Returns the medians, in milliseconds. */
async function timed(few, many) {
  const [before, after] = [[], []];
  for (let index = 0; index < CALLS; index += 1) {
    for (const [call, times] of [
      [few, before],
      [many, after],
    ]) {
      const begun = performance.now();
      await call(index);
      times.push(performance.now() - begun);
    }
  }
  return `${median(after).toFixed(2)} ms; among ${FEW} ${median(before).toFixed(2)} ms`;
}

function report(what, figure) {
  console.log(`${what}: ${figure} (load average ${loadavg()[0].toFixed(1)})`);
}

/** The calls on the sessions of a schema. */
async function calls(url, schema) {
  const storage = await PostgresStorage.open({ url, schema });
  const engine = createEngine({ storage, content, limits });
  const unaware = createEngine({ storage, content, limits });
  const workflowType = `bench_${PHASES}`;
  const evidence = evidenceOf(512);
  const ids = [];
  for (const status of ["completed", "paused", "active"]) {
    const [first] = (await storage.list({ status: [status], limit: 1 })).items;
    if (!(await engine.audit(first.sessionId)).intact) throw new Error("a session is not as an engine writes it");
  }
  return {
    engine,
    tasks: {
      start: async (index) => {
        ids.push((await engine.start({ workflowType, target: `src/new-${index}.ts` })).sessionId);
      },
      "complete a phase": (index) => engine.completePhase(ids[index], { phase: 1, evidence }),
      "complete a phase of a session that the host has not seen": (index) =>
        unaware.completePhase(ids[index], { phase: 2, evidence }),
      "list, first page of 20": () => engine.listSessions({ limit: 20 }),
      "list, first page of 20 active ones": () => engine.listSessions({ limit: 20, status: ["active"] }),
      "count of active sessions, up to 100": () => storage.countActive(100),
    },
  };
}

/** Reports the sizes of a schema's tables, with what is stored out of line, and of its indexes. */
async function sizes(pool, schema) {
  const { rows } = await pool.query(
    `SELECT relname AS name, pg_table_size(c.oid) AS bytes, pg_indexes_size(c.oid) AS indexes FROM pg_class c
    JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = $1 AND relkind = 'r' ORDER BY bytes DESC LIMIT 3`,
    [schema],
  );
  const size = (bytes) => `${(bytes / 2 ** 20).toFixed(0)} MiB`;
  for (const { name, bytes, indexes } of rows) report(name, `${size(bytes)}, its indexes ${size(indexes)}`);
}

const server = await startPostgres(SETTINGS);
try {
  const filling = new pg.Pool({ connectionString: server.url, max: AT_ONCE });
  // A connection may still be closing when the server stops.
  filling.on("error", () => undefined);
  for (const [schema, count] of [
    ["few", FEW],
    ["many", MANY],
  ]) {
    await (await PostgresStorage.open({ url: server.url, schema })).close();
    const commits = await fill(filling, schema, count);
    console.log(`${schema}: ${count} sessions with ${commits} commits`);
  }
  await filling.end();
  await server.halt();
  await server.resume(MEASURED);
  const pool = new pg.Pool({ connectionString: server.url });
  // What the server does by itself within minutes.
  await pool.query("VACUUM ANALYZE");
  await sizes(pool, "many");
  const [few, many] = [await calls(server.url, "few"), await calls(server.url, "many")];
  for (const name of Object.keys(many.tasks)) report(name, await timed(few.tasks[name], many.tasks[name]));
  const begun = performance.now();
  const { cursor } = await few.engine.statistics();
  const whole = performance.now();
  await few.engine.statistics({ cursor });
  const [first, next] = [whole - begun, performance.now() - whole].map((time) => `${(time / 1000).toFixed(1)} s`);
  report(`statistics of ${FEW} sessions`, `${first}; again with the cursor ${next}`);
  await few.engine.close();
  await many.engine.close();
  await pool.end();
} finally {
  await server.remove();
}
