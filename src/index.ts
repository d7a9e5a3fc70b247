/**
 * phasegate: phase-gated workflows for AI agents. This entry point has the core, the tool and the
 * adapters that keep everything in memory; it imports nothing of Node's.
 *
 * @packageDocumentation
 */

export type { Distrust } from "./approval/decision.js";
export type { ApprovalPass, Unapproved } from "./approval/guard.js";
export type { ApprovalQuestion, ApprovalRequested, ApprovalSignature } from "./approval/message.js";
export { MemoryContent, type MemoryContentOptions, MemoryPlans, type RegisteredWorkflow } from "./content/memory.js";
export {
  type AnyPhasegateError,
  type ErrorCode,
  type ErrorDetails,
  isPhasegateError,
  PhasegateError,
  type SourcePosition,
} from "./errors.js";
export type { Enforcement, Problem } from "./gate/verdict.js";
export type { AuditReport, Receipt } from "./log/commit.js";
export type {
  ApprovalRequest,
  ApprovedPass,
  AwaitedApproval,
  Denial,
  SessionAudit,
  UnapprovedPass,
} from "./phased/approval/ledger.js";
export type { ApprovalResult, ApproveRequest, DenyRequest } from "./phased/approval/requests.js";
export type { ArtifactView } from "./phased/artifacts.js";
export type {
  DeleteResult,
  Keyed,
  MoveRequest,
  MoveResult,
  PauseResult,
  Repeatable,
  ResumeResult,
  RetryResult,
  RollbackResult,
} from "./phased/commands.js";
export type { CompleteRequest } from "./phased/complete-phase.js";
export { createEngine, type Engine, type EvidenceByPhase } from "./phased/engine.js";
export type { TickReport } from "./phased/engine-context.js";
export type { CompleteResult, GateAnswer } from "./phased/gate-answer.js";
export type { BrokenSession, CleanupRequest, CleanupResult, SessionPage } from "./phased/lists.js";
export type {
  EngineNotifications,
  NotificationListener,
  NotificationName,
  PersonsDecision,
  SessionNotification,
} from "./phased/notifications.js";
export type { LivingStatus, Retention } from "./phased/options.js";
export { type AgentSync, DEFAULT_LIMITS, type EngineLimits, type EngineOptions } from "./phased/options.js";
export type { SyncRequest, SyncResult } from "./phased/plan/sync.js";
export type { PlannedPhaseView, PlannedTaskView, PlanView, TaskStanding } from "./phased/plan/view.js";
export type { Session } from "./phased/session.js";
export type { StartedPlan, StartRequest, StartResult } from "./phased/start.js";
export type { Actor } from "./phased/state/commands.js";
export type {
  PlanChange,
  PlanChanges,
  SessionEvent,
  Snapshot,
  StoredValue,
  Verification,
} from "./phased/state/events.js";
export type { HeadFacts, SessionHead } from "./phased/state/head.js";
export type { GateFailure, PhaseAttempt } from "./phased/state/history.js";
export type {
  FullStateView,
  PhaseView,
  SessionFacts,
  StateView,
  TaskView,
  TextView,
  UnapprovedView,
} from "./phased/views.js";
export type { SessionCommit, WatchQuery } from "./phased/watch.js";
export type {
  Checkbox,
  Plan,
  PlanItem,
  PlanPhase,
  PlanPosition,
  PlanReading,
  PlanTask,
  TaskState,
} from "./plan/plan.js";
export type { Clock, TargetGuard } from "./ports/clock.js";
export type {
  Content,
  ContentPart,
  ContentProvider,
  PhasePart,
  PlanSource,
  PlanText,
  SourceParser,
  TemplatePart,
  TickRequest,
  WorkflowListing,
} from "./ports/content-provider.js";
export type {
  Commit,
  Page,
  Payload,
  RepairReport,
  SessionQuery,
  SessionSize,
  SessionStatus,
  SessionSummary,
  StorageAdapter,
} from "./ports/storage-adapter.js";
export type { Verifier, VerifyRequest, VerifyResult } from "./ports/verifier.js";
export type { OperationMetrics } from "./runtime/operations.js";
export { MemoryStorage } from "./storage/memory/storage.js";
export type { PersonsAnswer } from "./tools/dispatch.js";
export type { Action, DispatchOptions, WorkflowResponse } from "./tools/phased/actions.js";
export {
  createWorkflowTool,
  type WorkflowTool,
  type WorkflowToolOptions,
} from "./tools/phased/workflow-tool.js";
export type { ObjectSchema } from "./tools/wire.js";
export { defineWorkflow, type EvidenceOf, type PhaseNumberOf, type Workflow } from "./workflow/define-workflow.js";
export { type Diagnostic, formatDiagnostic } from "./workflow/diagnostic.js";
export type { JsonObject, JsonValue } from "./workflow/json.js";
export type { ExecutionStep, MarkdownFacts } from "./workflow/markdown-facts.js";
export { parseSessionId, type SessionId } from "./workflow/names.js";
export type {
  PhaseDefinition,
  Reveal,
  TaskDefinition,
  WorkflowDefinition,
  WorkflowStructure,
} from "./workflow/structure.js";
export type {
  ApprovalInput,
  GateInput,
  PhaseInput,
  TaskInput,
  TextInput,
  VerifyInput,
  WorkflowInput,
} from "./workflow/workflow-input.js";
