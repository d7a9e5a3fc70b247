import type { JsonObject } from "../../src/workflow/json.js";

/** A sound schema of options. */
export const SCHEMA: JsonObject = {
  type: "object",
  properties: {
    audience: { enum: ["dev", "ops"], description: "who reads it" },
    depth: { type: "integer", minimum: 1, default: 2 },
    docs: { type: "array", items: { type: "string", pattern: "^docs/" } },
    name: { type: "string", pattern: "^[a-z]+$" },
  },
  required: ["audience"],
  additionalProperties: false,
};
