/**
 * The workflow tool, and the tools of routed workflows, on a host's own MCP server. Needs the optional peer `@modelcontextprotocol/server`
 * and nothing of Node's.
 *
 * @packageDocumentation
 */
export type { WorkflowPoll } from "./mcp/poll-workflows.js";
export { registerRoutedTools } from "./mcp/register-routed-tools.js";
export {
  type RegisterWorkflowToolOptions,
  registerWorkflowTool,
  type WorkflowRegistration,
} from "./mcp/register-workflow-tool.js";
