/**
 * Makes values that a schema accepts, as examples for agents. Candidates are built from a JSON Schema, and one that its own
 * keywords refuse is dropped. A schema in code may ask for more than its JSON Schema says, so `sampleOf` also runs it on
 * the candidates, once, before a session is started. It is loaded then: to define a workflow needs none of it.
 */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { SchemaGate } from "./gate-definition.js";
import { isJsonObject, type JsonObject, type JsonValue, ownValue } from "./json.js";
import { FORMATS, isAccepted, isSame, listOf, resolved } from "./json-schema-values.js";
import type { WorkflowDefinition, WorkflowStructure } from "./structure.js";

type SchemaSample = NonNullable<SchemaGate["sample"]>;

const DEPTH_MAX = 4;
const CANDIDATES_MAX = 12;
/** The most items of a generated list, and characters of a generated text. */
const ITEMS_MAX = 20;
const TEXT_MAX = 400;

/** Returns a value that a JSON Schema accepts; undefined if none was found. */
export function sampleBy(schema: JsonObject): JsonValue | undefined {
  return topCandidates(schema, schema)[0];
}

/** Returns the candidates; none for a schema whose references never end. */
function topCandidates(schema: JsonObject, root: JsonObject): JsonValue[] {
  try {
    return candidatesFor(schema, root, 0);
  } catch (error) {
    if (error instanceof RangeError) return [];
    throw error;
  }
}

/** The simplest first. `root` is what references are resolved in. */
function candidatesFor(schema: JsonObject, root: JsonObject, depth: number): JsonValue[] {
  if (depth > DEPTH_MAX) return [];
  const found: JsonValue[] = [];
  for (const value of guesses(schema, root, depth)) {
    if (found.length === CANDIDATES_MAX) break;
    if (value !== undefined && isAccepted(value, schema, root)) found.push(value);
  }
  return found;
}

function* guesses(schema: JsonObject, root: JsonObject, depth: number): Generator<JsonValue | undefined> {
  for (const key of ["const", "default"]) yield schema[key];
  for (const key of ["examples", "enum"]) yield* listOf(schema[key]);
  if (typeof schema.$ref === "string") {
    const meant = resolved(schema.$ref, root);
    if (meant !== undefined) yield* candidatesFor(meant, root, depth + 1);
  }
  for (const key of ["anyOf", "oneOf", "allOf"]) {
    for (const part of listOf(schema[key])) if (isJsonObject(part)) yield* candidatesFor(part, root, depth);
  }
  for (const type of Array.isArray(schema.type) ? schema.type : [schema.type]) yield* ofType(type, schema, root, depth);
}

function* ofType(type: unknown, schema: JsonObject, root: JsonObject, depth: number): Generator<JsonValue | undefined> {
  if (type === "null") yield null;
  if (type === "boolean") yield* [true, false];
  if (type === "integer" || type === "number") yield* numbers(schema, type === "integer" ? 1 : 0.5);
  if (type === "string") yield* textsFor(schema);
  if (type === "array") yield* listsFor(schema, root, depth);
  if (type === "object") yield objectFor(schema, root, depth);
}

function* numbers(schema: JsonObject, step: number): Generator<number> {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  const bounds = [minimum, maximum].filter((bound) => typeof bound === "number");
  const inside = [
    ...(typeof exclusiveMinimum === "number" ? [Math.floor(exclusiveMinimum) + 1, exclusiveMinimum + step] : []),
    ...(typeof exclusiveMaximum === "number" ? [Math.ceil(exclusiveMaximum) - 1, exclusiveMaximum - step] : []),
  ];
  const starts = [...bounds, ...inside, 1, 0];
  if (typeof multipleOf === "number" && multipleOf > 0) {
    yield* starts.flatMap((start) =>
      [Math.ceil(start / multipleOf), Math.floor(start / multipleOf)].map((n) => n * multipleOf),
    );
  }
  yield* starts;
  const [low, high] = [minimum ?? exclusiveMinimum, maximum ?? exclusiveMaximum];
  if (typeof low === "number" && typeof high === "number") yield (low + high) / 2;
}

function* textsFor({ format, pattern, minLength }: JsonObject): Generator<string | undefined> {
  const least = typeof minLength === "number" ? minLength : 1;
  if (least > TEXT_MAX) return;
  if (typeof format === "string") yield FORMATS[format];
  if (typeof pattern === "string") {
    yield textLike(pattern, 1);
    yield textLike(pattern, Math.max(least, 2));
  }
  // ASCII: one other character would make the whole commit that holds the example take twice the memory, and the time.
  yield "...".padEnd(least, ".");
  yield "a".padEnd(least, "a");
  yield "";
}

/** Limits the parts of a pattern that are read. */
const PARTS_MAX = 200;
/** A group without groups: its first alternative, and how it is repeated, if it may be missing. */
const GROUP = /\((?:\?:|\?<\w{1,30}>)?(?!\?)([^()|]*)(?:\|[^()]*)?\)([*?]?)(?![+{])/;
const PART = /\\([dwsDWS.\\/^$|?*+(){}[\]-])|\[(\^?)((?:\\.|[^\]\\])+)\]|([^\\[\](){}|?*+^$.])|(\.)|([\^$])/y;
const REPEAT = /\{(\d{1,3})(?:,(\d{0,3}))?\}|[*+?]/y;
const ESCAPED: Readonly<Record<string, string>> = { d: "1", w: "a", s: " ", D: "a", W: "-", S: "a" };

/** Builds a text from a pattern of usual parts, each repeated at least `times`; undefined for other patterns. */
function textLike(pattern: string, times: number): string | undefined {
  // Groups are read as their first alternative.
  let plain = pattern;
  for (let round = 0; round < 8 && plain.length <= TEXT_MAX; round += 1) {
    const next = plain.replace(GROUP, (_, first: string, repeat = "") => (repeat === "" ? first : ""));
    if (next === plain) break;
    plain = next;
  }
  let text = "";
  let at = 0;
  for (let parts = 0; at < plain.length && parts < PARTS_MAX; parts += 1) {
    PART.lastIndex = at;
    const found = PART.exec(plain);
    if (found === null) return undefined;
    const [whole, escaped, negated, set = "", literal, any] = found;
    at += whole.length;
    REPEAT.lastIndex = at;
    const [repeat = "", least] = REPEAT.exec(plain) ?? [];
    at += repeat.length;
    const count = least !== undefined ? Number(least) : repeat === "" ? 1 : repeat === "+" ? times : 0;
    const one = escaped !== undefined ? (ESCAPED[escaped] ?? escaped) : (literal ?? (any === undefined ? "" : "a"));
    text += (set === "" ? one : firstOf(set, negated === "^")).repeat(Math.min(count, TEXT_MAX));
    if (text.length > TEXT_MAX) return undefined;
  }
  return text;
}

/** Returns a character of a set: the first one, or one that is usually not in it. */
function firstOf(set: string, isNegated: boolean): string {
  if (isNegated) return ["a", "1", "-"].find((character) => !set.includes(character)) ?? "x";
  return set.startsWith("\\") ? (ESCAPED[set.charAt(1)] ?? set.charAt(1)) : set.charAt(0);
}

function* listsFor(schema: JsonObject, root: JsonObject, depth: number): Generator<JsonValue[] | undefined> {
  const { minItems, prefixItems, items, uniqueItems } = schema;
  const first = listOf(prefixItems).map((part) =>
    isJsonObject(part) ? candidatesFor(part, root, depth + 1)[0] : true,
  );
  if (first.some((value) => value === undefined)) return;
  const begun = first.filter((value) => value !== undefined);
  const least = Math.max(typeof minItems === "number" ? minItems : 0, begun.length);
  if (least > ITEMS_MAX) return;
  const more = isJsonObject(items) ? candidatesFor(items, root, depth + 1) : items === false ? [] : [true];
  const filled = (count: number) =>
    Array.from({ length: count }, (_, index) => begun[index] ?? (uniqueItems === true ? more[index] : more[0])).filter(
      (value) => value !== undefined,
    );
  yield filled(least);
  yield filled(least + 1);
}

function objectFor(schema: JsonObject, root: JsonObject, depth: number): JsonObject {
  const object: [string, JsonValue][] = [];
  for (const name of listOf(schema.required)) {
    const property = ownValue(schema.properties, String(name));
    const value = isJsonObject(property) ? candidatesFor(property, root, depth + 1)[0] : true;
    if (value !== undefined) object.push([String(name), value]);
  }
  return Object.fromEntries(object);
}

/** The structures with samples, by those without. */
export const sampled = new WeakMap<WorkflowStructure, WorkflowStructure>();

/** Returns the structure of a workflow with a sample for each gate whose schema is in code; always the same object. */
export function withSamples({ structure, schemas }: WorkflowDefinition): WorkflowStructure {
  if (schemas.size === 0) return structure;
  const known = sampled.get(structure);
  if (known !== undefined) return known;
  const phases = structure.phases.map((phase) => {
    const [schema, { gate }] = [schemas.get(phase.number), phase];
    if (schema === undefined || gate.kind !== "schema" || gate.jsonSchema === undefined) return phase;
    return { ...phase, gate: { ...gate, sample: sampleOf(schema, gate.jsonSchema) } };
  });
  const made = { ...structure, phases };
  sampled.set(structure, made);
  return made;
}

/** The schema in code has the last word, unless it runs a function of the author's, which may be slow or fail. */
function sampleOf(schema: StandardSchemaV1, jsonSchema: JsonObject): SchemaSample {
  const zod = zodDefinition(schema);
  const fields = isRecord(zod?.shape) ? zod.shape : undefined;
  if (zod === undefined || fields === undefined) {
    const found = zod !== undefined && runsCode(schema) ? undefined : sampleBy(jsonSchema);
    const isWhole = isJsonObject(found) && accepts(schema, found);
    return isWhole ? { values: found } : { values: {}, complete: false };
  }
  const properties = isJsonObject(jsonSchema.properties) ? Object.entries(jsonSchema.properties) : [];
  const values = Object.fromEntries(
    properties.flatMap(([name, property]) => {
      const field = fields[name];
      if (!isJsonObject(property) || !isStandardSchema(field) || runsCode(field)) return [];
      const accepted = topCandidates(property, jsonSchema).filter((value) => accepts(field, value));
      // A list with an item says more than an empty one.
      const value = accepted.find((one) => !isSame(one, [])) ?? accepted[0];
      return value === undefined ? [] : [[name, value] as const];
    }),
  );
  const required = listOf(jsonSchema.required).map(String);
  const whole = Object.fromEntries(Object.entries(values).filter(([name]) => required.includes(name)));
  return !runsCode(schema) && accepts(schema, whole) ? { values } : { values, complete: false };
}

function accepts(schema: StandardSchemaV1, value: JsonValue): boolean {
  try {
    const result = schema["~standard"].validate(structuredClone(value));
    if (!(result instanceof Promise)) return result.issues === undefined;
    result.catch(() => {});
    return false;
  } catch {
    return false;
  }
}

/** The types of zod's schemas whose JSON Schema says all that they ask for, and where their parts are. */
const ZOD_TYPES: Readonly<Record<string, readonly string[]>> = {
  ...{ string: [], number: [], boolean: [], null: [], literal: [], enum: [], any: [], unknown: [], never: [] },
  ...{ template_literal: ["parts"], object: ["shape", "catchall"], array: ["element"], tuple: ["items", "rest"] },
  ...{ record: ["keyType", "valueType"], union: ["options"], intersection: ["left", "right"], pipe: ["in", "out"] },
  ...{ optional: ["innerType"], nullable: ["innerType"], nonoptional: ["innerType"], readonly: ["innerType"] },
  ...{ default: ["innerType"], prefault: ["innerType"], lazy: ["getter"] },
};

/** Returns true if a schema may run a function of its author's, which zod leaves out of its JSON Schema. */
function runsCode(schema: unknown, seen = new Set<unknown>()): boolean {
  if (seen.has(schema)) return false;
  seen.add(schema);
  if (Array.isArray(schema)) return schema.some((part) => runsCode(part, seen));
  const definition = zodDefinition(schema);
  if (definition === undefined) return isRecord(schema) && Object.values(schema).some((part) => runsCode(part, seen));
  const { type, checks, fn, transform } = definition;
  const parts = ZOD_TYPES[String(type)];
  if (parts === undefined || fn !== undefined || transform !== undefined) return true;
  const isCustom = (check: unknown) => {
    const { check: kind, fn: own } = zodDefinition(check) ?? {};
    return kind === undefined || kind === "custom" || own !== undefined;
  };
  if (Array.isArray(checks) && checks.some(isCustom)) return true;
  return parts.some((key) => {
    const part = definition[key];
    return runsCode(typeof part === "function" ? part() : part, seen);
  });
}

function zodDefinition(value: unknown): Readonly<Record<string, unknown>> | undefined {
  if (typeof value !== "object" || value === null || !("_zod" in value) || !isRecord(value._zod)) return undefined;
  const { def } = value._zod;
  return isRecord(def) ? def : undefined;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

function isStandardSchema(value: unknown): value is StandardSchemaV1 {
  return isRecord(value) && isRecord(value["~standard"]);
}
