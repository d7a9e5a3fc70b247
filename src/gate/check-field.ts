import { isOfType } from "../definition/field-types.js";
import type { JsonObject, JsonValue } from "../definition/json.js";
import { shown } from "../definition/names.js";
import { nearest } from "../definition/nearest.js";
import type { FieldDefinition, FieldType } from "../definition/structure.js";
import { visibleText } from "../definition/visible-text.js";
import type { Problem } from "./verdict.js";

const EXAMPLES: Record<FieldType, JsonValue> = {
  boolean: true,
  integer: 3,
  number: 0.95,
  string: "what was done, in words",
  object: { key: "value" },
  list: ["first item"],
  any: true,
};

/** A value that a field would take: the author's example, or one of its type. */
export function exampleOf(field: FieldDefinition): JsonValue {
  return field.example ?? EXAMPLES[field.type];
}

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
  if (isEmpty(value, field.type)) {
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

/** Blank text says nothing; where only a name is known, nor does a list or an object without anything in it. */
function isEmpty(value: JsonValue, type: FieldType): boolean {
  if (typeof value === "string") return visibleText(value) === "";
  return type === "any" && typeof value === "object" && value !== null && Object.keys(value).length === 0;
}
