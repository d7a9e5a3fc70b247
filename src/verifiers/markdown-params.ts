/** The parameters of the verifiers of Markdown. */
import * as z from "zod";
import { howOftenParams } from "./lines.js";
import { countParam, textParam } from "./params.js";
import { subjectParams } from "./subject.js";

export const headingParams = z.strictObject({
  ...subjectParams,
  under: textParam
    .optional()
    .describe("The heading below which headings are counted; case and marks don't matter. Default: none."),
  level: z
    .int()
    .min(1)
    .max(6)
    .optional()
    .describe("The level of the headings, 1 to 6. Default: one level below `under`; without `under`, all levels."),
  names: z.array(textParam).min(1).max(100).optional().describe("Headings that must be among them."),
  ...howOftenParams,
});

export type HeadingParams = z.infer<typeof headingParams>;

export const planParams = z.strictObject({
  ...subjectParams,
  min_tasks: countParam.optional().describe("Minimum number of tasks. Default: 1."),
  min_phases: countParam.optional().describe("Minimum number of phases. Default: 1."),
  no_warnings: z.boolean().optional().describe("True if warnings count as errors. Default: false."),
});

export type PlanParams = z.infer<typeof planParams>;
