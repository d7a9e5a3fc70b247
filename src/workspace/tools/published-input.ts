import * as z from "zod";
import type { ToolListing } from "./workspace-tool.js";

/** A JSON Schema of an object, as faces list it. */
export interface PublishedSchema {
  readonly type: "object";
  readonly [key: string]: unknown;
}

/** What only checks. */
const CHECKS = [
  "minimum",
  "exclusiveMinimum",
  "maximum",
  "minLength",
  "maxLength",
  "maxItems",
  "propertyNames",
] as const;

/** What a tool takes, as JSON Schema. Every word of it is in every context all the time: what only checks is left out. */
export function publishedInput({ input }: Pick<ToolListing, "input">): PublishedSchema {
  const { $schema: _, ...rest } = z.toJSONSchema(input, {
    io: "input",
    override: ({ jsonSchema }) => {
      for (const key of CHECKS) delete jsonSchema[key];
      // What the values of a record may be is said where they are wrong.
      if (typeof jsonSchema.additionalProperties === "object") delete jsonSchema.additionalProperties;
    },
  });
  return { ...rest, type: "object" };
}
