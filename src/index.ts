/**
 * phasegate: phase-gated workflows for AI agents. This entry point has the engine, the tool, the adapters that keep
 * everything in memory, and the types that a host names; it imports nothing of Node's. A type that only adapters or
 * special callers name is exported by the entry point of its subject, and no name by two entry points.
 *
 * @packageDocumentation
 */

export { MemoryContent, type MemoryContentOptions, MemoryPlans } from "./content/memory.js";
export type { SessionEngine } from "./engine/engine.js";
export type { BrokenSession, ListedSession, SessionPage, WaitsFor } from "./engine/lists.js";
export {
  type AnyPhasegateError,
  type ErrorCode,
  type ErrorDetails,
  isPhasegateError,
  PhasegateError,
  type SourcePosition,
} from "./errors.js";
export type { ApprovalRequest, AwaitedApproval, SessionAudit } from "./phased/approval/ledger.js";
export type { ApprovalResult, ApproveRequest, DenyRequest } from "./phased/approval/requests.js";
export type { ArtifactView, CommitsRequest, HistoryRequest } from "./phased/artifacts.js";
export type {
  AssignRequest,
  DeleteResult,
  Keyed,
  MoveRequest,
  MoveResult,
  PauseResult,
  ResumeResult,
  RetryResult,
  RollbackResult,
} from "./phased/commands.js";
export type { CompleteRequest } from "./phased/complete-phase.js";
export type { TaskRequest, TaskResult } from "./phased/complete-task.js";
export type { NamedDocument } from "./phased/documents.js";
export { createEngine, type Engine } from "./phased/engine.js";
export type { TextView } from "./phased/engine-context.js";
export type { CompleteResult, SkippedPhase } from "./phased/gate-answer.js";
export type { CleanupRequest, CleanupResult } from "./phased/lists.js";
export type { EngineNotifications, SessionNotification } from "./phased/notifications.js";
export { DEFAULT_LIMITS, type EngineLimits, type EngineOptions, type Retention } from "./phased/options.js";
export type { RefusedStep } from "./phased/phased.js";
export type { SyncRequest, SyncResult } from "./phased/plan/sync.js";
export type { EvidenceByPhase, Session } from "./phased/session.js";
export type { StartRequest, StartResult } from "./phased/start.js";
export type { OperatorNote } from "./phased/state/commands.js";
export type { AttemptNote, GateFailure, PhaseAttempt } from "./phased/state/history.js";
export type { LastNote, PhaseTask, TaskNote } from "./phased/state/task-notes.js";
export type { RunningChecks } from "./phased/verify/run-verifiers.js";
export type { CheckProgress, Followed } from "./phased/verify/verify.js";
export type {
  DocumentView,
  FullStateView,
  PhaseSkip,
  PhaseView,
  SessionFacts,
  StateView,
  TaskView,
} from "./phased/views.js";
export {
  type Access,
  type AccessRequest,
  type Actor,
  type ActorQuotas,
  type Authorize,
  byOwner,
  type CalledSession,
  type Owner,
  type QuotaUsedUp,
  type Role,
  type TakenPlace,
} from "./ports/actor.js";
export type { Clock, TargetGuard } from "./ports/clock.js";
export type {
  Content,
  ContentPart,
  ContentProvider,
  WorkflowDocument,
  WorkflowListing,
} from "./ports/content-provider.js";
export type { SessionStatus, SessionSummary, StorageAdapter } from "./ports/storage-adapter.js";
export type {
  EngineKind,
  Measured,
  MeasuredCall,
  MeasuredCommit,
  MeasuredEvent,
  MeasuredGate,
  MeasuredHead,
  MeasuredOperation,
  MeasuredOutcome,
  Telemetry,
} from "./ports/telemetry.js";
export type { Listener } from "./runtime/notifier.js";
export type { OperationMetrics } from "./runtime/operations.js";
export { MemoryStorage } from "./storage/memory/storage.js";
export type { FilledText, OwnText } from "./template/template.js";
export type { Action, DispatchOptions, WorkflowResponse } from "./tools/phased/actions.js";
export { createWorkflowTool, type WorkflowTool, type WorkflowToolOptions } from "./tools/phased/workflow-tool.js";
export type { ObjectSchema } from "./tools/schemas.js";
export { type Diagnostic, formatDiagnostic } from "./workflow/diagnostic.js";
export { defineWorkflow } from "./workflow/files/define-workflow.js";
export type { JsonObject, JsonValue } from "./workflow/json.js";
export type { ExecutionStep, MarkdownFacts } from "./workflow/markdown-facts.js";
export { parseSessionId, type SessionId } from "./workflow/names.js";
export type { PhaseDefinition, TaskDefinition, WorkflowDefinition, WorkflowStructure } from "./workflow/structure.js";
export type {
  DynamicInput,
  EvidenceOf,
  GateInput,
  PhaseInput,
  PhaseNumberOf,
  TaskInput,
  TextInput,
  Workflow,
  WorkflowInput,
  WorkflowPart,
} from "./workflow/workflow-input.js";
