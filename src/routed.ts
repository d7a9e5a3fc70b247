/**
 * Routed workflows: after each report a decider picks the next step, within those that the workflow allows.
 *
 * @packageDocumentation
 */

export type { RoutedListing, RoutedSource, TextSource } from "./ports/content-provider.js";
export type { RoutedAudit } from "./routed/approvals.js";
export type { ReleaseRequest, RoutedApproval, RoutedMove } from "./routed/commands.js";
export {
  buildDecisionPrompt,
  type DecisionPrompt,
  definitionText,
  type PromptOptions,
} from "./routed/decision/prompt.js";
export {
  decisionJsonSchema,
  type ReadAnswer,
  type RoutedHistoryEntry,
  type RoutedStatus,
  readDecision,
  readDecisionText,
  type StepReport,
} from "./routed/decision/request.js";
export { createRoutedEngine, type RoutedEngine } from "./routed/engine.js";
export type { InstanceNotification, RoutedNotificationMap } from "./routed/notifications.js";
export { DEFAULT_ROUTED_LIMITS, type RoutedEngineOptions, type RoutedLimits } from "./routed/options.js";
export type { RoutedSession } from "./routed/session.js";
export type {
  PendingDecision,
  PinnedStep,
  RoutedEvent,
  RoutedFacts,
  RoutedHead,
  RoutedStructure,
} from "./routed/state/events.js";
export type { RoutedDecision, RoutedEntry } from "./routed/state/history.js";
export { ROUTED_SESSIONS, type RoutedCommit } from "./routed/state/machine.js";
export type { RoutedOperation } from "./routed/state/transition.js";
export type {
  AdvanceRequest,
  FollowedDecision,
  FollowedReport,
  GateRefusal,
  ResumeRequest,
  RoutedPass,
  RoutedQuestion,
  RoutedResult,
  RoutedView,
  StartRoutedRequest,
  StepView,
  UnapprovedStep,
} from "./routed/types.js";
export type { RoutedCallOptions } from "./tools/routed/calls.js";
export type { RoutedCall } from "./tools/routed/requests.js";
export {
  createRoutedTools,
  type RoutedTool,
  type RoutedToolAnswer,
  type RoutedToolsOptions,
} from "./tools/routed/routed-tools.js";
export {
  defineRoutedWorkflow,
  type RoutedStepInput,
  type RoutedWorkflowInput,
  routedWorkflows,
  type StepGateInput,
} from "./workflow/files/define-routed-workflow.js";
export type { TakenName } from "./workflow/files/routed-checks.js";
export { type ReadRoutedWorkflow, RoutedFolders, type RoutedFoldersOptions } from "./workflow/files/routed-workflow.js";
export { FINISH, type RoutedDefinition, type RoutedStep } from "./workflow/routed-definition.js";
