/**
 * Turns commits and errors into notifications. The table of error codes decides who is notified: the caller
 * alone, listeners of `security`, or listeners of `internalError`.
 */

import { type AnyPhasegateError, type ErrorCode, isPhasegateError } from "../errors.js";
import type { Notifications } from "./notifications.js";
import type { PhasedCommit } from "./pinned.js";
import type { SessionEvent } from "./state/events.js";

/** Notifies the host of the events in a commit. */
export function announce(notifications: Notifications, { sessionId, head, events, at }: PhasedCommit): void {
  const of = { sessionId, workflowType: head.workflowType, at };
  for (const event of events) announceEvent(notifications, of, event);
}

/** The notifications of errors that every engine has. */
interface Reporting {
  notify(
    name: "security",
    payload: { readonly operation: string; readonly code: ErrorCode; readonly message: string },
  ): void;
  notify(name: "internalError", payload: { readonly operation: string; readonly error: unknown }): void;
}

/** Notifies the host of an error, also where the call continues without what failed. */
export function reportFailure(notifications: Reporting, operation: string, error: AnyPhasegateError): void {
  const { code, message } = error;
  const hearer = hearerOf(error);
  if (hearer === "guard") notifications.notify("security", { operation, code, message });
  if (hearer === "operator") notifications.notify("internalError", { operation, error });
}

/** Who is notified of an error in addition to the caller. */
type Audience = "caller" | "guard" | "operator";

/**
 * Codes that are reported to the caller alone. The compiler requires every new code to be here or in
 * `HEARERS`.
 */
type CallerOnly =
  | "INVALID_INPUT"
  | "CURSOR_INVALID"
  | "WORKFLOW_NOT_FOUND"
  // Hosts see it when they list their workflows.
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

/** Who is notified of the other codes. */
const AUDIENCES: Readonly<Record<Exclude<ErrorCode, CallerOnly>, Audience>> &
  Readonly<Partial<Record<ErrorCode, Audience>>> = {
  PATH_REFUSED: "guard",
  TAMPERED: "guard",
  EVIDENCE_UNSAFE: "guard",
  APPROVAL_REFUSED: "guard",
  // Failures of the engine's environment, which a caller can't fix.
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

/** Returns who is notified of an error. */
export function hearerOf(error: AnyPhasegateError): Audience {
  // A late or early answer is not a forgery.
  if (isPhasegateError(error, "APPROVAL_REFUSED") && error.details.reason === "not_waiting") return "caller";
  return AUDIENCES[error.code] ?? "caller";
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
