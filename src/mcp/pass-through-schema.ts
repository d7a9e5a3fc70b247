import type { StandardSchemaWithJSON } from "@modelcontextprotocol/server";
import type { ObjectSchema } from "../tool/tool-schema.js";

/**
 * A Standard Schema that publishes a JSON Schema and lets everything through. The server would answer
 * a wrong call with its validator's words; `dispatch` knows the action that was meant, and says what
 * to write instead.
 */
export function passThroughSchema(schema: ObjectSchema): StandardSchemaWithJSON {
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
