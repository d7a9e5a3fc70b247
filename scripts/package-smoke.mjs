/**
 * What a user of the packed package does first, on whatever runtime runs this file. check-package.mjs
 * copies it into a folder in which nothing but the package and its peers is installed.
 *
 *     node package-smoke.mjs <entry point> …
 */
import assert from "node:assert/strict";
import process from "node:process";
import * as z from "zod";

for (const entry of process.argv.slice(2)) {
  const names = Object.keys(await import(entry));
  assert.ok(names.length > 0, `${entry} exports nothing`);
}

// ── A session, start to end ──────────────────────────────────────────────────────────────────────
const { createEngine, defineWorkflow, isPhasegateError, MemoryContent, MemoryStorage } = await import("phasegate");

const workflow = defineWorkflow({
  type: "demo",
  revision: "1",
  name: "Demo",
  description: "Two phases with a gate each.",
  phases: [
    { number: 1, name: "One", content: "# One", gate: { evidence: z.object({ tests_passed: z.literal(true) }) } },
    { number: 2, name: "Two", content: "# Two" },
  ],
});
const engine = createEngine({
  storage: new MemoryStorage(),
  content: new MemoryContent({ workflows: [workflow] }),
});
const { sessionId } = await engine.start({ workflowType: "demo", target: "x.txt" });
const session = engine.session(sessionId);

await assert.rejects(
  async () => session.completePhase(2, {}),
  (error) => isPhasegateError(error) && error.code === "PHASE_LOCKED",
  "phase 2 could be completed before phase 1",
);
const refused = await session.completePhase(1, { tests_passed: false });
assert.equal(refused.passed, false, "wrong evidence opened the gate of phase 1");
const first = await session.completePhase(1, { tests_passed: true });
assert.equal(first.passed, true, "right evidence did not open the gate of phase 1");
const second = await session.completePhase(2, {});
assert.equal(second.passed, true, "phase 2 has no gate, and yet it did not open");
// ─────────────────────────────────────────────────────────────────────────────────────────────────
