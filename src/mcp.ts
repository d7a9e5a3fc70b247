/**
 * The workflow tool, the tools of routed workflows and of a workspace, and a search tool, on a host's own MCP server: the
 * `McpServer` of `@modelcontextprotocol/server` 2.x, or of `@modelcontextprotocol/sdk` from 1.20 on. Needs nothing of Node's.
 *
 * @packageDocumentation
 */

export type { CallingClient, HostServer } from "./mcp/host.js";
export { registerRoutedTools } from "./mcp/routed-tools.js";
export { registerSearchTool } from "./mcp/search-tool.js";
export { type RegisterWorkflowToolOptions, registerWorkflowTool } from "./mcp/tools.js";
export { registerWorkflowPrompt, registerWorkspaceTools } from "./mcp/workspace-tools.js";
