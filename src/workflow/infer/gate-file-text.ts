import type { JsonObject, JsonValue } from "../json.js";
import type { InferredRequirement } from "../requirement.js";
import type { FieldDefinition, FieldGate, RuleDefinition, VerifyDefinition } from "../structure.js";
/**
 * A gate as a gate file, which read again gives the same gate. What was guessed is named at its top, for
 * people to look over.
 */
export async function gateFileText(gate: FieldGate, inferred: readonly InferredRequirement[]): Promise<string> {
  const yaml = await import("yaml");
  const { strict, allowOverride, fields, rules = [], verify = [], approval, reveal } = gate;
  const content = {
    checkpoint: { strict, allow_override: allowOverride },
    evidence_schema: Object.fromEntries(fields.map((field) => [field.name, fieldOf(field, verify)])),
    ...listed("cross_field_validation", rules.map(crossOf)),
    ...listed("verify", verify.filter(({ field }) => field === undefined).map(checkOf)),
    ...(approval === undefined ? {} : { approval }),
    ...(reveal === undefined ? {} : { reveal }),
  };
  return [...headOf(inferred), "", yaml.stringify(content, { lineWidth: 0, aliasDuplicateObjects: false })].join("\n");
}

function headOf(inferred: readonly InferredRequirement[]): string[] {
  const file = inferred[0]?.file ?? "the phase's text";
  const guesses = inferred.filter(({ certainty }) => certainty === "guess");
  return [
    `# Read out of ${file} by "phasegate gate freeze". From now on this file counts, not the text.`,
    ...guesses.map(({ name, type, line }) => `# Guessed from line ${line}: ${name}, ${type}. Is it meant so?`),
  ];
}

function fieldOf(
  { type, required, description, example, rules = [], name }: FieldDefinition,
  verify: readonly VerifyDefinition[],
) {
  const params = rules.find((rule) => rule.params !== undefined)?.params;
  return {
    type,
    required,
    ...(description === undefined ? {} : { description }),
    ...(example === undefined ? {} : { example }),
    ...listed(
      "validator",
      rules.map(({ source }) => source),
    ),
    ...(params === undefined ? {} : { validator_params: params }),
    ...listed("verify", verify.filter(({ field }) => field === name).map(checkOf)),
  };
}

function crossOf({ source, message }: RuleDefinition): JsonValue {
  return { rule: source, ...(message === undefined ? {} : { error_message: message }) };
}

function checkOf({ verifier, params }: VerifyDefinition): JsonObject {
  return { verifier, ...params };
}

function listed<K extends string>(key: K, list: readonly JsonValue[]): { [P in K]?: JsonValue } {
  const entry: { [P in K]?: JsonValue } = {};
  if (list.length > 0) entry[key] = [...list];
  return entry;
}
