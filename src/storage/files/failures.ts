import { isPhasegateError, PhasegateError } from "../../errors.js";
import type { SessionId } from "../../workflow/names.js";

const REMEDIES: Readonly<Record<string, string>> = {
  ENOSPC: "Free disk space where the sessions are kept, then repeat the call.",
  EDQUOT: "Free disk space where the sessions are kept, or raise the quota, then repeat the call.",
  EACCES: "Give this process the right to read and write the session folder, then repeat the call.",
  EPERM: "Give this process the right to read and write the session folder, then repeat the call.",
  EROFS: "The session folder is on a read-only file system: make it writable, then repeat the call.",
  EMFILE: "Raise the limit of open files for this process, or run fewer operations at once, then repeat the call.",
  ENFILE: "The system has too many files open: close some, then repeat the call.",
  EIO: "The disk reports a fault: check it, then repeat the call.",
};
const OTHER = "Check that the session folder is there and writable, then repeat the call.";

/** What the system says of a name under which no file or folder can be opened, as a link that leads to itself. */
const ODD: Readonly<Record<string, string>> = {
  EISDIR: "a folder is in its place",
  ELOOP: "a link in its place leads to itself",
  ENAMETOOLONG: "a link in its place leads to a name that is too long",
  ENOTDIR: "a file is in the place of a folder above it",
  ENXIO: "it is not a regular file",
};

/** Thrown for what lies in the place of a file of the store, and is none that can be read. */
export class OddFile extends Error {
  override readonly name = "OddFile";
}

/** Says why something that was to be read is no file of the store; undefined if the failure says nothing of that. */
export function oddityOf(error: unknown): string | undefined {
  return error instanceof OddFile ? error.message : ODD[errnoOf(error) ?? ""];
}

/** The code of a failed system call, as `ENOENT`; undefined if the failure was none. */
export function errnoOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

/** Whether a call failed because a file or a folder isn't there. */
export function isMissing(error: unknown): boolean {
  return errnoOf(error) === "ENOENT";
}

/** Passes a `PhasegateError` on, and makes `STORAGE_FAILED` of anything else. Paths stay in the `cause`. */
export function asStorageFailure(operation: string, error: unknown): unknown {
  if (error instanceof PhasegateError) return error;
  const code = errnoOf(error);
  const cause =
    error instanceof OddFile ? error.message : (code ?? (error instanceof Error ? error.name : typeof error));
  return storageFailed(operation, cause, (code && REMEDIES[code]) ?? OTHER, error);
}

/** `STORAGE_FAILED`, with a remedy of its own. */
export function storageFailed(operation: string, cause: string, remedy: string, error?: unknown): PhasegateError {
  return new PhasegateError("STORAGE_FAILED", `The session storage failed to ${operation}: ${cause}`, {
    remedy,
    details: { operation, cause },
    cause: error,
  });
}

/** `STORAGE_FAILED` after a commit had got its version: it may be there, whole, or not. */
export function outcomeUnknown(error: unknown): PhasegateError {
  const cause = errnoOf(error) ?? "unknown";
  return new PhasegateError(
    "STORAGE_FAILED",
    `The session storage failed to append: ${cause}; it may have been written`,
    {
      remedy: "Look at the session's state before you repeat the call, or repeat it with its idempotency key.",
      details: { operation: "append", cause, outcome: "unknown" },
      cause: error,
    },
  );
}

/** Whether a commit may be there although its append failed. */
export function isOutcomeUnknown(error: unknown): boolean {
  return isPhasegateError(error, "STORAGE_FAILED") && error.details.outcome === "unknown";
}

/** `CONFLICT`: somebody else wrote this version first, or the session isn't there any more. */
export function conflict(sessionId: SessionId, version: number, reason: string): PhasegateError {
  return new PhasegateError("CONFLICT", `Version ${version} of session ${sessionId} was refused: ${reason}`, {
    remedy: "Read the session again and repeat the command on its newest version.",
    details: { sessionId, version },
  });
}

/** Gives what a file of a session holds; throws `TAMPERED` where something else lies in its place. */
export async function asDamage<T>(reading: Promise<T>, sessionId: SessionId, version: number): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    const reason = oddityOf(error);
    throw reason === undefined ? error : tampered(sessionId, version, reason);
  }
}

/** Takes a damaged file for one that isn't there; throws any other failure on. */
export function orDamaged(error: unknown): undefined {
  if (!isPhasegateError(error, "TAMPERED")) throw error;
}

/** `TAMPERED`: a file isn't what was written. */
export function tampered(sessionId: SessionId, version: number, reason: string): PhasegateError {
  return new PhasegateError("TAMPERED", `Version ${version} of session ${sessionId} is damaged: ${reason}`, {
    remedy: "Restore the session's folder from a backup, or remove the session.",
    details: { sessionId, version, reason },
  });
}
