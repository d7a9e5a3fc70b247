/** A decider of the AI SDK picks the next step, with a model that answers what it is told. */
import assert from "node:assert/strict";
import { MemoryStorage } from "phasegate";
import { AiSdkDecider } from "phasegate/ai";
import { createRoutedEngine, defineRoutedWorkflow, routedWorkflows } from "phasegate/routed";

const asked = [];
const says = { next_step_name: "Review", updated_context: [], status_suggestion: null, reasoning: "it is small" };
const model = {
  ...{ specificationVersion: "v2", provider: "mine", modelId: "mine-1", supportedUrls: {} },
  async doGenerate(options) {
    asked.push(options);
    const usage = { inputTokens: 1, outputTokens: 2, totalTokens: 3 };
    return { content: [{ type: "text", text: JSON.stringify(says) }], finishReason: "stop", usage, warnings: [] };
  },
};
const steps = ["Write", "Review"].map((name) => ({ name, guidance: "Then Review.", instructions: "Do it." }));
const workflow = defineRoutedWorkflow({ name: "CHANGE", goal: "A change.", steps });
const decider = new AiSdkDecider({ model });
const engine = createRoutedEngine({ storage: new MemoryStorage(), workflows: routedWorkflows(workflow), decider });
const { sessionId } = await engine.start({ workflow: "CHANGE" });
const { nextStep } = await engine.session(sessionId).advance({ report: { status: "success", message: "written" } });
assert.equal(nextStep.name, "Review");
// The model was given the system's text and the schema of its answer.
assert.equal(asked[0].prompt[0].role, "system");
assert.equal(asked[0].responseFormat.type, "json");
assert.ok(asked[0].responseFormat.schema.properties.next_step_name);
