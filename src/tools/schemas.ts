/**
 * The JSON Schemas that a tool publishes of its requests and answers, and how long an answer may be. Every word of a
 * schema is in an agent's context all the time, so what only validates is left out. It is apart from wire.ts, which is
 * loaded with the first call.
 */
import * as z from "zod/mini";

/** Characters of JSON that count as one token. */
export const CHARACTERS_PER_TOKEN = 4;
/** The budget of an answer in tokens: the default, and the smallest. */
const DEFAULT_TOKENS = 6000;
const LEAST_TOKENS = 1000;

/** Returns how many characters of JSON an answer may have. */
export function maxCharsFor(tokens = DEFAULT_TOKENS): number {
  return Math.max(tokens, LEAST_TOKENS) * CHARACTERS_PER_TOKEN;
}

/** A JSON Schema as MCP lists it: an object's. */
export interface ObjectSchema {
  /** The type of the schema. */
  readonly type: "object";
  /** The other keywords, such as `properties` and `required`. */
  readonly [key: string]: unknown;
}

/** The keywords of a schema that only validate. */
const VALIDATING = [
  "minimum",
  "exclusiveMinimum",
  "maximum",
  "minLength",
  "maxLength",
  "maxItems",
  "pattern",
  "propertyNames",
] as const;

/** Returns the JSON Schema of an object, as input; `closed` keeps that it takes no other keys. */
export function publishedSchema(schema: z.core.$ZodType, { closed = false } = {}): ObjectSchema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    io: "input",
    unrepresentable: "any",
    override: ({ jsonSchema }) => {
      for (const key of VALIDATING) delete jsonSchema[key];
      if (!closed || jsonSchema.additionalProperties !== false) delete jsonSchema.additionalProperties;
    },
  });
  return { ...rest, type: "object" };
}

/** Returns the JSON Schema of a workspace's tool. */
export function publishedInput({ input }: { readonly input: z.core.$ZodType }): ObjectSchema {
  return publishedSchema(input, { closed: true });
}

export function fieldNames(schema: z.core.$ZodObject): string[] {
  return Object.keys(schema._zod.def.shape);
}

/** Returns true if a call may leave a field out. */
export function isOptional(schema: z.core.$ZodObject, field: string): boolean {
  return schema._zod.def.shape[field]?._zod.optin !== undefined;
}
