/** The types of evidence fields: the words authors use for them, examples, and when a value counts as blank. */
import { HIDDEN } from "./hidden.js";
import { isJsonObject, type JsonValue } from "./json.js";
import type { FieldDefinition, FieldType } from "./structure.js";

/** The words for field types in gate files. */
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

/** An example for each type, for fields without rules. */
export const USUAL_EXAMPLES: Readonly<Record<FieldType, JsonValue>> = {
  boolean: true,
  integer: 3,
  number: 0.95,
  string: "what was done, in words",
  object: { key: "value" },
  list: ["first item"],
  any: true,
};

/** Returns the author's example of a field, or one that is known to pass its rules. */
export function exampleOf({ example, sample, rules, type }: FieldDefinition): JsonValue | undefined {
  return example ?? sample ?? (rules === undefined ? USUAL_EXAMPLES[type] : undefined);
}

export function isOfType(value: JsonValue, type: FieldType): boolean {
  switch (type) {
    case "integer":
      return Number.isSafeInteger(value);
    case "number":
      return Number.isFinite(value);
    case "object":
      return isJsonObject(value);
    case "list":
      return Array.isArray(value);
    case "any":
      return true;
    default:
      return typeof value === type;
  }
}

/** Checks whether a required value is blank: no visible text or, in a field of type `any`, nothing in a list or object. */
export function isBlank(value: JsonValue, type: FieldType): boolean {
  if (typeof value === "string") return isInvisible(value);
  return type === "any" && typeof value === "object" && saysNothing(value);
}

/** Returns the narrowest type of a value; undefined for `null`. */
export function typeOfValue(value: JsonValue): FieldType | undefined {
  return (["boolean", "integer", "number", "string", "list", "object"] as const).find((type) => isOfType(value, type));
}

/** Returns the visible part of a text: without hidden characters and without whitespace around it. */
export function visibleText(text: string): string {
  // Hidden whitespace stays: it separates words. At the ends of the text `trim` removes it.
  return text.replace(HIDDEN, (hidden) => (hidden.trim() ? "" : hidden)).trim();
}

/** Checks whether a text has no visible characters. Most begin with a visible ASCII character, and need not be read further. */
export function isInvisible(text: string): boolean {
  const first = text.charCodeAt(0);
  return !(first > 0x20 && first < 0x7f) && visibleText(text) === "";
}

/** Checks whether a value has no content: no visible text, no number and no flag at any depth. */
export function saysNothing(value: JsonValue | undefined): boolean {
  if (value === null || value === undefined) return true;
  if (typeof value === "string") return isInvisible(value);
  return typeof value === "object" && Object.values(value).every(saysNothing);
}
