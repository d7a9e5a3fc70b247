import * as z from "zod";
import { PhasegateError } from "../../errors.js";
import type { GivenStep } from "../steps/give-step.js";
import type { StepRefusal } from "../steps/judge-step.js";
import { nextStep } from "../steps/next-step.js";
import { defineTool } from "./define-tool.js";
import type { ToolSuccess } from "./workspace-tool.js";

/** The next step of a skill, or that there is none: then `done` is true. */
export interface StepAnswered extends ToolSuccess, Partial<GivenStep> {
  readonly done: boolean;
  /** For the model: what to do with it. */
  readonly message: string;
}

/** `next_step`: the next step of a skill, and no other. */
export const nextStepTool = defineTool({
  name: "next_step",
  title: "Next step",
  description:
    "Gives the next step of a skill, once the current one is done. If that one has a gate, hand in the evidence it asks for.",
  readOnly: false,
  input: z.strictObject({
    workflow: z.string().describe("The skill, as preload_workflow was called"),
    evidence: z.record(z.string(), z.unknown()).optional().describe("What the gate of the current step asks for"),
    step: z.string().optional().describe("Which one, where there are several to choose from"),
  }),
  async run({ workflow, evidence, step }, connection): Promise<StepAnswered> {
    const next = await nextStep(connection, {
      workflow,
      ...(evidence === undefined ? {} : { evidence }),
      ...(step === undefined ? {} : { step }),
    });
    switch (next.status) {
      case "step":
        return { success: true, done: false, ...next.step, message: messageFor(next.step) };
      case "done":
        return { success: true, done: true, message: `${next.after} was the last step: the workflow is done.` };
      case "refused":
        throw refused(next.at, next.refusal);
    }
  },
});

function messageFor({ number, of, gate, choices }: GivenStep): string {
  const evidence = gate === undefined ? "" : " with the evidence that its gate asks for";
  const choice = choices === undefined ? "" : ` It may lead to ${choices.join(" or ")}: give one as step.`;
  return `Step ${number} of ${of}. Do it whole, then call next_step${evidence}.${choice}`;
}

function refused(at: string, { problems, example }: StepRefusal): PhasegateError<"INVALID_INPUT"> {
  const found = problems.map(({ message }) => message).join("; ");
  const such = example === undefined ? "" : ` such as ${JSON.stringify(example)}`;
  return new PhasegateError("INVALID_INPUT", `the gate of ${at} is not passed: ${found}`, {
    remedy: `Do what is missing, then call next_step with evidence${such}.`,
    details: { field: "evidence" },
  });
}
