/**
 * The verdict of a gate and the problems in it. A problem is stored in session logs, so its schema is a
 * storage format.
 */

import * as z from "zod/mini";
import { type JsonValue, storedValueSchema } from "../workflow/json.js";

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

/** One problem with evidence. */
export interface Problem {
  /** The field, as a path with dots; `""` is the evidence as a whole. */
  field: string;
  /** The kind of problem. */
  problem: "missing" | "wrong_type" | "claimed_false" | "empty" | "invalid" | "unverified" | "denied";
  /** What is wrong, in a sentence that names the field. */
  message: string;
  /** The submitted value, shortened. */
  got?: string | undefined;
  /** What the gate expects. */
  expected?: string | undefined;
  /** A value that the gate would accept. */
  example?: JsonValue | undefined;
}

/** Checks a problem that was read from storage. */
export const problemSchema = z.object({
  field: z.string(),
  problem: z.enum(PROBLEM_KINDS),
  message: z.string(),
  got: z.optional(z.string()),
  expected: z.optional(z.string()),
  example: z.optional(storedValueSchema),
});

/** The answer of a gate to evidence, with all problems at once. Warnings do not block. */
export type Verdict =
  | { readonly passed: true; readonly warnings: readonly Problem[] }
  | { readonly passed: false; readonly problems: readonly Problem[]; readonly warnings: readonly Problem[] };

/**
 * How gates are enforced. `strict` blocks on everything except softened rules; `as-defined` honours
 * `strict: false` in a gate file, so that wrong types and claims of `false` only warn.
 */
export type Enforcement = "strict" | "as-defined";
