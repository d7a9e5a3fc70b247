/** The errors of the file store, and the mapping of system errors to them. */
import { errnoOf, isPhasegateError, PhasegateError } from "../../errors.js";
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

/** System errors of a path at which no file or folder can be opened, such as a link to itself. */
const ODD: Readonly<Record<string, string>> = {
  EISDIR: "a folder is in its place",
  ESPIPE: "it is not a regular file",
  ELOOP: "a link in its place leads to itself",
  ENAMETOOLONG: "a link in its place leads to a name that is too long",
  ENOTDIR: "a file is in the place of a folder above it",
  ENXIO: "it is not a regular file",
};

/** Thrown when the path of a store's file contains something that cannot be read as one. */
export class OddFile extends Error {
  override readonly name = "OddFile";
}

/** Returns why a path is not a readable file of the store; undefined for other failures. */
export function oddityOf(error: unknown): string | undefined {
  return error instanceof OddFile ? error.message : ODD[errnoOf(error) ?? ""];
}

/** Returns true if a call failed because a file or folder does not exist. */
export function isMissing(error: unknown): boolean {
  return errnoOf(error) === "ENOENT";
}

/**
 * Throws the failure of an operation: a `PhasegateError` as it is, everything else as `STORAGE_FAILED`. Paths appear in
 * `cause` only.
 */
export function throwFailure(operation: string, error: unknown): never {
  if (error instanceof PhasegateError) throw error;
  const code = errnoOf(error);
  const cause =
    error instanceof OddFile ? error.message : (code ?? (error instanceof Error ? error.name : typeof error));
  throw storageFailed(operation, cause, (code && REMEDIES[code]) ?? OTHER, error);
}

/** Builds `STORAGE_FAILED` with a specific remedy. */
export function storageFailed(operation: string, cause: string, remedy: string, error?: unknown): PhasegateError {
  return new PhasegateError("STORAGE_FAILED", `The session storage failed to ${operation}: ${cause}`, {
    remedy,
    details: { operation, cause },
    cause: error,
  });
}

/** Builds `STORAGE_FAILED` for a failure after a commit got its version: it may exist, complete, or not. */
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

/** Returns true if a commit may exist although its append failed. */
export function isOutcomeUnknown(error: unknown): boolean {
  return isPhasegateError(error, "STORAGE_FAILED") && error.details.outcome === "unknown";
}

/** Throws the failure to read a session's file: `TAMPERED` if its path is not a readable file. */
export function throwDamage(error: unknown, sessionId: SessionId, version: number): never {
  const reason = oddityOf(error);
  throw reason === undefined ? error : tampered(sessionId, version, reason);
}

/** Builds `TAMPERED`: a file is not what was written. */
export function tampered(sessionId: SessionId, version: number, reason: string): PhasegateError {
  return new PhasegateError("TAMPERED", `Version ${version} of session ${sessionId} is damaged: ${reason}`, {
    remedy: "Restore the session's folder from a backup, or remove the session.",
    details: { sessionId, version, reason },
  });
}

/** Passes on the items of an iteration, and reports its failures as those of an operation. */
export async function* guardedEach<T>(operation: string, items: AsyncGenerator<T>): AsyncGenerator<T> {
  try {
    for (;;) {
      const next = await items.next().catch((error) => throwFailure(operation, error));
      if (next.done) return;
      yield next.value;
    }
  } finally {
    await items.return(undefined);
  }
}
