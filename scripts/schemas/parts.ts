/**
 * Parts that the schemas of files share. The readers in src/ give diagnostics that no schema library gives, so they
 * read by hand; test/workflow/schemas.test.ts changes files in every way and holds the schemas against them.
 */
import * as z from "zod";
import { RESERVED } from "../../src/workflow/names.js";

/** A text with at least one visible character: a blank one counts as missing. */
export const filled = z.string().regex(/\S/);

/** A text, or a number that is meant as text. */
export const label = z.union([z.string(), z.number()]);

/** A list of texts. */
export const texts = z.array(z.string());

/** A name of a field: texts that reach an object's prototype are refused. */
const FIELD_NAME = { pattern: "\\S", not: { enum: [...RESERVED] } };

/** Names of evidence fields. */
export const fieldNames = z.array(z.string().meta(FIELD_NAME));

/** An object whose keys are names of evidence fields. */
export function byFieldName<T extends z.ZodType>(schema: T) {
  return z.record(z.string(), schema).meta({ propertyNames: FIELD_NAME });
}

/** A whole number, 0 or more. */
export const whole = z.int().min(0);

/** A key that may be missing; `null`, as in YAML's `key:` with nothing behind it, counts as missing. */
export function optional<T extends z.ZodType>(schema: T, description: string, preset?: unknown) {
  return schema.nullish().meta({ description, ...(preset === undefined ? {} : { default: preset }) });
}

/** A key that must be there. */
export function required<T extends z.ZodType>(schema: T, description: string) {
  return schema.meta({ description });
}

/** The key by which editors find the schema. */
export const schemaKey = {
  $schema: optional(z.string(), "The JSON Schema of this file, for editors. phasegate ignores it."),
};

/** An object in a gate: other programs may add keys that begin with `x-`. */
export function gateObject<T extends z.ZodRawShape>(shape: T) {
  return z.strictObject(shape).meta({ patternProperties: { "^x-": { description: "For other programs; ignored." } } });
}

/** Adds keywords that zod has no word for. */
export function withKeywords<T extends z.ZodType>(schema: T, keywords: Readonly<Record<string, unknown>>): T {
  return schema.meta({ ...schema.meta(), ...keywords });
}
