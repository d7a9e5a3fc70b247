import { PhasegateError } from "../../errors.js";
import { shown } from "../../workflow/names.js";
/** A session that isn't there, with those that are. */
export function noSession(id: string, near: readonly string[]): PhasegateError<"SESSION_NOT_FOUND"> {
  const there = near.length === 0 ? "" : `There are ${near.join(", ")}; or call`;
  return new PhasegateError("SESSION_NOT_FOUND", `there is no session ${shown(id)}`, {
    remedy: `${there || "Call"} create_session without session_id for a new one.`,
    details: { sessionId: id },
  });
}

/** A session that another connection has begun. */
export function notOwn(id: string, exists: boolean, what = "nothing was saved"): PhasegateError<"PATH_REFUSED"> {
  const reason = exists ? `the session ${id} is not one of this connection's` : `there is no session ${id}`;
  const call = exists ? `{"session_id": "${id}", "reopen": true}` : `{"session_id": "${id}"}`;
  return new PhasegateError("PATH_REFUSED", `${what}: ${reason}`, {
    remedy: exists
      ? `Call create_session for a session of your own. To go on with that one, call create_session with ${call}.`
      : `Call create_session with ${call}, then save again.`,
    details: { reason },
  });
}

/** A session that is over takes no more files. */
export function isOver(id: string, status: string): PhasegateError<"INVALID_TRANSITION"> {
  return new PhasegateError("INVALID_TRANSITION", `the session ${id} is ${status}`, {
    remedy: `To go on with it, call create_session with {"session_id": "${id}", "reopen": true}.`,
    details: { command: "save_output", status, allowed: ["create_session"] },
  });
}

/** A session with as much in it as the host allows. */
export function quotaReached(
  what: string,
  limit: number,
  bytes: number,
  remedy = "Save less, or replace files that are there: by the same path.",
): PhasegateError<"TOO_LARGE"> {
  return new PhasegateError("TOO_LARGE", `nothing was saved: ${what}`, {
    remedy,
    details: { bytes, limit },
  });
}

/** A file that is saved, in a session whose log could not be written. */
export function notRecorded(path: string, cause: unknown): PhasegateError<"STORAGE_FAILED"> {
  const remedy = "Save it once more, by the same path: that does no harm. If that fails again, tell the user.";
  return new PhasegateError("STORAGE_FAILED", `${path} is saved, but could not be recorded`, {
    remedy,
    details: { operation: "record" },
    cause,
  });
}

/** A manifest that nobody of ours has left so. */
export function brokenManifest(id: string): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", `the manifest of the session ${id} can't be read`, {
    remedy: "Call create_session without session_id for a new session, and tell the person who runs this server.",
    details: { field: "manifest.json", expected: "a manifest as the workspace writes it" },
  });
}
