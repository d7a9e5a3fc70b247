import { defineWorkflow } from "phasegate";
import * as z from "zod";

/** Phase 1 requires a summary and a passing test run; phase 2 accepts any evidence. */
export const twoPhases = defineWorkflow({
  type: "two_phases",
  revision: "1",
  name: "Two phases",
  description: "The smallest workflow that has something to skip",
  category: "testing",
  estimatedDuration: "10 minutes",
  phases: [
    {
      number: 1,
      name: "Build",
      purpose: "Make it work",
      content: "# Phase 1: Build\n\nMake it work.\n",
      skippable: true,
      gate: {
        evidence: z.object({ summary: z.string().min(3), tests_pass: z.literal(true) }),
        example: { summary: "added the parser", tests_pass: true },
        allowExample: true,
        allowOverride: true,
      },
      tasks: [
        { name: "write the code", content: "# Task 1: Write the code\n\n## Steps\n\n### Step 1: Write\n" },
        { name: "test it", content: "# Task 2: Test it\n" },
      ],
    },
    { number: 2, name: "Ship", content: "# Phase 2: Ship\n" },
  ],
});

/** Evidence that passes the first gate of {@link twoPhases}. */
export const built = { summary: "added the parser", tests_pass: true } as const;
