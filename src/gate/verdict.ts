import * as z from "zod";
import { storedValueSchema } from "../workflow/json.js";

/** What can be wrong with one field of evidence. */
export const PROBLEM_KINDS = [
  "missing",
  "wrong_type",
  "claimed_false",
  "empty",
  "invalid",
  "unverified",
  "denied",
] as const;

/** Checks a problem that comes out of a store. */
export const problemSchema = z.object({
  /** The field, as a path with dots; `""` is the evidence as a whole. */
  field: z.string(),
  problem: z.enum(PROBLEM_KINDS),
  /** What is wrong, in a sentence that names the field. */
  message: z.string(),
  /** What was handed in, shortened. */
  got: z.string().optional(),
  expected: z.string().optional(),
  /** A value that would do. */
  example: z.optional(storedValueSchema),
});

/** One thing that is wrong with evidence. */
export type Problem = z.infer<typeof problemSchema>;

/** What a gate says to evidence: all that is wrong at once. Warnings do not block. */
export type Verdict =
  | { readonly passed: true; readonly warnings: readonly Problem[] }
  | { readonly passed: false; readonly problems: readonly Problem[]; readonly warnings: readonly Problem[] };

/**
 * How gates are read: `strict` blocks on everything but softened rules; `as-defined` takes a gate
 * file with `strict: false` at its word, so that wrong types and claims of false only warn.
 */
export type Enforcement = "strict" | "as-defined";
