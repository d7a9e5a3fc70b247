/** MCP over HTTP in a Hono application, which runs on Node, Bun, Deno and Workers alike. */
import assert from "node:assert/strict";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createEngine, defineWorkflow, MemoryContent, MemoryStorage } from "phasegate";

const release = defineWorkflow({
  ...{ type: "release", revision: "1", name: "Release", description: "Write it down, then publish" },
  phases: [{ number: 1, name: "Notes", content: "# Write the release notes" }],
});
const engine = createEngine({ storage: new MemoryStorage(), content: new MemoryContent({ workflows: [release] }) });

// #region hono
import { Hono } from "hono";
import { registerWorkflowTool } from "phasegate/mcp";
import { createMcpHttpHandler } from "phasegate/mcp-http";

const mcp = createMcpHttpHandler({
  path: "/agents/mcp",
  // Your own login: it returns who calls, or the response that refuses the request.
  login: {
    authenticate: async ({ headers }) => {
      if (headers.get("authorization") === "Bearer my-secret") return { name: "ann" };
      return new Response(null, { status: 401, headers: { "www-authenticate": "Bearer" } });
    },
  },
  register: (server, { actor }) => registerWorkflowTool(server, engine.as(actor)),
});

const app = new Hono();
app.all("/agents/mcp", (c) => mcp.fetch(c.req.raw));
// #endregion hono

// The application answers the client without a network.
const client = new Client({ name: "agent", version: "1.0.0" }, { versionNegotiation: { mode: "auto" } });
const transport = new StreamableHTTPClientTransport(new URL("http://localhost/agents/mcp"), {
  requestInit: { headers: { authorization: "Bearer my-secret" } },
  fetch: async (url, init) => app.request(url, init),
});
await client.connect(transport);
const { tools } = await client.listTools();
console.log(tools.map(({ name }) => name)); // [ "pos_workflow" ]
assert.deepEqual(
  tools.map(({ name }) => name),
  ["pos_workflow"],
);
assert.equal((await app.request("/agents/mcp", { method: "POST" })).status, 401);
await client.close();
await mcp.close();
