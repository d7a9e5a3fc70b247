/**
 * Adds phasegate to a server of the older MCP SDK, `@modelcontextprotocol/sdk` 1.x, in an Express app. A client of that SDK
 * then goes through a workflow: it is refused at first, and passes with what was asked for.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
// #region express
import { createMcpExpressApp } from "@modelcontextprotocol/sdk/server/express.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { createEngine, defineWorkflow, MemoryContent, MemoryStorage } from "phasegate";
import { registerWorkflowTool } from "phasegate/mcp";
import * as z from "zod";

const phases = [
  { number: 1, name: "Test", content: "Run the tests.", gate: { evidence: z.object({ passed: z.int().min(1) }) } },
];
const release = defineWorkflow({ type: "release", revision: "1", name: "Release", description: "Test it", phases });
const engine = createEngine({ storage: new MemoryStorage(), content: new MemoryContent({ workflows: [release] }) });

// It checks the Host header: with express() alone, a page of any site could call a server on this machine.
const app = createMcpExpressApp();
app.post("/mcp", async (request: IncomingMessage & { body: unknown }, response: ServerResponse) => {
  const server = new McpServer({ name: "my-server", version: "1.0.0" });
  const { dispose } = registerWorkflowTool(server, engine);
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
  response.on("close", () => {
    dispose();
    void server.close();
  });
  await server.connect(transport);
  await transport.handleRequest(request, response, request.body);
});
// Clients ask for a stream of their own, too, which a server without sessions does not have.
app.get("/mcp", (_: IncomingMessage, response: ServerResponse) => response.writeHead(405).end());
// #endregion express

const http = app.listen(0, "127.0.0.1");
await once(http, "listening");
const { port } = http.address() as AddressInfo;

const client = new Client({ name: "agent", version: "1.0.0" });
await client.connect(new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${port}/mcp`)));
await client.listTools();
const call = async (args: Record<string, unknown>) => {
  const { content } = Object(await client.callTool({ name: "pos_workflow", arguments: args }));
  const text: string = content[0].text;
  // The text of an error begins with a word.
  return JSON.parse(text.slice(text.indexOf("{")));
};
const { session_id } = await call({ action: "start", workflow_type: "release", target_file: "package.json" });
const submit = { action: "complete_phase", session_id, phase: 1 };
const refused = await call({ ...submit, evidence: { passed: 0 } });
assert.equal(refused.code, "GATE_FAILED");
console.log(`refused: ${refused.validation_errors}`);
const passed = await call({ ...submit, evidence: { passed: 12 } });
assert.equal(passed.workflow_complete, true);
console.log("passed: 12 tests");
await client.close();
http.close();
