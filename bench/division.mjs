/**
 * How long PostgreSQL's log of so many sessions takes to divide into partitions, and how long starts take meanwhile:
 * `node --expose-gc division.mjs [sessions]`. A host that had the tables open before starts one session after the other.
 */
import "../scripts/run-sources.mjs";
import pg from "pg";
import { PostgresStorage } from "phasegate/postgres";
import { startPostgres } from "../test/support/postgres-server.ts";
import { engineOn } from "./among.mjs";
import { load } from "./bulk-load.mjs";
import { time } from "./measure.mjs";

const { MIGRATIONS } = await import("../src/storage/postgres/schema.ts");
const [sessions = 200_000] = process.argv.slice(2).map(Number);
/** The version of the tables before the log was in partitions. */
const OLD = 7;
const schema = "divided";

const server = await startPostgres(["unix_socket_directories=", "max_connections=50", "max_wal_size=4GB"]);
const pool = new pg.Pool({ connectionString: server.url });
pool.on("error", () => undefined);
try {
  await pool.query(`CREATE SCHEMA ${schema};
    CREATE TABLE ${schema}.migrations (number integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now());
    ${MIGRATIONS.slice(0, OLD)
      .map((statements) => statements(schema))
      .join(";")};
    INSERT INTO ${schema}.migrations (number) SELECT generate_series(1, ${MIGRATIONS.length})`);
  await load(pool, schema, sessions);
  const before = await PostgresStorage.open({ url: server.url, schema });
  await pool.query(`DELETE FROM ${schema}.migrations WHERE number > ${OLD}`);
  const engine = engineOn(before);
  let started = 0;
  const timedStart = async () => {
    started += 1;
    const begun = performance.now();
    await engine.start({ workflowType: "bench_2", target: `src/new-${started}.ts` });
    return (performance.now() - begun) * 1000;
  };
  const quiet = [];
  while (quiet.length < 500) quiet.push(await timedStart());
  let isOver = false;
  const begun = performance.now();
  const dividing = PostgresStorage.open({ url: server.url, schema }).finally(() => {
    isOver = true;
  });
  const meanwhile = [];
  while (!isOver) meanwhile.push(await timedStart());
  const took = (performance.now() - begun) * 1000;
  await (await dividing).close();
  await before.close();
  const sorted = (times) => times.toSorted((one, other) => one - other);
  const of = (times, share) => time(sorted(times)[Math.floor(times.length * share)]);
  console.log(`${sessions.toLocaleString("en")} sessions divided in ${time(took)}`);
  console.log(
    `a start: before ${of(quiet, 0.5)}; meanwhile ${of(meanwhile, 0.5)}, of a hundred one over ${of(meanwhile, 0.99)},`,
  );
  console.log(`the longest ${time(sorted(meanwhile).at(-1))}, of ${meanwhile.length}`);
} finally {
  await pool.end();
  await server.remove();
}
