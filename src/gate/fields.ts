/** The fields that a gate asks for; and of its JSON Schema the part at a path, its words, and an example. */
import { isJsonObject, type JsonObject, type JsonValue, ownValue } from "../workflow/json.js";
import { schemasIn } from "../workflow/json-schema.js";
import { listOf, targetOf } from "../workflow/json-schema-values.js";
import { sampleBy } from "../workflow/schema-sample.js";
import type { GateDefinition, SchemaGate } from "../workflow/structure.js";
import { ITEMS_FIELD, requiredItems, TASKS_FIELD } from "./plan-gate.js";

/** A field that a gate of any kind asks for. */
interface AskedField {
  readonly name: string;
  readonly required: boolean;
  readonly type?: JsonValue;
  readonly description?: JsonValue;
}

/** Returns the fields that a gate asks for, as far as it tells them. */
export function fieldsOf(gate: GateDefinition): readonly AskedField[] {
  switch (gate.kind) {
    case "open":
      return [];
    case "fields":
      return gate.fields;
    case "plan": {
      const names = [TASKS_FIELD, ...(Object.keys(requiredItems(gate)).length === 0 ? [] : [ITEMS_FIELD])];
      return names.map((name) => ({ name, required: true }));
    }
    case "schema": {
      const properties = propertiesOf(gate.jsonSchema);
      const required = listOf(gate.jsonSchema?.required).filter((name) => typeof name === "string");
      return [...new Set([...required, ...properties.keys()])].map((name) => {
        const { type, description } = properties.get(name) ?? {};
        return { name, required: required.includes(name), type, description };
      });
    }
  }
}

export function schemaAt(schema: JsonObject | undefined, path: readonly PropertyKey[]): JsonObject | undefined {
  let current: JsonValue | undefined = schema;
  for (const key of path) {
    if (!isJsonObject(current)) return undefined;
    current = typeof key === "number" ? current.items : ownValue(current.properties, String(key));
  }
  return isJsonObject(current) ? current : undefined;
}

/** Returns the schemas of an object's properties, by name. */
export function propertiesOf(schema: JsonObject = {}): ReadonlyMap<string, JsonObject> {
  const known = Object.entries(isJsonObject(schema.properties) ? schema.properties : {});
  return new Map(known.map(([name, own]) => [name, isJsonObject(own) ? resolved(own, schema) : {}]));
}

/** Begins a reference to a schema that has an id: `z.boolean().meta({ id: "Done" })`. */
const DEFINED = "#/$defs/";

/** Returns a schema together with the one that it refers to, if any. */
function resolved(schema: JsonObject, root: JsonObject): JsonObject {
  const { $ref, ...own } = schema;
  if (typeof $ref !== "string" || !$ref.startsWith(DEFINED)) return schema;
  const target = ownValue(root.$defs, $ref.slice(DEFINED.length));
  return isJsonObject(target) ? { ...target, ...own } : schema;
}

/** Returns the outermost properties, of all branches of a union, that are marked `waivable: false` or hold a part that is. */
export function fixedIn(schema: JsonObject = {}): string[] {
  const found = new Set<string>();
  const seen = new Set<unknown>();
  const collect = (value: JsonValue | undefined): void => {
    if (!isJsonObject(value) || seen.has(value)) return;
    seen.add(value);
    for (const [name, property] of Object.entries(isJsonObject(value.properties) ? value.properties : {})) {
      if (holdsFixed(property, schema, new Set())) found.add(name);
    }
    for (const parts of [value.anyOf, value.oneOf, value.allOf]) for (const part of listOf(parts)) collect(part);
    collect(targetOf(value, schema));
  };
  collect(schema);
  return [...found];
}

/** Returns true if a schema, or one inside it, is marked `waivable: false`. */
function holdsFixed(schema: JsonValue, root: JsonObject, seen: Set<unknown>): boolean {
  for (const part of schemasIn(schema)) {
    if (part.waivable === false) return true;
    const target = targetOf(part, root);
    if (target === undefined || seen.has(target)) continue;
    seen.add(target);
    if (holdsFixed(target, root, seen)) return true;
  }
  return false;
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

/**
 * Returns an example of the value at a path of a gate's evidence: the author's, or one that the schema accepts; undefined
 * if none is known. An item of a list has the example of the first one.
 */
export function exampleAt(
  { example, sample, jsonSchema }: SchemaGate,
  path: readonly PropertyKey[],
): JsonValue | undefined {
  if (path.length === 0) return undefined;
  const found = valueAt(example, path) ?? valueAt(sample?.values, path);
  if (found !== undefined || sample !== undefined) return found;
  // No schema in code was run for this gate.
  const schema = schemaAt(jsonSchema, path);
  return schema === undefined ? undefined : sampleBy(schema);
}

function valueAt(value: JsonValue | undefined, path: readonly PropertyKey[]): JsonValue | undefined {
  let current = value;
  for (const key of path) {
    if (Array.isArray(current)) current = current[0];
    else current = ownValue(current, String(key));
  }
  return current;
}
