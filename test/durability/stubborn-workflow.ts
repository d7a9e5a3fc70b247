import * as z from "zod";
import { defineWorkflow } from "../../src/workflow/files/define-workflow.js";

/** A workflow whose evidence has a marker, by which each submission can be found in the log. */
export const stubborn = defineWorkflow({
  type: "stubborn",
  revision: "1",
  name: "Stubborn",
  description: "Refuses what is not marked as passing",
  phases: [1, 2].map((number) => ({
    number,
    name: `Phase ${number}`,
    content: "# A phase",
    gate: { evidence: z.object({ marker: z.string(), passes: z.literal(true), filler: z.string() }) },
  })),
});

/** Returns evidence that passes or fails, with the given number of characters of filler. */
export function markedEvidence(marker: string, passes: boolean, filler = 10) {
  return { marker, passes, filler: "x".repeat(filler) };
}
