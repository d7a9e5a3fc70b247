/**
 * The one error class of phasegate. Pure code returns verdicts; any other failure throws a `PhasegateError` whose `code` is
 * a literal, whose `remedy` says what to do next and whose `details` are typed by the code.
 */

/** A place in a source file. */
export interface SourcePosition {
  readonly file: string;
  /** The line, from 1. Missing if the whole file is meant. */
  readonly line?: number;
  /** The column, from 1. Missing if the whole line is meant. */
  readonly column?: number;
}

/** The details of each code. Adding a code here adds it to {@link ErrorCode}. */
export interface ErrorDetails {
  /** An argument from outside is missing, unknown or of the wrong shape. */
  INVALID_INPUT: { readonly field?: string; readonly expected?: string };
  /** A page cursor that this library did not give, or whose data has changed since. */
  CURSOR_INVALID: { readonly cursor: string };
  /** There is no workflow of that type. */
  WORKFLOW_NOT_FOUND: { readonly workflowType: string; readonly nearest?: string };
  /** The definition has errors: the workflow can't be started. */
  DEFINITION_INVALID: { readonly workflowType: string; readonly diagnostics: readonly string[] };
  /** The code that a session's workflow was started with isn't registered any more. */
  DEFINITION_CHANGED: { readonly workflowType: string; readonly revision: string };
  /** A text that the definition names can't be read. */
  CONTENT_UNAVAILABLE: {
    readonly workflowType: string;
    readonly phase: number;
    readonly task?: number;
    readonly file?: string;
  };
  /** There is no session of that id. */
  SESSION_NOT_FOUND: { readonly sessionId: string; readonly nearest?: string };
  /** The host allows no more active sessions, or no more for one actor. */
  SESSION_LIMIT: {
    readonly limit: number;
    /** The actor whose own quota it is; missing for the limit of all. */
    readonly actor?: string;
  };
  /** A phase that lies ahead was asked for. */
  PHASE_LOCKED: { readonly requested: number; readonly current: number };
  /** A phase that is done was submitted again. */
  PHASE_ALREADY_COMPLETED: { readonly requested: number; readonly current: number };
  /** The workflow has no phase of that number; `sourcePath` is the plan that has the phases. */
  PHASE_OUT_OF_RANGE: {
    readonly requested: number;
    readonly valid: readonly number[];
    readonly sourcePath?: string;
  };
  /** The phase has no task of that number. */
  TASK_NOT_FOUND: { readonly phase: number; readonly task: number; readonly valid: readonly number[] };
  /** The session's state doesn't allow the command. */
  INVALID_TRANSITION: {
    readonly command: string;
    readonly status: string;
    readonly allowed: readonly string[];
    /** Of a submission: `verifying` if the checks of other evidence run, `uncounted` if the session was left while its own ran. */
    readonly submission?: "verifying" | "uncounted";
  };
  /** The agent has used up its attempts at a phase; only the host can give it more. */
  ATTEMPTS_EXHAUSTED: { readonly phase: number; readonly attempts: number; readonly limit: number };
  /** The definition, or who calls, doesn't allow it; of a migration that is refused, how the definitions differ. */
  NOT_ALLOWED: {
    readonly operation: string;
    readonly phase?: number;
    readonly phases?: readonly {
      readonly name: string;
      readonly is: "same" | "moved" | "changed" | "new" | "gone";
      readonly was?: number;
      readonly will?: number;
      readonly what?: readonly ("gate" | "tasks")[];
    }[];
  };
  /** A person's answer that does not count; every reason but `not_waiting` is also a security notification. */
  APPROVAL_REFUSED: {
    readonly phase: number;
    readonly reason:
      | "not_waiting"
      | "other_evidence"
      | "other_request"
      | "unsigned"
      | "unknown_approver"
      | "not_an_approver"
      | "signature";
  };
  /** Evidence that isn't plain, finite, bounded JSON. */
  EVIDENCE_UNSAFE: { readonly problems: readonly { readonly path: string; readonly reason: string }[] };
  /** Evidence over the size limit, in bytes of JSON. */
  EVIDENCE_TOO_LARGE: { readonly bytes: number; readonly limit: number };
  /** An idempotency key was used before with another command. */
  IDEMPOTENCY_KEY_REUSED: { readonly key: string };
  /** Somebody else's commit came first. */
  CONFLICT: { readonly sessionId: string; readonly version?: number };
  /** The caller has ended the call before its outcome was written. */
  CANCELLED: {
    readonly operation: string;
    /** The instance that waits for its decider; missing if nothing was written. */
    readonly sessionId?: string;
  };
  /** Too many operations at once. */
  BUSY: {
    readonly running: number;
    readonly limit: number;
    /** The actor whose own quota it is; missing for the limit of all. */
    readonly actor?: string;
  };
  /** The log of a session is not as it was written. */
  TAMPERED: { readonly sessionId: string; readonly version: number; readonly reason: string };
  /** Written by a newer version of phasegate. */
  FORMAT_TOO_NEW: { readonly found: number; readonly supported: number };
  /** The storage failed: nothing was written, or with `outcome: "unknown"` all of it or nothing. */
  STORAGE_FAILED: { readonly operation: string; readonly cause?: string; readonly outcome?: "unknown" };
  /** The host's storage doesn't have an operation that adapters may leave out. */
  UNSUPPORTED: { readonly operation: string };
  /** A path that leads out of its root, or a name that no path may have. */
  PATH_REFUSED: {
    readonly reason: string;
    /** True for an empty path or an unknown variable: a mistake, without a security notification. */
    readonly isMistake?: true;
  };
  /** A file that is not there. */
  FILE_NOT_FOUND: { readonly file: string };
  /** A file or a text over its size limit, in bytes. */
  TOO_LARGE: {
    readonly file?: string;
    readonly bytes: number;
    readonly limit: number;
    /** The instance that was started nevertheless, if a start has failed. */
    readonly sessionId?: string;
  };
  /** A text that can't be a plan, or a plan that isn't there. */
  PLAN_PARSE: { readonly file: string; readonly line?: number; readonly column?: number };
  /** A template of phases or tasks that isn't there or can't be read. */
  TEMPLATE: { readonly file: string; readonly workflowType?: string };
  /** A task was asked for whose dependencies are open, in a workflow that enforces them. */
  TASK_LOCKED: {
    readonly phase: number;
    readonly task: number;
    readonly open: readonly string[];
    readonly ready: readonly number[];
  };
  /** A workflow that sessions are on can't be read any more, or lacks the step that they are at. */
  DEFINITION_UNAVAILABLE: {
    readonly workflowType: string;
    /** The instance that was started nevertheless, if a start has failed. */
    readonly sessionId?: string;
  };
  /** A report is on a step that the session is not at. */
  STEP_NOT_CURRENT: { readonly requested: string; readonly current: string };
  /** The decider gave no usable answer. */
  DECIDER_FAILED: {
    readonly reason:
      | "timeout"
      | "http"
      | "network"
      | "rate_limit"
      | "safety"
      | "invalid_response"
      | "aborted"
      | "unavailable";
    /** The HTTP status, where there was one. */
    readonly status?: number;
    /** True if asking once more may help. */
    readonly retryable: boolean;
    readonly requests?: number;
    /** The instance that was started nevertheless, if a start has failed. */
    readonly sessionId?: string;
  };
  /** A bug, here or in a port of the host's. */
  INTERNAL: { readonly cause?: string };
}

/** A literal that says which kind of failure it was; pinned by a test. */
export type ErrorCode = keyof ErrorDetails;

const BRAND = Symbol.for("phasegate.error");

/** The page that has an entry for each code. */
const PAGE = "https://github.com/OWNER/phasegate/blob/main/docs/errors.md";

/** The error that every failing call of phasegate throws. */
export class PhasegateError<C extends ErrorCode = ErrorCode> extends Error {
  /** The kind of failure. */
  readonly code: C;
  /** The next step, in a sentence that an agent can follow. */
  readonly remedy: string;
  /** Details, typed by the code. */
  readonly details: ErrorDetails[C];
  /** Marks the class across copies of the package. */
  readonly [BRAND] = true;

  constructor(code: C, message: string, options: { remedy: string; details: ErrorDetails[C]; cause?: unknown }) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "PhasegateError";
    this.code = code;
    this.remedy = options.remedy;
    this.details = options.details;
  }

  /** The address of this code's documentation: what it means, how to get out, and who can. It is not part of JSON. */
  get url(): string {
    return `${PAGE}#${this.code.toLowerCase()}`;
  }
}

/** A `PhasegateError` of any code, each with its own details: switch on `code`. */
export type AnyPhasegateError = { [C in ErrorCode]: PhasegateError<C> }[ErrorCode];

/** Checks whether a value is a {@link PhasegateError}. Works across two copies of the package, where `instanceof` doesn't. */
export function isPhasegateError(value: unknown): value is AnyPhasegateError;
/** Checks whether a value is a {@link PhasegateError} of the given code. */
export function isPhasegateError<C extends ErrorCode>(value: unknown, code: C): value is PhasegateError<C>;
export function isPhasegateError(value: unknown, code?: ErrorCode): boolean {
  if (typeof value !== "object" || value === null || !(BRAND in value)) return false;
  return code === undefined || ("code" in value && value.code === code);
}

/** Returns the code of a failed call of the system or of a driver, such as `ENOENT`; undefined for other errors. */
export function errnoOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}
