import * as z from "zod";
import { PhasegateError } from "../../errors.js";
import { type PreloadedWorkflow, preloadWorkflow } from "../preload/preload-workflow.js";
import type { GivenStep } from "../steps/give-step.js";
import type { StepRefusal } from "../steps/judge-step.js";
import { nextStep } from "../steps/next-step.js";
import { defineTool, type ToolSuccess } from "./tool.js";
/** A workflow, loaded: whole files, and what is missing. */
export interface WorkflowPreloaded extends ToolSuccess, PreloadedWorkflow {}

/** `preload_workflow`: all files of a workflow in one call. */
export const preloadWorkflowTool = defineTool({
  name: "preload_workflow",
  title: "Preload a workflow",
  description:
    "Loads all files of a workflow in one call: its definition, configuration, instructions, template and whatever else it " +
    "names; of a skill with steps, only the current one. Call it first, and don't read these files again.",
  readOnly: true,
  input: z.strictObject({
    workflow: z.string().describe("Its name, such as intake, or the path of its folder"),
    cursor: z.string().optional().describe("From the page before"),
    reload: z.boolean().optional().describe("Gives files once more that were given before"),
  }),
  async run({ workflow, cursor, reload }, connection): Promise<WorkflowPreloaded> {
    const loaded = await preloadWorkflow(connection, {
      workflow,
      ...(cursor === undefined ? {} : { cursor }),
      ...(reload === undefined ? {} : { reload }),
    });
    return { success: true, ...loaded };
  },
});

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
