import type { DeciderAnswer, DecisionRequest } from "../../decision/decision-request.js";
import { PhasegateError } from "../../errors.js";
import type { StepDecider } from "../../ports/step-decider.js";

/** An answer in a script: the name of the next step, an answer, or an error to fail with. */
export type ScriptedAnswer = string | (Partial<DeciderAnswer> & Pick<DeciderAnswer, "nextStep">) | Error;

/** Answers one after the other, or what is answered to any request. */
export type DeciderScript =
  | readonly ScriptedAnswer[]
  | ((request: DecisionRequest, options: { readonly signal: AbortSignal }) => ScriptedAnswer | Promise<ScriptedAnswer>);

/** Answers what a script says, for tests; `requests` is what it was asked. `DECIDER_FAILED` when the script is at its end. */
export class ScriptedDecider implements StepDecider {
  /** What it was asked, in order. */
  readonly requests: DecisionRequest[] = [];
  readonly #script: DeciderScript;

  constructor(script: DeciderScript) {
    this.#script = script;
  }

  async decide(request: DecisionRequest, options: { readonly signal: AbortSignal }): Promise<DeciderAnswer> {
    this.requests.push(request);
    const script = this.#script;
    const said = typeof script === "function" ? await script(request, options) : script[this.requests.length - 1];
    if (said === undefined) throw atItsEnd(this.requests.length);
    if (said instanceof Error) throw said;
    if (typeof said === "string") return { nextStep: said, contextUpdates: {} };
    return { contextUpdates: {}, ...said };
  }
}

function atItsEnd(requests: number): PhasegateError<"DECIDER_FAILED"> {
  return new PhasegateError("DECIDER_FAILED", `the script has no answer for request ${requests}`, {
    remedy:
      "Give the script as many answers as there are decisions; the engine asks again after an answer it can't use.",
    details: { reason: "unavailable", retryable: false, requests: 0 },
  });
}
