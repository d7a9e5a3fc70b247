/**
 * PostgreSQL with ten million sessions, a tenth of them live, against one with a million: `npm run ten-million`, or
 * `node --expose-gc ten-million.mjs [sessions [baseline]]`. The sessions are written by SQL, as an engine writes them: each
 * commit has its hash. It takes 60 GB of disk and most of an hour, so it is no part of other runs; it writes TEN-MILLION.md.
 */
import { writeFile } from "node:fs/promises";
import { cpus, loadavg } from "node:os";
import pg from "pg";
import { PostgresStorage } from "phasegate/postgres";
import { startPostgres } from "../test/support/postgres-server.ts";
import { bytesOf, FIRST, inTurn, OLD_TARGET, OLD_TIME, tableOf, tasksAmong, templates } from "./among.mjs";
import { median, pairedMedians, ratio, row, time } from "./measure.mjs";

const [many = 10_000_000, few = 1_000_000] = process.argv.slice(2).map(Number);
if (![many, few].every((count) => Number.isSafeInteger(count) && count >= 1000)) {
  throw new Error("node ten-million.mjs [sessions [baseline]]: numbers of 1,000 or more");
}
/** All are made in four years. */
const SPAN = 4 * 365 * 86_400_000;
const apartOf = (count) => Math.floor(SPAN / count);
/** Of ten sessions two are completed, one is live, the others are paused. */
const KINDS = { whole: "i % 5 = 0", active: "i % 10 = 1", paused: "i % 5 <> 0 AND i % 10 <> 1" };
/** So many sessions are written in a transaction. */
const BATCH = 20_000;
/** So many sessions are removed before the tables are vacuumed. */
const REMOVED = 500;
const ROUNDS = 5;
const BAR = 1.3;
const TASKS = [
  "list, first page of 50",
  "list, first page of 50 active",
  "start",
  "complete a phase",
  "what has changed since one commit",
  "cleanup of one session",
];

const FUNCTIONS = `
  CREATE FUNCTION pg_temp.own(given text, old_id text, id text, i bigint, at text) RETURNS text IMMUTABLE LANGUAGE sql
    AS $$ SELECT replace(replace(replace(given, old_id, id), '${OLD_TARGET}', 'src/' || i || '.ts'), '${OLD_TIME}', at) $$;
  CREATE FUNCTION pg_temp.hashed(previous text, body text) RETURNS text IMMUTABLE LANGUAGE sql
    AS $$ SELECT encode(sha256(convert_to(previous || E'\\n' || body, 'UTF8')), 'hex') $$`;

/** The statement that writes the sessions of a kind from number $1 to $2, which were made $3 milliseconds apart. */
function statement(schema, { sessionId, commits }, condition) {
  const values = [sessionId];
  const text = (given) => `pg_temp.own($${values.push(given) + 4}, $4, id, i, at)`;
  const chain = commits.map(({ body }, index) => {
    const previous = index === 0 ? "''" : `hash_${index}`;
    const version = index + 1;
    return `LATERAL (SELECT ${text(body)} AS body_${version}) b${version},
      LATERAL (SELECT pg_temp.hashed(${previous}, body_${version}) AS hash_${version}, ${previous} AS previous_${version}) h${version}`;
  });
  const log = commits.map(({ version, schema: number, summary }) => {
    return `SELECT id, ${version}, at, ${number}, previous_${version}, hash_${version}, ${text(JSON.stringify(summary))},
      body_${version}, '${summary.status}', '${summary.current}' FROM made`;
  });
  const { summary, version } = commits.at(-1);
  return {
    values,
    text: `WITH made AS MATERIALIZED (SELECT * FROM (SELECT i, left($4, -8) || lpad(to_hex(i), 8, '0') AS id,
        to_char(to_timestamp(($5::bigint + i * $3::bigint) / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS at
        FROM generate_series($1::bigint, $2::bigint) i WHERE ${condition}) numbers, ${chain.join(", ")}),
      session AS (INSERT INTO ${schema}.sessions (session_id, version, hash, status, kind, workflow_type, target, current_step,
          created_at, updated_at, completed_at)
        SELECT id, ${version}, hash_${version}, '${summary.status}', '${summary.kind}', '${summary.workflowType}',
          'src/' || i || '.ts', '${summary.current}', at, at, ${summary.status === "completed" ? "at" : "NULL"} FROM made)
      INSERT INTO ${schema}.commits (session_id, version, at, schema, previous_hash, hash, summary, body, status, current_step)
        ${log.join(" UNION ALL ")}`,
  };
}

/** Writes so many sessions on two connections. */
async function load(pool, schema, count) {
  const made = await templates();
  let next = 0;
  const lane = async () => {
    const client = await pool.connect();
    await client.query(FUNCTIONS);
    for (let from = next; from < count; from = next) {
      next += BATCH;
      for (const [kind, condition] of Object.entries(KINDS)) {
        const { text, values } = statement(schema, made[kind], condition);
        const [id, ...texts] = values;
        const to = Math.min(from + BATCH, count) - 1;
        await client.query(text, [from, to, apartOf(count), id, FIRST, ...texts]);
      }
      if (from % 500_000 === 0) console.error(new Date().toISOString(), schema, from);
    }
    client.release(true);
  };
  await Promise.all([lane(), lane()]);
}

/** How long it takes from a start's first byte until a watch has it. */
function watched(storage, start) {
  const ending = new AbortController();
  const commits = storage.watch({}, { signal: ending.signal })[Symbol.asyncIterator]();
  return {
    once: async () => {
      const next = commits.next();
      await start();
      await next;
    },
    end: async () => {
      ending.abort();
      await commits.return?.();
    },
  };
}

/** Removes sessions of the middle, then vacuums, in both in turn; gives the median times of a vacuum in microseconds. */
async function vacuums(pool, storages) {
  const times = { few: [], many: [] };
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [schema, storage] of Object.entries(storages)) {
      const { rows } = await pool.query(
        `SELECT session_id FROM ${schema}.sessions WHERE removed_at IS NULL AND created_at > $1 ORDER BY created_at LIMIT ${REMOVED}`,
        [new Date(FIRST + SPAN / 2).toISOString()],
      );
      for (const { session_id } of rows) await storage.remove(session_id);
      const begun = performance.now();
      await pool.query(`VACUUM ${schema}.sessions, ${schema}.commits, ${schema}.payloads`);
      times[schema].push((performance.now() - begun) * 1000);
    }
  }
  return { few: median(times.few), many: median(times.many) };
}

const loaded = loadavg()[0].toFixed(1);
const SERVER = ["unix_socket_directories=", "max_connections=50", "max_wal_size=4GB"];
const FILLING = [
  "fsync=off",
  "synchronous_commit=off",
  "full_page_writes=off",
  "autovacuum=off",
  "wal_level=minimal",
  "max_wal_senders=0",
];
const server = await startPostgres([...SERVER, ...FILLING]);
const rows = [];
const add = (what, found, shown = time) => {
  const baseline = `${few.toLocaleString("en")} sessions ${shown(found.few)}`;
  rows.push(row(`${what}, ${many.toLocaleString("en")} sessions`, shown(found.many), baseline, found.ratio, BAR));
  console.error(rows.at(-1));
};
try {
  const pool = new pg.Pool({ connectionString: server.url });
  pool.on("error", () => undefined);
  for (const [schema, count] of [
    ["few", few],
    ["many", many],
  ]) {
    await (await PostgresStorage.open({ url: server.url, schema })).close();
    await load(pool, schema, count);
  }
  // What the server does by itself within days, but for partitioned tables, which nobody else analyzes.
  await pool.query("VACUUM (FREEZE, ANALYZE)");
  await server.halt();
  await server.resume([
    "fsync=on",
    "synchronous_commit=on",
    "full_page_writes=on",
    "autovacuum=on",
    "wal_level=replica",
    "max_wal_senders=10",
  ]);
  const bytes = { few: (await bytesOf(pool, "few")) / few, many: (await bytesOf(pool, "many")) / many };
  add(
    "room of a session",
    { ...bytes, ratio: ratio(bytes.many, bytes.few) },
    (count) => `${(count / 1000).toFixed(1)} kB`,
  );
  const storages = {
    few: await PostgresStorage.open({ url: server.url, schema: "few" }),
    many: await PostgresStorage.open({ url: server.url, schema: "many" }),
  };
  const [fewer, more] = [await tasksAmong(storages.few, apartOf(few)), await tasksAmong(storages.many, apartOf(many))];
  for (const what of TASKS) {
    const [one, other] = [fewer[what], more[what]];
    add(what, "once" in one ? await inTurn(one, other) : await pairedMedians({ few: one, many: other }, 9));
  }
  const watches = [watched(storages.few, fewer.start.fn), watched(storages.many, more.start.fn)];
  add("a start until a watch has it", await inTurn(...watches));
  for (const { end } of watches) await end();
  const vacuum = await vacuums(pool, storages);
  add(`vacuum after ${REMOVED} removed sessions`, { ...vacuum, ratio: ratio(vacuum.many, vacuum.few) });
  for (const storage of Object.values(storages)) await storage.close();
  await pool.end();
} finally {
  await server.remove();
}
const table = `# Ten million sessions

One run of \`npm run ten-million\` on PostgreSQL as it is installed, ${cpus()[0]?.model ?? "an unnamed processor"} (${cpus().length} cores), Node ${process.version}, with
a load of ${loaded} before it. Of ten sessions two are completed and one is live. Medians, measured in turn.

${tableOf(rows)}
`;
if (many === 10_000_000 && few === 1_000_000) await writeFile(new URL("TEN-MILLION.md", import.meta.url), table);
console.log(table);
