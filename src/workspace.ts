/**
 * The workspace: files for workflows that a model leads. It reads what it needs and saves what it makes, inside walls; each
 * session has a folder, a manifest and, where the host wants one, a log.
 *
 * @packageDocumentation
 */
export type { SessionKind } from "./engine/logs/session-kind.js";
export type { OperationMetrics } from "./engine/metrics.js";
export type { WatchQuery } from "./engine/watch-commits.js";
export type { ErrorCode } from "./errors.js";
export type { AuditReport, Receipt } from "./kernel/audit.js";
export type { Listener } from "./kernel/notifier.js";
export type { Current, Recorded } from "./kernel/recorded.js";
export type { Clock } from "./ports/clock.js";
export { type AiTool, type PassedSchema, workspaceTools } from "./workspace/ai-tools.js";
export type { Bundle, BundleAgent, BundleWorkflow, ReadBundle } from "./workspace/bundles/bundle.js";
export { type DiscoveredBundles, discoverBundles, type FoundBundle } from "./workspace/bundles/discover-bundles.js";
export { readBundle } from "./workspace/bundles/read-bundle.js";
export { createWorkspace } from "./workspace/create-workspace.js";
export { INSTRUCTION_SECTIONS, type InstructionSection } from "./workspace/instructions/sections.js";
export { type InstructionsContext, workflowInstructions } from "./workspace/instructions/workflow-instructions.js";
export { DEFAULT_WORKSPACE_LIMITS, type WorkspaceLimits } from "./workspace/limits.js";
export type {
  WorkspaceListener,
  WorkspaceNotificationMap,
  WorkspaceNotificationName,
} from "./workspace/notifications.js";
export type { WorkspaceOptions } from "./workspace/options.js";
export type { WorkflowSummary } from "./workspace/preload/list-workflows.js";
export type { MissingFile, PreloadedFile, PreloadRole } from "./workspace/preload/parts.js";
export type { PreloadedSteps, PreloadedWorkflow } from "./workspace/preload/preloaded.js";
export type { Location } from "./workspace/roots/location.js";
export type { VariableValue } from "./workspace/roots/variables.js";
export type { WorkspaceFolders } from "./workspace/roots/workspace-folders.js";
export type { WorkspaceAct } from "./workspace/session/acts.js";
export type { Manifest, ManifestOutput } from "./workspace/session/manifest.js";
export type { RecordedEntry } from "./workspace/session/recorded-entries.js";
export type { RecordedEvent, SessionInputs } from "./workspace/session/recorded-events.js";
export type { RecordedHead } from "./workspace/session/recorded-machine.js";
export { RECORDED_SESSIONS } from "./workspace/session/recorded-sessions.js";
export type { RecordedCommit } from "./workspace/session/recorder.js";
export type { SessionFigures } from "./workspace/session/session-counts.js";
export type { GivenStep } from "./workspace/steps/give-step.js";
export type { StepRefusal } from "./workspace/steps/judge-step.js";
export type { SessionCompleted } from "./workspace/tools/complete-session.js";
export type { SessionOpened } from "./workspace/tools/create-session.js";
export type { FilesListed } from "./workspace/tools/list-files.js";
export type { StepAnswered } from "./workspace/tools/next-step.js";
export type { WorkflowPreloaded } from "./workspace/tools/preload-workflow.js";
export type { FileRead } from "./workspace/tools/read-file.js";
export type { OutputSaved } from "./workspace/tools/save-output.js";
export type { ToolFailure, ToolListing, ToolResult, ToolSuccess } from "./workspace/tools/workspace-tool.js";
export type {
  ConnectOptions,
  Workspace,
  WorkspaceConnection,
  WorkspaceFunctions,
  WorkspaceMetrics,
  WorkspaceSession,
} from "./workspace/workspace.js";
