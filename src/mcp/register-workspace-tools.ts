import type { McpServer } from "@modelcontextprotocol/server";
import { publishedInput } from "../workspace/tools/published-input.js";
import type { ConnectOptions, Workspace, WorkspaceConnection } from "../workspace/workspace.js";
import { passThroughSchema } from "./pass-through-schema.js";

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
