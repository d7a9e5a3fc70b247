/** A decider of Gemini picks the next step; the API is a server on loopback. */
import assert from "node:assert/strict";
import { MemoryStorage } from "phasegate";
import { GeminiDecider } from "phasegate/ai";
import { createRoutedEngine, defineRoutedWorkflow, routedWorkflows } from "phasegate/routed";
import { startModelServer } from "phasegate/testing";

const says = { next_step_name: "Review", updated_context: [], status_suggestion: null, reasoning: "it is small" };
const provider = await startModelServer([{ text: JSON.stringify(says) }]);
const steps = ["Write", "Review"].map((name) => ({ name, guidance: "Then Review.", instructions: "Do it." }));
const workflow = defineRoutedWorkflow({ name: "CHANGE", goal: "A change.", steps });
const decider = new GeminiDecider({ apiKey: "not-a-key", model: "gemini-test", baseUrl: provider.url });
const engine = createRoutedEngine({ storage: new MemoryStorage(), workflows: routedWorkflows(workflow), decider });
const { sessionId } = await engine.start({ workflow: "CHANGE" });
const { nextStep } = await engine.session(sessionId).advance({ report: { status: "success", message: "written" } });
assert.equal(nextStep.name, "Review");
await provider.close();
