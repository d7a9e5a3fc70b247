/** What a call costs at least on a disk: the storage is in memory, and does a bare operation before each append. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MemoryStorage } from "phasegate";
import { bareCommit as bareWrite } from "./durable.mjs";
import { pairedMedians, time, warmUp } from "./measure.mjs";
import { bareCommit as bareStatement, withServer } from "./postgres.mjs";
import { advancing, routed } from "./routed.mjs";
import { bareTransaction, settle } from "./sqlite.mjs";
import { benchTool, completing, evidenceOf } from "./workflow.mjs";

const PHASES = 400;
/** The bytes of a commit with 1 KiB of evidence, and of one of a routed step. */
const [BYTES, ROUTED_BYTES] = [2000, 1000];

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

/** The bare operation as often as the call commits, and the call on it. */
async function compare(bare, call, commits = 1) {
  const task = call(bare);
  const bareTimes = async () => {
    for (let commit = 0; commit < commits; commit += 1) await bare.fn();
  };
  await warmUp(task);
  const beforeEach = bare.beforeEach === undefined ? {} : { beforeEach: bare.beforeEach };
  return pairedMedians({ bare: { fn: bareTimes, ...beforeEach }, call: task });
}

async function inFolder(work) {
  const folder = await mkdtemp(join(tmpdir(), "phasegate-bench-"));
  const found = await work(folder);
  await rm(folder, { recursive: true, force: true });
  return found;
}

function inSqlite(bytes, call, commits) {
  return inFolder(async (folder) => {
    const { fn, close } = bareTransaction(join(folder, "bare.db"), bytes);
    await settle(folder);
    const found = await compare({ fn }, call, commits);
    close();
    return found;
  });
}

const FLOORS = {
  "a completed phase, a transaction in SQLite": () => inSqlite(BYTES, completed),
  "advance, two transactions in SQLite": () => inSqlite(ROUTED_BYTES, advanced, 2),
  "a completed phase, a file, synced and linked": () =>
    inFolder((folder) => compare(bareWrite(folder, BYTES), completed)),
  "a completed phase, a statement in PostgreSQL": () =>
    withServer(async (pool) => compare({ fn: await bareStatement(pool, BYTES) }, completed)),
};

/** The section of RESULTS.md. */
export async function section() {
  const rows = [];
  for (const [what, measure] of Object.entries(FLOORS)) {
    const { bare, call, ratio } = await measure();
    rows.push(`| ${what} | ${time(bare)} | ${time(call)} | ${ratio} |`);
  }
  return `## Floors

Calls on a storage that takes no more than the bare operation: it does this for each commit, and keeps the commit in memory.

| what | the bare operation | with the engine | ratio |
|---|---|---|---|
${rows.join("\n")}
`;
}
