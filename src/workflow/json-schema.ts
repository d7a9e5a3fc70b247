/**
 * JSON Schemas at a definition: that of a schema in code, those inside it, and the marks that exclude values from
 * waivers. json-schema-values.ts, which loads later, tells which values they accept.
 */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import * as z from "zod/mini";
import { isJsonObject, type JsonObject, type JsonValue } from "./json.js";
import { nearest, shown } from "./names.js";

/**
 * Returns the JSON Schema of a schema, if it has one: its "Standard JSON Schema" (standardschema.dev), or what zod makes of it,
 * also of zod/mini and of what JSON Schema can't say. It is only shown to agents.
 */
export function jsonSchemaOf(schema: StandardSchemaV1): JsonObject | undefined {
  return converted(schema, "input");
}

/** Returns the fields that a schema can give; undefined if it may give others, or does not say. */
export function fieldsGiven(schema: StandardSchemaV1): readonly string[] | undefined {
  const { type, properties, additionalProperties, ...others } = converted(schema, "output") ?? {};
  const isClosed = type === "object" && additionalProperties === false && isJsonObject(properties);
  const isWhole = !["patternProperties", "allOf", "anyOf", "oneOf", "$ref"].some((key) => key in others);
  return isClosed && isWhole ? Object.keys(properties) : undefined;
}

function converted(schema: StandardSchemaV1, io: "input" | "output"): JsonObject | undefined {
  const standard: object = schema["~standard"];
  const own = "jsonSchema" in standard && isConverter(standard.jsonSchema, io) ? standard.jsonSchema : undefined;
  return (
    (own && asShown(() => own[io]({ target: "draft-2020-12" }))) ??
    (isZod(schema) ? asShown(() => z.toJSONSchema(schema, { io, unrepresentable: "any" })) : undefined)
  );
}

function asShown(make: () => unknown): JsonObject | undefined {
  try {
    const found: unknown = JSON.parse(JSON.stringify(make()));
    if (!isJsonObject(found)) return undefined;
    // The dialect is always the same; leaving it out saves tokens.
    delete found.$schema;
    return withoutSafeBounds(found);
  } catch {
    return undefined;
  }
}

/** Returns true for a schema of zod 4, from any copy of it: zod/mini has it, too. */
function isZod(schema: object): schema is z.core.$ZodType {
  return "_zod" in schema;
}

/** Returns a JSON Schema with the names of the fields that a schema misses in an empty object; undefined if it names none. */
export function askedFields(schema: StandardSchemaV1): JsonObject | undefined {
  try {
    const result = schema["~standard"].validate({});
    if ("then" in result || result.issues === undefined) return undefined;
    const names = result.issues.flatMap(({ path: [first] = [] }) => {
      const name = typeof first === "object" ? first.key : first;
      return typeof name === "string" ? [name] : [];
    });
    const required = [...new Set(names)];
    if (required.length === 0) return undefined;
    const properties = Object.fromEntries(required.map((name) => [name, {}]));
    // It may have others, which may be left out.
    return { type: "object", properties, required, additionalProperties: true };
  } catch {
    return undefined;
  }
}

/** The types of zod whose values JSON can't hold. */
const NO_JSON: ReadonlySet<string> = new Set(["date", "bigint", "map", "set", "symbol", "nan", "file", "function"]);

/** Returns the places in what a schema of zod gives that JSON can't hold: evidence could not be stored. */
export function noJsonIn(schema: StandardSchemaV1): { readonly place: string; readonly type: string }[] {
  const found: { place: string; type: string }[] = [];
  if (!isZod(schema)) return found;
  asShown(() =>
    z.toJSONSchema(schema, {
      io: "output",
      unrepresentable: "any",
      override({ zodSchema, path }) {
        const { type } = zodSchema._zod.def;
        const place = path.filter((part) => part !== "properties" && part !== "items").join(".");
        if (NO_JSON.has(type)) found.push({ place: place || "it", type });
      },
    }),
  );
  return found;
}

function isConverter<IO extends string>(
  value: unknown,
  io: IO,
): value is Record<IO, (options: { target: string }) => unknown> {
  return typeof value === "object" && value !== null && typeof Reflect.get(value, io) === "function";
}

/** Removes the bounds of safe integers, which zod adds to every integer and which agents don't need. */
function withoutSafeBounds(schema: JsonObject): JsonObject {
  const text = JSON.stringify(schema, (key, value: unknown) => {
    const isBound = key === "minimum" || key === "maximum";
    return isBound && Math.abs(Number(value)) === Number.MAX_SAFE_INTEGER ? undefined : value;
  });
  return JSON.parse(text);
}

/** The keywords that only describe. */
export const DESCRIBING = new Set([
  ...["$schema", "$id", "$anchor", "$comment", "$defs", "definitions", "id", "title", "description", "default"],
  ...["examples", "deprecated", "readOnly", "writeOnly", "contentEncoding", "contentMediaType", "waivable"],
]);

/** Keywords with data below them, and those with schemas by names of the author's. */
const DATA: ReadonlySet<string> = new Set(["default", "const", "enum", "examples"]);
const NAMED: ReadonlySet<string> = new Set(["properties", "patternProperties", "dependentSchemas"]);

/** Yields a schema and all schemas inside it, without those that it refers to. */
export function* schemasIn(schema: JsonValue | undefined): Generator<JsonObject> {
  if (Array.isArray(schema)) for (const part of schema) yield* schemasIn(part);
  if (!isJsonObject(schema)) return;
  yield schema;
  for (const [key, part] of Object.entries(schema)) {
    if (DATA.has(key) || key === "$defs" || key === "definitions") continue;
    if (!NAMED.has(key)) yield* schemasIn(part);
    else if (isJsonObject(part)) for (const one of Object.values(part)) yield* schemasIn(one);
  }
}

/** Returns the schemas that a schema shares: what references inside it mean. */
export function sharedIn({ $defs, definitions }: JsonObject): JsonValue[] {
  return [$defs, definitions].flatMap((defs) => (isJsonObject(defs) ? Object.values(defs) : []));
}

/** The key of a schema's metadata that excludes it from waivers, and how much a misspelt one may differ. */
const WAIVABLE = "waivable";
const TYPO_MAX = 2;

/** Returns what is wrong with the marks in a schema that exclude values from waivers: a mark without effect opens a gate. */
export function waivableFaults(schema: JsonObject): string[] {
  const found = [...schemasIn([schema, ...sharedIn(schema)])].flatMap((part) =>
    Object.entries(part).flatMap(([key, value]) => {
      if (key !== WAIVABLE) {
        const isMeant = !DESCRIBING.has(key) && nearest(key, [WAIVABLE], TYPO_MAX) !== undefined;
        return isMeant ? [`the metadata ${shown(key)} has no meaning; did you mean ${WAIVABLE}?`] : [];
      }
      return typeof value === "boolean" ? [] : [`the metadata ${WAIVABLE} must be true or false, not ${shown(value)}`];
    }),
  );
  return [...new Set(found)];
}
