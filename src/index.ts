/**
 * phasegate: phase-gated workflows for AI agents. This entry point has the core, the tool and the
 * adapters that keep everything in memory; it imports nothing of Node's.
 *
 * @packageDocumentation
 */

export type { ApproverKeys } from "./approval/keys.js";
export {
  type ApprovalAnswer,
  type ApprovalQuestion,
  type ApprovalSignature,
  approvalMessage,
} from "./approval/message.js";
export { createApproverKeys, type SignRequest, signApproval } from "./approval/sign.js";
export { MemoryContent, type MemoryContentOptions, MemoryPlans, type RegisteredWorkflow } from "./content/memory.js";
export {
  type AnyPhasegateError,
  type ErrorCode,
  type ErrorDetails,
  isPhasegateError,
  PhasegateError,
  type SourcePosition,
} from "./errors.js";
export { checkGate, conceal, type GateContext, verifierNames } from "./gate/check-gate.js";
export { compileRules } from "./gate/gate-rules.js";
export type { CompiledRules, RuleSession, RuleSurroundings } from "./gate/rule-set.js";
export type { Enforcement, Problem, Verdict } from "./gate/verdict.js";
export type { AuditReport, Receipt } from "./log/commit.js";
export type { SessionAudit } from "./phased/approval/audit.js";
export type { ApprovalRequest, AwaitedApproval, Denial } from "./phased/approval/awaited.js";
export type { ApprovalResult, ApproveRequest, DenyRequest } from "./phased/approval/decide.js";
export type { ApprovedPass, UnapprovedPass } from "./phased/approval/ledger.js";
export type { ArtifactView } from "./phased/artifacts.js";
export type { CleanupRequest, CleanupResult } from "./phased/cleanup.js";
export type {
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
export { copySessions } from "./phased/copy-sessions.js";
export { createEngine, Engine, type EvidenceByPhase } from "./phased/engine.js";
export type { TickReport } from "./phased/engine-context.js";
export type { CompleteResult, GateAnswer } from "./phased/gate-answer.js";
export type { BrokenSession, SessionPage } from "./phased/lists.js";
export type { RefusalReason, SessionKind } from "./phased/log-check.js";
export type { CopyOptions, CopyProgress, CopyReport, RefusedSession, SessionChoice } from "./phased/log-copy.js";
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
export { Session } from "./phased/session.js";
export type { StartedPlan, StartRequest, StartResult } from "./phased/start.js";
export type { Actor } from "./phased/state/commands.js";
export type { PlanChange, PlanChangeKind, PlanChanges, SessionEvent, Verification } from "./phased/state/events.js";
export type { SessionHead } from "./phased/state/head.js";
export type { GateFailure, PhaseAttempt } from "./phased/state/history.js";
export type { FullStateView, PhaseView, StateView, TaskView, TextView, UnapprovedView } from "./phased/views.js";
export type { SessionCommit, WatchQuery } from "./phased/watch.js";
export { type PlanOrder, planOrder } from "./plan/order.js";
export { type ParsePlanOptions, parsePlan } from "./plan/parse-plan.js";
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
export { type TickOptions, tickTask } from "./plan/tick.js";
export type { Clock, TargetGuard } from "./ports/clock.js";
export type {
  Content,
  ContentPart,
  ContentProvider,
  PhasePart,
  PlanSource,
  PlanText,
  SourceParser,
  SourceText,
  TemplatePart,
  TextSource,
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
export type { OperationMetrics } from "./runtime/metrics.js";
export { MemoryStorage } from "./storage/memory/storage.js";
export { renderTemplate, type TemplateValues } from "./template/template.js";
export type { PersonsAnswer } from "./tools/dispatch.js";
export type { Action } from "./tools/phased/actions.js";
export type { DispatchOptions, WorkflowResponse } from "./tools/phased/context.js";
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
  ApprovalDefinition,
  DynamicDefinition,
  FieldDefinition,
  FieldGate,
  FieldType,
  GateDefinition,
  OpenGate,
  PhaseDefinition,
  PlanGate,
  PlannedPhase,
  PlannedTask,
  PlanPin,
  Reveal,
  RuleDefinition,
  SchemaGate,
  TaskDefinition,
  VerifyDefinition,
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
