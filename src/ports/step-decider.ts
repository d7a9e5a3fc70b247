import type { DeciderAnswer, DecisionRequest } from "../routed/decision/request.js";

/** Picks the next step: a language model, as a rule. */
export interface StepDecider {
  /**
   * Answers, or rejects with `DECIDER_FAILED`. Ends soon after `signal` is aborted. Deadlines and the one retry of a
   * failed request are the decider's own; what is wrong with an answer, the engine says in `problem`.
   */
  decide(request: DecisionRequest, options: { readonly signal: AbortSignal }): Promise<DeciderAnswer>;
}
