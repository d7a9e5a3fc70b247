/**
 * How errors of routed engines are reported on the wire. Messages of the storage, of foreign errors and of
 * broken definitions are hidden: they may contain what only the host may know.
 */

import type * as z from "zod";
import { type AnyPhasegateError, isPhasegateError } from "../../errors.js";
import { compact, type WireObject } from "../wire-object.js";
import type { errorSchema } from "./answers.js";
import { type RoutedFace, toCall } from "./face.js";
import { type BadRequest, type RequestErrorCode, type RoutedCall, WIRE_ERRORS } from "./requests.js";

/** A refusal: its HTTP status and body. */
export interface Refusal {
  readonly status: number;
  readonly body: z.input<typeof errorSchema>;
}

const STATUS: Record<RequestErrorCode, number> = {
  INVALID_FORMAT: 400,
  MISSING_FIELD: 400,
  INVALID_TYPE: 400,
  INVALID_FIELD: 400,
};

/** Returns the refusal of an invalid request. */
export function badRequest({ errorCode, message, remedy, field }: BadRequest): Refusal {
  const about = field === undefined ? {} : { field };
  return { status: STATUS[errorCode], body: { error_code: errorCode, message, details: { remedy, ...about } } };
}

const INTERNAL_ERROR: Refusal = {
  status: 500,
  body: {
    error_code: "INTERNAL_ERROR",
    message: "An unexpected error occurred.",
    details: { code: "INTERNAL", remedy: "Try once more; if it fails again, tell the person who runs this server." },
  },
};

/** Codes whose messages are hidden. */
const HIDDEN: ReadonlySet<string> = new Set(["STORAGE_FAILED", "INTERNAL", "DEFINITION_INVALID"]);

/** Returns an error as a refusal: code and sentence, our more specific code, and what to do next. */
export function refusalOf(face: RoutedFace, call: RoutedCall, params: WireObject, error: unknown): Refusal {
  if (!isPhasegateError(error)) return INTERNAL_ERROR;
  const { status, code } = isFile(error) ? WIRE_ERRORS.FILE_NOT_FOUND : WIRE_ERRORS[error.code];
  const said = shorten(error.message);
  const message = sentence(call, params, error) ?? said;
  const details = compact({
    code: error.code,
    message: message === said || HIDDEN.has(error.code) ? undefined : said,
    ...detailsOf(face, error),
  });
  return {
    status,
    body: { error_code: code, message, details: { ...details, remedy: remedyOf(face, error) } },
  };
}

/** What is too large is a prompt, or a file of the definitions. */
function isFile(error: AnyPhasegateError): boolean {
  return error.code === "TOO_LARGE" && error.details.file !== undefined;
}

/** The longest message of the engine, in characters. */
const MESSAGE_MAX = 1500;

function shorten(text: string): string {
  return text.length <= MESSAGE_MAX ? text : `${text.slice(0, MESSAGE_MAX)}…`;
}

/** What could not be decided, by call: seed 003, section 7. */
const UNDECIDED: Partial<Record<RoutedCall, string>> = {
  start: "Failed to get initial step from AI service.",
  advance: "Failed to get next step from AI service.",
  resume: "Failed to reconcile state or get next step from AI service.",
};

const NO_DECISION = "Failed to get decision from AI service after potential retry.";

/** Seed 003's sentence for an error; undefined where ours stands for itself. */
function sentence(call: RoutedCall, params: WireObject, error: AnyPhasegateError): string | undefined {
  switch (error.code) {
    case "WORKFLOW_NOT_FOUND":
    case "DEFINITION_INVALID":
      return `Workflow definition '${error.details.workflowType}' not found or invalid.`;
    case "DEFINITION_UNAVAILABLE":
      return `Workflow definition '${error.details.workflowType}' could not be loaded.`;
    case "SESSION_NOT_FOUND":
      return `Workflow instance with ID ${String(params.instance_id)} not found.`;
    case "TOO_LARGE":
      return isFile(error) ? undefined : (UNDECIDED[call] ?? NO_DECISION);
    case "DECIDER_FAILED":
      return UNDECIDED[call] ?? NO_DECISION;
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

function detailsOf(face: RoutedFace, error: AnyPhasegateError): WireObject {
  switch (error.code) {
    case "INVALID_INPUT":
      return { field: error.details.field, expected: error.details.expected };
    case "WORKFLOW_NOT_FOUND":
      return { nearest: error.details.nearest };
    case "DEFINITION_INVALID":
      return { diagnostics: error.details.diagnostics.slice(0, 20) };
    case "INVALID_TRANSITION":
      return { status: error.details.status, allowed: toCall(face, error.details.allowed) };
    case "STEP_NOT_CURRENT":
      return { current_step_name: error.details.current };
    case "DECIDER_FAILED":
      return {
        reason: error.details.reason,
        http_status: error.details.status,
        retryable: error.details.retryable,
        requests: error.details.requests,
      };
    case "STORAGE_FAILED":
      return { outcome: error.details.outcome };
    case "SESSION_LIMIT":
    case "BUSY":
      return { limit: error.details.limit };
    default:
      return {};
  }
}

/** Returns what to do next, in calls that the client has. */
function remedyOf(face: RoutedFace, error: AnyPhasegateError): string {
  if (error.code !== "INVALID_TRANSITION") return error.remedy;
  const calls = toCall(face, error.details.allowed);
  return calls.length === 0 ? "It is over: start a new instance for more." : `Possible now: ${calls.join(", ")}.`;
}
