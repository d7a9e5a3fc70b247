import { type ErrorCode, isPhasegateError } from "../../errors.js";

/** Why a session's log is not taken over. */
export type RefusalReason =
  /** The log is not what was written, or a newer version of this library has written it. */
  | "unreadable"
  /** It is a kind of session that this library doesn't know. */
  | "unknown_kind"
  /** The target has another session under the same id. */
  | "differs"
  /** The target has the whole log, and has gone on with it. */
  | "ahead"
  /** The target had a session of that id, and it was removed: no id is used twice. */
  | "removed"
  /** There is no such session; if the target has its beginning, it was removed while it was copied. */
  | "not_found"
  /** The target takes no commit of that size or form. */
  | "not_taken";

/** A session's log that is not taken over; the others are. */
export class LogRefusal extends Error {
  readonly reason: RefusalReason;

  constructor(reason: RefusalReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "LogRefusal";
    this.reason = reason;
  }
}

const REASONS: Readonly<Partial<Record<ErrorCode, RefusalReason>>> = {
  TAMPERED: "unreadable",
  FORMAT_TOO_NEW: "unreadable",
  TOO_LARGE: "not_taken",
  INVALID_INPUT: "not_taken",
};

/** What is said of one session alone; anything else is thrown, for it is about all of them. */
export function asRefusal(error: unknown): LogRefusal {
  if (error instanceof LogRefusal) return error;
  const reason = isPhasegateError(error) ? REASONS[error.code] : undefined;
  if (reason === undefined || !(error instanceof Error)) throw error;
  return new LogRefusal(reason, error.message, { cause: error });
}
