/**
 * How far one database carries: fills PostgreSQL with a million sessions (or as many as the first argument says), then
 * measures calls among them, and the sizes of tables and indexes. It takes minutes and gigabytes, so it is not one of the
 * benchmarks of `npm start`: `node million.mjs [sessions] [statistics]`.
 */

import { createHash } from "node:crypto";
import { loadavg } from "node:os";
import pg from "pg";
import { createEngine, MemoryContent, MemoryStorage } from "phasegate";
import { PostgresStorage } from "phasegate/postgres";
import { startPostgres } from "../test/support/postgres-server.ts";
import { benchWorkflow, evidenceOf } from "./workflow.mjs";

const SESSIONS = Number(process.argv[2] ?? 1_000_000);
const PHASES = 2;
/** Of so many sessions one is completed, and one of so many is active. The others are paused. */
const WHOLE = 5;
const ACTIVE = 1000;
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
async function insert(pool, table, columns, commits) {
  const names = Object.keys(columns);
  const arrays = names.map((name, index) => `$${index + 1}::${TYPES[name] ?? "text"}[]`);
  const text = `INSERT INTO phasegate.${table} (${names.join(", ")}) SELECT * FROM unnest(${arrays.join(", ")})`;
  await pool.query({ name: table, text, values: names.map((name) => commits.map(columns[name])) });
}

/** Fills the tables with rows as the storage writes them, many in a statement. Returns the number of commits. */
async function fill(pool) {
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
    for (let from = next; from < SESSIONS; from = next) {
      next = from + BATCH;
      const sessions = Array.from({ length: Math.min(BATCH, SESSIONS - from) }, (_, index) =>
        renamed(kinds(from + index), from + index),
      );
      await insert(
        pool,
        "sessions",
        SESSION,
        sessions.map((commits) => commits.at(-1)),
      );
      await insert(pool, "commits", COMMIT, sessions.flat());
      filled += sessions.flat().length;
      if (from % 100_000 === 0) console.error(new Date().toISOString(), from, loadavg()[0].toFixed(1));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return filled;
}

/** The median and the 95th percentile of a call, in milliseconds. */
async function timed(call, calls = CALLS) {
  const times = [];
  for (let index = 0; index < calls; index += 1) {
    const begun = performance.now();
    await call(index);
    times.push(performance.now() - begun);
  }
  times.sort((one, other) => one - other);
  const at = (share) => `${times[Math.floor(times.length * share)].toFixed(2)} ms`;
  return `median ${at(0.5)}, 95th percentile ${at(0.95)}`;
}

function report(what, figure) {
  console.log(`${what}: ${figure} (load average ${loadavg()[0].toFixed(1)})`);
}

/** Some of the sessions that were filled in. */
async function* samples(storage) {
  for (const status of ["completed", "paused", "active"])
    yield* (await storage.list({ status: [status], limit: 3 })).items;
}

async function statistics(engine) {
  const begun = performance.now();
  const { cursor } = await engine.statistics();
  report("statistics of all sessions", `${((performance.now() - begun) / 1000).toFixed(1)} s`);
  report("memory of the host then", `${(process.memoryUsage().rss / 2 ** 20).toFixed(0)} MiB`);
  const again = performance.now();
  await engine.statistics({ cursor });
  report("statistics with the cursor", `${((performance.now() - again) / 1000).toFixed(1)} s`);
}

const server = await startPostgres(SETTINGS);
try {
  await (await PostgresStorage.open({ url: server.url })).close();
  const filling = new pg.Pool({ connectionString: server.url, max: AT_ONCE });
  // A connection may still be closing when the server stops.
  filling.on("error", () => undefined);
  const begun = performance.now();
  const commits = await fill(filling);
  await filling.end();
  report(
    `${SESSIONS} sessions with ${commits} commits`,
    `filled in ${((performance.now() - begun) / 1000).toFixed(0)} s`,
  );
  await server.halt();
  await server.resume(MEASURED);
  const pool = new pg.Pool({ connectionString: server.url });
  await pool.query("VACUUM ANALYZE");
  const { rows } = await pool.query(`SELECT relname, relkind, pg_relation_size(c.oid) + CASE relkind WHEN 'r'
      THEN coalesce(pg_total_relation_size(nullif(reltoastrelid, 0)), 0) ELSE 0 END AS bytes FROM pg_class c
    JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = 'phasegate' AND relkind IN ('r', 'i') ORDER BY bytes DESC`);
  for (const { relname, relkind, bytes } of rows) {
    report(relkind === "r" ? `table ${relname}` : `index ${relname}`, `${(bytes / 2 ** 20).toFixed(1)} MiB`);
  }
  const storage = await PostgresStorage.open({ url: server.url });
  const engine = createEngine({ storage, content, limits });
  const ids = [];
  const workflowType = `bench_${PHASES}`;
  const start = async (index) => {
    ids.push((await engine.start({ workflowType, target: `src/new-${index}.ts` })).sessionId);
  };
  const evidence = evidenceOf(512);
  report("start", await timed(start));
  report("complete", await timed((index) => engine.completePhase(ids[index], { phase: 1, evidence })));
  report("list, first page of 20", await timed(() => engine.listSessions({ limit: 20 })));
  report(
    "list, first page of 20 active ones",
    await timed(() => engine.listSessions({ limit: 20, status: ["active"] })),
  );
  report("count of active sessions up to 100", await timed(() => storage.countActive(100)));
  const old = createEngine({ storage, content, limits });
  report(
    "complete, on a session that the host has not seen",
    await timed((index) => old.completePhase(ids[index], { phase: 2, evidence })),
  );
  for await (const { sessionId } of samples(storage)) {
    if (!(await engine.audit(sessionId)).intact) throw new Error(`${sessionId} is not as an engine writes it`);
  }
  if (process.argv[3] === "statistics") await statistics(engine);
  await engine.close();
  await pool.end();
} finally {
  await server.remove();
}
