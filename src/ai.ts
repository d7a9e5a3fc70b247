/**
 * Deciders, which pick the next step of a routed workflow: models by Google's client, by the Vercel AI SDK or by the MCP
 * client that is connected, and deciders without a model. Needs the optional peer `@google/genai` or `ai` where a decider
 * names it, and nothing of Node's.
 *
 * @packageDocumentation
 */

export { AiSdkDecider, type AiSdkDeciderOptions } from "./deciders/ai-sdk.js";
export type { DeciderExchange } from "./deciders/exchange.js";
export { GeminiDecider, type GeminiDeciderOptions } from "./deciders/gemini.js";
export { type DeciderScript, LinearDecider, ScriptedDecider } from "./deciders/linear.js";
export type { ModelDeciderOptions } from "./deciders/model.js";
export { SamplingDecider, type SamplingDeciderOptions, type SamplingServer } from "./deciders/sampling.js";
export type { StepDecider } from "./ports/step-decider.js";
export type { DeciderAnswer, DecisionRequest } from "./routed/decision/request.js";
