/** mcp-handler, whose handler is a route of Next, and here of Hono. */
import { serve } from "@hono/node-server";
import { Hono } from "hono";
// #region mcp-handler
import { createMcpHandler } from "mcp-handler";
import { registerWorkflowTool } from "phasegate/mcp";
import { engine } from "./engine.mjs";

const handler = createMcpHandler((server) => {
  registerWorkflowTool(server, engine);
});
// In Next: export { handler as GET, handler as POST };
// #endregion mcp-handler

const app = new Hono();
app.all("/mcp", (context) => handler(context.req.raw));
serve({ fetch: app.fetch, port: process.env.PORT });
