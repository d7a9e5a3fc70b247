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

/** Returns the brief form of a field, if that has members; undefined for any other field. */
export function formOfMembers(format: JsonObject, name: string): JsonValue | undefined {
  const form = formOf(ownValue(format.properties, name), format, true);
  return typeof form === "string" ? undefined : form;
}

/** The deepest object whose members have forms of their own. */
const DEPTH_MAX = 3;

function formOf(given: JsonValue | undefined, root: JsonObject, isBrief: boolean, depth = 0): JsonValue {
  const own = isJsonObject(given) ? given : {};
  const told = { ...targetOf(own, root), ...own };
  // A form with words has them in place of the members that an example shows.
  const shape = isBrief ? shapeOf(listOf(told.examples)[0]) : {};
  const schema = shape.type === told.type ? { ...shape, ...told } : told;
  const { properties, required, items, minItems } = schema;
  if (isJsonObject(properties) && depth < DEPTH_MAX) {
    const names = Array.isArray(required) && required.length > 0 ? required.map(String) : Object.keys(properties);
    return Object.fromEntries(names.map((name) => [name, formOf(properties[name], root, isBrief, depth + 1)]));
  }
  if (isBrief && isJsonObject(items) && !(Number(minItems) > 1)) {
    const item = formOf(items, root, isBrief, depth);
    if (typeof item !== "string") return [item];
  }
  // In a call to make, the value that must be would be a claim.
  const { const: _, ...open } = schema;
  const shown = isBrief ? boundsOf(open) : [...boundsOf(schema), ...listOf(schema.rules), schema.description];
  const about = shown.filter((part) => typeof part === "string" && part !== "");
  const text = about.join("; ").replace(/\s+/g, " ").slice(0, WORDS_MAX);
  return `<${kindOf(schema, root)}${text === "" ? "" : `: ${text}`}>`;
}

/** A name of a member, in contrast to a key such as a path or an id, which only stands for others. */
const NAME = /^[A-Za-z_]\w*$/;

/** Returns the schema of values like an example: what it is a list of, and the members of an object, if it names them. */
function shapeOf(example: JsonValue | undefined): JsonObject {
  if (Array.isArray(example)) return { type: "array", items: shapeOf(example[0]) };
  if (typeof example === "number") return { type: Number.isInteger(example) ? "integer" : "number" };
  if (!isJsonObject(example)) return example === null ? {} : { type: typeof example };
  const members = Object.entries(example);
  if (members.length === 0 || !members.every(([name]) => NAME.test(name))) return { type: "object" };
  return { type: "object", properties: Object.fromEntries(members.map(([name, one]) => [name, shapeOf(one)])) };
}

/** The longest words about a value, in characters. */
const WORDS_MAX = 200;

/** The words for the types of JSON Schema, for one and for several. */
const KINDS: ReadonlyMap<JsonValue | undefined, readonly [one: string, several: string]> = new Map([
  ["string", ["text", "texts"]],
  ["integer", ["integer", "integers"]],
  ["number", ["number", "numbers"]],
  ["boolean", ["boolean", "booleans"]],
  ["object", ["object", "objects"]],
  ["array", ["list", "lists"]],
]);

function kindOf(schema: JsonObject, root: JsonObject): string {
  if (schema.const !== undefined) return typeof schema.const === "boolean" ? "boolean" : "value";
  if (Array.isArray(schema.enum)) return `one of ${schema.enum.map((value) => JSON.stringify(value)).join(", ")}`;
  const [one] = KINDS.get(schema.type) ?? ["value"];
  if (schema.type !== "array") return one;
  const item = isJsonObject(schema.items) ? { ...targetOf(schema.items, root), ...schema.items } : {};
  const several = KINDS.get(item.type)?.[1] ?? "values";
  const least = Number(schema.minItems);
  return least > 0 ? `${least} or more ${several}` : `${one} of ${several}`;
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
