/**
 * phasegate: phase-gated workflows for AI agents. This entry point has the core, the tool and the
 * adapters that keep everything in memory; it imports nothing of Node's.
 *
 * @packageDocumentation
 */
export { MemoryContent, type MemoryContentOptions, type RegisteredWorkflow } from "./adapters/memory/memory-content.js";
export { MemoryPlans } from "./adapters/memory/memory-plans.js";
export { MemoryStorage } from "./adapters/memory/memory-storage.js";
export { defineWorkflow, type EvidenceOf, type PhaseNumberOf, type Workflow } from "./definition/define-workflow.js";
export { type Diagnostic, formatDiagnostic } from "./definition/diagnostic.js";
export type { JsonObject, JsonValue } from "./definition/json.js";
export type { ExecutionStep } from "./definition/markdown/execution-steps.js";
export type { MarkdownFacts } from "./definition/markdown/markdown-facts.js";
export { parseSessionId, type SessionId } from "./definition/names.js";
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
  WorkflowStructure,
} from "./definition/structure.js";
export type { WorkflowDefinition } from "./definition/workflow-definition.js";
export type {
  ApprovalInput,
  GateInput,
  PhaseInput,
  TaskInput,
  TextInput,
  VerifyInput,
  WorkflowInput,
} from "./definition/workflow-input.js";
export type { SessionAudit } from "./engine/approval/audit-session.js";
export type { ApprovalRequest, AwaitedApproval, Denial } from "./engine/approval/awaited.js";
export type { ApprovalResult, ApproveRequest, DenyRequest } from "./engine/approval/decide.js";
export type { ApproverKeys } from "./engine/approval/ed25519.js";
export type { ApprovedPass, UnapprovedPass } from "./engine/approval/ledger.js";
export { createApproverKeys, type SignRequest, signApproval } from "./engine/approver.js";
export type { ArtifactView } from "./engine/artifacts.js";
export type { BrokenSession, SessionPage } from "./engine/checked-page.js";
export type { CleanupRequest, CleanupResult } from "./engine/cleanup.js";
export type { CompleteRequest } from "./engine/complete-phase.js";
export { copySessions } from "./engine/copy-sessions.js";
export { createEngine, Engine, type EvidenceByPhase } from "./engine/engine.js";
export type { TickReport } from "./engine/engine-context.js";
export type { CompleteResult, GateAnswer } from "./engine/gate-answer.js";
export type { SessionChoice } from "./engine/logs/chosen-sessions.js";
export type { CopyOptions, CopyProgress, CopyReport, RefusedSession } from "./engine/logs/copy-report.js";
export type { RefusalReason } from "./engine/logs/log-refusal.js";
export type { SessionKind } from "./engine/logs/session-kind.js";
export type { OperationMetrics } from "./engine/metrics.js";
export type {
  EngineNotifications,
  NotificationListener,
  NotificationName,
  PersonsDecision,
  SessionNotification,
} from "./engine/notifications.js";
export { type AgentSync, DEFAULT_LIMITS, type EngineLimits, type EngineOptions } from "./engine/options.js";
export type { PhaseView, TaskView, TextView } from "./engine/phase-view.js";
export type { PlanView } from "./engine/plan/live-plan.js";
export type { SyncRequest, SyncResult } from "./engine/plan/sync-plan.js";
export type { TaskStanding } from "./engine/plan/task-standing.js";
export type { PlannedPhaseView, PlannedTaskView } from "./engine/plan/view-plan.js";
export type { LivingStatus, Retention } from "./engine/retention.js";
export type {
  DeleteResult,
  Keyed,
  MoveRequest,
  MoveResult,
  PauseResult,
  ResumeResult,
  RetryResult,
  RollbackResult,
} from "./engine/session-commands.js";
export { Session } from "./engine/session-object.js";
export type { StartedPlan, StartRequest, StartResult } from "./engine/start-session.js";
export type { FullStateView, StateView, UnapprovedView } from "./engine/state-view.js";
export type { SessionCommit, WatchQuery } from "./engine/watch-commits.js";
export {
  type AnyPhasegateError,
  type ErrorCode,
  type ErrorDetails,
  isPhasegateError,
  PhasegateError,
  type SourcePosition,
} from "./errors.js";
export { checkGate, type GateContext } from "./gate/check-gate.js";
export { verifierNames } from "./gate/checks-of.js";
export { conceal } from "./gate/reveal.js";
export { compileRules } from "./gate/rules/compile-rules.js";
export type { CompiledRules, RuleSession, RuleSurroundings } from "./gate/rules/rule-set.js";
export type { Enforcement, Problem, Verdict } from "./gate/verdict.js";
export type { AuditReport, Receipt } from "./kernel/audit.js";
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
export { type PlanOrder, planOrder } from "./plan/plan-order.js";
export { type TickOptions, tickTask } from "./plan/tick-task.js";
export type { Clock } from "./ports/clock.js";
export type {
  Content,
  ContentPart,
  ContentProvider,
  PhasePart,
  TemplatePart,
  WorkflowListing,
} from "./ports/content-provider.js";
export type { PlanSource, PlanText } from "./ports/plan-source.js";
export type { SourceParser, TickRequest } from "./ports/source-parser.js";
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
export type { TargetGuard } from "./ports/target-guard.js";
export type { SourceText, TextSource } from "./ports/text-source.js";
export type { Verifier, VerifyRequest, VerifyResult } from "./ports/verifier.js";
export {
  type ApprovalAnswer,
  type ApprovalQuestion,
  type ApprovalSignature,
  approvalMessage,
} from "./session/approval-message.js";
export type { Actor } from "./session/commands.js";
export type { SessionEvent } from "./session/events.js";
export type { SessionHead } from "./session/head.js";
export type { GateFailure, PhaseAttempt } from "./session/history.js";
export type { PlanChange, PlanChangeKind, PlanChanges } from "./session/plan-changes.js";
export type { Verification } from "./session/verification.js";
export { renderTemplate, type TemplateValues } from "./template/render-template.js";
export type { Action } from "./tool/actions.js";
export {
  createWorkflowTool,
  type WorkflowTool,
  type WorkflowToolOptions,
} from "./tool/create-workflow-tool.js";
export type { DispatchOptions, PersonsAnswer, WorkflowResponse } from "./tool/tool-context.js";
export type { ObjectSchema } from "./tool/tool-schema.js";
