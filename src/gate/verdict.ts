/**
 * The verdict of a gate and the problems in it. A problem is stored in session logs, so its schema is a
 * storage format.
 */

import * as z from "zod";
import { storedValueSchema } from "../workflow/json.js";

/** The kinds of problems with a field of evidence. */
export const PROBLEM_KINDS = [
  "missing",
  "wrong_type",
  "claimed_false",
  "empty",
  "invalid",
  "unverified",
  "denied",
] as const;

/** Checks a problem that was read from storage. */
export const problemSchema = z.object({
  /** The field, as a path with dots; `""` is the evidence as a whole. */
  field: z.string(),
  /** The kind of problem. */
  problem: z.enum(PROBLEM_KINDS),
  /** What is wrong, in a sentence that names the field. */
  message: z.string(),
  /** The submitted value, shortened. */
  got: z.string().optional(),
  /** What the gate expects. */
  expected: z.string().optional(),
  /** A value that the gate would accept. */
  example: z.optional(storedValueSchema),
});

/** One problem with evidence. */
export type Problem = z.infer<typeof problemSchema>;

/** The answer of a gate to evidence, with all problems at once. Warnings do not block. */
export type Verdict =
  | { readonly passed: true; readonly warnings: readonly Problem[] }
  | { readonly passed: false; readonly problems: readonly Problem[]; readonly warnings: readonly Problem[] };

/**
 * How gates are enforced. `strict` blocks on everything except softened rules; `as-defined` honours
 * `strict: false` in a gate file, so that wrong types and claims of `false` only warn.
 */
export type Enforcement = "strict" | "as-defined";
