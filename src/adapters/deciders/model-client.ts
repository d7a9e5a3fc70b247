import type { DecisionPrompt } from "../../decision/build-decision-prompt.js";

/** What a model has answered to one request. */
export interface ModelReply {
  readonly text: string;
  readonly model?: string | undefined;
  readonly inputTokens?: number | undefined;
  readonly outputTokens?: number | undefined;
}

/** A model, behind whatever client. */
export interface ModelClient {
  /** `gemini`, `ai-sdk` or `sampling`. */
  readonly name: string;
  /** What errors call it. */
  readonly label: string;
  /**
   * One request, with no retry. Rejects with a `RequestFailure`, or with what the client threw; with a `PhasegateError`
   * where nothing could be sent at all.
   */
  ask(prompt: DecisionPrompt, signal: AbortSignal): Promise<ModelReply>;
}
