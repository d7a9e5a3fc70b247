/** A search tool on a host's MCP server. */
import { publishedSchema } from "../tools/schemas.js";
import type { SearchTool } from "../tools/search-tool.js";
import { passThroughSchema } from "../tools/wire.js";
import type { WatchedTools } from "./calls.js";
import type { HostServer } from "./host.js";
import { registerTool } from "./register-tool.js";
import { hostOf } from "./sdks.js";

/**
 * Registers a search tool, as `createSearchTool` makes it, with a host's own MCP server, of either SDK.
 */
export function registerSearchTool(server: HostServer, tool: SearchTool, watched: WatchedTools = {}): void {
  const { name, description, inputSchema } = tool;
  registerTool(hostOf("registerSearchTool", server), {
    name,
    title: "Search standards",
    description,
    inputSchema: passThroughSchema(publishedSchema(inputSchema)),
    annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
    ...watched,
    async run(input) {
      const body = await tool.handler(input);
      return { body, isError: body.status === "error" };
    },
  });
}
