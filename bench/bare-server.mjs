/** A bare MCP server on the same SDK, with one tool: what `phasegate serve` is compared with. */
import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import * as z from "zod";

serveStdio(() => {
  const server = new McpServer({ name: "bare", version: "1.0.0" });
  const inputSchema = z.object({ text: z.string() });
  server.registerTool("echo", { description: "Says it again.", inputSchema }, ({ text }) => ({
    content: [{ type: "text", text }],
  }));
  return server;
});
