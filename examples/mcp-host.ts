/**
 * A host adds phasegate to its own MCP server: one call beside whatever else it serves. Here an MCP
 * client in the same process goes through the workflow, to show that it works.
 */
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/client";
// #region host
import { InMemoryTransport, McpServer } from "@modelcontextprotocol/server";
import { createEngine, defineWorkflow, MemoryContent } from "phasegate";
import { FileStorage } from "phasegate/fs";
import { registerWorkflowTool } from "phasegate/mcp";
import * as z from "zod";

const release = defineWorkflow({
  type: "release",
  revision: "1",
  name: "Release",
  description: "Test, then ship",
  phases: [
    { number: 1, name: "Test", content: "Run the tests.", gate: { evidence: z.object({ passed: z.int().min(1) }) } },
    { number: 2, name: "Ship", content: "Tag and publish.", gate: { evidence: z.object({ tag: z.string().min(2) }) } },
  ],
});

const storage = await FileStorage.open("./state"); // survives a kill at any instant
const engine = createEngine({ storage, content: new MemoryContent({ workflows: [release] }) });
const server = new McpServer({ name: "my-server", version: "1.0.0" });
registerWorkflowTool(server, engine);
// #endregion host

const [clientSide, serverSide] = InMemoryTransport.createLinkedPair();
const client = new Client({ name: "an-agent", version: "1.0.0" });
await Promise.all([server.connect(serverSide), client.connect(clientSide)]);

/** Calls the tool as an agent does. */
async function call(input: Record<string, unknown>): Promise<Record<string, unknown>> {
  const result = await client.callTool({ name: "pos_workflow", arguments: input });
  return result.structuredContent as Record<string, unknown>;
}

const { session_id } = await call({ action: "start", workflow_type: "release", target_file: "package.json" });

const skip = await call({ action: "complete_phase", session_id, phase: 2, evidence: { tag: "v1.0.0" } });
assert.equal(skip.violation_type, "attempted_skip");

const claim = await call({ action: "complete_phase", session_id, phase: 1, evidence: { passed: 0 } });
assert.equal(claim.checkpoint_passed, false);

await call({ action: "complete_phase", session_id, phase: 1, evidence: { passed: 128 } });
const done = await call({ action: "complete_phase", session_id, phase: 2, evidence: { tag: "v1.0.0" } });
assert.equal(done.workflow_complete, true);

await client.close();
await engine.close();
console.log("The client was refused where it skipped, and got through with evidence.");
