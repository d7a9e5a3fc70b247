/** Types of compiled rules, and which rules a gate has. */

import type { JsonObject, JsonValue } from "../workflow/json.js";
import type { FieldDefinition, FieldGate, RuleDefinition } from "../workflow/structure.js";
import type { Problem } from "./verdict.js";

/** The session as rules see it. */
export interface RuleSession {
  /** The session's id. */
  readonly id: string;
  /** The type of its workflow. */
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
}

/** The compiled rules of one gate; can be run any number of times. */
export interface CompiledRules {
  /**
   * Returns a problem for each rule that does not hold or can't be evaluated. Skips rules about fields in
   * `faulty`, which already have a problem. Never throws.
   */
  check(evidence: JsonObject, surroundings: RuleSurroundings, faulty: ReadonlySet<string>): Problem[];
}

/** Returns true if a gate has rules, so that it can't be passed without running them. */
export function hasRules({ rules = [], fields }: FieldGate): boolean {
  return rules.length > 0 || fields.some((field) => (field.rules?.length ?? 0) > 0);
}

/**
 * Returns all rules of a gate, each with its field; a rule without a field is about the evidence as a
 * whole.
 */
export function rulesOf({
  rules = [],
  fields,
}: FieldGate): { readonly rule: RuleDefinition; readonly field?: FieldDefinition }[] {
  return [
    ...fields.flatMap((field) => (field.rules ?? []).map((rule) => ({ rule, field }))),
    ...rules.map((rule) => ({ rule })),
  ];
}
