/**
 * The verdict of a gate and the problems in it, and what a gate's compiled rules can do. A problem is stored in session
 * logs, so its schema is a storage format.
 */
import * as z from "zod/mini";
import { type JsonObject, type JsonValue, storedValueSchema } from "../workflow/json.js";
import type { FieldDefinition, FieldGate, RuleDefinition } from "../workflow/structure.js";

/** The kinds of problems with a field of evidence. */
export const PROBLEM_KINDS = [
  "missing",
  "wrong_type",
  "claimed_false",
  "empty",
  "copied",
  "invalid",
  "unverified",
  "denied",
] as const;

const problemShape = z.object({
  /** The field, as a path with dots; `""` is the evidence as a whole. */
  field: z.string(),
  problem: z.enum(PROBLEM_KINDS),
  /** A sentence that says what is wrong and names the field. */
  message: z.string(),
  /** The submitted value, shortened. */
  got: z.optional(z.string()),
  /** The value that the gate expects, in words. */
  expected: z.optional(z.string()),
  /** A value that the gate would accept. */
  example: z.optional(storedValueSchema),
});
/** One problem with evidence. */
export interface Problem extends z.infer<typeof problemShape> {}

/** Checks a problem that was read from storage. Named by its type, or the declarations of all that has problems would list it. */
export const problemSchema: z.ZodMiniType<Problem> = problemShape;

/** The answer of a gate to evidence, with all problems at once. Warnings do not block. */
export type Verdict =
  | { readonly passed: true; readonly warnings: readonly Problem[] }
  | { readonly passed: false; readonly problems: readonly Problem[]; readonly warnings: readonly Problem[] };

/**
 * The strictness of gates. `strict` blocks on everything except softened rules; `as-defined` honours
 * `strict: false` in a gate file, so that wrong types and claims of `false` only warn.
 */
export type Enforcement = "strict" | "as-defined";

/** The session as rules see it. */
export interface RuleSession {
  readonly id: string;
  readonly workflowType: string;
  /** The target that the session was started on. */
  readonly target: string;
  /** The number of the current phase. */
  readonly phase: number;
  /** The number of this attempt, from 1. */
  readonly attempt: number;
}

/** What rules can read in addition to the evidence. A missing part is empty for them. */
export interface RuleSurroundings {
  /** The accepted evidence of earlier phases, by phase number. */
  readonly artifacts?: Readonly<Record<string, JsonValue>>;
  /** The phase as the session's plan describes it. */
  readonly plan?: JsonObject;
  /** The session that the evidence is for. */
  readonly session?: RuleSession;
  /** The options that the session was started with. */
  readonly options?: JsonObject;
}

/** The compiled rules of one gate; can be run any number of times. */
export interface CompiledRules {
  /** A problem for each rule that can't be compiled: with such a rule, no evidence passes. */
  readonly faults: readonly Problem[];
  /**
   * Returns a problem for each rule that does not hold or can't be evaluated. Skips rules about fields in
   * `faulty`, which already have a problem, and rules of the gate as a whole that read a field in `waived`, which has no
   * value. Never throws.
   */
  check(
    evidence: JsonObject,
    surroundings: RuleSurroundings,
    faulty: ReadonlySet<string>,
    waived?: ReadonlySet<string>,
  ): Problem[];
}

/** Returns true if a gate has rules, so that it can't be passed without running them. */
export function hasRules({ rules = [], fields }: FieldGate): boolean {
  return rules.length > 0 || fields.some((field) => (field.rules?.length ?? 0) > 0);
}

/** Returns all rules of a gate, each with its field; a rule without a field is about the evidence as a whole. */
export function rulesOf({ rules = [], fields }: FieldGate): { rule: RuleDefinition; field?: FieldDefinition }[] {
  return [
    ...fields.flatMap((field) => (field.rules ?? []).map((rule) => ({ rule, field }))),
    ...rules.map((rule) => ({ rule })),
  ];
}
