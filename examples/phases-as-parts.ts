/** Phases that several workflows share: they have no numbers, and name each other by their names. */
import assert from "node:assert/strict";
// #region parts
import { createEngine, definePhase, defineWorkflow, MemoryContent, MemoryStorage } from "phasegate";

const test = definePhase({
  name: "Test",
  content: "# Run all tests",
  gate: { fields: { count: { type: "integer" }, log: { type: "string", required: false } } },
});
const ship = definePhase({
  name: "Ship",
  content: "# Ship it",
  gate: { fields: { tested: { type: "integer" } }, crossFieldValidation: ["evidence.tested == artifacts.test.count"] },
});

const about = { revision: "1", description: "Shares its phases" };
const fix = defineWorkflow({ ...about, type: "fix", name: "Fix", phases: [test, ship] });
const feature = defineWorkflow({
  ...about,
  type: "feature",
  name: "Feature",
  phases: [{ name: "Design", content: "# Write it down" }, ...fix.phases],
});
// #endregion parts

const content = new MemoryContent({ workflows: [fix, feature] });
const engine = createEngine({ storage: new MemoryStorage(), content });
const { sessionId } = await engine.start({ workflowType: "feature", target: "." });
const session = engine.session(feature, sessionId);
await session.completePhase(1, { written: "docs/design.md" });
await session.completePhase(2, { count: 12 });
// @ts-expect-error `tested` is a number
await session.completePhase(3, { tested: "12" });
assert.equal((await session.completePhase(3, { tested: 11 })).passed, false);
assert.equal((await session.completePhase(3, { tested: 12 })).passed, true);
console.log("Two workflows share phases, whose evidence is typed by their places.");
