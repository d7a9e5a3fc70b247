/** A search tool on a host's MCP server. */
import type { McpServer } from "@modelcontextprotocol/server";
import type { SearchTool } from "../tools/search-tool.js";
import type { WatchedTools } from "./calls.js";
import { registerTool } from "./register-tool.js";

/**
 * Registers a search tool, as `createSearchTool` makes it, with a host's own MCP server
 * (`@modelcontextprotocol/server` 2.x).
 */
export function registerSearchTool(server: McpServer, tool: SearchTool, watched: WatchedTools = {}): void {
  const { name, description, inputSchema } = tool;
  registerTool(server, {
    name,
    title: "Search standards",
    description,
    inputSchema,
    annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
    ...watched,
    async run(input) {
      const body = await tool.handler(input);
      return { body, isError: body.status === "error" };
    },
  });
}
