/**
 * Routed workflows: after each report a decider picks the next step, within those that the workflow allows.
 *
 * @packageDocumentation
 */

export type { TextSource } from "./ports/content-provider.js";
export { buildDecisionPrompt, definitionText } from "./routed/decision/prompt.js";
export { decisionJsonSchema, readDecision, readDecisionText, type StepReport } from "./routed/decision/request.js";
export { createRoutedEngine, type RoutedEngine } from "./routed/engine.js";
export type { RoutedNotificationMap } from "./routed/notifications.js";
export { DEFAULT_ROUTED_LIMITS, type RoutedEngineOptions, type RoutedLimits } from "./routed/options.js";
export type { RoutedSession } from "./routed/session.js";
export type { RoutedDecision } from "./routed/state/history.js";
export { ROUTED_SESSIONS, type RoutedCommit } from "./routed/state/machine.js";
export type { AdvanceRequest, RoutedResult, RoutedView, StartRoutedRequest } from "./routed/types.js";
export { createRoutedTools, type RoutedTool } from "./tools/routed/routed-tools.js";
export {
  defineRoutedWorkflow,
  type RoutedStepInput,
  type RoutedWorkflowInput,
  routedWorkflows,
} from "./workflow/files/define-routed-workflow.js";
export { RoutedFolders } from "./workflow/files/routed-workflow.js";
export { FINISH } from "./workflow/routed-definition.js";
