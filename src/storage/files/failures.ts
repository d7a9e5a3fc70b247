/** The errors of the file store, and the mapping of system errors to them. */
import { errnoOf, isPhasegateError, PhasegateError } from "../../errors.js";
import type { SessionId } from "../../workflow/names.js";
import { tampered as isTampered, storageFailure, unknownOutcome } from "../common/failures.js";

const FILE_IN_PLACE =
  "A file is in the place of the session folder, or of a folder above it: give another path, or move the file.";

const REMEDIES: Readonly<Record<string, string>> = {
  EEXIST: FILE_IN_PLACE,
  ENOTDIR: FILE_IN_PLACE,
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

export function isMissing(error: unknown): boolean {
  return errnoOf(error) === "ENOENT";
}

export function ignoreMissing(error: unknown): undefined {
  if (!isMissing(error)) throw error;
}

export function ignore(): void {}

/** Throws a `PhasegateError` as it is, and everything else as `STORAGE_FAILED`. Paths appear in `cause` only. */
export function throwFailure(operation: string, error: unknown): never {
  if (error instanceof PhasegateError) throw error;
  const code = errnoOf(error);
  const cause =
    error instanceof OddFile ? error.message : (code ?? (error instanceof Error ? error.name : typeof error));
  throw storageFailure({ operation, cause, remedy: (code && REMEDIES[code]) ?? OTHER, error });
}

export function notOpened(cause: string, remedy: string): PhasegateError {
  return storageFailure({ operation: "open", cause, remedy });
}

/** Builds `STORAGE_FAILED` for a failure after a commit got its version: it may exist, complete, or not. */
export function outcomeUnknown(error: unknown): PhasegateError {
  return unknownOutcome({ operation: "append", cause: errnoOf(error) ?? "unknown", error });
}

export function isOutcomeUnknown(error: unknown): boolean {
  return isPhasegateError(error, "STORAGE_FAILED") && error.details.outcome === "unknown";
}

/** Throws the failure to read a session's file: `TAMPERED` if its path is not a readable file. */
export function throwDamage(error: unknown, sessionId: SessionId, version: number): never {
  const reason = oddityOf(error);
  throw reason === undefined ? error : tampered(sessionId, version, reason);
}

export function tampered(sessionId: SessionId, version: number, reason: string): PhasegateError {
  const remedy = "Restore the session's folder from a backup, or remove the session.";
  return isTampered(sessionId, version, reason, remedy);
}

export async function* guardedEach<T>(operation: string, items: AsyncGenerator<T>): AsyncGenerator<T> {
  try {
    yield* items;
  } catch (error) {
    throwFailure(operation, error);
  }
}
