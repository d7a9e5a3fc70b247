import { defineRoutedWorkflow, routedWorkflows } from "../../src/workflow/files/define-routed-workflow.js";
import type { FieldGate } from "../../src/workflow/structure.js";

/** Asks how deep the bed was dug. */
export const DEPTH_GATE: FieldGate = {
  kind: "fields",
  strict: true,
  allowOverride: false,
  source: "gate-file",
  fields: [{ name: "depth", type: "integer", required: true }],
};

/** A garden in which nothing follows the digging before a gate has passed. */
export function gardenWith(gate: FieldGate) {
  return routedWorkflows(
    defineRoutedWorkflow({
      name: "GARDEN",
      steps: [
        { name: "Dig", guidance: "Then sow.", instructions: "Dig.", gate, next: ["Sow"] },
        { name: "Sow", guidance: "Then finish.", instructions: "Sow." },
      ],
    }),
  );
}

/** A garden whose first step asks for the depth. */
export const GATED = gardenWith(DEPTH_GATE);
