/** The requests to routed workflows, for MCP and HTTP; the OpenAPI document is generated from them. */
import * as z from "zod";
import type { StepReport } from "../../routed/decision/request.js";
import { isJsonObject, type JsonObject } from "../../workflow/json.js";

/** The longest reason, in characters. */
const REASON_MAX = 2000;
/** The longest name of a workflow or a step, in characters. */
const NAME_MAX = 200;

/** An object unchanged. Zod's record would drop keys such as `__proto__`, which the engine must see to refuse them. */
const objectSchema = z.custom<JsonObject>(isJsonObject).meta({ type: "object", additionalProperties: true });

/** Some clients send `null` for a missing value; only the object is published. */
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

/** Checks the shape of a report and passes it on unchanged, with additional keys. */
const reportSchema = z
  .custom<StepReport>()
  .superRefine((value, ctx) => {
    for (const { code, path, message } of reportShape.safeParse(value).error?.issues ?? [])
      ctx.addIssue({ code: "custom", path: [...path], message, params: { code } });
  })
  .meta({ ...shapeOf(reportShape), description: "How the current step went" });

const sessionId = z
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

/** The cursor of the page before. */
export const cursorSchema = z.string().max(1000).describe("Where the page before ended");

export const REQUESTS = {
  list: z.strictObject({}),
  start: z.strictObject({
    workflow_name: z.string().min(1).max(NAME_MAX).describe("The name of one, from the list of workflows"),
    context: objectSchema.optional().describe("What the context begins with"),
    idempotency_key: idempotencyKey,
  }),
  advance: z.strictObject({
    instance_id: sessionId,
    report: reportSchema,
    context_updates: contextUpdates,
    idempotency_key: idempotencyKey,
  }),
  resume: z.strictObject({
    instance_id: sessionId,
    assumed_current_step_name: stepName.describe("The step that you think you are on, or have just done"),
    report: reportSchema,
    context_updates: contextUpdates,
    idempotency_key: idempotencyKey,
  }),
  status: z.strictObject({ instance_id: sessionId }),
  suspend: z.strictObject({ instance_id: sessionId, reason, idempotency_key: idempotencyKey }),
  cancel: z.strictObject({ instance_id: sessionId, reason, idempotency_key: idempotencyKey }),
  retry: z.strictObject({ instance_id: sessionId, idempotency_key: idempotencyKey }),
  history: z.strictObject({ instance_id: sessionId, cursor: cursorSchema.optional() }),
} satisfies Record<RoutedCall, z.ZodObject>;

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

function shapeOf(schema: z.ZodType): z.core.JSONSchema.BaseSchema {
  const { $schema: _, ...shape } = z.toJSONSchema(schema, { unrepresentable: "any", io: "input" });
  return shape;
}
