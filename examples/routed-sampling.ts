/** A routed workflow whose next step is chosen by the MCP client's own model (sampling): no key is needed. */
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/client";
import { InMemoryTransport, McpServer } from "@modelcontextprotocol/server";
import { MemoryStorage } from "phasegate";
import { SamplingDecider } from "phasegate/ai";
import { createRoutedEngine, defineRoutedWorkflow, routedWorkflows } from "phasegate/routed";

const workflow = defineRoutedWorkflow({
  name: "CHECK",
  goal: "All green.",
  steps: [{ name: "Test", guidance: "If all tests pass, FINISH. If not, Test again.", instructions: "Run the tests." }],
});
const workflows = routedWorkflows(workflow);
const storage = new MemoryStorage();

// #region sampling
const mcp = new McpServer({ name: "my-server", version: "1.0.0" });
const decider = new SamplingDecider({ server: mcp.server });
const engine = createRoutedEngine({ storage, workflows, decider });
// #endregion sampling
const { sessionId } = await engine.start({ workflow: "CHECK" });
mcp.registerTool("done", { description: "The tests pass." }, async () => {
  const { status } = await engine.session(sessionId).advance({ report: { status: "success" } });
  return { content: [{ type: "text", text: status }] };
});

// The other side: a client with a model, such as an editor.
const client = new Client({ name: "editor", version: "1.0.0" }, { capabilities: { sampling: {} } });
client.setRequestHandler("sampling/createMessage", () => {
  const answer = { next_step_name: "FINISH", updated_context: [], status_suggestion: null, reasoning: "all green" };
  return { role: "assistant", model: "editor-model", content: { type: "text", text: JSON.stringify(answer) } };
});
const [one, other] = InMemoryTransport.createLinkedPair();
await Promise.all([mcp.connect(other), client.connect(one)]);
const { content } = await client.callTool({ name: "done" });
assert.deepEqual(content, [{ type: "text", text: "completed" }]);
console.log(content);
await client.close();
