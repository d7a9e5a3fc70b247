import * as z from "zod";
import { ROUTED_STATUSES } from "../../decision/decision-request.js";
import type { ObjectSchema } from "../tool-schema.js";
import { cursorSchema, REQUESTS, type RoutedCall } from "./requests.js";

/** What is read can be too long for one answer: then it comes in pages. */
export const READING: ReadonlySet<RoutedCall> = new Set(["list", "status", "history"]);

/** What one call takes. */
export function callInput(call: RoutedCall): ObjectSchema {
  return published(z.strictObject(shapeOf(call)));
}

/** What one tool for several calls takes: an action, and the fields of all; which action takes what, it says when asked. */
export function actionInput(names: ReadonlyMap<RoutedCall, string>): ObjectSchema {
  const fields = [...names.keys()].flatMap((call) => Object.entries(shapeOf(call)));
  const optional = Object.fromEntries(fields.map(([name, schema]) => [name, z.optional(schema)]));
  return published(z.strictObject({ action: z.enum([...names.values()]), ...optional }));
}

/** What all answers share: pages and refusals are answers, too. */
export function answerOutput(): ObjectSchema {
  return published(
    z.looseObject({
      instance_id: z.string().optional(),
      status: z.enum(ROUTED_STATUSES).optional(),
      next_step: z.looseObject({ step_name: z.string(), instructions: z.string() }).optional(),
      current_context: z.looseObject({}).optional(),
      error_code: z.string().optional(),
      message: z.string().optional(),
    }),
  );
}

function shapeOf(call: RoutedCall): Readonly<Record<string, z.core.$ZodType>> {
  const { shape } = REQUESTS[call];
  return READING.has(call) ? { ...shape, cursor: z.optional(cursorSchema) } : shape;
}

/** Every word of a schema is in every context all the time: what only checks is left out. */
function published(schema: z.ZodType): ObjectSchema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    unrepresentable: "any",
    io: "input",
    override: ({ jsonSchema }) => {
      for (const key of ["minLength", "maxLength", "pattern", "additionalProperties", "propertyNames"] as const) {
        delete jsonSchema[key];
      }
    },
  });
  return { ...rest, type: "object" };
}
