/** The errors of the PostgreSQL store: lost connections, rollbacks, refusals, and what users are told. */
import { errnoOf, PhasegateError } from "../../errors.js";
import { storageFailure, unknownOutcome } from "../common/failures.js";
import { NOT_WRITTEN } from "./rows.js";

/** Thrown when no connection could be made: nothing was sent. */
export class NotConnected extends Error {
  constructor(cause: unknown) {
    super("no connection", { cause });
    this.name = "NotConnected";
  }
}

/** Thrown when the server did not wait for its standbys: the write may be lost with this server. */
export class NotReplicated extends Error {
  constructor() {
    super("not confirmed by a standby");
    this.name = "NotReplicated";
  }
}

/** Thrown when a server has another role than the wanted one: a failover may be in progress. */
export class WrongRole extends Error {
  constructor(wanted: string) {
    super(`no server is ${wanted}`);
    this.name = "WrongRole";
  }
}

const POOLER_HAS_STATEMENTS = [
  "a prepared statement is missing or there twice: a pooler gives each transaction another connection",
  "Open the storage with preparedStatements: false, or set max_prepared_statements in pgbouncer 1.21 or newer.",
] as const;

const KNOWN: Readonly<Record<string, readonly [what: string, remedy: string]>> = {
  "25006": [
    "the server is read-only",
    "Connect to the primary server: with several hosts, by target_session_attrs=read-write. Or make the database writable.",
  ],
  "26000": POOLER_HAS_STATEMENTS,
  "28000": ["the server refused the user", "Check the user, and what pg_hba.conf lets it do."],
  "28P01": ["the password is wrong", "Check the user and the password of the connection."],
  "3D000": ["there is no such database", "Make the database, or correct its name in the connection."],
  "3F000": ["there is no such schema", "Open the storage once with a role that may make it."],
  "42501": ["permission denied", "Grant the role what docs/storage/postgres.md lists, then repeat the call."],
  "42P05": POOLER_HAS_STATEMENTS,
  "42P01": ["a table is missing", "Open the storage again, with a role that may create tables."],
  "53100": ["the server's disk is full", "Free disk space on the server, then repeat the call."],
  "53300": ["the server has too many connections", "Give each host a smaller pool, or put a pooler between."],
  "57014": [
    "the statement took too long, or was cancelled",
    "Raise the statement timeout, or look for what blocks it.",
  ],
};
/** Refusals by `pg` itself and by poolers, which have a message only. A retry does not help. */
const REFUSED_WORDS: readonly (readonly [words: RegExp, what: string, remedy: string])[] = [
  [
    /password must be a/,
    "the server asks for a password, and none was given",
    "Give it in the URL, in PGPASSWORD or in a pgpass file.",
  ],
  [
    /unsupported startup parameter/,
    "a pooler refuses a setting that the connection begins with",
    "Open the storage with statementTimeoutMs: 0, or set ignore_startup_parameters = statement_timeout in pgbouncer; " +
      "leave options out of the URL.",
  ],
  [
    /statement pooling mode/,
    "the pooler takes no transactions of several statements",
    "Set pool_mode = transaction, or session, in pgbouncer.",
  ],
  [/does not support SSL/, "the server does not support SSL", "Turn SSL on at the server, or leave out sslmode."],
];
const LOST_REMEDY = "Check that the server runs and can be reached, then repeat the call.";
const ROLE_REMEDY =
  "Wait for a failover to end, then repeat the call; or look which server is the primary, and whether the address names it.";
const OTHER_REMEDY = "Look at the cause and at the server's log, then repeat the call.";

/** The server function that applies rules. Its messages are localized. */
const REWRITES_RULES = "RewriteQuery";
const RULE_IN_THE_WAY = [
  "a rule on a table changes what is written",
  "Drop the rule on the tables of phasegate's schema (\\d in psql shows it), then repeat the call.",
] as const;

/** SQLSTATEs of a rollback in favour of another transaction: the statement may be repeated. */
const ROLLED_BACK = new Set(["40001", "40P01"]);
/** SQLSTATEs of a server that ends or refuses connections. Class 08 is connection failures. */
const LOST_STATES = /^(08...|57P0[1235]|53300|25P03)$/;
/** No code of a failed system call, such as EBADF, is one. */
const SQLSTATE = /^(?:\d\w|F0|HV|P0|XX)\w{3}$/;
/** All connections of the pool are in use for longer than the connection timeout. */
const EXHAUSTED = /timeout exceeded when trying to connect/;
const LOST_ERRNOS = new Set(
  "ECONNRESET ECONNREFUSED ECONNABORTED EPIPE ETIMEDOUT EHOSTUNREACH ENETUNREACH ENOTFOUND EAI_AGAIN ENOENT".split(" "),
);
/** Messages of `pg` for lost connections. */
const LOST_WORDS = /Connection terminated|not queryable|Query read timeout|timeout exceeded when trying to connect/;

function codeOf(error: unknown): string | undefined {
  if (error instanceof NotConnected) return codeOf(error.cause);
  return errnoOf(error);
}

export function isReadOnly(error: unknown): boolean {
  return codeOf(error) === "25006";
}

export function isExhausted(error: unknown): boolean {
  return error instanceof NotConnected && error.cause instanceof Error && EXHAUSTED.test(error.cause.message);
}

/** Returns true if a statement was rolled back in favour of another, or must be confirmed again. */
export function isRolledBack(error: unknown): boolean {
  return error instanceof NotReplicated || ROLLED_BACK.has(codeOf(error) ?? "");
}

/** Returns true if the connection is gone or was never made. The server may or may not have done the last statement. */
export function isLost(error: unknown): boolean {
  if (error instanceof NotConnected) return isLost(error.cause);
  if (error instanceof WrongRole) return true;
  if (inWords(error).length > 0) return false;
  const code = codeOf(error);
  if (code !== undefined) return LOST_STATES.test(code) || LOST_ERRNOS.has(code);
  return error instanceof Error && LOST_WORDS.test(error.message);
}

/** Returns true if the server answered with an error, so that the statement is rolled back. */
export function isAnswered(error: unknown): boolean {
  return !isLost(error) && SQLSTATE.test(codeOf(error) ?? "");
}

/** Returns true if the appending statement noticed that a trigger dropped a row. */
export function isNotWritten(error: unknown): boolean {
  return codeOf(error) === "22P02" && error instanceof Error && error.message.includes(NOT_WRITTEN);
}

export function isDuplicate(error: unknown): boolean {
  return codeOf(error) === "23505";
}

/** Returns a `PhasegateError` unchanged, and all else as `STORAGE_FAILED`. No text contains a password or URL. */
export function asStorageFailure(operation: string, error: unknown): unknown {
  return error instanceof PhasegateError ? error : storageFailure({ operation, ...explain(error) });
}

/** Builds `STORAGE_FAILED` for a failure after a commit was sent: it may exist, complete, or not. */
export function outcomeUnknown(error: unknown): PhasegateError {
  return unknownOutcome({ operation: "append", ...explain(error) });
}

/** Builds `STORAGE_FAILED` for a statement that succeeded without writing its rows. It was rolled back. */
export function notWritten(operation: string): PhasegateError {
  const cause = "a row was not written, though the server reported no error";
  const remedy =
    "Look for a trigger or a rule on the tables of phasegate's schema (\\d in psql shows them), drop it, then repeat the call.";
  return storageFailure({ operation, cause, remedy });
}

export function unusable(cause: string, remedy: string): PhasegateError {
  return storageFailure({ operation: "open", cause, remedy });
}

function explain(failed: unknown): { readonly cause: string; readonly remedy: string; readonly error: unknown } {
  if (failed instanceof NotReplicated) {
    return { cause: "no standby has confirmed it", remedy: OTHER_REMEDY, error: failed };
  }
  const error = failed instanceof NotConnected ? failed.cause : failed;
  if (error instanceof WrongRole) {
    return { cause: `${error.message} among those of the address`, remedy: ROLE_REMEDY, error };
  }
  const code = codeOf(error);
  const [what, remedy = OTHER_REMEDY] = KNOWN[code ?? ""] ?? inWords(error);
  if (what !== undefined) return { cause: code === undefined ? what : `${what} (${code})`, remedy, error };
  const name = code ?? (error instanceof Error ? error.name : typeof error);
  if (isLost(error)) return { cause: `the connection is lost (${name})`, remedy: LOST_REMEDY, error };
  return { cause: name, remedy, error };
}

function inWords(error: unknown): readonly [what?: string, remedy?: string] {
  if (!(error instanceof Error)) return [];
  if ("routine" in error && error.routine === REWRITES_RULES && codeOf(error) === "0A000") return RULE_IN_THE_WAY;
  const [, ...found] = REFUSED_WORDS.find(([words]) => words.test(error.message)) ?? [];
  return found;
}
