import type { DecisionRequest } from "../../decision/decision-request.js";
import type { FailureReason } from "./request-failure.js";

/**
 * One request to a model and what came of it, for a log of AI interactions. Known keys, and whatever looks like one, are
 * taken out of all texts. What agents have reported stands in them: such a log is as confidential as the store.
 */
export interface DeciderExchange {
  /** `gemini`, `ai-sdk` or `sampling`. */
  readonly decider: string;
  /** As the provider names it, where it is known. */
  readonly model?: string;
  readonly instanceId: string;
  readonly workflow: string;
  readonly operation: DecisionRequest["operation"];
  /** 1, or 2 for the retry. */
  readonly attempt: number;
  readonly request: { readonly system: string; readonly user: string };
  /** The model's text; where the request failed, what the provider says of it. */
  readonly response?: string;
  readonly failure?: { readonly reason: FailureReason; readonly status?: number };
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly milliseconds: number;
}

/** Hears of every request. What it throws or rejects with is a warning of the process, and stops no decision. */
export type OnExchange = (exchange: DeciderExchange) => unknown;
