/**
 * An MCP client starts `mcp-host.ts` as a process, as an agent's client does, and goes through its workflow. It is
 * refused when it skips a phase, and when its evidence does not meet the gate.
 */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const host = fileURLToPath(new URL("mcp-host.ts", import.meta.url));
const client = new Client({ name: "an-agent", version: "1.0.0" });
await client.connect(new StdioClientTransport({ command: process.execPath, args: [host] }));

/** Calls the tool as an agent does. */
async function call(input: Record<string, unknown>): Promise<Record<string, unknown>> {
  const { content } = await client.callTool({ name: "pos_workflow", arguments: input });
  const text = content[0]?.type === "text" ? content[0].text : "";
  // The text of an error begins with a word.
  return JSON.parse(text.slice(text.indexOf("{")));
}

// #region agent
const { session_id } = await call({ action: "start", workflow_type: "release", target_file: "package.json" });

const skip = await call({ action: "complete_phase", session_id, phase: 2, evidence: { tag: "v1.0.0" } });
assert.equal(skip.violation_type, "attempted_skip");

const claim = await call({ action: "complete_phase", session_id, phase: 1, evidence: { passed: 0 } });
assert.equal(claim.checkpoint_passed, false);

await call({ action: "complete_phase", session_id, phase: 1, evidence: { passed: 128 } });
const done = await call({ action: "complete_phase", session_id, phase: 2, evidence: { tag: "v1.0.0" } });
assert.equal(done.workflow_complete, true);
// #endregion agent

await client.close();
console.log("The client was refused where it skipped, and got through with evidence.");
