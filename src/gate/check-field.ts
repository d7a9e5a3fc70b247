import { exampleOf, isBlank, isOfType } from "../definition/field-types.js";
import type { JsonObject, JsonValue } from "../definition/json.js";
import { shown } from "../definition/names.js";
import { nearest } from "../definition/nearest.js";
import type { FieldDefinition, FieldType } from "../definition/structure.js";
import type { Problem } from "./verdict.js";

/**
 * What is wrong with one field of evidence; undefined if nothing is. `strangers` gives the keys of
 * the evidence that no field of the gate has: one of them may have been meant.
 */
export function checkField(
  field: FieldDefinition,
  evidence: JsonObject,
  strangers: () => readonly string[],
): Problem | undefined {
  const value = Object.hasOwn(evidence, field.name) ? evidence[field.name] : undefined;
  if (value === undefined || value === null) return field.required ? missing(field, value, strangers) : undefined;
  if (!isOfType(value, field.type)) {
    return problem(field, "wrong_type", `'${field.name}' must be ${article(field.type)}`, value);
  }
  if (!field.required) return undefined;
  if (value === false) {
    return problem(field, "claimed_false", `'${field.name}' is claimed false: it must be done before this gate`, value);
  }
  if (isBlank(value, field.type)) {
    return problem(field, "empty", `'${field.name}' is empty`, value);
  }
  return undefined;
}

function missing(field: FieldDefinition, value: null | undefined, strangers: () => readonly string[]): Problem {
  const similar = nearest(field.name, strangers());
  const meant = similar === undefined ? "" : ` (you sent ${shown(similar)})`;
  return problem(field, "missing", `Required evidence '${field.name}' not provided${meant}`, value);
}

function problem(
  field: FieldDefinition,
  kind: Problem["problem"],
  message: string,
  value: JsonValue | undefined,
): Problem {
  const because = field.description === undefined ? "" : `: ${field.description}`;
  return {
    field: field.name,
    problem: kind,
    message: `${message}${because}`,
    got: value === undefined ? "nothing" : shown(value),
    expected: field.type === "boolean" && field.required ? "true" : article(field.type),
    example: exampleOf(field),
  };
}

function article(type: FieldType): string {
  if (type === "any") return "any value that is not empty";
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`;
}
