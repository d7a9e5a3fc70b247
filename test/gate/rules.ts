import { checkGate, type GateContext } from "../../src/gate/check-gate.js";
import { compileRules } from "../../src/gate/judge.js";
import { readWorkflow } from "../../src/workflow/files/read-workflow.js";
import type { JsonObject } from "../../src/workflow/json.js";
import type { FieldGate } from "../../src/workflow/structure.js";
import { texts } from "../workflow/workflow-texts.js";

/** Returns the gate of a gate file's text, after a phase with the gate file `before`; throws its diagnostics. */
export async function gateOf(text: string, before?: string): Promise<FieldGate> {
  const own = before === undefined ? 1 : 2;
  const files = { "phases/1/gate-definition.yaml": before, [`phases/${own}/gate-definition.yaml`]: text };
  const { definition, diagnostics } = await readWorkflow("garden_v1", texts(files));
  const gate = definition?.structure.phases[own - 1]?.gate;
  if (gate?.kind !== "fields") {
    throw new Error(diagnostics.map(({ message, hint }) => `${message} (${hint})`).join("\n"));
  }
  return gate;
}

/** Returns a gate with a field called `x` and a validator. */
export function validated(type: string, validator: string, params?: JsonObject): Promise<FieldGate> {
  const rest = params === undefined ? "" : `, validator_params: ${JSON.stringify(params)}`;
  return gateOf(`evidence_schema:\n  x: {type: ${type}, validator: ${JSON.stringify(validator)}${rest}}\n`);
}

/** Returns the verdict on evidence, with rules. */
export async function judge(gate: FieldGate, evidence: JsonObject, context: GateContext = {}) {
  const rules = await compileRules(gate);
  return checkGate(gate, evidence, { ...context, ...(rules === undefined ? {} : { rules }) });
}

/** Returns the messages of the blocking problems. */
export async function complaints(gate: FieldGate, evidence: JsonObject, context: GateContext = {}): Promise<string[]> {
  const verdict = await judge(gate, evidence, context);
  return verdict.passed ? [] : verdict.problems.map(({ message }) => message);
}
