/**
 * Notifications to a host's listeners. They come at most once, and those of a commit after it; the log is the record.
 * A listener that fails stops neither the others nor the call. The table of error codes decides who is notified
 * of an error: the caller alone, listeners of `security`, or listeners of `internalError`.
 */
import { EventEmitter } from "eventemitter3";
import { type AnyPhasegateError, type ErrorCode, isPhasegateError, PhasegateError } from "../errors.js";
import { type Owner, ownedBy } from "../ports/actor.js";
import { meantOr, type SessionId, shown } from "../workflow/names.js";

/** If it throws or rejects, neither the other listeners nor the call are affected. */
export type Listener<P> = (payload: P) => unknown;

/** The notifications of errors that every engine has. */
export interface Failures {
  refused: {
    readonly operation: string;
    readonly code: ErrorCode;
    readonly message: string;
    readonly sessionId?: string;
  };
  security: {
    readonly operation: string;
    readonly code: ErrorCode;
    readonly message: string;
    readonly sessionId?: string;
  };
  internalError: { readonly operation: string; readonly error: unknown };
}

/** The notifications by name, each with the level at which it is logged. */
export type Levels<Name extends string> = Readonly<Record<Name, "debug" | "info" | "warn" | "error">>;

/** The levels of the notifications that phased and routed engines share. */
export const ENGINE_LEVELS = {
  verifying: "debug",
  replayed: "debug",
  conflict: "debug",
  refused: "info",
  security: "warn",
  internalError: "error",
} as const;

/** Sends notifications to listeners, each isolated from the others. */
export class Notifier<Names extends Failures> {
  readonly #emitter = new EventEmitter<string>();
  readonly #levels: Levels<keyof Names & string>;

  constructor(levels: Levels<keyof Names & string>) {
    this.#levels = levels;
  }

  /**
   * Adds a listener; returns a function that removes it.
   * @throws {PhasegateError} `INVALID_INPUT` when there is no such notification: its listener would never be called.
   */
  on<N extends keyof Names & string>(name: N, listener: Listener<Names[N]>): () => void {
    if (!Object.hasOwn(this.#levels, name)) throw noNotification(name, Object.keys(this.#levels));
    // A new function for each call: a listener that is added twice is called twice, and removed one by one.
    const own: Listener<Names[N]> = (payload) => listener(payload);
    this.#emitter.on(name, own);
    return () => {
      this.#emitter.off(name, own);
    };
  }

  /** False if nobody listens to anything: then no payload need be made. */
  get isHeard(): boolean {
    return this.#emitter.eventNames().length > 0;
  }

  notify<N extends keyof Names & string>(name: N, payload: Names[N]): void {
    if (this.#emitter.listenerCount(name) === 0) return;
    for (const listener of this.#emitter.listeners(name)) this.#call(name, () => listener(payload));
  }

  /** Notifies the host of an error, also where the call continues without what failed. */
  report(operation: string, error: unknown): void {
    if (!isPhasegateError(error)) return this.notify("internalError", { operation, error });
    const { code, message } = error;
    const audience = audienceOf(error);
    if (audience === "guard") this.notify("security", { operation, code, message, ...damagedIn(error) });
    if (audience === "operator") this.notify("internalError", { operation, error });
  }

  /** Notifies the host of a client's call that failed: it was refused, or a foreign error ended it. */
  failed(operation: string, error: unknown, of: { readonly sessionId?: string }): void {
    if (!isPhasegateError(error)) return this.notify("internalError", { operation, error });
    const { code, message } = error;
    this.notify("refused", { operation, code, message, ...of });
  }

  #call(name: string, listener: () => unknown): void {
    try {
      const outcome: unknown = listener();
      if (isThenable(outcome)) Promise.resolve(outcome).catch((error: unknown) => this.#failed(name, error));
    } catch (error) {
      this.#failed(name, error);
    }
  }

  /** Does nothing if a listener of `internalError` itself failed: nobody is left to notify. */
  #failed(name: string, error: unknown): void {
    if (name !== "internalError") this.notify("internalError", { operation: `listener of ${name}`, error });
  }
}

function damagedIn(error: AnyPhasegateError): { readonly sessionId?: string } {
  return isPhasegateError(error, "TAMPERED") ? { sessionId: error.details.sessionId } : {};
}

function noNotification(name: string, names: readonly string[]): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", `there is no notification ${shown(name)}`, {
    remedy: meantOr(name, names, `There are ${names.join(", ")}.`),
    details: { field: "name" },
  });
}

/** Returns the fields that every notification about a session has. */
export function notificationOf(
  sessionId: SessionId,
  { workflowType, target, owner }: { readonly workflowType: string; readonly target: string; readonly owner?: Owner },
  at: string,
) {
  return { sessionId, workflowType, target, ...(owner && ownedBy(owner)), at };
}

/**
 * Returns the link to a session on the inspector's page, or to a request of it, by the hash of its commit; nothing if the host
 * names no page.
 */
export function linkTo(
  inspectorUrl: string | undefined,
  { sessionId, hash }: { readonly sessionId: string; readonly hash?: string },
): { readonly link?: string } {
  if (inspectorUrl === undefined) return {};
  const link = `${inspectorUrl}/sessions/${encodeURIComponent(sessionId)}`;
  return { link: hash === undefined ? link : `${link}?answer=${hash}` };
}

/** The party that is notified of an error in addition to the caller. */
type Audience = "caller" | "guard" | "operator";

/** Codes that are reported to the caller alone. The compiler requires every new code to be here or in `AUDIENCES`. */
type CallerOnly =
  | "INVALID_INPUT"
  | "CURSOR_INVALID"
  | "WORKFLOW_NOT_FOUND"
  // Hosts see it when they list their workflows.
  | "DEFINITION_INVALID"
  | "SESSION_NOT_FOUND"
  | "PHASE_LOCKED"
  | "PHASE_ALREADY_COMPLETED"
  | "PHASE_OUT_OF_RANGE"
  | "TASK_NOT_FOUND"
  | "TASK_LOCKED"
  | "INVALID_TRANSITION"
  | "ATTEMPTS_EXHAUSTED"
  | "NOT_ALLOWED"
  | "EVIDENCE_TOO_LARGE"
  | "IDEMPOTENCY_KEY_REUSED"
  | "CONFLICT"
  | "CANCELLED"
  | "UNSUPPORTED"
  | "FILE_NOT_FOUND"
  | "TOO_LARGE"
  | "PLAN_PARSE"
  | "STEP_NOT_CURRENT";

const AUDIENCES: Readonly<Record<Exclude<ErrorCode, CallerOnly>, Audience>> &
  Readonly<Partial<Record<ErrorCode, Audience>>> = {
  PATH_REFUSED: "guard",
  TAMPERED: "guard",
  EVIDENCE_UNSAFE: "guard",
  APPROVAL_REFUSED: "guard",
  // Failures of the engine's environment, which a caller can't fix.
  INTERNAL: "operator",
  STORAGE_FAILED: "operator",
  BUSY: "operator",
  SESSION_LIMIT: "operator",
  FORMAT_TOO_NEW: "operator",
  CONTENT_UNAVAILABLE: "operator",
  DEFINITION_CHANGED: "operator",
  DEFINITION_UNAVAILABLE: "operator",
  TEMPLATE: "operator",
  DECIDER_FAILED: "operator",
};

export function audienceOf(error: AnyPhasegateError): Audience {
  // An empty path or a misspelt variable is not an attack.
  if (isPhasegateError(error, "PATH_REFUSED") && error.details.isMistake === true) return "caller";
  // A late or early answer is not a forgery.
  if (isPhasegateError(error, "APPROVAL_REFUSED") && error.details.reason === "not_waiting") return "caller";
  // An actor's own quota does its work: the host is in order.
  if ((error.code === "BUSY" || error.code === "SESSION_LIMIT") && error.details.actor !== undefined) return "caller";
  return AUDIENCES[error.code] ?? "caller";
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
