/**
 * The verifiers of Markdown: `markdown_headings` (a file has certain headings; those without visible words, and those in code,
 * comments, quotations and lists, don't count) and `plan_parses` (a file is a plan that a session can be started on). What reads
 * Markdown is loaded with the first check.
 */
import * as z from "zod";
import { defineVerifier } from "./define-verifier.js";
import { checkHowOften, howOftenParams } from "./lines.js";
import { countParam, textParam } from "./params.js";
import { subjectParams } from "./subject.js";

const headingParams = z.strictObject({
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

/** What `markdown_headings` takes. */
export type HeadingParams = z.infer<typeof headingParams>;

/** Checks how many headings a Markdown file has, and which. */
export const markdownHeadings = defineVerifier({
  about: "A Markdown file has so many headings, or certain ones.",
  params: headingParams,
  check: checkHowOften,
  verify: async (given, asked) => (await import("./judge-markdown.js")).judgeHeadings(given, asked),
});

const planParams = z.strictObject({
  ...subjectParams,
  min_tasks: countParam.optional().describe("Minimum number of tasks. Default: 1."),
  min_phases: countParam.optional().describe("Minimum number of phases. Default: 1."),
  no_warnings: z.boolean().optional().describe("True if warnings count as errors. Default: false."),
});

/** What `plan_parses` takes. */
export type PlanParams = z.infer<typeof planParams>;

/** Checks whether a file is read as a plan without errors, with phases and tasks. */
export const planParses = defineVerifier({
  about: "A plan can be read without errors.",
  params: planParams,
  verify: async (given, asked) => (await import("./judge-markdown.js")).judgePlan(given, asked),
});
