/**
 * A host's own tests: scripted agents (honest, lazy, dishonest) go through its workflow, on a storage that sometimes
 * fails, with a clock that the test moves.
 */
import assert from "node:assert/strict";
import { createEngine, createWorkflowTool, defineWorkflow, MemoryContent, MemoryStorage } from "phasegate";
import { FakeClock, FaultyStorage, ScriptedAgent } from "phasegate/testing";
import * as z from "zod";

const workflow = defineWorkflow({
  type: "fix_bug",
  revision: "1",
  name: "Fix a bug",
  description: "Reproduce, then fix",
  phases: [
    { number: 1, name: "Reproduce", content: "", gate: { evidence: z.object({ failing_test: z.string().min(10) }) } },
    { number: 2, name: "Fix", content: "", gate: { evidence: z.object({ tests_pass: z.literal(true) }) } },
  ],
});
const evidence = { 1: { failing_test: "parser.test.ts: an empty file" }, 2: { tests_pass: true } };

const clock = new FakeClock("2026-01-01T09:00:00.000Z");
const storage = new FaultyStorage(new MemoryStorage());
const engine = createEngine({ clock, storage, content: new MemoryContent({ workflows: [workflow] }) });
const tool = createWorkflowTool(engine);
const agentOn = (target: string) => new ScriptedAgent(tool, { workflowType: "fix_bug", target, evidence });

// #region agents
// Honest: through both gates.
const honest = agentOn("src/parser.ts");
await honest.play("start", "look", "finish");
assert.ok(honest.isDone);

// Dishonest: every way around a gate is refused, and the session stays in its phase.
const liar = agentOn("src/lexer.ts");
const turns = await liar.play("start", "skip", "empty", { lie: { failing_test: true } });
assert.deepEqual(
  turns.map(({ refused }) => refused),
  [undefined, "PHASE_LOCKED", "GATE_FAILED", "GATE_FAILED"],
);
assert.deepEqual([liar.phase, liar.isDone], [1, false]);

// The storage writes, but its answer is lost: the agent repeats the call, and nothing is done twice.
const unlucky = agentOn("src/printer.ts");
storage.inject({ method: "append", fault: "drop-answer" });
const [lost, again] = await unlucky.play("start", "start");
assert.equal(lost?.refused, "STORAGE_FAILED");
assert.equal(again?.answer.status, "success");
// #endregion agents

// A week passes on the test's clock, and the host cleans up.
clock.advance(8 * 24 * 60 * 60 * 1000);
assert.equal((await engine.cleanup()).removed.length, 3);
console.log(
  `${honest.transcript.length} calls of an honest agent, ${turns.length} of a liar, one lost answer: all told.`,
);
