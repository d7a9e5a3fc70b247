import type { McpServer, StandardSchemaWithJSON } from "@modelcontextprotocol/server";
import * as z from "zod";
import type { ObjectSchema } from "../tools/phased/actions.js";
import { type InstructionsContext, workflowInstructions } from "../workspace/instructions.js";
import { publishedInput } from "../workspace/tools/tool.js";
import type { ConnectOptions, Workspace, WorkspaceConnection } from "../workspace/workspace.js";

/** What all answers share; short, since each tool says it. */
const ANSWER = { type: "object" as const, properties: { success: { type: "boolean" } }, required: ["success"] };

/**
 * Registers a workspace's tools with a host's own MCP server (`@modelcontextprotocol/server` 2.x): `preload_workflow`,
 * `read_file`, `list_files`, `create_session`, `next_step`, `save_output`, `complete_session`. A server serves one
 * connection, so its client may write the sessions that it has begun, and no others. The connection comes back.
 */
export function registerWorkspaceTools(
  server: McpServer,
  workspace: Pick<Workspace, "connect">,
  options: ConnectOptions = {},
): WorkspaceConnection {
  const connection = workspace.connect(options);
  for (const tool of connection.tools) {
    const { name, title, description, readOnly } = tool;
    server.registerTool(
      name,
      {
        title,
        description,
        inputSchema: passThroughSchema(publishedInput(tool)),
        outputSchema: passThroughSchema(ANSWER),
        annotations: {
          readOnlyHint: readOnly,
          // An output that is saved again takes the place of the old one; the others only add. Of reading it is never asked.
          ...(readOnly ? {} : { destructiveHint: name === "save_output" }),
          openWorldHint: false,
        },
      },
      async (input) => {
        const result = await connection.call(name, input);
        return {
          content: [{ type: "text", text: JSON.stringify(result) }],
          structuredContent: { ...result },
          isError: !result.success,
        };
      },
    );
  }
  return connection;
}

/**
 * Registers the prompt `run_workflow` with a host's own MCP server: what `workflowInstructions` says, with the workflows
 * that there are now, and the one that the user wants. Sections can be dropped or replaced.
 */
export function registerWorkflowPrompt(
  server: McpServer,
  workspace: Pick<Workspace, "workflows" | "variables">,
  options: Pick<InstructionsContext, "sections"> = {},
): void {
  const workflow = z.string().optional().describe("The workflow's name");
  server.registerPrompt(
    "run_workflow",
    {
      title: "Run a workflow",
      description: "How a workflow is run with the tools of this server",
      argsSchema: z.object({ workflow }),
    },
    async ({ workflow: wanted }) => {
      const { variables } = workspace;
      const text = workflowInstructions({ ...options, variables, workflows: await workspace.workflows() });
      const task = wanted === undefined ? "Ask me which workflow to run." : `Run the workflow ${wanted} now.`;
      return { messages: [{ role: "user", content: { type: "text", text: `${text}\n\n${task}` } }] };
    },
  );
}

/**
 * A Standard Schema that publishes a JSON Schema and lets everything through. The server would answer
 * a wrong call with its validator's words; `dispatch` knows the action that was meant, and says what
 * to write instead.
 */
export function passThroughSchema(schema: ObjectSchema): StandardSchemaWithJSON {
  const published = () => ({ ...schema });
  return {
    "~standard": {
      version: 1,
      vendor: "phasegate",
      validate: (value) => ({ value }),
      jsonSchema: { input: published, output: published },
    },
  };
}
