import { checkGate } from "../../gate/check-gate.js";
import { checkEvidenceSafety } from "../../gate/evidence.js";
import { exampleEvidence, requiredFormat } from "../../gate/format.js";
import { compileRules } from "../../gate/gate-rules.js";
import type { Problem } from "../../gate/verdict.js";
import type { JsonObject } from "../../workflow/json.js";
import type { FieldGate } from "../../workflow/structure.js";

/** A gate that was not passed: all that is wrong, and what is asked for. */
export interface StepRefusal {
  readonly problems: readonly Problem[];
  /** What the gate asks for, as JSON Schema. */
  readonly required: JsonObject;
  /** Evidence that it would take, as far as it tells. */
  readonly example?: JsonObject;
}

/** Where the evidence is handed in. */
export interface StepFacts {
  readonly session: string;
  readonly skill: string;
  /** The step's place in the index, from 1. */
  readonly number: number;
  readonly attempt: number;
}

/** How large evidence may be: as much as an agent writes into one call. */
const EVIDENCE = { maxBytes: 1024 * 1024, maxDepth: 64 };

/**
 * Takes evidence to a step's gate: undefined if it passes. Throws `EVIDENCE_UNSAFE` and `EVIDENCE_TOO_LARGE` for what is no
 * plain, bounded JSON.
 */
export async function judgeStep(gate: FieldGate, given: unknown, facts: StepFacts): Promise<StepRefusal | undefined> {
  const { evidence } = checkEvidenceSafety(given ?? {}, EVIDENCE);
  const rules = await compileRules(gate);
  const { session: id, skill, number, attempt } = facts;
  const surroundings = { session: { id, workflowType: skill, target: "", phase: number, attempt } };
  const verdict = checkGate(gate, evidence, { surroundings, ...(rules === undefined ? {} : { rules }) });
  if (verdict.passed) return undefined;
  return { problems: verdict.problems, ...asked(gate) };
}

/** What a gate asks for, as much of it as it shows. */
export function asked(gate: FieldGate): Omit<StepRefusal, "problems"> {
  const example = exampleEvidence(gate);
  return { required: requiredFormat(gate), ...(example === undefined ? {} : { example }) };
}
