/** A Worker of Cloudflare with the Agents SDK. */
// #region agents
import { McpServer } from "@modelcontextprotocol/server";
import { createMcpHandler } from "agents/mcp/server";
import { createHttpApi } from "phasegate/http";
import { registerWorkflowTool } from "phasegate/mcp";
import { engine } from "./engine.mjs";

const api = createHttpApi(engine, { basePath: "/api" });
const mcp = createMcpHandler(() => {
  const server = new McpServer({ name: "my-server", version: "1.0.0" });
  registerWorkflowTool(server, engine);
  return server;
});

export default {
  fetch: (request, env, context) =>
    new URL(request.url).pathname.startsWith("/api/") ? api(request) : mcp(request, env, context),
};
// #endregion agents
