/** The tools of a workspace, and the prompt that tells how to use them, on a host's MCP server. */
import { publishedInput } from "../tools/schemas.js";
import { passThroughSchema } from "../tools/wire.js";
import { type InstructionsContext, workflowInstructions } from "../workspace/instructions.js";
import type { ConnectOptions, Workspace, WorkspaceConnection } from "../workspace/workspace.js";
import type { WatchedTools } from "./calls.js";
import type { HostServer } from "./host.js";
import { registerTool } from "./register-tool.js";
import { hostOf } from "./sdks.js";

/** The output schema of all workspace tools. It is short because each tool publishes it. */
const ANSWER = { type: "object" as const, properties: { success: { type: "boolean" } }, required: ["success"] };

/**
 * Registers a workspace's tools with a host's own MCP server, of either SDK: `preload_workflow`,
 * `read_file`, `list_files`, `create_session`, `next_step`, `save_output`, `complete_session`. A server serves one
 * connection, so its client may write only to the sessions that it has created or reopened. Returns the connection.
 */
export function registerWorkspaceTools(
  server: HostServer,
  workspace: Pick<Workspace, "connect">,
  { telemetry, ...options }: ConnectOptions & WatchedTools = {},
): WorkspaceConnection {
  const host = hostOf("registerWorkspaceTools", server);
  const connection = workspace.connect(options);
  for (const tool of connection.tools) {
    const { name, title, description, readOnly } = tool;
    registerTool(host, {
      name,
      title,
      description,
      inputSchema: passThroughSchema(publishedInput(tool)),
      outputSchema: passThroughSchema(ANSWER),
      annotations: {
        readOnlyHint: readOnly,
        // Saving an output again replaces it; the other tools only add. The hint is not defined for tools that only read.
        destructiveHint: readOnly ? undefined : name === "save_output",
        openWorldHint: false,
      },
      telemetry,
      async run(input) {
        const body = await connection.call(name, input);
        return { body, isError: !body.success };
      },
    });
  }
  return connection;
}

/**
 * Registers the prompt `run_workflow` with a host's own MCP server, of either SDK: the text of `workflowInstructions` with the current
 * workflows, and the one that the user chose. Sections can be removed or replaced.
 */
export function registerWorkflowPrompt(
  server: HostServer,
  workspace: Pick<Workspace, "workflows" | "variables">,
  options: Pick<InstructionsContext, "sections"> = {},
): void {
  const names = async (prefix: string) =>
    (await workspace.workflows()).map(({ name }) => name).filter((name) => name.startsWith(prefix));
  hostOf("registerWorkflowPrompt", server).prompt({
    name: "run_workflow",
    title: "Run a workflow",
    description: "How to run a workflow with the tools of this server",
    argument: { name: "workflow", description: "The workflow's name", complete: names },
    async text(wanted) {
      const { variables } = workspace;
      const text = workflowInstructions({ ...options, variables, workflows: await workspace.workflows() });
      const task = wanted === undefined ? "Ask me which workflow to run." : `Run the workflow ${wanted} now.`;
      return `${text}\n\n${task}`;
    },
  });
}
