/**
 * Workspaces: files and tools for workflows that a model leads itself. It reads what it needs and saves what it makes,
 * inside a sandbox. Each session has a folder, a manifest and, if the host passes a storage, a log. Needs Node.
 *
 * @packageDocumentation
 */

export { type Bundle, discoverBundles, readBundle } from "./workspace/bundles/bundle.js";
export { createWorkspace } from "./workspace/create-workspace.js";
export { INSTRUCTION_SECTIONS, workflowInstructions } from "./workspace/instructions.js";
export type { WorkspaceNotificationMap } from "./workspace/notifications.js";
export {
  DEFAULT_WORKSPACE_LIMITS,
  type WorkspaceLimits,
  type WorkspaceOptions,
} from "./workspace/options.js";
export type { WorkflowPreloaded } from "./workspace/preload/preload-workflow.js";
export { RECORDED_SESSIONS, type RecordedCommit } from "./workspace/session/machine.js";
export type { StepAnswered } from "./workspace/steps/next-step.js";
export type { SessionCompleted, SessionOpened } from "./workspace/tools/sessions.js";
export type { FileRead, ToolFailure, ToolResult, ToolSuccess } from "./workspace/tools/tool.js";
export type {
  ActorWorkspace,
  ConnectOptions,
  Workspace,
  WorkspaceConnection,
  WorkspaceSession,
} from "./workspace/workspace.js";
