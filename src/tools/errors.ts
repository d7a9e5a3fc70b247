/**
 * The one map of error codes to the wire: the kind that agents of phased workflows get, and the HTTP status and code
 * that clients of routed workflows get. The compiler requires every code.
 */

import type { ErrorCode } from "../errors.js";

/** The kinds of errors in answers about phased workflows. */
type ErrorType = "ValueError" | "NotFoundError" | "ValidationError" | "StateError" | "RuntimeError";

/** An error on the wire. */
interface WireError {
  /** For agents of phased workflows. */
  readonly type: ErrorType;
  /** The HTTP status, for clients of routed workflows. */
  readonly status: number;
  /** The code for clients of routed workflows. */
  readonly code: string;
}

const wire = (type: ErrorType, status: number, code: string): WireError => ({ type, status, code });

/** Each error code on the wire. */
export const WIRE_ERRORS: Record<ErrorCode, WireError> = {
  INVALID_INPUT: wire("ValueError", 400, "INVALID_FIELD"),
  CURSOR_INVALID: wire("ValueError", 400, "INVALID_FIELD"),
  EVIDENCE_UNSAFE: wire("ValueError", 400, "INVALID_FIELD"),
  EVIDENCE_TOO_LARGE: wire("ValueError", 400, "INVALID_FIELD"),
  WORKFLOW_NOT_FOUND: wire("NotFoundError", 404, "DEFINITION_NOT_FOUND"),
  DEFINITION_INVALID: wire("RuntimeError", 404, "DEFINITION_NOT_FOUND"),
  SESSION_NOT_FOUND: wire("NotFoundError", 404, "INSTANCE_NOT_FOUND"),
  INVALID_TRANSITION: wire("StateError", 409, "INVALID_TRANSITION"),
  STEP_NOT_CURRENT: wire("StateError", 409, "STEP_NOT_CURRENT"),
  CONFLICT: wire("StateError", 409, "CONFLICT"),
  APPROVAL_REFUSED: wire("StateError", 409, "APPROVAL_REFUSED"),
  NOT_ALLOWED: wire("StateError", 409, "NOT_ALLOWED"),
  IDEMPOTENCY_KEY_REUSED: wire("ValueError", 422, "IDEMPOTENCY_KEY_REUSED"),
  BUSY: wire("RuntimeError", 503, "BUSY"),
  SESSION_LIMIT: wire("RuntimeError", 503, "SESSION_LIMIT"),
  DEFINITION_UNAVAILABLE: wire("RuntimeError", 500, "DEFINITION_UNAVAILABLE"),
  DEFINITION_CHANGED: wire("StateError", 500, "DEFINITION_UNAVAILABLE"),
  CONTENT_UNAVAILABLE: wire("NotFoundError", 500, "DEFINITION_SERVICE_ERROR"),
  FILE_NOT_FOUND: wire("NotFoundError", 500, "DEFINITION_SERVICE_ERROR"),
  PATH_REFUSED: wire("ValueError", 500, "DEFINITION_SERVICE_ERROR"),
  DECIDER_FAILED: wire("RuntimeError", 502, "AI_SERVICE_ERROR"),
  // In a routed engine only the prompt: anything else that is too large is refused on arrival.
  TOO_LARGE: wire("ValueError", 502, "AI_SERVICE_ERROR"),
  STORAGE_FAILED: wire("RuntimeError", 500, "PERSISTENCE_ERROR"),
  TAMPERED: wire("StateError", 500, "PERSISTENCE_ERROR"),
  FORMAT_TOO_NEW: wire("RuntimeError", 500, "PERSISTENCE_ERROR"),
  INTERNAL: wire("RuntimeError", 500, "INTERNAL_ERROR"),
  // A routed engine has none of these: only a faulty port can throw them.
  UNSUPPORTED: wire("RuntimeError", 500, "INTERNAL_ERROR"),
  PHASE_LOCKED: wire("StateError", 500, "INTERNAL_ERROR"),
  PHASE_ALREADY_COMPLETED: wire("StateError", 500, "INTERNAL_ERROR"),
  PHASE_OUT_OF_RANGE: wire("ValueError", 500, "INTERNAL_ERROR"),
  TASK_NOT_FOUND: wire("NotFoundError", 500, "INTERNAL_ERROR"),
  TASK_LOCKED: wire("StateError", 500, "INTERNAL_ERROR"),
  ATTEMPTS_EXHAUSTED: wire("StateError", 500, "INTERNAL_ERROR"),
  PLAN_PARSE: wire("ValueError", 500, "INTERNAL_ERROR"),
  TEMPLATE: wire("RuntimeError", 500, "INTERNAL_ERROR"),
};

/** The longest message, in characters. */
const MESSAGE_MAX = 1500;

/** Shortens a message of the engine. */
export function shortMessage(text: string): string {
  return text.length <= MESSAGE_MAX
    ? text
    : `${text.slice(0, MESSAGE_MAX)}… (${text.length - MESSAGE_MAX} more characters)`;
}
