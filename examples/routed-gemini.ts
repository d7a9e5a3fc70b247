/** A routed workflow whose next step is chosen by Gemini. A local server stands in for it: no key, no network. */
import assert from "node:assert/strict";
import { MemoryStorage } from "phasegate";
import { GeminiDecider } from "phasegate/ai";
import { createRoutedEngine, defineRoutedWorkflow, routedWorkflows } from "phasegate/routed";
import { startModelServer } from "phasegate/testing";

const answer = {
  next_step_name: "FINISH",
  updated_context: [],
  status_suggestion: "COMPLETED",
  reasoning: "all green",
};
const server = await startModelServer([{ text: JSON.stringify(answer) }]);
process.env.GEMINI_API_KEY ??= "not-a-key";

const workflow = defineRoutedWorkflow({
  name: "CHECK",
  goal: "All green.",
  steps: [{ name: "Test", guidance: "If all tests pass, FINISH. If not, Test again.", instructions: "Run the tests." }],
});
const workflows = routedWorkflows(workflow);
const storage = new MemoryStorage();
const baseUrl = server.url;

// #region gemini
const decider = GeminiDecider.fromEnv(process.env, { baseUrl }); // without baseUrl it is Google's
const engine = createRoutedEngine({ storage, workflows, decider });
// #endregion gemini
const { sessionId } = await engine.start({ workflow: "CHECK" });
const { status } = await engine.session(sessionId).advance({ report: { status: "success", message: "128 passed" } });
assert.equal(status, "completed");
console.log(server.requests[0]?.path);
await engine.close();
await server.close();
