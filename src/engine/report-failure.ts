import { type AnyPhasegateError, type ErrorCode, isPhasegateError } from "../errors.js";

/** Whose business an error is: of the caller alone, also of who guards the host, or also of who runs it. */
export type Hearer = "caller" | "guard" | "operator";

/** What is told to callers alone. A new code has to stand here or below: the compiler asks for it. */
type CallersOwn =
  | "INVALID_INPUT"
  | "CURSOR_INVALID"
  | "WORKFLOW_NOT_FOUND"
  // Told when workflows are listed, which hosts do at their start.
  | "DEFINITION_INVALID"
  | "SESSION_NOT_FOUND"
  | "SESSION_LIMIT"
  | "PHASE_LOCKED"
  | "PHASE_ALREADY_COMPLETED"
  | "PHASE_OUT_OF_RANGE"
  | "TASK_NOT_FOUND"
  | "TASK_LOCKED"
  | "INVALID_TRANSITION"
  | "ATTEMPTS_EXHAUSTED"
  | "NOT_ALLOWED"
  | "EVIDENCE_TOO_LARGE"
  | "IDEMPOTENCY_KEY_REUSED"
  | "CONFLICT"
  | "UNSUPPORTED"
  | "FILE_NOT_FOUND"
  | "TOO_LARGE"
  | "PLAN_PARSE"
  | "STEP_NOT_CURRENT";

/** Who else hears of the other codes. */
const HEARERS: Readonly<Record<Exclude<ErrorCode, CallersOwn>, Hearer>> & Readonly<Partial<Record<ErrorCode, Hearer>>> =
  {
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
  return HEARERS[error.code] ?? "caller";
}

/** Tells the host of an error that is its business too, also where the call goes on without what failed. */
export function reportFailure(notifications: Reporting, operation: string, error: AnyPhasegateError): void {
  const { code, message } = error;
  const hearer = hearerOf(error);
  if (hearer === "guard") notifications.notify("security", { operation, code, message });
  if (hearer === "operator") notifications.notify("internalError", { operation, error });
}
