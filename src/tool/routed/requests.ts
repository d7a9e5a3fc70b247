/**
 * What may be asked of routed workflows, in seed 003's words: MCP and HTTP take their requests from here, and the OpenAPI
 * document is made from it.
 */
import * as z from "zod";
import type { StepReport } from "../../decision/decision-request.js";
import { isJsonObject, type JsonObject } from "../../definition/json.js";

/** What may be asked of routed workflows. */
export type RoutedCall =
  | "list"
  | "start"
  | "advance"
  | "resume"
  | "status"
  | "suspend"
  | "cancel"
  | "retry"
  | "history";

/** The longest reason, in characters. */
const REASON_MAX = 2000;
/** The longest name of a workflow or a step, in characters. */
const NAME_MAX = 200;

/**
 * An object as it was given. Not a record of zod's: its copy lacks keys such as `__proto__`, which the engine refuses and
 * which must not vanish silently.
 */
const objectSchema = z.custom<JsonObject>(isJsonObject).meta({ type: "object", additionalProperties: true });

/** Some clients write `null` for what they leave out; published is the object that is meant. */
const detailsSchema = z
  .custom<JsonObject | null>((value) => value === null || isJsonObject(value))
  .meta({ type: "object", additionalProperties: true });

const reportShape = z.looseObject({
  status: z.string().min(1).describe("How it went: success, failure, in_progress, …"),
  details: detailsSchema.optional().describe("What was made or found, as data; evidence where the step has a gate"),
  message: z.string().nullish().describe("What was done, in words"),
  error: z.string().nullish().describe("What went wrong, for a failure"),
  step_id: z.string().nullish().describe("The step that it is on: refused if that isn't the current one"),
});

/** A report: checked by its shape, handed on as it was given, keys beside those of the shape included. */
const reportSchema = z
  .custom<StepReport>()
  .superRefine((value, ctx) => {
    for (const { code, path, message } of reportShape.safeParse(value).error?.issues ?? [])
      ctx.addIssue({ code: "custom", path: [...path], message, params: { code } });
  })
  .meta({ ...shapeOf(reportShape), description: "How the current step went" });

const instanceId = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,127}$/)
  .describe("The instance, as its start named it");
const idempotencyKey = z
  .string()
  .min(1)
  .max(200)
  .optional()
  .describe("A key of your own: repeated with the same one, a call is made once");
const contextUpdates = objectSchema.optional().describe("Merged into the context before the next step is picked");
const reason = z.string().max(REASON_MAX).optional().describe("Why, for the history");
const stepName = z.string().min(1).max(NAME_MAX);

/** Where the page before ended. */
export const cursorSchema = z.string().max(1000).describe("Where the page before ended");

/** The request of each call. */
export const REQUESTS = {
  list: z.strictObject({}),
  start: z.strictObject({
    workflow_name: z.string().min(1).max(NAME_MAX).describe("The name of one, from the list of workflows"),
    context: objectSchema.optional().describe("What the context begins with"),
    idempotency_key: idempotencyKey,
  }),
  advance: z.strictObject({
    instance_id: instanceId,
    report: reportSchema,
    context_updates: contextUpdates,
    idempotency_key: idempotencyKey,
  }),
  resume: z.strictObject({
    instance_id: instanceId,
    assumed_current_step_name: stepName.describe("The step that you think you are on, or have just done"),
    report: reportSchema,
    context_updates: contextUpdates,
    idempotency_key: idempotencyKey,
  }),
  status: z.strictObject({ instance_id: instanceId }),
  suspend: z.strictObject({ instance_id: instanceId, reason, idempotency_key: idempotencyKey }),
  cancel: z.strictObject({ instance_id: instanceId, reason, idempotency_key: idempotencyKey }),
  retry: z.strictObject({ instance_id: instanceId, idempotency_key: idempotencyKey }),
  history: z.strictObject({ instance_id: instanceId, cursor: cursorSchema.optional() }),
} satisfies Record<RoutedCall, z.ZodObject>;

function shapeOf(schema: z.ZodType): z.core.JSONSchema.BaseSchema {
  const { $schema: _, ...shape } = z.toJSONSchema(schema, { unrepresentable: "any", io: "input" });
  return shape;
}
