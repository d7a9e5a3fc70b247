/** The table of a workspace's tools, in the order in which an agent usually needs them. */

import { listFilesTool, readFileTool } from "./files.js";
import {
  completeSessionTool,
  createSessionTool,
  nextStepTool,
  preloadWorkflowTool,
  saveOutputTool,
} from "./sessions.js";
import type { WorkspaceTool } from "./tool.js";

/** All tools of a workspace. */
export const WORKSPACE_TOOLS: readonly WorkspaceTool[] = [
  preloadWorkflowTool,
  readFileTool,
  listFilesTool,
  createSessionTool,
  nextStepTool,
  saveOutputTool,
  completeSessionTool,
];
