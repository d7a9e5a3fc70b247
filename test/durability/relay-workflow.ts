import * as z from "zod";
import { defineWorkflow } from "../../src/workflow/files/define-workflow.js";

/** The number of phases. */
export const LEGS = 4;

/** A workflow whose gates have a verifier, and evidence with a marker, by which each submission is found in the log. */
export const relay = defineWorkflow({
  type: "relay",
  revision: "1",
  name: "Relay",
  description: "Handed from host to host",
  phases: Array.from({ length: LEGS }, (_, index) => ({
    number: index + 1,
    name: `Leg ${index + 1}`,
    content: "# Run",
    gate: {
      evidence: z.object({ leg: z.literal(index + 1), marker: z.string() }),
      verify: [{ verifier: "timekeeper" }],
    },
  })),
});
