import type { StepDecider } from "../../../src/ports/step-decider.js";
import type { DeciderAnswer, DecisionRequest } from "../../../src/routed/decision/request.js";
import { createRoutedEngine } from "../../../src/routed/engine.js";
import type { RoutedEngineOptions } from "../../../src/routed/options.js";
import { MemoryStorage } from "../../../src/storage/memory/storage.js";
import { FakeClock } from "../../../src/testing/contract.js";
import { defineRoutedWorkflow, routedWorkflows } from "../../../src/workflow/files/define-routed-workflow.js";

/** Dig, sow and water, in any order. */
export const GARDEN = defineRoutedWorkflow({
  name: "GARDEN",
  goal: "Peas.",
  steps: [
    { name: "Dig", guidance: "Then sow.", instructions: "Dig a bed." },
    { name: "Sow", guidance: "Then water.", instructions: "Sow peas." },
    { name: "Water", guidance: "Then finish.", instructions: "Water them." },
  ],
});

/** The reaction of a scripted decider: a step's name, an answer, an error, or a function. */
export type Move =
  | string
  | Partial<DeciderAnswer>
  | Error
  | ((request: DecisionRequest, signal: AbortSignal) => unknown);

/** A decider that follows a script, and records its requests. */
export class Script implements StepDecider {
  readonly requests: DecisionRequest[] = [];
  readonly moves: Move[];

  constructor(...moves: Move[]) {
    this.moves = moves;
  }

  async decide(request: DecisionRequest, { signal }: { readonly signal: AbortSignal }): Promise<DeciderAnswer> {
    this.requests.push(request);
    const move = this.moves.shift() ?? "FINISH";
    const made: unknown = typeof move === "function" ? await move(request, signal) : move;
    if (made instanceof Error) throw made;
    const answer = typeof made === "string" ? { nextStep: made } : made;
    // Some scripts give invalid answers.
    return { nextStep: "", contextUpdates: {}, ...(answer as Partial<DeciderAnswer>) };
  }
}

/** Creates an engine in memory with a scripted decider. */
export function routed(decider: StepDecider, options: Partial<RoutedEngineOptions> = {}) {
  const storage = options.storage ?? new MemoryStorage();
  const clock = new FakeClock();
  const engine = createRoutedEngine({ storage, clock, decider, workflows: routedWorkflows(GARDEN), ...options });
  return { engine, storage, clock };
}

/** A report of success. */
export const DONE = { report: { status: "success" } } as const;
