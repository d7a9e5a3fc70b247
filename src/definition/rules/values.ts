import { typeOfValue } from "../field-types.js";
import type { JsonObject, JsonValue } from "../json.js";
import type { FieldType } from "../structure.js";

/**
 * What rules see of evidence: the fields that a gate declares, and none that was not handed in. A class of its
 * own, so that the language knows its fields and their types.
 */
export class EvidenceValue extends Map<string, unknown> {}
/** What rules see of a validator's parameters. */
export class ParamsValue extends Map<string, unknown> {}
/** What rules see of a session. */
export class SessionValue extends Map<string, unknown> {}

/** The language's type for each type of field. */
export const RULE_TYPES: Record<FieldType, string> = {
  boolean: "bool",
  integer: "int",
  number: "double",
  string: "string",
  object: "map<string, dyn>",
  list: "list<dyn>",
  any: "dyn",
};

/** What a rule may know of a session, and as what. */
export const SESSION_TYPES = {
  id: "string",
  workflow_type: "string",
  target: "string",
  phase: "int",
  attempt: "int",
} as const;

/** A value as rules see it: a declared integer is one to them, every other number a double. */
export function ruleValue(value: JsonValue, type: FieldType): unknown {
  return type === "integer" && Number.isSafeInteger(value) ? BigInt(Number(value)) : value;
}

/** Parameters as rules see them, with the type of each. */
export function ruleParams(params: JsonObject): {
  readonly value: ParamsValue;
  readonly types: Record<string, string>;
} {
  const entries = Object.entries(params);
  return {
    value: new ParamsValue(entries.map(([key, value]) => [key, ruleValue(value, typeOfValue(value) ?? "any")])),
    types: Object.fromEntries(entries.map(([key, value]) => [key, RULE_TYPES[typeOfValue(value) ?? "any"]])),
  };
}
