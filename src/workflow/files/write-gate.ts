/** Writes a gate as the text of a gate file that is read as the same gate. */
import type { InferredRequirement } from "../report.js";
import type { FieldDefinition, FieldGate, RuleDefinition, VerifyDefinition } from "../structure.js";
import { isLambda, type NamedRules, nameRules } from "./named-rules.js";

/** Returns the text for a gate that was read from a phase's text. Guesses are listed at its top, for people to review. */
export async function frozenGate(gate: FieldGate, inferred: readonly InferredRequirement[]): Promise<string> {
  const guesses = inferred.filter(({ certainty }) => certainty === "guess");
  return [
    `# Read out of ${inferred[0]?.file ?? "the phase's text"} by "phasegate gate freeze". From now on this file counts, not the text.`,
    ...guesses.map(({ name, type, line }) => `# Guessed from line ${line}: ${name}, ${type}. Is it meant so?`),
    "",
    await gateFileText(gate),
  ].join("\n");
}

/** Returns the text of a gate file. */
export async function gateFileText(gate: FieldGate): Promise<string> {
  const yaml = await import("yaml");
  return yaml.stringify(gateFileContent(gate), { lineWidth: 0, aliasDuplicateObjects: false });
}

/** Returns a gate as a gate file has it. */
export function gateFileContent(gate: FieldGate) {
  const { strict, allowOverride, fields, rules, verify = [], approval, reveal } = gate;
  const named = nameRules(fields, isLambda);
  return {
    checkpoint: { strict, allow_override: allowOverride === true },
    evidence_schema:
      fields.length === 0 ? undefined : entries(fields, (one) => [one.name, fieldText(one, verify, named)]),
    validators: named.table.size === 0 ? undefined : entries([...named.table], ([name, rule]) => [name, inCel(rule)]),
    cross_field_validation: rules?.map(({ source, message }) => ({ rule: source, error_message: message })),
    verify: checksText(verify, undefined),
    approval,
    reveal,
  };
}

function entries<T>(all: readonly T[], entry: (one: T) => readonly [string, object]) {
  return Object.fromEntries(all.map(entry));
}

function inCel({ cel, message }: RuleDefinition) {
  return { rule: cel, error_message: message };
}

function fieldText(field: FieldDefinition, verify: readonly VerifyDefinition[], { nameOf }: NamedRules) {
  const { type, required, description, example, rules, name } = field;
  return {
    ...{ type, required, description, example },
    allow_example: field.allowExample,
    waivable: field.waivable,
    validator: rules?.map(nameOf),
    validator_params: rules?.find(({ params }) => params !== undefined)?.params,
    verify: checksText(verify, name),
  };
}

function checksText(verify: readonly VerifyDefinition[], field: string | undefined) {
  const checks = verify.filter((check) => check.field === field);
  if (checks.length === 0) return undefined;
  return checks.map(({ verifier, params, description, waivable }) => ({ verifier, description, waivable, ...params }));
}
