/**
 * The workflow tool, the tools of routed workflows, and those of a workspace, on a host's own MCP server. Needs the optional peer `@modelcontextprotocol/server`
 * and nothing of Node's.
 *
 * @packageDocumentation
 */

export { registerRoutedTools } from "./mcp/routed-tools.js";
export type { WorkflowPoll } from "./mcp/workflow-tool.js";
export {
  type RegisterWorkflowToolOptions,
  registerWorkflowTool,
  type WorkflowRegistration,
} from "./mcp/workflow-tool.js";
export { registerWorkflowPrompt, registerWorkspaceTools } from "./mcp/workspace-tools.js";
