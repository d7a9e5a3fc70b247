/** One phase completed on PostgreSQL, against the bare statement for the same bytes. scale.mjs has what many sessions change. */
import pg from "pg";
import { PostgresStorage } from "phasegate/postgres";
import { startPostgres } from "../test/support/postgres-server.ts";
import { pairedMedians, row, time, warmUp } from "./measure.mjs";
import { benchTool, completing, evidenceOf } from "./workflow.mjs";

const PHASES = 400;
const EVIDENCE = evidenceOf(1024);
/** A server as it is installed: every commit is synced. */
const SETTINGS = ["unix_socket_directories=", "max_connections=20"];
/** A connection as the storage makes it: nobody wants one that waits for ever where a network is cut. */
const CONNECTION = { keepAlive: true, statement_timeout: 30_000, query_timeout: 35_000 };

/** Update where the hash matches and insert, in one prepared statement, on tables as the storage sets them. */
export async function bareCommit(pool, bytes) {
  await pool.query(`CREATE TABLE bare_heads (id text PRIMARY KEY, version int NOT NULL, hash text NOT NULL);
    CREATE TABLE bare_log (id text, version int, hash text NOT NULL, body text NOT NULL, PRIMARY KEY (id, version))
      WITH (toast_tuple_target = 2712);
    INSERT INTO bare_heads VALUES ('one', 0, '0')`);
  const text = `WITH moved AS (UPDATE bare_heads SET version = $2, hash = $3 WHERE id = $1 AND hash = $4 RETURNING id)
    INSERT INTO bare_log SELECT id, $2, $3, $5 FROM moved`;
  // Text that compresses as a commit's does, if the server compresses it.
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
  await warmUp(complete, completing(benchTool(PHASES), PHASES, EVIDENCE));
  const found = await pairedMedians({ bare: { fn: await bareCommit(pool, await commitBytes(pool)) }, complete });
  return row(
    "engine.completePhase, PostgreSQL",
    time(found.complete),
    `one bare statement ${time(found.bare)}`,
    found.ratio,
  );
}

/** Works with a new server and a pool on it. */
export async function withServer(work) {
  const server = await startPostgres(SETTINGS);
  const pool = new pg.Pool({ connectionString: server.url, max: 2, ...CONNECTION });
  try {
    return await work(pool, server.url);
  } finally {
    // `end` does not wait until the connections are closed, and the server may end first.
    pool.on("error", (error) => console.error(`while the pool ended: ${error.message}`));
    await pool.end();
    await server.remove();
  }
}

export function run() {
  return withServer(async (pool, url) => {
    const storage = await PostgresStorage.open({ url });
    try {
      return [await transition(pool, storage)];
    } finally {
      await storage.close();
    }
  });
}
