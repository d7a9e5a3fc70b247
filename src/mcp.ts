/**
 * The workflow tool, the tools of routed workflows, and those of a workspace, on a host's own MCP server. Needs the optional peer `@modelcontextprotocol/server`
 * and nothing of Node's.
 *
 * @packageDocumentation
 */
export type { WorkflowPoll } from "./mcp/poll-workflows.js";
export { registerRoutedTools } from "./mcp/register-routed-tools.js";
export { registerWorkflowPrompt } from "./mcp/register-workflow-prompt.js";
export {
  type RegisterWorkflowToolOptions,
  registerWorkflowTool,
  type WorkflowRegistration,
} from "./mcp/register-workflow-tool.js";
export { registerWorkspaceTools } from "./mcp/register-workspace-tools.js";
