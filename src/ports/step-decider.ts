/** The decider of routed workflows. `deciders/` has implementations. */

import type { DeciderAnswer, DecisionRequest } from "../routed/decision/request.js";

/** Chooses the next step; usually a language model. */
export interface StepDecider {
  /**
   * Answers a request. Ends soon after `signal` is aborted. Deadlines and the one retry of a failed request are the
   * decider's responsibility; if an answer is wrong, the engine asks again and says why in `problem`.
   * @throws {PhasegateError} `DECIDER_FAILED` when there is no answer.
   */
  decide(request: DecisionRequest, options: { readonly signal: AbortSignal }): Promise<DeciderAnswer>;
}
