/**
 * Embeds the engine in a test harness: no server, no files, and a clock that the test moves. It checks how an agent
 * behaves, here one that gives up after the first refusal.
 */
import assert from "node:assert/strict";
import { createEngine, defineWorkflow, MemoryContent, MemoryStorage } from "phasegate";
import { FakeClock } from "phasegate/testing";
import * as z from "zod";

const workflow = defineWorkflow({
  type: "fix_bug",
  revision: "1",
  name: "Fix a bug",
  description: "Reproduce, then fix",
  phases: [
    { number: 1, name: "Reproduce", content: "", gate: { evidence: z.object({ failing_test: z.string().min(1) }) } },
    { number: 2, name: "Fix", content: "", gate: { evidence: z.object({ tests_pass: z.literal(true) }) } },
  ],
});

const clock = new FakeClock("2026-01-01T09:00:00.000Z");
const engine = createEngine({
  clock,
  storage: new MemoryStorage(),
  content: new MemoryContent({ workflows: [workflow] }),
});

const refusals: string[] = [];
engine.on("gateFailed", ({ problems }) => refusals.push(...problems.map(({ message }) => message)));

const { sessionId } = await engine.start({ workflowType: "fix_bug", target: "src/parser.ts" });

clock.advance(60_000);
const careless = await engine.session(sessionId).completePhase(1, { failing_test: "" });
assert.equal(careless.passed, false);
assert.equal(refusals.length, 1);

clock.advance(120_000);
// #region typed
const session = engine.session(workflow, sessionId);
await session.completePhase(1, { failing_test: "parser.test.ts: rejects an empty file" });
// @ts-expect-error phase 2 wants { tests_pass: true }: this is the evidence of phase 1
await session.completePhase(2, { failing_test: "again" });
// #endregion typed

const [first, second] = await session.history();
assert.deepEqual([first?.status, first?.durationSeconds], ["failed", 60]);
assert.deepEqual([second?.status, second?.durationSeconds], ["completed", 120]);

// A week passes, and the host cleans up.
clock.advance(8 * 24 * 60 * 60 * 1000);
assert.deepEqual((await engine.cleanup()).removed, [sessionId]);
console.log("The harness saw one refusal, two durations and a cleanup, without waiting for any of them.");
