/**
 * Reads JSON Schemas for hints about what evidence should be: the schema at a path, what it expects in a few words, and
 * an example.
 */

import { isJsonObject, type JsonObject, type JsonValue } from "../workflow/json.js";

/** Returns the JSON Schema of the value at a path. */
export function schemaAt(schema: JsonObject | undefined, path: readonly PropertyKey[]): JsonObject | undefined {
  let current: JsonValue | undefined = schema;
  for (const key of path) {
    if (!isJsonObject(current)) return undefined;
    current = typeof key === "number" ? current.items : child(current.properties, String(key));
  }
  return isJsonObject(current) ? current : undefined;
}

/** Returns the schemas of an object's properties, by name; undefined if the schema does not tell them. */
export function propertiesOf(schema: JsonObject | undefined): ReadonlyMap<string, JsonObject> | undefined {
  const { properties } = schema ?? {};
  if (!isJsonObject(properties)) return undefined;
  const known = Object.entries(properties).map(([name, property]): [string, JsonObject] => [
    name,
    isJsonObject(property) ? resolved(property, schema) : {},
  ]);
  return new Map(known);
}

/** Begins a reference to a schema that has an id: `z.boolean().meta({ id: "Done" })`. */
const DEFINED = "#/$defs/";

/** Returns a schema together with the one that it refers to, if any. */
function resolved(schema: JsonObject, root: JsonObject | undefined): JsonObject {
  const { $ref, ...own } = schema;
  if (typeof $ref !== "string" || !$ref.startsWith(DEFINED)) return schema;
  const target = child(root?.$defs, $ref.slice(DEFINED.length));
  return isJsonObject(target) ? { ...target, ...own } : schema;
}

/** Describes in a few words what a JSON Schema expects. */
export function expectedBy(schema: JsonObject): string | undefined {
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (Array.isArray(schema.enum)) return `one of ${schema.enum.map((value) => JSON.stringify(value)).join(", ")}`;
  if (typeof schema.type !== "string") return undefined;
  const bounds = ["minimum", "maximum", "minLength", "maxLength", "minItems", "pattern", "format"]
    .filter((bound) => schema[bound] !== undefined)
    .map((bound) => `${bound} ${String(schema[bound])}`);
  return [schema.type, ...bounds].join(", ");
}

/** Limits the depth of a generated example. */
const DEPTH_MAX = 4;

/**
 * Generates a value that a JSON Schema accepts; undefined where the schema says too little. An author's own
 * example takes precedence, since refinements in code are not in the schema.
 */
export function exampleBy(schema: JsonObject, depth = 0): JsonValue | undefined {
  if (schema.const !== undefined) return schema.const;
  if (schema.default !== undefined) return schema.default;
  if (Array.isArray(schema.enum)) return schema.enum[0];
  switch (schema.type) {
    case "boolean":
      return true;
    case "integer":
    case "number":
      return typeof schema.minimum === "number" ? schema.minimum : 1;
    case "string":
      return "…".padEnd(typeof schema.minLength === "number" ? Math.min(schema.minLength, 80) : 1, "…");
    case "array":
      return [];
    case "object":
      return depth < DEPTH_MAX ? objectBy(schema, depth) : {};
    default:
      return undefined;
  }
}

function child(properties: JsonValue | undefined, name: string): JsonValue | undefined {
  return isJsonObject(properties) && Object.hasOwn(properties, name) ? properties[name] : undefined;
}

/** Generates the required properties of an object. */
function objectBy(schema: JsonObject, depth: number): JsonObject {
  const required = Array.isArray(schema.required) ? schema.required : [];
  const object: JsonObject = {};
  for (const name of required) {
    const property = child(schema.properties, String(name));
    const value = isJsonObject(property) ? exampleBy(property, depth + 1) : undefined;
    if (value !== undefined) object[String(name)] = value;
  }
  return object;
}
