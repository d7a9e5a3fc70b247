import * as z from "zod/mini";

/** A value that survives `JSON.stringify` and `JSON.parse` unchanged. */
export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue };

/** An object of JSON values: what evidence, options and artifacts are. */
export type JsonObject = { [key: string]: JsonValue };

/**
 * An object whose values were JSON when they were read: for parts of stored bodies, which come out
 * of `JSON.parse` and need no second walk.
 */
export const storedObjectSchema = z.custom<JsonObject>(isJsonObject, "expected an object");

/** Any value out of `JSON.parse`; see {@link storedObjectSchema}. */
export const storedValueSchema = z.custom<JsonValue>((value) => value !== undefined, "expected a value");

/** Whether a value is an object and neither null nor an array. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
