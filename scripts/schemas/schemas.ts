/** The JSON Schemas that the package ships for editors, by file name: metadata.ts, gate.ts and bundle.ts have them as zod. */
import * as z from "zod";
import { bundleSchema } from "./bundle.js";
import { gateSchema } from "./gate.js";
import { metadataSchema } from "./metadata.js";

/** Draft 7 is the newest that editors know in full. */
const TARGET = "draft-7";

/** A JSON Schema as plain JSON. */
export type JsonSchema = z.core.JSONSchema.BaseSchema;

/** Returns the schemas by file name. */
export function editorSchemas(): Readonly<Record<string, JsonSchema>> {
  return {
    "metadata.json": convert(metadataSchema),
    "gate-definition.json": convert(gateSchema),
    "bundle.json": convert(bundleSchema),
  };
}

function convert(schema: z.ZodType): JsonSchema {
  return z.toJSONSchema(schema, { target: TARGET, io: "input", unrepresentable: "any", override: rewrite });
}

/** Writes what zod can only say as a choice so that editors report one fault, and not one for each alternative. */
function rewrite({ zodSchema, jsonSchema }: { zodSchema: z.core.$ZodType; jsonSchema: JsonSchema }): void {
  if (z.globalRegistry.get(zodSchema)?.id === "phase") branch(jsonSchema);
  else allowNull(jsonSchema);
}

/** An entry of `phases` is one of two shapes, by the type of its number. */
function branch(schema: JsonSchema): void {
  const [plan, numbered] = schema.anyOf ?? [];
  delete schema.anyOf;
  schema.if = { properties: { phase_number: { type: "string" } }, required: ["phase_number"] };
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  Object.assign(schema, { then: plan, else: numbered });
}

/** Merges a choice of something and `null` into one schema, where the rest of it lets `null` through. */
function allowNull(schema: JsonSchema): void {
  const [one, other, ...more] = schema.anyOf ?? [];
  if (one === undefined || other?.type !== "null" || more.length > 0) return;
  const keys = Object.keys(one);
  if (keys.length === 1 && one.anyOf !== undefined) {
    schema.anyOf = [...one.anyOf, other];
  } else if (typeof one.type === "string" && keys.every((key) => BY_TYPE.has(key))) {
    delete schema.anyOf;
    const values = one.enum === undefined ? {} : { enum: [...one.enum, null] };
    Object.assign(schema, one, values, { type: [one.type, "null"] });
  }
}

/** The keywords that say nothing about `null`; `enum` is given it. */
const BY_TYPE: ReadonlySet<string> = new Set([
  ...["type", "enum", "properties", "required", "additionalProperties", "patternProperties", "propertyNames"],
  ...["items", "minItems", "maxItems", "pattern", "minimum", "maximum"],
]);
