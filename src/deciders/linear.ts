/** Deciders without a model: `LinearDecider` follows the order of the index, `ScriptedDecider` a script for tests. */
import { PhasegateError } from "../errors.js";
import type { StepDecider } from "../ports/step-decider.js";
import type { DeciderAnswer, DecisionRequest } from "../routed/decision/request.js";
import { FINISH } from "../workflow/routed-definition.js";

/**
 * Follows the steps in the order of the index, and finishes after the last one, without a model. Reports do not change the
 * order; gates may hold it up. If a step restricts what may follow, the next allowed step in order is chosen, else the end,
 * else the first allowed step. A client that resumes stays at its step, unless it reports success there.
 */
export class LinearDecider implements StepDecider {
  /** Returns the next step in order. */
  async decide(request: DecisionRequest): Promise<DeciderAnswer> {
    return { nextStep: nextInOrder(request), contextUpdates: {} };
  }
}

/** An answer in a script: the name of the next step, an answer, or an error to fail with. */
export type ScriptedAnswer = string | (Partial<DeciderAnswer> & Pick<DeciderAnswer, "nextStep">) | Error;

/** A list of answers in order, or a function that answers each request. */
export type DeciderScript =
  | readonly ScriptedAnswer[]
  | ((request: DecisionRequest, options: { readonly signal: AbortSignal }) => ScriptedAnswer | Promise<ScriptedAnswer>);

/** Answers from a script, for tests. */
export class ScriptedDecider implements StepDecider {
  /** The requests so far, in order. */
  readonly requests: DecisionRequest[] = [];
  readonly #script: DeciderScript;

  /** Creates a decider that follows a script. */
  constructor(script: DeciderScript) {
    this.#script = script;
  }

  /**
   * Returns the next answer of the script.
   *
   * @throws {PhasegateError} `DECIDER_FAILED` when the script is at its end.
   */
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

function nextInOrder({ workflow, allowed, operation, currentStep, assumedStep, report }: DecisionRequest): string {
  const may = new Set(allowed);
  const names = workflow.steps.map(({ name }) => name);
  const done = operation !== "resume" || (assumedStep === currentStep && report?.status === "success");
  if (currentStep !== undefined && !done && may.has(currentStep)) return currentStep;
  const at = currentStep === undefined ? -1 : names.indexOf(currentStep);
  const ahead = names.slice(at + 1).find((name) => may.has(name));
  return ahead ?? (may.has(FINISH) ? FINISH : (names.find((name) => may.has(name)) ?? FINISH));
}

function atItsEnd(requests: number): PhasegateError<"DECIDER_FAILED"> {
  return new PhasegateError("DECIDER_FAILED", `the script has no answer for request ${requests}`, {
    remedy: "Give the script as many answers as there are decisions; the engine asks again after an unusable answer.",
    details: { reason: "unavailable", retryable: false, requests: 0 },
  });
}
