/** The errors of the SQLite store, and the mapping of SQLite's result codes to them. */
import { errnoOf, PhasegateError } from "../../errors.js";
import { unknownOutcome } from "../common/failures.js";
import { storageFailed, subject } from "../sql/failures.js";

/** SQLite's result codes, which are the low byte of an error's code: the name, and what to do about it. */
const RESULTS: Readonly<Record<number, readonly [name: string, remedy?: string]>> = {
  1: ["SQLITE_ERROR"],
  5: ["SQLITE_BUSY"],
  6: ["SQLITE_LOCKED"],
  7: ["SQLITE_NOMEM"],
  8: ["SQLITE_READONLY", "Give this process the right to write the database and its folder, then repeat the call."],
  10: ["SQLITE_IOERR", "The disk reports a fault: check it, and that the database is not on a network file system."],
  11: [
    "SQLITE_CORRUPT",
    "The database is damaged: restore it from a backup; PRAGMA integrity_check says what is wrong.",
  ],
  13: ["SQLITE_FULL", "Free disk space where the database is, or raise its max_page_count, then repeat the call."],
  14: [
    "SQLITE_CANTOPEN",
    "Check that the database is a file in a folder that this process may write, then repeat the call.",
  ],
  15: ["SQLITE_PROTOCOL"],
  18: ["SQLITE_TOOBIG"],
  19: ["SQLITE_CONSTRAINT"],
  26: ["SQLITE_NOTADB", "This file is no SQLite database, or an encrypted one: name another file."],
};
const CLOSED = "The database was closed: open the storage again.";
const OTHER = "Check that the database is there and writable, then repeat the call.";

/** Locks that others hold briefly: SQLITE_BUSY, SQLITE_LOCKED, and SQLITE_PROTOCOL, a race for the WAL's lock. */
const PASSING: ReadonlySet<string | undefined> = new Set(["SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_PROTOCOL"]);
/** Failures of COMMIT after which nothing was written. */
const NOT_WRITTEN: ReadonlySet<string | undefined> = new Set([...PASSING, "SQLITE_FULL", "SQLITE_READONLY"]);

/** Returns the name of SQLite's result code; undefined for other errors. */
export function sqliteCode(error: unknown): string | undefined {
  return resultOf(error)?.[0];
}

function resultOf(error: unknown): readonly [name: string, remedy?: string] | undefined {
  if (!(error instanceof Error) || !("errcode" in error) || typeof error.errcode !== "number") return undefined;
  return RESULTS[error.errcode & 0xff] ?? [`SQLite error ${error.errcode}`];
}

export function isLocked(error: unknown): boolean {
  return PASSING.has(sqliteCode(error));
}

/** Returns true if the failure of COMMIT does not tell whether the transaction was written. */
export function isOutcomeUnknown(error: unknown): boolean {
  return !NOT_WRITTEN.has(sqliteCode(error));
}

export function asStorageFailure(operation: string, error: unknown): unknown {
  if (error instanceof PhasegateError) return error;
  const remedy = errnoOf(error) === "ERR_INVALID_STATE" ? CLOSED : (resultOf(error)?.[1] ?? OTHER);
  return storageFailed(operation, causeOf(error), remedy, error);
}

/** Builds `STORAGE_FAILED` for a database whose file name leads to another file, or to none. */
export function fileMoved(operation: string, file: string, isWritten: boolean): PhasegateError {
  const cause = `${file} was moved, deleted or replaced while the database was open`;
  const remedy =
    "Stop every process that has it open, put the right files back (the database with its -wal), then open the storage " +
    "again. See docs/storage/sqlite.md on replacing a database.";
  if (!isWritten) return storageFailed(operation, cause, remedy);
  return new PhasegateError("STORAGE_FAILED", `The ${subject} failed to ${operation}: ${cause}`, {
    remedy: `${remedy} Look at the session's state before you repeat the call.`,
    details: { operation, cause, outcome: "unknown" },
  });
}

/** Builds `STORAGE_FAILED` for a failed COMMIT: the transaction may be written completely, or not at all. */
export function outcomeUnknown(operation: string, error: unknown): PhasegateError {
  return unknownOutcome({ subject, operation, cause: causeOf(error), error });
}

/** Builds `BUSY`: another connection held its lock for too long. Nothing was written. */
export function locked(operation: string, waitedMs: number, error: unknown): PhasegateError {
  const waited = Math.round(waitedMs);
  return new PhasegateError("BUSY", `The ${subject} was locked for ${waited} ms: it failed to ${operation}`, {
    remedy:
      "Try again in a moment. If it stays so, look for a process that holds a transaction open, or is stopped in one; " +
      "busyTimeout says how long is waited.",
    // SQLite lets one connection write at a time.
    details: { running: 1, limit: 1 },
    cause: error,
  });
}

/** Returns SQLite's result code, Node's own code, or what else an error is known by. */
function causeOf(error: unknown): string {
  return sqliteCode(error) ?? errnoOf(error) ?? (error instanceof Error ? error.name : typeof error);
}
