/** An `import()` boundary: zod's reader of JSON Schema, which `zod/mini` does not have. */
import * as z from "zod";

/** Reads a JSON Schema as a zod schema. Throws for what zod can't express. */
export const fromJSONSchema = z.fromJSONSchema;
