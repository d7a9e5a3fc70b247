/**
 * What a large store costs: the same calls among a million sessions and among a thousand, on SQLite and on PostgreSQL, both
 * filled through the adapter; and in a session of 100,000 commits and in one of 100. It takes minutes and gigabytes, so it is
 * not one of the benchmarks of `npm start`: `npm run scale`, or `node --expose-gc scale.mjs [sessions [part…]]`. A run of all
 * parts with a million writes SCALE.md.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import pg from "pg";
import { createWorkflowTool } from "phasegate";
import { PostgresStorage } from "phasegate/postgres";
import { SqliteStorage } from "phasegate/sqlite";
import { startPostgres } from "../test/support/postgres-server.ts";
import { bytesOf, engineOn, inTurn, renamed, tableOf, tasksAmong, templates } from "./among.mjs";
import { atOnce, pairedMedians, ratio, row, time } from "./measure.mjs";
import { run as serveMemory } from "./serve-memory.mjs";

const [sessions = 1_000_000, ...chosen] = process.argv.slice(2);
const MANY = Number(sessions);
const PARTS = { memory: serveMemory, long: longSessions, sqlite: onSqlite, postgres: onPostgres };
const unknown = chosen.find((name) => !Object.hasOwn(PARTS, name));
if (!Number.isSafeInteger(MANY) || MANY < 1 || unknown !== undefined) {
  throw new Error(`node scale.mjs [sessions [part…]]: a number, and some of ${Object.keys(PARTS).join(", ")}`);
}
const FEW = 1000;
/** Of so many sessions one is completed, and one of so many is active. The others are paused. */
const WHOLE = 5;
const ACTIVE = 20;
/** Sessions are made two minutes apart: a thousand take more than a day, a million four years. */
const APART = 120_000;
/** So many sessions are appended at the same time. */
const AT_ONCE = 400;
const BAR = 1.15;
const COMMITS = [100, 100_000];
const LONG_BAR = 1.1;

/** Appends so many sessions, many at a time, so that their commits share transactions and statements. */
async function fill(storage, count) {
  const { whole, paused, active } = await templates();
  const kinds = (index) => (index % WHOLE === 0 ? whole : index % ACTIVE === 1 ? active : paused);
  await atOnce(AT_ONCE, 0, count, async (index) => {
    for (const commit of renamed(kinds(index), index, APART)) await storage.append(commit);
    if (index % 100_000 === 0) console.error(new Date().toISOString(), index);
  });
}

async function compared(name, few, many) {
  const rows = [];
  const [first, second] = [await tasksAmong(few, APART), await tasksAmong(many, APART)];
  for (const what of Object.keys(first)) {
    const [one, other] = [first[what], second[what]];
    const found = "once" in one ? await inTurn(one, other) : await pairedMedians({ few: one, many: other }, 9);
    const among = `${FEW.toLocaleString("en")} sessions ${time(found.few)}`;
    rows.push(
      row(`${what}, ${name}, ${MANY.toLocaleString("en")} sessions`, time(found.many), among, found.ratio, BAR),
    );
    console.error(rows.at(-1));
  }
  return rows;
}

async function onSqlite(folder) {
  const storages = [];
  for (const [name, count] of [
    ["few", FEW],
    ["many", MANY],
  ]) {
    const file = join(folder, `${name}.db`);
    const database = new DatabaseSync(file);
    // Only while it is filled.
    database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF");
    const storage = await SqliteStorage.open(database);
    await fill(storage, count);
    await storage.close();
    database.close();
    storages.push(await SqliteStorage.open(file));
  }
  const rows = await compared("SQLite", ...storages);
  for (const storage of storages) await storage.close();
  return rows;
}

/** A server as it is installed. Nothing is synced while it is filled. */
const SERVER = ["unix_socket_directories=", "max_connections=50", "max_wal_size=4GB"];

async function onPostgres() {
  const server = await startPostgres([...SERVER, "fsync=off", "synchronous_commit=off"]);
  try {
    for (const [schema, count] of [
      ["few", FEW],
      ["many", MANY],
    ]) {
      const storage = await PostgresStorage.open({ url: server.url, schema });
      await fill(storage, count);
      await storage.close();
    }
    await server.halt();
    await server.resume(["fsync=on", "synchronous_commit=on"]);
    const pool = new pg.Pool({ connectionString: server.url });
    // What the server does by itself within minutes.
    await pool.query("VACUUM ANALYZE");
    const [bytesOfFew, bytesOfMany] = [(await bytesOf(pool, "few")) / FEW, (await bytesOf(pool, "many")) / MANY];
    await pool.end();
    const open = (schema) => PostgresStorage.open({ url: server.url, schema });
    const [few, many] = [await open("few"), await open("many")];
    const kilobytes = (count) => `${(count / 1000).toFixed(1)} kB`;
    const [fewer, more] = [FEW, MANY].map((count) => count.toLocaleString("en"));
    const size = ratio(bytesOfMany, bytesOfFew);
    const rows = [
      row(
        `room of a session, PostgreSQL, ${more} sessions`,
        kilobytes(bytesOfMany),
        `${fewer} sessions ${kilobytes(bytesOfFew)}`,
        size,
        BAR,
      ),
      ...(await compared("PostgreSQL", few, many)),
    ];
    await few.close();
    await many.close();
    return rows;
  } finally {
    await server.remove();
  }
}

/** A session with so many commits, and what is done with it. */
async function longSession(folder, commits) {
  const file = join(folder, `${commits}.db`);
  const filling = new DatabaseSync(file);
  filling.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF");
  const first = await SqliteStorage.open(filling);
  const refused = { done: false, note: "x".repeat(200) };
  const { sessionId } = await engineOn(first).start({ workflowType: "refusing", target: "src/long.ts" });
  const filler = engineOn(first);
  for (let commit = 1; commit < commits; commit += 1) {
    await filler.session(sessionId).completePhase(1, refused);
  }
  await first.close();
  filling.close();
  const storage = await SqliteStorage.open(file);
  const engine = engineOn(storage);
  const tool = createWorkflowTool(engine);
  const brief = async () => {
    const answer = await tool.dispatch({ action: "get_state", session_id: sessionId, brief: true });
    if (answer.status !== "success") throw new Error(JSON.stringify(answer));
  };
  return {
    close: () => storage.close(),
    tasks: {
      "a transition": { fn: () => engine.session(sessionId).completePhase(1, refused) },
      "state in brief": { fn: brief },
      "a page of 50 commits": { fn: () => engine.session(sessionId).commits() },
    },
  };
}

async function longSessions(folder) {
  const [short, long] = [await longSession(folder, COMMITS[0]), await longSession(folder, COMMITS[1])];
  const rows = [];
  const [fewer, more] = COMMITS.map((count) => count.toLocaleString("en"));
  for (const what of Object.keys(short.tasks)) {
    const found = await pairedMedians({ short: short.tasks[what], long: long.tasks[what] }, 9);
    const among = `${fewer} commits ${time(found.short)}`;
    rows.push(row(`${what}, SQLite, a session of ${more} commits`, time(found.long), among, found.ratio, LONG_BAR));
    console.error(rows.at(-1));
  }
  await short.close();
  await long.close();
  return rows;
}

const load = loadavg()[0].toFixed(1);
const folder = await mkdtemp(join(tmpdir(), "phasegate-scale-"));
const rows = [];
for (const [name, part] of Object.entries(PARTS)) {
  if (chosen.length === 0 || chosen.includes(name)) rows.push(...(await part(folder)));
}
await rm(folder, { recursive: true, force: true });
const table = `# Scale

One run of \`npm run scale\` on ${cpus()[0]?.model ?? "an unnamed processor"} (${cpus().length} cores), Node ${process.version}, with a load of
${load} before it. Both stores are filled through the adapter: each fifth session is completed, each twentieth active, the
others are paused. Medians, measured in turn.

${tableOf(rows)}
`;
if (MANY === 1_000_000 && chosen.length === 0) await writeFile(new URL("SCALE.md", import.meta.url), table);
console.log(table);
