/** What a call costs at least on a disk: the storage is in memory, and does a bare operation before each append. */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import pg from "pg";
import { MemoryStorage } from "phasegate";
import { PostgresStorage } from "phasegate/postgres";
import { bareCommit as bareWrite } from "./durable.mjs";
import { inFolder, pairedMedians, time, warmUp } from "./measure.mjs";
import { bareCommit as bareStatement, withServer } from "./postgres.mjs";
import { advancing, routed } from "./routed.mjs";
import { bareTransaction, settle } from "./sqlite.mjs";
import { benchTool, completing, evidenceOf } from "./workflow.mjs";

const PHASES = 400;
/** The bytes of a commit with 1 KiB of evidence, and of one of a routed step. */
const [BYTES, ROUTED_BYTES] = [2000, 1000];
/** How many parameters the storage's statement in PostgreSQL has, and where those are that change. */
const [VALUES, VERSION, PREVIOUS, HASH] = [17, 1, 4, 5];

/** A storage in memory whose appends take as long as the bare operation. */
function storageOn({ fn, beforeEach }) {
  const storage = new MemoryStorage();
  const append = storage.append.bind(storage);
  storage.append = async (commit) => {
    await beforeEach?.();
    await fn();
    await append(commit);
  };
  return storage;
}

function completed(bare) {
  return completing(benchTool(PHASES, storageOn(bare)), PHASES, evidenceOf(1024));
}

function advanced(bare) {
  return advancing(routed(storageOn(bare)));
}

/** The bare operation as often as the call commits, and the call on it, or on another operation. */
async function compare(bare, call, { commits = 1, on = bare } = {}) {
  const task = call(on);
  const bareTimes = async () => {
    for (let commit = 0; commit < commits; commit += 1) await bare.fn();
  };
  await warmUp(task);
  return pairedMedians({ bare: { ...bare, fn: bareTimes }, call: task });
}

function inSqlite(bytes, call, commits) {
  return inFolder(async (folder) => {
    const { fn, close } = bareTransaction(join(folder, "bare.db"), bytes);
    await settle(folder);
    const found = await compare({ fn }, call, { commits });
    close();
    return found;
  });
}

/** The statement of the storage for one commit, without the storage: as it was sent last, for the next version. */
async function ownStatement(url) {
  const pool = new pg.Pool({ connectionString: url, max: 2 });
  let sent;
  pool.on("connect", (client) => {
    const query = client.query.bind(client);
    client.query = (config, ...others) => {
      if (config.values?.length === VALUES) sent = config;
      return query(config, ...others);
    };
  });
  const host = benchTool(PHASES, await PostgresStorage.open({ pool }));
  const complete = completing(host, PHASES, evidenceOf(1024));
  for (let call = 0; call < 3; call += 1) {
    await complete.beforeEach();
    await complete.fn();
  }
  await host.engine.close();
  const statement = { ...sent, values: [...sent.values] };
  const { values } = statement;
  const fn = async () => {
    [values[VERSION], values[PREVIOUS], values[HASH]] = [
      values[VERSION] + 1,
      values[HASH],
      randomBytes(32).toString("hex"),
    ];
    const { rowCount } = await pool.query(statement);
    if (rowCount !== 1) throw new Error("the statement was refused");
  };
  return { fn, close: () => pool.end() };
}

function inPostgres(call) {
  return withServer(async (pool, url) => {
    const own = await ownStatement(url);
    const found = await call({ fn: await bareStatement(pool, BYTES) }, own);
    await own.close();
    return found;
  });
}

const FLOORS = {
  "a completed phase, a transaction in SQLite": () => inSqlite(BYTES, completed),
  "advance, two transactions in SQLite": () => inSqlite(ROUTED_BYTES, advanced, 2),
  "a completed phase, a file, synced and linked": () =>
    inFolder((folder) => compare(bareWrite(folder, BYTES), completed)),
  "a completed phase, a statement in PostgreSQL": () => inPostgres((bare) => compare(bare, completed)),
  "nothing else than the storage's own statement, against the bare one": () =>
    inPostgres((bare, own) => pairedMedians({ bare, call: own })),
  "a completed phase, the storage's own statement": () =>
    inPostgres((bare, own) => compare(bare, completed, { on: own })),
};

/** The section of RESULTS.md. */
export async function section() {
  const rows = [];
  for (const [what, measure] of Object.entries(FLOORS)) {
    const { bare, call, ratio } = await measure();
    rows.push(`| ${what} | ${time(bare)} | ${time(call)} | ${ratio} |`);
  }
  return `## Floors

Calls on a storage that does the bare operation for each commit, or another one that is named, and keeps the commit in memory.

| what | the bare operation | measured | ratio |
|---|---|---|---|
${rows.join("\n")}
`;
}
