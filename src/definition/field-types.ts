import { isJsonObject, type JsonValue } from "./json.js";
import type { FieldDefinition, FieldType } from "./structure.js";
import { saysNothing, visibleText } from "./visible-text.js";

/** The words that authors have for the types of fields. */
export const TYPE_WORDS: ReadonlyMap<string, FieldType> = new Map([
  ["boolean", "boolean"],
  ["bool", "boolean"],
  ["integer", "integer"],
  ["int", "integer"],
  ["number", "number"],
  ["float", "number"],
  ["string", "string"],
  ["str", "string"],
  ["object", "object"],
  ["dict", "object"],
  ["list", "list"],
  ["array", "list"],
  ["any", "any"],
]);

/** A value of each type that any field of it would take, unless it has rules. */
export const USUAL_EXAMPLES: Readonly<Record<FieldType, JsonValue>> = {
  boolean: true,
  integer: 3,
  number: 0.95,
  string: "what was done, in words",
  object: { key: "value" },
  list: ["first item"],
  any: true,
};

/** A value that a field would take: the author's example, one that was made for its rules, or one of its type. */
export function exampleOf(field: FieldDefinition): JsonValue {
  return field.example ?? field.sample ?? USUAL_EXAMPLES[field.type];
}

const HOLDS: Record<FieldType, (value: JsonValue) => boolean> = {
  boolean: (value) => typeof value === "boolean",
  integer: (value) => Number.isSafeInteger(value),
  number: (value) => typeof value === "number" && Number.isFinite(value),
  string: (value) => typeof value === "string",
  object: isJsonObject,
  list: Array.isArray,
  any: () => true,
};

/** Whether a value is of a field's type. */
export function isOfType(value: JsonValue, type: FieldType): boolean {
  return HOLDS[type](value);
}

/**
 * Whether a value is none, in a required field: blank text says nothing; where only a name is known, nor does
 * a list or an object in which nothing is said.
 */
export function isBlank(value: JsonValue, type: FieldType): boolean {
  if (typeof value === "string") return visibleText(value) === "";
  return type === "any" && typeof value === "object" && saysNothing(value);
}

/** The narrowest type that a value is of; undefined for `null`. */
export function typeOfValue(value: JsonValue): FieldType | undefined {
  return (["boolean", "integer", "number", "string", "list", "object"] as const).find((type) => isOfType(value, type));
}
