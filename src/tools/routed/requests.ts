/**
 * The requests to routed workflows and the codes of their errors, for MCP and HTTP; the OpenAPI document is
 * generated from them.
 */

import * as z from "zod";
import type { ErrorCode } from "../../errors.js";
import type { StepReport } from "../../routed/decision/request.js";
import { isJsonObject, type JsonObject } from "../../workflow/json.js";
import { nearest, shown } from "../../workflow/names.js";

/** The errors of a request itself. */
export const REQUEST_ERRORS = ["INVALID_FORMAT", "MISSING_FIELD", "INVALID_TYPE", "INVALID_FIELD"] as const;
/** The code of such an error. */
export type RequestErrorCode = (typeof REQUEST_ERRORS)[number];

/** An error with its HTTP status and its code on the wire. */
interface WireError {
  readonly status: number;
  readonly code: string;
}

const notFound = (code: string): WireError => ({ status: 404, code });
const bad = (code: string): WireError => ({ status: 400, code });
const conflict = (code: string): WireError => ({ status: 409, code });
const failed = (code: string): WireError => ({ status: 500, code });
const PERSISTENCE = failed("PERSISTENCE_ERROR");
const DEFINITIONS = failed("DEFINITION_SERVICE_ERROR");
const INTERNAL = failed("INTERNAL_ERROR");
const DECIDER: WireError = { status: 502, code: "AI_SERVICE_ERROR" };

/** The error on the wire for each error code; the compiler requires all codes. */
export const WIRE_ERRORS: Record<ErrorCode, WireError> = {
  INVALID_INPUT: bad("INVALID_FIELD"),
  CURSOR_INVALID: bad("INVALID_FIELD"),
  EVIDENCE_UNSAFE: bad("INVALID_FIELD"),
  EVIDENCE_TOO_LARGE: bad("INVALID_FIELD"),
  WORKFLOW_NOT_FOUND: notFound("DEFINITION_NOT_FOUND"),
  DEFINITION_INVALID: notFound("DEFINITION_NOT_FOUND"),
  SESSION_NOT_FOUND: notFound("INSTANCE_NOT_FOUND"),
  INVALID_TRANSITION: conflict("INVALID_TRANSITION"),
  STEP_NOT_CURRENT: conflict("STEP_NOT_CURRENT"),
  CONFLICT: conflict("CONFLICT"),
  APPROVAL_REFUSED: conflict("APPROVAL_REFUSED"),
  NOT_ALLOWED: conflict("NOT_ALLOWED"),
  IDEMPOTENCY_KEY_REUSED: { status: 422, code: "IDEMPOTENCY_KEY_REUSED" },
  BUSY: { status: 503, code: "BUSY" },
  SESSION_LIMIT: { status: 503, code: "SESSION_LIMIT" },
  DEFINITION_UNAVAILABLE: failed("DEFINITION_UNAVAILABLE"),
  DEFINITION_CHANGED: failed("DEFINITION_UNAVAILABLE"),
  CONTENT_UNAVAILABLE: DEFINITIONS,
  FILE_NOT_FOUND: DEFINITIONS,
  PATH_REFUSED: DEFINITIONS,
  DECIDER_FAILED: DECIDER,
  // Only the prompt: anything else that is too large is refused on arrival.
  TOO_LARGE: DECIDER,
  STORAGE_FAILED: PERSISTENCE,
  TAMPERED: PERSISTENCE,
  FORMAT_TOO_NEW: PERSISTENCE,
  INTERNAL,
  // A routed engine has none of these: only a faulty port can throw them.
  UNSUPPORTED: INTERNAL,
  PHASE_LOCKED: INTERNAL,
  PHASE_ALREADY_COMPLETED: INTERNAL,
  PHASE_OUT_OF_RANGE: INTERNAL,
  TASK_NOT_FOUND: INTERNAL,
  TASK_LOCKED: INTERNAL,
  ATTEMPTS_EXHAUSTED: INTERNAL,
  PLAN_PARSE: INTERNAL,
  TEMPLATE: INTERNAL,
};

/** The calls to routed workflows. */
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
 * An object unchanged. Zod's record would drop keys such as `__proto__`, which the engine must see to
 * refuse them.
 */
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

/** The cursor of the page before. */
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

/** The problem with a request that can't be executed. */
export interface BadRequest {
  readonly errorCode: RequestErrorCode;
  readonly message: string;
  readonly remedy: string;
  readonly field?: string;
}

/** A request that was read, or its first problem. */
type ReadRequest<T> = { readonly ok: true; readonly params: T } | { readonly ok: false; readonly bad: BadRequest };

/** Reads the request of a call; `null` counts as missing. */
export function parseRequest<S extends z.ZodObject>(schema: S, input: unknown): ReadRequest<z.infer<S>> {
  if (!isJsonObject(input)) {
    const message = "The request must be a JSON object.";
    return { ok: false, bad: { errorCode: "INVALID_FORMAT", message, remedy: takes(schema) } };
  }
  const given = Object.fromEntries(Object.entries(input).filter(([, value]) => value !== null && value !== undefined));
  const parsed = schema.safeParse(given);
  if (parsed.success) return { ok: true, params: parsed.data };
  return { ok: false, bad: badRequest(schema, given, worstOf(parsed.error.issues)) };
}

/** Missing fields are reported before wrong ones, and these before unknown ones. */
function worstOf(issues: readonly z.core.$ZodIssue[]): z.core.$ZodIssue | undefined {
  return issues.find(({ code }) => code !== "unrecognized_keys") ?? issues[0];
}

function badRequest(schema: z.ZodObject, given: object, issue: z.core.$ZodIssue | undefined): BadRequest {
  if (issue?.code === "unrecognized_keys") return unknownField(schema, issue.keys[0] ?? "");
  const field = issue?.path.join(".") ?? "";
  const about = { field, remedy: takes(schema) };
  if (valueAt(given, issue?.path ?? []) === undefined) {
    return { errorCode: "MISSING_FIELD", message: `Missing required field: ${field}.`, ...about };
  }
  if (isWrongType(issue)) {
    return { errorCode: "INVALID_TYPE", message: `Invalid data type for field: ${field}.`, ...about };
  }
  return { errorCode: "INVALID_FIELD", message: `Invalid value for field: ${field}.`, ...about };
}

/** A problem found by a custom check is a wrong type, unless it says otherwise. */
function isWrongType(issue: z.core.$ZodIssue | undefined): boolean {
  const kind: unknown = issue?.code === "custom" ? issue.params?.code : issue?.code;
  return kind === undefined || kind === "custom" || kind === "invalid_type";
}

function unknownField(schema: z.ZodObject, key: string): BadRequest {
  const meant = nearest(key, Object.keys(schema.shape));
  const hint = meant === undefined ? "" : ` Did you mean ${meant}?`;
  return {
    errorCode: "INVALID_FIELD",
    message: `Unknown field: ${shown(key).slice(1, -1)}.${hint}`,
    field: shown(key).slice(1, -1),
    remedy: takes(schema),
  };
}

function takes(schema: z.ZodObject): string {
  const names = Object.entries(schema.shape).map(([name, part]) => (isOptional(part) ? `${name} (optional)` : name));
  return names.length === 0 ? "It takes no fields." : `It takes ${names.join(", ")}.`;
}

function isOptional(schema: z.core.$ZodType): boolean {
  return schema._zod.optin === "optional";
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (inner, key) => (typeof inner === "object" && inner !== null ? Reflect.get(inner, key) : undefined),
    value,
  );
}
