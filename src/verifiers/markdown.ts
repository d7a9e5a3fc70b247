/**
 * The verifiers of Markdown: `markdown_headings` (a file has certain headings; those without visible words, and those in code,
 * comments, quotations and lists, don't count) and `plan_parses` (a file is a plan that a session can be started on). What reads
 * Markdown is loaded with the first check.
 */
import { defineVerifier } from "./define-verifier.js";
import { checkHowOften } from "./lines.js";
import { headingParams, planParams } from "./markdown-params.js";

export const markdownHeadings = defineVerifier({
  about: "A Markdown file has so many headings, or certain ones.",
  params: headingParams,
  check: checkHowOften,
  verify: async (given, asked) => (await import("./judge-markdown.js")).judgeHeadings(given, asked),
});

export const planParses = defineVerifier({
  about: "A plan can be read without errors.",
  params: planParams,
  verify: async (given, asked) => (await import("./judge-markdown.js")).judgePlan(given, asked),
});
