/** One phase completed on PostgreSQL, against the bare statement for the same bytes; and what 100,000 sessions change. */

import pg from "pg";
import { createEngine, MemoryContent } from "phasegate";
import { PostgresStorage } from "phasegate/postgres";
import { startPostgres } from "../test/support/postgres-server.ts";
import { pairedMedians, row, time } from "./measure.mjs";
import { benchTool, benchWorkflow, completing, evidenceOf, startSession } from "./workflow.mjs";

const PHASES = 400;
const EVIDENCE = evidenceOf(1024);
/** A server as it is installed: every commit is synced. */
const SETTINGS = ["unix_socket_directories=", "max_connections=20"];
/** A connection as the storage makes it: nobody wants one that waits for ever where a network is cut. */
const CONNECTION = { keepAlive: true, statement_timeout: 30_000, query_timeout: 35_000 };
const SIZES = [1000, 100_000];

/** Update where the hash matches and insert, in one prepared statement: what any such commit costs. */
async function bareCommit(pool, bytes) {
  await pool.query(`CREATE TABLE bare_heads (id text PRIMARY KEY, version int NOT NULL, hash text NOT NULL);
    CREATE TABLE bare_log (id text, version int, hash text NOT NULL, body text NOT NULL, PRIMARY KEY (id, version));
    INSERT INTO bare_heads VALUES ('one', 0, '0')`);
  const text = `WITH moved AS (UPDATE bare_heads SET version = $2, hash = $3 WHERE id = $1 AND hash = $4 RETURNING id)
    INSERT INTO bare_log SELECT id, $2, $3, $5 FROM moved`;
  // Text that compresses as a commit's does.
  const body = JSON.stringify({ ...EVIDENCE, summary: "" }).padEnd(bytes - 1024, "0123456789abcdef") + "x".repeat(1024);
  let version = 0;
  return async () => {
    version += 1;
    const values = ["one", version, String(version), String(version - 1), body];
    const { rowCount } = await pool.query({ name: "bare", text, values });
    if (rowCount !== 1) throw new Error("the bare commit was refused");
  };
}

/** How long a commit is, with its summary and hashes. */
async function commitBytes(pool) {
  const { rows } = await pool.query(
    `SELECT avg(octet_length(body) + octet_length(summary) + 128)::int AS bytes FROM phasegate.commits WHERE version > 1`,
  );
  return rows[0].bytes;
}

async function transition(pool, storage) {
  const host = benchTool(PHASES, storage);
  const complete = completing(host, PHASES, EVIDENCE);
  for (let warm = 0; warm < 20; warm += 1) {
    await complete.beforeEach();
    await complete.fn();
  }
  const found = await pairedMedians({ bare: { fn: await bareCommit(pool, await commitBytes(pool)) }, complete });
  return row(
    "engine.completePhase, PostgreSQL",
    time(found.complete),
    `one bare statement ${time(found.bare)}`,
    found.ratio,
    1.2,
  );
}

/** Sessions as an engine made one, under other ids, two minutes apart; all but the newest 200 have ended. */
async function fill(pool, schema, from, to) {
  const s = `"${schema}"`;
  await pool.query(`
    WITH one AS (SELECT * FROM ${s}.sessions WHERE version = 1 LIMIT 1),
    made AS (SELECT i, 'filled_' || i AS id,
      to_char(timestamp '2025-01-01' + i * interval '2 minutes', 'YYYY-MM-DD"T"HH24:MI:SS.000"Z"') AS time,
      CASE WHEN i < ${to - 200} THEN 'completed' ELSE 'active' END AS status FROM generate_series(${from}, ${to - 1}) AS i),
    filled AS (INSERT INTO ${s}.sessions (session_id, version, hash, status, kind, workflow_type, target, current_step,
      created_at, updated_at) SELECT made.id, 1, hash, made.status, kind, workflow_type, 'src/' || i, current_step, time, time
      FROM one, made RETURNING session_id)
    INSERT INTO ${s}.commits (session_id, version, at, schema, previous_hash, hash, summary, body, status, current_step)
    SELECT made.id, 1, time, c.schema, '', c.hash, replace(c.summary, c.session_id, made.id), c.body, made.status,
      c.current_step FROM made, one JOIN ${s}.commits c ON c.session_id = one.session_id`);
  // What the server does by itself within a minute.
  await pool.query(`VACUUM ANALYZE ${s}.sessions, ${s}.commits`);
}

/** Page after page, as somebody comes to the hundredth. */
async function hundredthCursor(storage, limit) {
  let cursor;
  for (let page = 1; page < 100; page += 1) {
    ({ cursor } = await storage.list({ limit, ...(cursor === undefined ? {} : { cursor }) }));
  }
  return cursor;
}

async function timesAt(size, pool, url) {
  const schema = `filled_${size}`;
  const storage = await PostgresStorage.open({ url, schema });
  const host = benchTool(PHASES, storage);
  await startSession(host);
  await fill(pool, schema, 0, size);
  // Ten a page, so that a thousand sessions have a hundredth page too.
  const [limit, cursor] = [10, await hundredthCursor(storage, 10)];
  const content = new MemoryContent({ workflows: [benchWorkflow(4)] });
  const engine = createEngine({ storage, content, limits: { maxActiveSessions: 100_000 } });
  let started = 0;
  return {
    close: () => engine.close(),
    tasks: {
      "list, first page": { fn: () => storage.list({ limit }) },
      "list, hundredth page": { fn: () => storage.list({ limit, cursor }) },
      "list, first page of active ones": { fn: () => storage.list({ limit, status: ["active"] }) },
      start: {
        fn: () => {
          started += 1;
          return engine.start({ workflowType: "bench_4", target: `src/new-${started}.ts` });
        },
      },
      completePhase: completing(host, PHASES, EVIDENCE),
    },
  };
}

async function growth(pool, url) {
  const [few, many] = [await timesAt(SIZES[0], pool, url), await timesAt(SIZES[1], pool, url)];
  const rows = [];
  for (const name of Object.keys(few.tasks)) {
    const found = await pairedMedians({ few: few.tasks[name], many: many.tasks[name] }, 5);
    rows.push(
      row(
        `${name}, PostgreSQL, 100,000 sessions`,
        time(found.many),
        `1,000 sessions ${time(found.few)}`,
        found.ratio,
        1.5,
      ),
    );
  }
  await few.close();
  await many.close();
  return rows;
}

export async function run() {
  const server = await startPostgres(SETTINGS);
  const pool = new pg.Pool({ connectionString: server.url, max: 2, ...CONNECTION });
  const storage = await PostgresStorage.open({ url: server.url });
  try {
    return [await transition(pool, storage), ...(await growth(pool, server.url))];
  } finally {
    await storage.close();
    await pool.end();
    await server.remove();
  }
}
