/**
 * A routed workflow whose next step is chosen by a model, through any provider of the Vercel AI SDK. The provider here is
 * a local server, so the example needs no key and no network. Your tests can do the same.
 */
import assert from "node:assert/strict";
import { createOpenAI } from "@ai-sdk/openai";
import { MemoryStorage } from "phasegate";
import { AiSdkDecider } from "phasegate/ai";
import { createRoutedEngine, defineRoutedWorkflow, routedWorkflows } from "phasegate/routed";
import { startModelServer } from "phasegate/testing";

// #region server
const says = (next: string, reasoning: string) => ({
  text: JSON.stringify({ next_step_name: next, updated_context: [], status_suggestion: null, reasoning }),
});
const provider = await startModelServer([
  says("Review", "the change is small, and its tests pass"),
  { status: 503, body: "{}" }, // asked once more
  says("FINISH", "the reviewer agrees"),
]);
// #endregion server

const workflow = defineRoutedWorkflow({
  name: "CHANGE",
  goal: "A change that somebody has looked at.",
  steps: [
    { name: "Write", guidance: "If tests pass, Review. If not, Write again.", instructions: "Make the change." },
    { name: "Review", guidance: "If the reviewer agrees, FINISH.", instructions: "Have it looked at." },
  ],
});

// #region host
const apiKey = process.env.OPENAI_API_KEY ?? "not-a-key";
const openai = createOpenAI({ apiKey, baseURL: `${provider.url}/v1` }); // without baseURL it is OpenAI itself
const decider = new AiSdkDecider({
  model: openai("gpt-5-mini"),
  secrets: [apiKey],
  onExchange: ({ model, milliseconds, response }) => console.error({ model, milliseconds, response }),
});
const engine = createRoutedEngine({ storage: new MemoryStorage(), workflows: routedWorkflows(workflow), decider });
// #endregion host

const { sessionId } = await engine.start({ workflow: "CHANGE" });
const review = await engine.session(sessionId).advance({ report: { status: "success", message: "12 tests pass" } });
assert.equal(review.nextStep.name, "Review");
const end = await engine.session(sessionId).advance({ report: { status: "success", message: "approved by ann" } });
assert.equal(end.status, "completed");
assert.equal(provider.requests.length, 3);

for (const { stepName, determinedNextStep, decision } of await engine.session(sessionId).history()) {
  console.log(`${stepName} → ${determinedNextStep}: ${decision?.reasoning}`);
}
await engine.close();
await provider.close();
