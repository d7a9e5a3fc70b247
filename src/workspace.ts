/**
 * Workspaces: files and tools for workflows that a model leads itself. It reads what it needs and saves what it makes,
 * inside a sandbox. Each session has a folder, a manifest and, if the host passes a storage, a log. Needs Node.
 *
 * @packageDocumentation
 */

export type { PassedSchema } from "./tools/wire.js";
export {
  type Bundle,
  type BundleAgent,
  type BundleWorkflow,
  type DiscoveredBundles,
  discoverBundles,
  type FoundBundle,
  type ReadBundle,
  readBundle,
} from "./workspace/bundles/bundle.js";
export { createWorkspace } from "./workspace/create-workspace.js";
export {
  INSTRUCTION_SECTIONS,
  type InstructionSection,
  type InstructionsContext,
  workflowInstructions,
} from "./workspace/instructions.js";
export {
  DEFAULT_WORKSPACE_LIMITS,
  type WorkspaceLimits,
  type WorkspaceNotificationMap,
  type WorkspaceOptions,
} from "./workspace/options.js";
export type { WorkflowSummary } from "./workspace/preload/find.js";
export type { MissingFile, PreloadedFile, PreloadRole } from "./workspace/preload/loading.js";
export type { PreloadedSteps, WorkflowPreloaded } from "./workspace/preload/preload-workflow.js";
export type { Location, VariableValue, WorkspaceFolders } from "./workspace/roots/paths.js";
export {
  RECORDED_SESSIONS,
  type RecordedCommit,
  type RecordedEntry,
  type RecordedEvent,
  type RecordedHead,
  type SessionInputs,
  type WorkspaceAct,
} from "./workspace/session/machine.js";
export type { Manifest, ManifestOutput } from "./workspace/session/manifest.js";
export type { SessionFigures } from "./workspace/session/sessions.js";
export type { GivenStep, StepAnswered, StepGate } from "./workspace/steps/next-step.js";
export type {
  OutputSaved,
  SessionCompleted,
  SessionOpened,
} from "./workspace/tools/sessions.js";
export type {
  FileRead,
  FilesListed,
  ToolFailure,
  ToolListing,
  ToolResult,
  ToolSuccess,
} from "./workspace/tools/tool.js";
export type {
  ActorWorkspace,
  ConnectOptions,
  Workspace,
  WorkspaceConnection,
  WorkspaceFunctions,
  WorkspaceMetrics,
  WorkspaceSession,
} from "./workspace/workspace.js";
export { type AiTool, workspaceTools } from "./workspace/workspace.js";
