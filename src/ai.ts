/**
 * Who picks the next step of a routed workflow: models by Google's client, by the Vercel AI SDK or by the MCP client that
 * is connected, and deciders without a model. Needs the optional peer `@google/genai` or `ai` where a decider names it,
 * and nothing of Node's.
 *
 * @packageDocumentation
 */
export { AiSdkDecider, type AiSdkDeciderOptions, type AiSdkModel } from "./adapters/deciders/ai-sdk-decider.js";
export type { DeciderExchange, OnExchange } from "./adapters/deciders/exchange.js";
export { GeminiDecider, type GeminiDeciderOptions } from "./adapters/deciders/gemini-decider.js";
export type { GeminiEnvironment } from "./adapters/deciders/gemini-environment.js";
export { LinearDecider } from "./adapters/deciders/linear-decider.js";
export type { ModelDeciderOptions } from "./adapters/deciders/model-settings.js";
export type { FailureReason } from "./adapters/deciders/request-failure.js";
export {
  SamplingDecider,
  type SamplingDeciderOptions,
  type SamplingParams,
  type SamplingServer,
} from "./adapters/deciders/sampling-decider.js";
export {
  type DeciderScript,
  type ScriptedAnswer,
  ScriptedDecider,
} from "./adapters/deciders/scripted-decider.js";
export type {
  DeciderAnswer,
  DecisionRequest,
  DecisionUsage,
  RoutedHistoryEntry,
  RoutedStatus,
  StepReport,
} from "./decision/decision-request.js";
export type { JsonObject, JsonValue } from "./definition/json.js";
export type { RoutedDefinition, RoutedStep } from "./definition/routed-definition.js";
export type { StepDecider } from "./ports/step-decider.js";
