import { type AnyPhasegateError, type ErrorCode, isPhasegateError } from "../errors.js";

/** Whose business an error is: of the caller alone, also of who guards the host, or also of who runs it. */
export type Hearer = "caller" | "guard" | "operator";

/** Who hears of each code. Its keys are all codes there are, so that a new one has to be decided on. */
const HEARERS: Readonly<Record<ErrorCode, Hearer>> = {
  PATH_REFUSED: "guard",
  TAMPERED: "guard",
  EVIDENCE_UNSAFE: "guard",
  APPROVAL_REFUSED: "guard",
  // What the engine runs on: nothing that a caller could mend.
  INTERNAL: "operator",
  STORAGE_FAILED: "operator",
  BUSY: "operator",
  FORMAT_TOO_NEW: "operator",
  CONTENT_UNAVAILABLE: "operator",
  DEFINITION_CHANGED: "operator",
  DEFINITION_UNAVAILABLE: "operator",
  TEMPLATE: "operator",
  DECIDER_FAILED: "operator",
  INVALID_INPUT: "caller",
  CURSOR_INVALID: "caller",
  WORKFLOW_NOT_FOUND: "caller",
  // Told when workflows are listed, which hosts do at their start.
  DEFINITION_INVALID: "caller",
  SESSION_NOT_FOUND: "caller",
  SESSION_LIMIT: "caller",
  PHASE_LOCKED: "caller",
  PHASE_ALREADY_COMPLETED: "caller",
  PHASE_OUT_OF_RANGE: "caller",
  TASK_NOT_FOUND: "caller",
  TASK_LOCKED: "caller",
  INVALID_TRANSITION: "caller",
  ATTEMPTS_EXHAUSTED: "caller",
  NOT_ALLOWED: "caller",
  EVIDENCE_TOO_LARGE: "caller",
  IDEMPOTENCY_KEY_REUSED: "caller",
  CONFLICT: "caller",
  UNSUPPORTED: "caller",
  FILE_NOT_FOUND: "caller",
  TOO_LARGE: "caller",
  PLAN_PARSE: "caller",
  STEP_NOT_CURRENT: "caller",
};

/** The notifications that errors become, as every engine has them. */
interface Reporting {
  notify(
    name: "security",
    payload: { readonly operation: string; readonly code: ErrorCode; readonly message: string },
  ): void;
  notify(name: "internalError", payload: { readonly operation: string; readonly error: unknown }): void;
}

/** Who hears of an error. */
export function hearerOf(error: AnyPhasegateError): Hearer {
  // Somebody was late, or asks too early: no forgery.
  if (isPhasegateError(error, "APPROVAL_REFUSED") && error.details.reason === "not_waiting") return "caller";
  return HEARERS[error.code];
}

/** Tells the host of an error that is its business too, also where the call goes on without what failed. */
export function reportFailure(notifications: Reporting, operation: string, error: AnyPhasegateError): void {
  const { code, message } = error;
  const hearer = hearerOf(error);
  if (hearer === "guard") notifications.notify("security", { operation, code, message });
  if (hearer === "operator") notifications.notify("internalError", { operation, error });
}
