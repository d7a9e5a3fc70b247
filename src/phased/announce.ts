import { type AnyPhasegateError, type ErrorCode, isPhasegateError } from "../errors.js";
import type { Notifications } from "./notifications.js";
import type { PhasedCommit } from "./pinned.js";
import type { SessionEvent } from "./state/events.js";

/** Whose business an error is: of the caller alone, also of who guards the host, or also of who runs it. */
type Hearer = "caller" | "guard" | "operator";

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

/** Tells the host what a commit says, event by event. */
export function announce(notifications: Notifications, { sessionId, head, events, at }: PhasedCommit): void {
  const of = { sessionId, workflowType: head.workflowType, at };
  for (const event of events) announceEvent(notifications, of, event);
}

function announceEvent(
  notifications: Notifications,
  of: { readonly sessionId: PhasedCommit["sessionId"]; readonly workflowType: string; readonly at: string },
  event: SessionEvent,
): void {
  switch (event.type) {
    case "started":
      return notifications.notify("started", { ...of, target: event.target, phase: event.structure.startPhase });
    case "phase_entered":
      return notifications.notify("phaseEntered", { ...of, phase: event.phase });
    case "approval_requested": {
      const { phase, attempt, evidenceHash, prompt, approvers } = event;
      return notifications.notify("approvalRequested", { ...of, phase, attempt, evidenceHash, prompt, approvers });
    }
    case "approved":
    case "denied": {
      const { phase, by, note, authenticated } = event;
      return notifications.notify(event.type, { ...of, phase, by, note, authenticated });
    }
    case "gate_passed":
      return notifications.notify("gatePassed", { ...of, phase: event.phase, attempt: event.attempt });
    case "gate_failed": {
      const { phase, attempt, problems } = event;
      return notifications.notify("gateFailed", { ...of, phase, attempt, problems });
    }
    case "gate_overridden":
      return notifications.notify("gateOverridden", { ...of, phase: event.phase, by: event.by, reason: event.reason });
    case "phase_skipped":
      return notifications.notify("phaseSkipped", { ...of, phase: event.phase, by: event.by, reason: event.reason });
    case "paused":
      return notifications.notify("paused", { ...of, note: event.note });
    case "resumed":
      return notifications.notify("resumed", of);
    case "retried":
      return notifications.notify("retried", { ...of, phase: event.phase, by: event.by });
    case "rolled_back":
      return notifications.notify("rolledBack", { ...of, from: event.from, to: event.to, by: event.by });
    case "migrated":
      return notifications.notify("migrated", { ...of, revision: event.structure.revision, by: event.by });
    case "plan_synced": {
      const { changes: differences, by } = event;
      return notifications.notify("planSynced", { ...of, changes: differences.count, differences, by });
    }
    case "plan_ticked": {
      const { ticked, unticked, missing, unwritable = [] } = event;
      return notifications.notify("planTicked", { ...of, ticked, unticked, missing, unwritable });
    }
    case "completed":
      return notifications.notify("completed", of);
    case "failed":
      return notifications.notify("failed", { ...of, phase: event.phase, attempts: event.attempts });
    case "deleted":
      return notifications.notify("deleted", { ...of, reason: event.reason });
  }
}
