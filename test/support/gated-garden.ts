import { defineRoutedWorkflow, routedWorkflows } from "../../src/workflow/files/define-routed-workflow.js";
import type { FieldGate } from "../../src/workflow/structure.js";

/** A gate that requires the depth of the bed. */
export const DEPTH_GATE: FieldGate = {
  kind: "fields",
  strict: true,
  allowOverride: false,
  source: "gate-file",
  fields: [{ name: "depth", type: "integer", required: true }],
};

/** A garden whose digging has a gate. */
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

/** A garden whose first step requires the depth. */
export const GATED = gardenWith(DEPTH_GATE);
