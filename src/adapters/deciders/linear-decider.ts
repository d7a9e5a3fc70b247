import type { DeciderAnswer, DecisionRequest } from "../../decision/decision-request.js";
import { FINISH } from "../../definition/routed-definition.js";
import type { StepDecider } from "../../ports/step-decider.js";

/**
 * Goes through the steps in the order of the index, and finishes after the last: no model, no key. What a report says
 * makes no difference; gates do. Where a step says what may follow, the nearest of those ahead is taken, else the end,
 * else the first of them. A client that comes back stays on its step, but where it reports success on it.
 */
export class LinearDecider implements StepDecider {
  async decide(request: DecisionRequest): Promise<DeciderAnswer> {
    return { nextStep: nextInOrder(request), contextUpdates: {} };
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
