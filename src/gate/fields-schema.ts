import type { JsonObject } from "../definition/json.js";
import type { FieldDefinition, FieldGate, FieldType, RuleDefinition } from "../definition/structure.js";

const TYPES: Record<FieldType, JsonObject> = {
  boolean: { type: "boolean" },
  integer: { type: "integer" },
  number: { type: "number" },
  string: { type: "string" },
  object: { type: "object" },
  list: { type: "array" },
  any: {},
};

/**
 * The fields of a gate as a JSON Schema (2020-12). `rules` and `verified_by` are words of our own, which
 * validators pass over: what must hold, and what is looked up whatever the evidence says.
 */
export function fieldsSchema({ fields, rules = [], verify = [] }: FieldGate): JsonObject {
  const required = fields.filter((field) => field.required).map(({ name }) => name);
  const whole = verify.filter(({ field }) => field === undefined).map(({ verifier }) => verifier);
  return {
    type: "object",
    properties: Object.fromEntries(
      fields.map((field) => {
        const checks = verify.filter((check) => check.field === field.name).map(({ verifier }) => verifier);
        return [field.name, fieldSchema(field, checks)];
      }),
    ),
    ...(required.length === 0 ? {} : { required }),
    ...inWords(rules, whole),
  };
}

function fieldSchema(
  { type, required, description, example, sample, rules = [] }: FieldDefinition,
  checks: string[],
): JsonObject {
  const shownExample = example ?? sample;
  return {
    ...TYPES[type],
    // A claim must be true to count.
    ...(type === "boolean" && required ? { const: true } : {}),
    ...(description === undefined ? {} : { description }),
    ...(shownExample === undefined ? {} : { examples: [shownExample] }),
    ...inWords(rules, checks),
  };
}

function inWords(rules: readonly RuleDefinition[], checks: string[]): JsonObject {
  return {
    ...(rules.length === 0 ? {} : { rules: rules.map(({ source, message }) => message ?? source) }),
    ...(checks.length === 0 ? {} : { verified_by: checks }),
  };
}
