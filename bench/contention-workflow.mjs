import { defineWorkflow } from "phasegate";
import * as z from "zod";

/** A gate that lets nothing through: submissions that any number of processes may make at once. */
export const refusingWorkflow = defineWorkflow({
  type: "refusing",
  revision: "1",
  name: "Refusing",
  description: "Refuses what is not done",
  phases: [
    {
      number: 1,
      name: "Work",
      content: "# Work",
      gate: { evidence: z.object({ done: z.literal(true), note: z.string() }) },
    },
  ],
});
