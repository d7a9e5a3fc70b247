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
import { bytesOf, FIRST, inTurn, tableOf, tasksAmong } from "./among.mjs";
import { apartOf, load, SPAN } from "./bulk-load.mjs";
import { median, pairedMedians, ratio, row, time } from "./measure.mjs";

const [many = 10_000_000, few = 1_000_000] = process.argv.slice(2).map(Number);
if (![many, few].every((count) => Number.isSafeInteger(count) && count >= 1000)) {
  throw new Error("node ten-million.mjs [sessions [baseline]]: numbers of 1,000 or more");
}
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
