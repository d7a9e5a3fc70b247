import { shown } from "../../definition/names.js";
import { nearest } from "../../definition/nearest.js";
import { PhasegateError } from "../../errors.js";
import type { OpenedSkill } from "../preload/open-skill.js";
import type { StepEntry } from "./step-index.js";

/** A step that can't be next, or none where there are several. */
export function refuseChoice(wanted: string | undefined, entries: readonly StepEntry[]): never {
  const names = entries.map(({ step }) => step);
  const near = wanted === undefined ? undefined : nearest(wanted, names);
  const problem = wanted === undefined ? "there are several steps to choose from" : `${shown(wanted)} can't be next`;
  throw new PhasegateError("INVALID_INPUT", near === undefined ? problem : `${problem}; did you mean ${near}?`, {
    remedy:
      names.length === 0
        ? "Call next_step without a step: this was the last one."
        : `Give one of ${names.join(", ")} as step.`,
    details: { field: "step", expected: names.join(", ") },
  });
}

/** A skill that is one text. */
export function noSteps({ name }: OpenedSkill): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", `${shown(name)} has no steps in files of their own`, {
    remedy: "Follow its text, which preload_workflow gives whole.",
    details: { field: "workflow", expected: "a skill with step files" },
  });
}

/** A step behind another one's gate. */
export function notPast(target: StepEntry, between: StepEntry): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", `${target.step} can't be next: ${between.step} before it has a gate`, {
    remedy: `Go through ${between.step}: call next_step with that as step.`,
    details: { field: "step", expected: between.step },
  });
}

/** A gate that somebody guesses at. */
export function exhausted({ step }: StepEntry, number: number, limit: number): PhasegateError<"ATTEMPTS_EXHAUSTED"> {
  return new PhasegateError("ATTEMPTS_EXHAUSTED", `the gate of ${step} was failed ${limit} times`, {
    remedy: "Stop guessing. Ask the user for what the gate asks for.",
    details: { phase: number, attempts: limit, limit },
  });
}
