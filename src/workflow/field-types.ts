import { isJsonObject, type JsonValue } from "./json.js";
import { HIDDEN } from "./names.js";
import type { FieldDefinition, FieldType } from "./structure.js";
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

/** Returns what a reader sees of a text: without blanks around it, and without characters that nobody sees. */
export function visibleText(text: string): string {
  // Hidden blanks stay: they part words, and only count where nothing is seen on one side of them.
  return text.replace(HIDDEN, (hidden) => (hidden.trim() ? "" : hidden)).trim();
}

/** Whether a value says nothing: no text that is seen, no number and no flag, however deep. */
export function saysNothing(value: JsonValue | undefined): boolean {
  if (value === null || value === undefined) return true;
  if (typeof value === "string") return visibleText(value) === "";
  return typeof value === "object" && Object.values(value).every(saysNothing);
}
