/** A server of the newer SDK answers calls of the tool, in memory and over HTTP. */
import assert from "node:assert/strict";
import { InMemoryTransport, McpServer } from "@modelcontextprotocol/server";
import { registerWorkflowTool } from "phasegate/mcp";
import { createMcpHttpHandler } from "phasegate/mcp-http";
import { completeOver, engine } from "./mcp-session.mjs";

const server = new McpServer({ name: "host", version: "1.0.0" });
registerWorkflowTool(server, engine);
await completeOver(server, InMemoryTransport.createLinkedPair());
await server.close();

const handler = createMcpHttpHandler({ register: (own) => registerWorkflowTool(own, engine), stateful: false });
const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} });
const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
const response = await handler.fetch(new Request("http://localhost/mcp", { method: "POST", headers, body }));
assert.match(await response.text(), /pos_workflow/);
await handler.close();
