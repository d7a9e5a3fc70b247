/**
 * Refusals: the answer to a wrong request, and to each error, with an HTTP status. Messages of the storage, of foreign
 * errors and of broken definitions are hidden: they may contain what only the host may know.
 */
import type * as z from "zod";
import { type AnyPhasegateError, isPhasegateError } from "../../errors.js";
import { STATUS_WORDS } from "../../routed/decision/request.js";
import { isSessionId, nearest, shown } from "../../workflow/names.js";
import { type Call, errorIn, type Failure, shortMessage, WIRE_ERRORS } from "../dispatch.js";
import { fieldNames, isOptional } from "../schemas.js";
import { compact, type Fault, type WireObject } from "../wire.js";
import type { errorSchema } from "./answers.js";
import { type RoutedContext, toCalls } from "./calls.js";
import { REQUESTS, type RoutedCall } from "./requests.js";

export interface Refusal {
  readonly status: number;
  readonly body: z.input<typeof errorSchema>;
}

/** Returns the refusal of a call, and reports it to the host. */
export function refusalOf(context: RoutedContext, { name, given }: Call<RoutedCall>, failure: Failure): Refusal {
  const { instance_id: id } = given;
  context.engine.reportError(`routed ${name ?? "call"}`, errorIn(failure), isSessionId(id) ? id : undefined);
  if ("faults" in failure) {
    if (name === undefined) return noAction(given.action, [...context.names.values()]);
    return badRequest(REQUESTS[name], failure.faults);
  }
  const { error } = failure;
  return isPhasegateError(error) ? errorRefusal(context, name, given, error) : INTERNAL_ERROR;
}

function noAction(action: unknown, valid: readonly string[]): Refusal {
  const near = typeof action === "string" ? nearest(action, valid) : undefined;
  const remedy = near === undefined ? `Use one of ${valid.join(", ")}.` : `Did you mean ${near}?`;
  const details = { field: "action", remedy };
  if (action === undefined) return refusal("MISSING_FIELD", "Missing required field: action.", details);
  return refusal("INVALID_FIELD", `Unknown action: ${shown(action)}.`, details);
}

/** The code and the message for each kind of fault. */
const FAULTS = {
  "no object": ["INVALID_FORMAT", "The request must be a JSON object"],
  missing: ["MISSING_FIELD", "Missing required field"],
  type: ["INVALID_TYPE", "Invalid data type for field"],
  value: ["INVALID_FIELD", "Invalid value for field"],
  unknown: ["INVALID_FIELD", "Unknown field"],
} as const;

/** Returns the refusal of an invalid request: its first fault; unknown fields are reported last. */
function badRequest(schema: z.ZodObject, [fault]: readonly Fault[]): Refusal {
  const { field = "", kind = "no object" } = fault ?? {};
  const [code, message] = FAULTS[kind];
  const remedy = fieldsOf(schema);
  if (kind === "no object") return refusal(code, `${message}.`, { remedy });
  if (kind !== "unknown") return refusal(code, `${message}: ${field}.`, { remedy, field });
  const meant = nearest(field, fieldNames(schema));
  const name = shown(field).slice(1, -1);
  const hint = meant === undefined ? "" : ` Did you mean ${meant}?`;
  return refusal(code, `${message}: ${name}.${hint}`, { remedy, field: name });
}

function refusal(code: Refusal["body"]["error_code"], message: string, details: Refusal["body"]["details"]): Refusal {
  return { status: 400, body: { error_code: code, message, details } };
}

function fieldsOf(schema: z.ZodObject): string {
  const names = fieldNames(schema).map((name) => (isOptional(schema, name) ? `${name} (optional)` : name));
  return names.length === 0 ? "It takes no fields." : `It takes ${names.join(", ")}.`;
}

const INTERNAL_ERROR: Refusal = {
  status: 500,
  body: {
    error_code: "INTERNAL_ERROR",
    message: "An unexpected error occurred.",
    details: { code: "INTERNAL", remedy: "Call it again. If it fails again, tell the operator of this server." },
  },
};

/** Codes whose messages are hidden. */
const HIDDEN: ReadonlySet<string> = new Set(["STORAGE_FAILED", "INTERNAL", "DEFINITION_INVALID"]);

/** Returns an error as a refusal: code and sentence, our more specific code, and what to do next. */
function errorRefusal(
  context: RoutedContext,
  call: RoutedCall | undefined,
  given: WireObject,
  error: AnyPhasegateError,
): Refusal {
  const { routedStatus: status, code } = isFile(error) ? WIRE_ERRORS.FILE_NOT_FOUND : WIRE_ERRORS[error.code];
  const original = shortMessage(error.message);
  const message = sentence(call, given, error) ?? original;
  const details = compact({
    code: error.code,
    message: message === original || HIDDEN.has(error.code) ? undefined : original,
    ...detailsOf(context, error),
  });
  return {
    status,
    body: { error_code: code, message, details: { ...details, remedy: remedyOf(context, error) } },
  };
}

/** Checks whether a file of the definitions is too large; otherwise it is a prompt. */
function isFile(error: AnyPhasegateError): boolean {
  return error.code === "TOO_LARGE" && error.details.file !== undefined;
}

/** The sentence for a decision that failed, by call. */
const UNDECIDED: Partial<Record<RoutedCall, string>> = {
  start: "Failed to get initial step from AI service.",
  advance: "Failed to get next step from AI service.",
  resume: "Failed to reconcile state or get next step from AI service.",
};

const NO_DECISION = "Failed to get decision from AI service after potential retry.";

/** Returns the sentence for an error that is fixed by the protocol; undefined where the engine's message is shown. */
function sentence(call: RoutedCall | undefined, given: WireObject, error: AnyPhasegateError): string | undefined {
  const undecided = (call && UNDECIDED[call]) ?? NO_DECISION;
  switch (error.code) {
    case "WORKFLOW_NOT_FOUND":
    case "DEFINITION_INVALID":
      return `Workflow definition '${error.details.workflowType}' not found or invalid.`;
    case "DEFINITION_UNAVAILABLE":
      return `Workflow definition '${error.details.workflowType}' could not be loaded.`;
    case "SESSION_NOT_FOUND":
      return `Workflow instance with ID ${String(given.instance_id)} not found.`;
    case "TOO_LARGE":
      return isFile(error) ? undefined : undecided;
    case "DECIDER_FAILED":
      return undecided;
    case "STORAGE_FAILED":
      return call === "start"
        ? "Failed to create workflow instance state."
        : "Failed to save workflow state or history.";
    case "TAMPERED":
    case "FORMAT_TOO_NEW":
      return "Failed to read workflow state or history.";
    case "CONTENT_UNAVAILABLE":
    case "FILE_NOT_FOUND":
    case "PATH_REFUSED":
      return call === "list" ? "Failed to retrieve workflow list." : "Failed to read the workflow definitions.";
    case "INTERNAL":
      return "An unexpected error occurred.";
    default:
      return undefined;
  }
}

function detailsOf(context: RoutedContext, error: AnyPhasegateError): WireObject {
  switch (error.code) {
    case "INVALID_INPUT":
      return { field: error.details.field, expected: error.details.expected };
    case "WORKFLOW_NOT_FOUND":
      return { nearest: error.details.nearest };
    case "DEFINITION_INVALID":
      return { diagnostics: error.details.diagnostics.slice(0, 20) };
    case "INVALID_TRANSITION": {
      const { status, allowed } = error.details;
      const [, word = status] = Object.entries(STATUS_WORDS).find(([name]) => name === status) ?? [];
      return { status: word, allowed: toCalls(context, allowed) };
    }
    case "STEP_NOT_CURRENT":
      return { current_step_name: error.details.current };
    case "DECIDER_FAILED":
      return {
        reason: error.details.reason,
        http_status: error.details.status,
        retryable: error.details.retryable,
        requests: error.details.requests,
        instance_id: error.details.sessionId,
      };
    case "DEFINITION_UNAVAILABLE":
    case "TOO_LARGE":
    case "CANCELLED":
      return { instance_id: error.details.sessionId };
    case "STORAGE_FAILED":
      return { outcome: error.details.outcome };
    case "SESSION_LIMIT":
    case "BUSY":
      return { limit: error.details.limit };
    default:
      return {};
  }
}

/** Codes that a start can fail with after the instance was created. */
const DECIDED: ReadonlySet<string> = new Set(["DECIDER_FAILED", "DEFINITION_UNAVAILABLE", "TOO_LARGE"]);

/** Returns what to do next, in calls that the client has. */
function remedyOf(context: RoutedContext, error: AnyPhasegateError): string {
  // The engine's remedy is for the host, which is told, too: a client can't raise the limit.
  if (error.code === "SESSION_LIMIT" && error.details.actor === undefined)
    return "Finish an instance that you work on, or wait until one ends.";
  if ("sessionId" in error.details && DECIDED.has(error.code)) {
    // The instance has failed before its first step: what leads on is a retry.
    const [retry] = toCalls(context, ["retry"]);
    const call = retry === undefined ? "Ask the operator to retry it." : `Call ${retry} with this instance_id.`;
    return `The instance ${error.details.sessionId} was started, and waits for its first step. ${call} ${error.remedy}`;
  }
  if (error.code !== "INVALID_TRANSITION") return error.remedy;
  const calls = toCalls(context, error.details.allowed);
  return calls.length === 0 ? "It is over: start a new instance for more." : `Possible now: ${calls.join(", ")}.`;
}
