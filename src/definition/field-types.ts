import { isJsonObject, type JsonValue } from "./json.js";
import type { FieldType } from "./structure.js";

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
]);

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

/** The narrowest type that a value is of; undefined for `null`. */
export function typeOfValue(value: JsonValue): FieldType | undefined {
  return (["boolean", "integer", "number", "string", "list", "object"] as const).find((type) => isOfType(value, type));
}
