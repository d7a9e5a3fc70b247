/** The errors of a log in SQLite, whatever its driver. */
import type { PhasegateError } from "../../errors.js";
import { tampered as isTampered, storageFailure } from "../common/failures.js";

/** What fails, in the messages. */
export const subject = "session database";

export function storageFailed(operation: string, cause: string, remedy: string, error?: unknown): PhasegateError {
  return storageFailure({ subject, operation, cause, remedy, error });
}

/** Builds `STORAGE_FAILED` for a write that SQLite reported as successful although the rows did not change. */
export function notWritten(table: string): PhasegateError {
  const remedy =
    `Look for a trigger on ${table}, or a view of that name ` +
    `(SELECT name, sql FROM sqlite_schema WHERE tbl_name = '${table}'), drop it, then repeat the call. ` +
    "The transaction was rolled back.";
  return storageFailed("write", `a row of ${table} was not written, though SQLite reported no error`, remedy);
}

export function tampered(sessionId: string, version: number, reason: string): PhasegateError {
  return isTampered(sessionId, version, reason, "Restore the database from a backup, or remove the session.");
}
