/**
 * An agent that can't meet a requirement: it asks for a waiver, a person grants it, and the gate asks for the rest. Host,
 * agent and person are in one file here.
 */
import assert from "node:assert/strict";
import { createEngine, defineWorkflow, MemoryContent, MemoryStorage } from "phasegate";
import * as z from "zod";

const release = defineWorkflow({
  type: "release",
  revision: "1",
  name: "Release",
  description: "Builds it, and measures its coverage",
  phases: [
    {
      number: 1,
      name: "Build",
      content: "# Build\n\nBuild it, and measure its coverage.\n",
      gate: {
        evidence: z.object({
          built: z.literal(true),
          coverage: z.number().min(80).describe("percent of lines"),
          licensed: z.literal(true).meta({ waivable: false }), // nobody may waive it
        }),
      },
    },
  ],
});
const engine = createEngine({ storage: new MemoryStorage(), content: new MemoryContent({ workflows: [release] }) });
const { sessionId } = await engine.start({ workflowType: "release", target: "src" });

// The agent: the refusal says what a waiver could be asked for.
const refused = await engine.session(sessionId).completePhase(1, { built: true, licensed: true });
assert.ok(!refused.passed);
assert.deepEqual(refused.waivable, ["coverage"]);
await engine.session(sessionId).requestWaiver(1, { fields: ["coverage"], reason: "no tool for this language" });

// #region host
for (const { sessionId, fields, reason, request } of await engine.waivers()) {
  console.log(`${sessionId} can't meet ${fields.join(", ")}: ${reason}`);
  await engine.session(sessionId).waive({ by: "ann", request, note: "until May" }); // or denyWaiver, with what to do instead
}
// #endregion host

const passed = await engine.session(sessionId).completePhase(1, { built: true, licensed: true });
assert.ok(passed.passed && passed.nextPhase === null);
for (const { fields, by, reason, note } of passed.waived ?? []) {
  console.log(`${fields.join(", ")} waived by ${by}: ${reason} (${note})`);
}
