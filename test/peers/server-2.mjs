/** A server of the newer SDK answers calls of the tool, in memory and over HTTP. */
import assert from "node:assert/strict";
import { InMemoryTransport, McpServer } from "@modelcontextprotocol/server";
import { createEngine, defineWorkflow, MemoryContent, MemoryStorage } from "phasegate";
import { registerWorkflowTool } from "phasegate/mcp";
import { createMcpHttpHandler } from "phasegate/mcp-http";
import { complete } from "./mcp-session.mjs";

const gate = { fields: { tests: { type: "integer", required: true } } };
const phases = [{ number: 1, name: "Test", content: "Run the tests.", gate }];
const release = defineWorkflow({ type: "release", revision: "1", name: "Release", description: "Test it", phases });
const engine = createEngine({ storage: new MemoryStorage(), content: new MemoryContent({ workflows: [release] }) });

const server = new McpServer({ name: "host", version: "1.0.0" });
registerWorkflowTool(server, engine);
const [mine, other] = InMemoryTransport.createLinkedPair();
await server.connect(other);
await mine.start();
await complete(
  (message) => mine.send(message),
  (receive) => {
    mine.onmessage = receive;
  },
);
await server.close();

const handler = createMcpHttpHandler({ register: (own) => registerWorkflowTool(own, engine), stateful: false });
const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} });
const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
const response = await handler.fetch(new Request("http://localhost/mcp", { method: "POST", headers, body }));
assert.match(await response.text(), /pos_workflow/);
await handler.close();
