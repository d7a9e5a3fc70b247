import * as z from "zod";
import { preloadWorkflow } from "../preload/preload-workflow.js";
import type { PreloadedWorkflow } from "../preload/preloaded.js";
import { defineTool } from "./define-tool.js";
import type { ToolSuccess } from "./workspace-tool.js";

/** A workflow, loaded: whole files, and what is missing. */
export interface WorkflowPreloaded extends ToolSuccess, PreloadedWorkflow {}

/** `preload_workflow`: all files of a workflow in one call. */
export const preloadWorkflowTool = defineTool({
  name: "preload_workflow",
  title: "Preload a workflow",
  description:
    "Loads all files of a workflow in one call: its definition, configuration, instructions, template and whatever else it " +
    "names; of a skill with steps, only the current one. Call it first, and don't read these files again.",
  readOnly: true,
  input: z.strictObject({
    workflow: z.string().describe("Its name, such as intake, or the path of its folder"),
    cursor: z.string().optional().describe("From the page before"),
    reload: z.boolean().optional().describe("Gives files once more that were given before"),
  }),
  async run({ workflow, cursor, reload }, connection): Promise<WorkflowPreloaded> {
    const loaded = await preloadWorkflow(connection, {
      workflow,
      ...(cursor === undefined ? {} : { cursor }),
      ...(reload === undefined ? {} : { reload }),
    });
    return { success: true, ...loaded };
  },
});
