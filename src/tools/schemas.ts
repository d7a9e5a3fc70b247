/**
 * What a tool says of itself before it is called: the JSON Schemas of its requests and answers, and how long an answer may
 * be. Every word of a schema is in an agent's context all the time, so what only validates is left out. It is apart from
 * wire.ts, which is loaded with the first call.
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

/** A Standard Schema, as the AI SDK and MCP servers take it. It publishes a JSON Schema; the tool itself checks calls. */
export interface PassedSchema {
  /** The properties of a Standard Schema. */
  readonly "~standard": {
    /** The version of Standard Schema. */
    readonly version: 1;
    /** The library that the schema comes from. */
    readonly vendor: string;
    /** Accepts everything. */
    readonly validate: (value: unknown) => { readonly value: unknown };
    /** The published schema. */
    readonly jsonSchema: {
      /** The JSON Schema of a call's arguments. */
      readonly input: () => Record<string, unknown>;
      /** The same schema. */
      readonly output: () => Record<string, unknown>;
    };
  };
}

/**
 * Returns a schema that publishes a JSON Schema and accepts everything. Servers answer a wrong call with their
 * validator's message; the tool knows the action that was meant, and tells the agent what to write instead.
 */
export function passThroughSchema(schema: ObjectSchema): PassedSchema {
  const published = () => ({ ...schema });
  return {
    "~standard": {
      version: 1,
      vendor: "phasegate",
      validate: (value) => ({ value }),
      jsonSchema: { input: published, output: published },
    },
  };
}

/** Returns the names of the fields that a schema takes. */
export function fieldNames(schema: z.core.$ZodObject): string[] {
  return Object.keys(schema._zod.def.shape);
}

/** Returns true if a call may leave a field out. */
export function isOptional(schema: z.core.$ZodObject, field: string): boolean {
  return schema._zod.def.shape[field]?._zod.optin !== undefined;
}
