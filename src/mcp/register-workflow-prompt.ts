import type { McpServer } from "@modelcontextprotocol/server";
import * as z from "zod";
import { type InstructionsContext, workflowInstructions } from "../workspace/instructions/workflow-instructions.js";
import type { Workspace } from "../workspace/workspace.js";

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
