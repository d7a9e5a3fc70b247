import type { JsonObject, JsonValue } from "../workflow/json.js";
import type { FieldDefinition, FieldGate, RuleDefinition } from "../workflow/structure.js";
import type { Problem } from "./verdict.js";
/** What rules see beside the evidence. What isn't given is empty to them. */
export interface RuleSurroundings {
  /** The accepted evidence of earlier phases, by phase number. */
  readonly artifacts?: Readonly<Record<string, JsonValue>>;
  /** What the session's plan says of the phase. */
  readonly plan?: JsonObject;
  readonly session?: RuleSession;
}

/** The session as rules see it. */
export interface RuleSession {
  readonly id: string;
  readonly workflowType: string;
  readonly target: string;
  readonly phase: number;
  /** Which try this is, from 1. */
  readonly attempt: number;
}

/** The rules of one gate, ready to be run as often as evidence comes. */
export interface CompiledRules {
  /**
   * A problem for each rule that does not hold, or can't be worked out. Rules about fields with a problem
   * already (`faulty`) are left out: that one has been told. Never throws.
   */
  check(evidence: JsonObject, surroundings: RuleSurroundings, faulty: ReadonlySet<string>): Problem[];
}

/** Whether a gate has rules, and can't be passed without their being run. */
export function hasRules({ rules = [], fields }: FieldGate): boolean {
  return rules.length > 0 || fields.some((field) => (field.rules?.length ?? 0) > 0);
}

/** All rules of a gate, each with the field that it is about; without one, it is about the evidence as a whole. */
export function rulesOf({
  rules = [],
  fields,
}: FieldGate): { readonly rule: RuleDefinition; readonly field?: FieldDefinition }[] {
  return [
    ...fields.flatMap((field) => (field.rules ?? []).map((rule) => ({ rule, field }))),
    ...rules.map((rule) => ({ rule })),
  ];
}
