/** The errors of sessions, with the call that helps. */
import { PhasegateError } from "../../errors.js";
import { shown } from "../../workflow/names.js";

/** Builds the error for a session that does not exist; `near` are existing ones with similar ids. */
export function noSession(id: string, near: readonly string[]): PhasegateError<"SESSION_NOT_FOUND"> {
  const similar = near.length === 0 ? "" : `Similar sessions: ${near.join(", ")}. `;
  return new PhasegateError("SESSION_NOT_FOUND", `there is no session ${shown(id)}`, {
    remedy: `${similar}Call create_session without session_id for a new one.`,
    details: { sessionId: id },
  });
}

/** Builds the error for a session that this connection has neither created nor reopened. */
export function notOwn(id: string, exists: boolean, what = "nothing was saved"): PhasegateError<"PATH_REFUSED"> {
  const reason = exists ? `the session ${id} belongs to another connection` : `there is no session ${id}`;
  const call = exists ? `{"session_id": "${id}", "reopen": true}` : `{"session_id": "${id}"}`;
  return new PhasegateError("PATH_REFUSED", `${what}: ${reason}`, {
    remedy: exists
      ? `Call create_session for a session of your own, or with ${call} to continue that one.`
      : `Call create_session with ${call}, then save again.`,
    details: { reason },
  });
}

/** Builds the error for a session that has ended. */
export function isOver(id: string, status: string): PhasegateError<"INVALID_TRANSITION"> {
  return new PhasegateError("INVALID_TRANSITION", `the session ${id} is ${status}`, {
    remedy: `To continue it, call create_session with {"session_id": "${id}", "reopen": true}.`,
    details: { command: "save_output", status, allowed: ["create_session"] },
  });
}

/** Builds the error for a save over a limit of files or sessions. */
export function quotaReached(
  what: string,
  limit: number,
  bytes: number,
  remedy = "Save less, or replace existing files by saving to their paths.",
): PhasegateError<"TOO_LARGE"> {
  return new PhasegateError("TOO_LARGE", `nothing was saved: ${what}`, {
    remedy,
    details: { bytes, limit },
  });
}

/** Builds the error for a saved file whose act could not be appended to the log. */
export function notRecorded(path: string, cause: unknown): PhasegateError<"STORAGE_FAILED"> {
  const remedy = "Save it again to the same path: that does no harm. If it fails again, tell the user.";
  return new PhasegateError("STORAGE_FAILED", `${path} is saved, but could not be recorded`, {
    remedy,
    details: { operation: "record" },
    cause,
  });
}
