/** Routed workflows: after each report a decider picks the next step, inside walls. */
export { buildDecisionPrompt, type DecisionPrompt, type PromptOptions } from "./decision/build-decision-prompt.js";
export { decisionJsonSchema, type ReadAnswer, readDecision, readDecisionText } from "./decision/decision-answer.js";
export type {
  DeciderAnswer,
  DecisionRequest,
  DecisionUsage,
  RoutedHistoryEntry,
  RoutedStatus,
  StepReport,
} from "./decision/decision-request.js";
export { definitionText } from "./decision/definition-text.js";
export { FINISH, type RoutedDefinition, type RoutedStep } from "./definition/routed-definition.js";
export type { SessionKind } from "./engine/logs/session-kind.js";
export type { ErrorCode } from "./errors.js";
export type { CorsOptions } from "./http/cors.js";
export { createHttpApi, type HttpApi, type HttpApiOptions } from "./http/create-http-api.js";
export { type OpenApiNode, type OpenApiOptions, openApiDocument } from "./http/openapi.js";
export type { Listener } from "./kernel/notifier.js";
export type { Current, Recorded } from "./kernel/recorded.js";
export type { RoutedListing, RoutedSource } from "./ports/routed-source.js";
export type { StepDecider } from "./ports/step-decider.js";
export type { TextSource } from "./ports/text-source.js";
export {
  defineRoutedWorkflow,
  type RoutedStepInput,
  type RoutedWorkflowInput,
  routedWorkflows,
} from "./routed/definition/define-routed-workflow.js";
export type { ReadRoutedWorkflow } from "./routed/definition/read-routed-workflow.js";
export { RoutedFolders, type RoutedFoldersOptions } from "./routed/definition/routed-folders.js";
export type { StepGateInput } from "./routed/definition/step-gate.js";
export type { RoutedAudit } from "./routed/engine/approval-guard.js";
export type { RoutedApproval } from "./routed/engine/approve.js";
export type { RoutedMove } from "./routed/engine/moves.js";
export type {
  InstanceNotification,
  RoutedNotificationMap,
  RoutedNotificationName,
} from "./routed/engine/notifications.js";
export { DEFAULT_ROUTED_LIMITS, type RoutedEngineOptions, type RoutedLimits } from "./routed/engine/options.js";
export { createRoutedEngine, RoutedEngine } from "./routed/engine/routed-engine.js";
export type { RoutedCommit } from "./routed/engine/routed-session.js";
export type {
  AdvanceRequest,
  GateRefusal,
  ResumeRequest,
  RoutedKeyed,
  RoutedPass,
  RoutedQuestion,
  RoutedResult,
  RoutedView,
  StartRoutedRequest,
  StepView,
  UnapprovedStep,
} from "./routed/engine/types.js";
export type { RoutedDecision, RoutedEntry } from "./routed/session/entries.js";
export type { RoutedEvent } from "./routed/session/events.js";
export type { PendingDecision, RoutedHead } from "./routed/session/head.js";
export type { RoutedOperation } from "./routed/session/refusals.js";
export { ROUTED_SESSIONS } from "./routed/session/routed-sessions.js";
export { createRoutedTools, type RoutedToolsOptions } from "./tool/routed/create-routed-tools.js";
export type { RoutedCall } from "./tool/routed/requests.js";
export type { RoutedCallOptions } from "./tool/routed/routed-face.js";
export type { RoutedTool, RoutedToolAnswer } from "./tool/routed/routed-tool.js";
export type { PersonsAnswer } from "./tool/tool-context.js";
