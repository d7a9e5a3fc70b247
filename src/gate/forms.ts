/**
 * Forms of evidence: what agents are shown in place of an example. Each value says what is wanted, such as `<integer: at
 * least 1>`, and is refused as evidence (see `isPlaceholder`): what is handed back unchanged never passes.
 */
import { isJsonObject, type JsonObject, type JsonValue, ownValue } from "../workflow/json.js";
import { listOf, targetOf } from "../workflow/json-schema-values.js";
import type { GateDefinition } from "../workflow/structure.js";
import { revealOf } from "./check-gate.js";
import { requiredFormat, requiredNames } from "./format.js";

/**
 * Returns the form of the evidence that a gate requires; undefined where the gate hides it, or comes from a plan. A brief one
 * has no rules and no descriptions, for a call beside the schema that has them.
 */
export function evidenceForm(gate: GateDefinition, { isBrief = false } = {}): JsonObject | undefined {
  if (gate.kind === "open") return { summary: "<text: what was done, in words>" };
  if (revealOf(gate) !== "fields" || gate.kind === "plan") return undefined;
  const format = requiredFormat(gate);
  const names = requiredNames(gate);
  if (names.length === 0) return undefined;
  return Object.fromEntries(names.map((name) => [name, formOf(ownValue(format.properties, name), format, isBrief)]));
}

/** The deepest object whose members have forms of their own. */
const DEPTH_MAX = 3;

function formOf(given: JsonValue | undefined, root: JsonObject, isBrief: boolean, depth = 0): JsonValue {
  const own = isJsonObject(given) ? given : {};
  const schema = { ...targetOf(own, root), ...own };
  const { properties, required } = schema;
  if (isJsonObject(properties) && depth < DEPTH_MAX) {
    const names = Array.isArray(required) && required.length > 0 ? required.map(String) : Object.keys(properties);
    return Object.fromEntries(names.map((name) => [name, formOf(properties[name], root, isBrief, depth + 1)]));
  }
  // In a call to make, the value that must be would be a claim.
  const { const: _, ...open } = schema;
  const shown = isBrief ? boundsOf(open) : [...boundsOf(schema), ...listOf(schema.rules), schema.description];
  const about = shown.filter((part) => typeof part === "string" && part !== "");
  const text = about.join("; ").replace(/\s+/g, " ").slice(0, WORDS_MAX);
  return `<${kindOf(schema, root)}${text === "" ? "" : `: ${text}`}>`;
}

/** The longest words about a value, in characters. */
const WORDS_MAX = 200;

/** The words for the types of JSON Schema, for one and for several. */
const KINDS: Readonly<Record<string, readonly [one: string, several: string]>> = {
  string: ["text", "texts"],
  integer: ["integer", "integers"],
  number: ["number", "numbers"],
  boolean: ["boolean", "booleans"],
  object: ["object", "objects"],
  array: ["list", "lists"],
};

function kindOf(schema: JsonObject, root: JsonObject): string {
  if (schema.const !== undefined) return typeof schema.const === "boolean" ? "boolean" : "value";
  if (Array.isArray(schema.enum)) return `one of ${schema.enum.map((value) => JSON.stringify(value)).join(", ")}`;
  const [one] = typeof schema.type === "string" ? (KINDS[schema.type] ?? []) : [];
  if (schema.type !== "array") return one ?? "value";
  const item = isJsonObject(schema.items) ? { ...targetOf(schema.items, root), ...schema.items } : {};
  const [, several = "values"] = typeof item.type === "string" ? (KINDS[item.type] ?? []) : [];
  const least = typeof schema.minItems === "number" ? schema.minItems : 0;
  return least > 0 ? `${least} or more ${several}` : `list of ${several}`;
}

/** The bounds of JSON Schema, each with its words. */
const BOUNDS: readonly (readonly [key: string, words: (value: JsonValue) => string])[] = [
  ["const", (value) => `${JSON.stringify(value)}, once it is so`],
  ["minimum", (value) => `at least ${value}`],
  ["exclusiveMinimum", (value) => `more than ${value}`],
  ["maximum", (value) => `at most ${value}`],
  ["exclusiveMaximum", (value) => `less than ${value}`],
  ["minLength", (value) => `${value} or more characters`],
  ["maxLength", (value) => `at most ${value} characters`],
  ["maxItems", (value) => `at most ${value} of them`],
  ["pattern", (value) => `matching ${value}`],
  ["format", (value) => `a ${value}`],
];

function boundsOf(schema: JsonObject): string[] {
  return BOUNDS.flatMap(([key, words]) => {
    const value = schema[key];
    // zod writes the largest safe integers out.
    const isUsual = typeof value === "number" && Math.abs(value) >= Number.MAX_SAFE_INTEGER;
    return value === undefined || isUsual ? [] : [words(value)];
  });
}
