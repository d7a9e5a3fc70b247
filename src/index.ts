/**
 * phasegate: phase-gated workflows for AI agents. This entry point has the engine, the tool, the adapters that keep
 * everything in memory, and the types that a host names; it imports nothing of Node's. A type that only adapters or
 * special callers name is exported by the entry point of its subject, and no name by two entry points.
 *
 * @packageDocumentation
 */

export { MemoryContent, MemoryPlans } from "./content/memory.js";
export type { AnswerOf } from "./engine/engine.js";
export type { ListedSession } from "./engine/lists.js";
export {
  type AnyPhasegateError,
  type ErrorCode,
  type ErrorDetails,
  isPhasegateError,
  PhasegateError,
} from "./errors.js";
export type { CompleteRequest } from "./phased/complete-phase.js";
export { createEngine, type Engine } from "./phased/engine.js";
export type { CompleteResult } from "./phased/gate-answer.js";
export type { EngineNotifications, SessionNotification } from "./phased/notifications.js";
export { DEFAULT_LIMITS, type EngineLimits, type EngineOptions, type Retention } from "./phased/options.js";
export type { Session } from "./phased/session.js";
export type { StartRequest, StartResult } from "./phased/start.js";
export type { PhaseAttempt } from "./phased/state/history.js";
export type { FullStateView, PhaseView, StateView } from "./phased/views.js";
export { type AccessRequest, type Actor, type Authorize, byOwner, type Owner } from "./ports/actor.js";
export type { Clock } from "./ports/clock.js";
export type {
  BaseWorkflows,
  Content,
  ContentPart,
  ContentProvider,
  WorkflowListing,
} from "./ports/content-provider.js";
export type { SessionStatus, StorageAdapter } from "./ports/storage-adapter.js";
export { MemoryStorage } from "./storage/memory/storage.js";
export { createWorkflowTool, type WorkflowTool, type WorkflowToolOptions } from "./tools/phased/workflow-tool.js";
export { type Diagnostic, formatDiagnostic } from "./workflow/diagnostic.js";
export { definePhase, defineWorkflow } from "./workflow/files/define-workflow.js";
export type { EvidenceOf } from "./workflow/inferred-types.js";
export type { JsonObject, JsonValue } from "./workflow/json.js";
export { parseSessionId, type SessionId } from "./workflow/names.js";
export type { PhaseDefinition, TaskDefinition, WorkflowDefinition, WorkflowStructure } from "./workflow/structure.js";
export type {
  GateInput,
  PhaseInput,
  PhasePart,
  TaskInput,
  Workflow,
  WorkflowInput,
} from "./workflow/workflow-input.js";
