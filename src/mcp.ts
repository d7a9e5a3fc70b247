/**
 * The workflow tool, the tools of routed workflows and of a workspace, and a search tool, on a host's own MCP server. Needs
 * the optional peer `@modelcontextprotocol/server` and nothing of Node's.
 *
 * @packageDocumentation
 */

export { createHealth, type Health, type HealthOptions } from "./http/health.js";
export type { WorkflowPoll } from "./mcp/resources.js";
export {
  type RegisterWorkflowToolOptions,
  registerRoutedTools,
  registerSearchTool,
  registerWorkflowPrompt,
  registerWorkflowTool,
  registerWorkspaceTools,
  type WatchedTools,
  type WorkflowRegistration,
} from "./mcp/tools.js";
