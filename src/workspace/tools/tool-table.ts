import { listFilesTool } from "./list-files.js";
import { nextStepTool } from "./next-step.js";
import { preloadWorkflowTool } from "./preload-workflow.js";
import type { WorkspaceTool } from "./workspace-tool.js";

/** All tools of a workspace, in the order in which an agent usually wants them. */
export const WORKSPACE_TOOLS: readonly WorkspaceTool[] = [preloadWorkflowTool, listFilesTool, nextStepTool];
