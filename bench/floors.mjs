/**
 * What a completed phase costs at least on a disk: the bare operation, and then the same call on MemoryStorage. After a wait for
 * the disk, the same engine takes several times as long as without one.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bareCommit as bareWrite } from "./durable.mjs";
import { median, ratio, time } from "./measure.mjs";
import { bareCommit as bareStatement, withServer } from "./postgres.mjs";
import { bareTransaction } from "./sqlite.mjs";
import { benchTool, completing, evidenceOf } from "./workflow.mjs";

const PHASES = 400;
const BYTES = 2200;
/** Seconds that are not measured, as the code is compiled then, and those that are. */
const [WARM_UP, MEASURED] = [4, 5];

/** Medians of an operation and of a completed phase in memory after it, in turn. */
async function afterEach({ fn, beforeEach }) {
  const host = benchTool(PHASES);
  const complete = completing(host, PHASES, evidenceOf(1024));
  const times = { bare: [], engine: [] };
  const begun = performance.now();
  for (let spent = 0; spent < WARM_UP + MEASURED; spent = (performance.now() - begun) / 1000) {
    await beforeEach?.();
    await complete.beforeEach();
    const start = performance.now();
    await fn();
    const middle = performance.now();
    await complete.fn();
    const end = performance.now();
    if (spent < WARM_UP) continue;
    times.bare.push((middle - start) * 1000);
    times.engine.push((end - middle) * 1000);
  }
  await host.engine.close();
  return { bare: median(times.bare), engine: median(times.engine) };
}

async function inFolder(work) {
  const folder = await mkdtemp(join(tmpdir(), "phasegate-bench-"));
  const found = await work(folder);
  await rm(folder, { recursive: true, force: true });
  return found;
}

const AFTER = {
  nothing: () => afterEach({ fn: () => {} }),
  "a transaction in SQLite": () =>
    inFolder(async (folder) => {
      const { fn, close } = bareTransaction(join(folder, "bare.db"), BYTES);
      const found = await afterEach({ fn });
      close();
      return found;
    }),
  "a file, synced and linked": () => inFolder((folder) => afterEach(bareWrite(folder, BYTES))),
  "a statement in PostgreSQL": () => withServer(async (pool) => afterEach({ fn: await bareStatement(pool, BYTES) })),
};

/** The section of RESULTS.md. */
export async function section() {
  const rows = [];
  for (const [what, measure] of Object.entries(AFTER)) {
    const { bare, engine } = await measure();
    const floor = bare < 1 ? "" : ratio(bare + engine, bare);
    rows.push(`| ${what} | ${bare < 1 ? "" : time(bare)} | ${time(engine)} | ${floor} |`);
  }
  return `## Floors

A phase is completed in memory, each time after something else. The ratio is what a completed phase would have on a storage
that takes no more than the bare operation.

| after | which takes | the engine in memory | both, against the bare operation |
|---|---|---|---|
${rows.join("\n")}
`;
}
