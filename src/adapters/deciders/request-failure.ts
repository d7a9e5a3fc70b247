import type { ErrorDetails } from "../../errors.js";

/** In what way asking a model failed. */
export type FailureReason = ErrorDetails["DECIDER_FAILED"]["reason"];

interface FailureFacts {
  /** A code or a name, never a text of the provider's: it may end in a log. */
  readonly code?: string | undefined;
  readonly status?: number | undefined;
  /** How long the provider asks to wait, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
  /** What was wrong with an answer that did come. */
  readonly problem?: string | undefined;
  /** What the provider says. It may repeat a key: it is for the exchange alone, once that is redacted. */
  readonly says?: string | undefined;
  /** Whether asking later may help, where the reason doesn't tell. */
  readonly retryable?: boolean | undefined;
}

/**
 * Why one request gave no answer that can be read. Holds nothing of the client's own error: its message, body or
 * headers may hold a key.
 */
export class RequestFailure extends Error {
  readonly reason: FailureReason;
  readonly facts: FailureFacts;

  constructor(reason: FailureReason, facts: FailureFacts = {}) {
    super(reason);
    this.reason = reason;
    this.facts = facts;
  }
}

/** A failure for an HTTP status that is no success. */
export function httpFailure(status: number, facts: Omit<FailureFacts, "status"> = {}): RequestFailure {
  return new RequestFailure(status === 429 ? "rate_limit" : "http", { ...facts, status });
}

/** A failure for an error that no HTTP answer belongs to, by its shape: what it says is not taken along. */
export function failureOf(error: unknown): RequestFailure {
  if (error instanceof RequestFailure) return error;
  const names = chain(error);
  const code = names.find((name) => /^E[A-Z_]{3,40}$|^UND_ERR_[A-Z_]{1,40}$/.test(name));
  // What fetch rejects with, at first or in the middle of a body, is a TypeError.
  if (code !== undefined || names.includes("TypeError")) return new RequestFailure("network", { code });
  if (names.includes("SyntaxError")) return new RequestFailure("invalid_response", { problem: "it was no JSON" });
  return new RequestFailure("unavailable", { code: names.find((name) => /^[A-Za-z]\w{1,60}$/.test(name)) });
}

/** Names and codes of an error and of its causes. */
function chain(error: unknown): string[] {
  const names: string[] = [];
  let at = error;
  for (let depth = 0; depth < 5 && typeof at === "object" && at !== null; depth += 1) {
    if ("code" in at && typeof at.code === "string") names.push(at.code);
    if ("name" in at && typeof at.name === "string") names.push(at.name);
    at = "cause" in at ? at.cause : undefined;
  }
  return names;
}
