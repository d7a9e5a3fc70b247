/**
 * The workflow tool, the tools of routed workflows and of a workspace, and a search tool, on a host's own MCP server. Needs
 * the optional peer `@modelcontextprotocol/server` and nothing of Node's.
 *
 * @packageDocumentation
 */

export { createHealth, type Health, type HealthOptions } from "./http/health.js";
export { createMcpHttpHandler, type McpHttpHandler, type McpHttpOptions } from "./mcp/http.js";
export type { HttpCall } from "./mcp/http-request.js";
export { type CallingClient, registerRoutedTools } from "./mcp/routed-tools.js";
export { registerSearchTool } from "./mcp/search-tool.js";
export { type RegisterWorkflowToolOptions, registerWorkflowTool } from "./mcp/tools.js";
export { registerWorkflowPrompt, registerWorkspaceTools } from "./mcp/workspace-tools.js";
