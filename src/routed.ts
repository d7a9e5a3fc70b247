/** Routed workflows: after each report a decider picks the next step, within those that the workflow allows. */

export type { ErrorCode } from "./errors.js";
export type { CorsOptions } from "./http/api.js";
export { createHttpApi, type HttpApi, type HttpApiOptions } from "./http/api.js";
export { type OpenApiNode, type OpenApiOptions, openApiDocument } from "./http/routes.js";
export type { Current, Recorded } from "./log/commit.js";
export type { SessionKind } from "./phased/log-check.js";
export type { RoutedListing, RoutedSource, TextSource } from "./ports/content-provider.js";
export type { StepDecider } from "./ports/step-decider.js";
export type { RoutedAudit } from "./routed/approvals.js";
export type { RoutedApproval, RoutedMove } from "./routed/commands.js";
export {
  buildDecisionPrompt,
  type DecisionPrompt,
  definitionText,
  type PromptOptions,
} from "./routed/decision/prompt.js";
export type {
  DeciderAnswer,
  DecisionRequest,
  DecisionUsage,
  RoutedHistoryEntry,
  RoutedStatus,
  StepReport,
} from "./routed/decision/request.js";
export { decisionJsonSchema, type ReadAnswer, readDecision, readDecisionText } from "./routed/decision/request.js";
export { createRoutedEngine, type RoutedEngine } from "./routed/engine.js";
export type {
  InstanceNotification,
  RoutedNotificationMap,
  RoutedNotificationName,
} from "./routed/notifications.js";
export { DEFAULT_ROUTED_LIMITS, type RoutedEngineOptions, type RoutedLimits } from "./routed/options.js";
export type {
  PendingDecision,
  PinnedStep,
  RoutedEvent,
  RoutedFacts,
  RoutedHead,
  RoutedStructure,
} from "./routed/state/events.js";
export type { RoutedDecision, RoutedEntry } from "./routed/state/history.js";
export type { RoutedCommit } from "./routed/state/machine.js";
export { ROUTED_SESSIONS } from "./routed/state/machine.js";
export type { RoutedOperation } from "./routed/state/transition.js";
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
} from "./routed/types.js";
export type { Listener } from "./runtime/notifier.js";
export type { PersonsAnswer } from "./tools/dispatch.js";
export type { RoutedCallOptions } from "./tools/routed/calls.js";
export type { RoutedCall } from "./tools/routed/requests.js";
export {
  createRoutedTools,
  type RoutedTool,
  type RoutedToolAnswer,
  type RoutedToolsOptions,
} from "./tools/routed/routed-tools.js";
export type { StepGateInput } from "./workflow/files/define-routed-workflow.js";
export {
  defineRoutedWorkflow,
  type RoutedStepInput,
  type RoutedWorkflowInput,
  routedWorkflows,
} from "./workflow/files/define-routed-workflow.js";
export type { ReadRoutedWorkflow } from "./workflow/files/routed-workflow.js";
export { RoutedFolders, type RoutedFoldersOptions } from "./workflow/files/routed-workflow.js";
export { FINISH, type RoutedDefinition, type RoutedStep } from "./workflow/routed-definition.js";
