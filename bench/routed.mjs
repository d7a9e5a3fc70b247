/**
 * A report taken and decided, without the decider's own time: in memory against one phase completed, and on SQLite against
 * bare transactions of the same bytes.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MemoryStorage } from "phasegate";
import { createRoutedEngine, defineRoutedWorkflow, routedWorkflows } from "phasegate/routed";
import { SqliteStorage } from "phasegate/sqlite";
import { batchesInTurn, pairedMedians, row, time, warmUp } from "./measure.mjs";
import { bareTransaction, commitBytes, settle } from "./sqlite.mjs";
import { benchTool, evidenceOf, phasesToComplete } from "./workflow.mjs";

const PHASES = 8;
const EVIDENCE = 300;
/** Reports of one instance: as many as a long piece of work has. */
const REPORTS = 50;

const workflow = defineRoutedWorkflow({
  name: "BENCH",
  steps: ["One", "Two", "Three"].map((name) => ({ name, guidance: "Go on.", instructions: "Work." })),
});

/** An engine with a decider that answers at once, and the report that it is given. */
export function routed(storage) {
  const decider = { decide: async () => ({ nextStep: "Two", contextUpdates: {} }) };
  const limits = { maxActiveSessions: Number.POSITIVE_INFINITY };
  const engine = createRoutedEngine({ storage, workflows: routedWorkflows(workflow), decider, limits });
  return { engine, report: { status: "success", details: evidenceOf(EVIDENCE) } };
}

/** An instance that can always be advanced. */
export function advancing({ engine, report }) {
  const place = { id: "", reports: REPORTS };
  return {
    beforeEach: async () => {
      if (place.reports < REPORTS) return;
      place.id = (await engine.start({ workflow: "BENCH" })).sessionId;
      place.reports = 0;
    },
    fn: async () => {
      await engine.session(place.id).advance({ report });
      place.reports += 1;
    },
  };
}

/** Advances one instance after the other. */
function reportsToTake({ engine, report }) {
  const place = { id: "" };
  return {
    prepare: async () => {
      place.id = (await engine.start({ workflow: "BENCH" })).sessionId;
    },
    fn: () => engine.session(place.id).advance({ report }),
  };
}

async function onSqlite() {
  const folder = await mkdtemp(join(tmpdir(), "phasegate-bench-"));
  const file = join(folder, "routed.db");
  const storage = await SqliteStorage.open(file);
  const advance = advancing(routed(storage));
  await warmUp(advance, advancing(routed(new MemoryStorage())));
  const bare = bareTransaction(join(folder, "bare.db"), commitBytes(file));
  await settle(folder);
  const twice = () => {
    bare.fn();
    bare.fn();
  };
  // A report is one commit, and the decision another.
  const found = await pairedMedians({ bare: { fn: twice }, advance });
  bare.database.close();
  await storage.close();
  await rm(folder, { recursive: true, force: true });
  const what = "advance, SqliteStorage, WAL and FULL, without the decider's time";
  return row(what, time(found.advance), `two bare transactions ${time(found.bare)}`, found.ratio, 1.3);
}

export async function run() {
  const { complete, advance } = await batchesInTurn({
    complete: phasesToComplete(benchTool(PHASES), PHASES, evidenceOf(EVIDENCE)),
    advance: reportsToTake(routed(new MemoryStorage())),
  });
  const what = "advance, memory, without the decider's time";
  const baseline = `complete_phase ${time(complete.median)}`;
  return [row(what, time(advance.median), baseline, advance.ratio), await onSqlite()];
}
