/** What a host watches while phasegate runs: notifications, metrics, and limits that were reached. */
import assert from "node:assert/strict";
import { createEngine, defineWorkflow, isPhasegateError, MemoryContent, MemoryStorage } from "phasegate";
import * as z from "zod";

const gate = { evidence: z.object({ tests_passed: z.int().min(1) }) };
const workflow = defineWorkflow({
  ...{ type: "release", revision: "1", name: "Release", description: "One phase" },
  phases: [{ number: 1, name: "Test", content: "Run the tests.", gate }],
});
const content = new MemoryContent({ workflows: [workflow] });
const storage = new MemoryStorage();

// #region notifications
const engine = createEngine({ storage, content, limits: { maxActiveSessions: 1, verifyDeadlineMs: 30_000 } });
const stop = engine.on("gateFailed", ({ sessionId, phase, attempt, problems }) => {
  console.log(`${sessionId}: phase ${phase}, attempt ${attempt}: ${problems.map(({ message }) => message).join("; ")}`);
});
engine.on("approvalRequested", ({ sessionId, prompt }) => console.log(`${sessionId} waits for a person: ${prompt}`));
engine.on("security", ({ operation, code, message }) => console.error(`${operation}: ${code}: ${message}`));
engine.on("internalError", ({ operation, error }) => console.error(operation, error));
// #endregion notifications

const { sessionId } = await engine.start({ workflowType: "release", target: "v1" });
await engine.session(sessionId).completePhase(1, { tests_passed: 0 });
const limit = await engine.start({ workflowType: "release", target: "v2" }).catch((error: unknown) => error);
assert.ok(isPhasegateError(limit, "SESSION_LIMIT"));
await engine.session(sessionId).completePhase(1, { tests_passed: 12 });
stop();

// #region metrics
for (const [operation, { count, errors, p50, p95 }] of Object.entries(engine.metrics())) {
  console.log(`${operation}: ${count} calls, ${errors} failed, median ${p50.toFixed(1)} ms, p95 ${p95.toFixed(1)} ms`);
}
// #endregion metrics
assert.deepEqual([engine.metrics().completePhase?.count, engine.metrics().completePhase?.errors], [2, 1]);
await engine.close();
