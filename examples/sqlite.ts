/**
 * Sessions in a SQLite database: opened by file name, or on a connection that the host has open; and what a person sees
 * at a SQL prompt. Needs Node 22.18 or later.
 */
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { createEngine, defineWorkflow, MemoryContent } from "phasegate";
import { SqliteStorage } from "phasegate/sqlite";
import * as z from "zod";

const release = defineWorkflow({
  type: "release",
  revision: "1",
  name: "Release",
  description: "Test, then ship",
  phases: [
    { number: 1, name: "Test", content: "Run the tests.", gate: { evidence: z.object({ passed: z.int().min(1) }) } },
    { number: 2, name: "Ship", content: "Tag and publish." },
  ],
});
const content = new MemoryContent({ workflows: [release] });

// #region open
const storage = await SqliteStorage.open("state/sessions.db"); // made if it isn't there, for its owner alone
const engine = createEngine({ storage, content });
// #endregion open

// #region watch
const stop = new AbortController();
const completed = storage.watch({ status: ["completed"] }, { signal: stop.signal }); // of any process
// #endregion watch

const { sessionId } = await engine.start({ workflowType: "release", target: "package.json" });
await engine.session(sessionId).completePhase(1, { passed: 0 });
await engine.session(sessionId).completePhase(1, { passed: 128 });
await engine.session(sessionId).completePhase(2, {});
for await (const { summary } of completed) {
  console.log(`${summary.sessionId} is ${summary.status}`);
  stop.abort();
}
await engine.close();
await storage.close();

// #region host
const database = new DatabaseSync("state/sessions.db"); // the host's own, with its own tables next to ours
const again = await SqliteStorage.open(database);
assert.equal((await again.list({ status: ["completed"] })).items.length, 1);
const history = database.prepare("SELECT step_name, outcome_status FROM workflow_history").all();
// #endregion host
console.table(history.map((row) => ({ ...row })));
assert.deepEqual(
  history.map((row) => row.outcome_status),
  ["gate_failed", "gate_passed", "gate_passed"],
);
await again.close(); // the host's database stays open
database.close();
