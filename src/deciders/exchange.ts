/** One request to a model: the exchange for logs with secrets redacted, the failures, and the wait before a retry. */
import { type ErrorDetails, PhasegateError } from "../errors.js";
import { systemClock } from "../ports/clock.js";
import { type OptionalPackage, whyUnusable } from "../ports/optional-package.js";
import type { DecisionRequest } from "../routed/decision/request.js";

/** The way in which a request to a model failed. */
export type FailureReason = ErrorDetails["DECIDER_FAILED"]["reason"];

/**
 * One request to a model and its outcome, for a log of AI interactions. Known keys, and everything that looks like a key,
 * are removed from all texts. The texts contain the agents' reports: such a log is as confidential as the store.
 */
export interface DeciderExchange {
  /** The decider: `gemini`, `ai-sdk` or `sampling`. */
  readonly decider: string;
  /** The provider's name of the model, if it is known. */
  readonly model?: string;
  /** The id of the instance. */
  readonly sessionId: string;
  /** The name of the workflow. */
  readonly workflow: string;
  /** The call that needs a decision. */
  readonly operation: DecisionRequest["operation"];
  /** The number of the request: 1, or 2 for the retry. */
  readonly attempt: number;
  /** The prompt. */
  readonly request: { readonly system: string; readonly user: string };
  /** The model's text; if the request failed, the provider's error message. */
  readonly response?: string;
  /** The reason why the request failed, with the HTTP status if there is one. Missing if it succeeded. */
  readonly failure?: { readonly reason: FailureReason; readonly status?: number };
  /** Tokens of the prompt, if the provider reports them. */
  readonly inputTokens?: number;
  /** Tokens of the answer, thoughts included, if the provider reports them. */
  readonly outputTokens?: number;
  /** The duration of the request, in milliseconds. */
  readonly milliseconds: number;
}

/** Called after every request. If it throws or rejects, the process gets a warning, and the decision continues. */
export type OnExchange = (exchange: DeciderExchange) => unknown;

type Redact = (text: string) => string;

/** The shortest secret that is replaced, in characters. Shorter ones may be words: replacing them would spoil texts. */
export const SHORTEST = 6;

const MARK = "[redacted]";

/** Returns true for a secret that {@link redactor} replaces. */
export function isRedacted(secret: unknown): secret is string {
  return typeof secret === "string" && secret.length >= SHORTEST;
}

/** Returns a function that replaces these secrets, also if they are encoded for a URL, in base64 or in JSON. */
export function redactor(secrets: readonly string[]): Redact {
  const forms = new Set(secrets.filter(isRedacted).flatMap(formsOf));
  const longestFirst = [...forms].sort((one, other) => other.length - one.length);
  return (text) => longestFirst.reduce((rest, form) => rest.replaceAll(form, MARK), text);
}

/** The formats of well-known keys, and the places of keys in headers, URLs and JSON. */
const SHAPES: readonly (readonly [RegExp, string])[] = [
  [/\bAIza[\w-]{10,}/g, MARK],
  [/\bAQ\.[\w-]{16,}/g, MARK],
  [/\b(?:sk|rk|pk|gsk|xai|key)[-_][\w-]{12,}/g, MARK],
  [/\b(Bearer|Basic)\s+[\w.~+/=-]{8,}/gi, `$1 ${MARK}`],
  [
    /((?:api[-_]?key|x-goog-api-key|authorization|access[-_]?token)\\?["']?\s*[:=]\s*\\?["']?)[^\s"'\\,;&}]{6,}/gi,
    `$1${MARK}`,
  ],
];

/** Replaces everything that looks like a key. It may replace too much, so it is used for logs only. */
export function redactShapes(text: string): string {
  return SHAPES.reduce((rest, [shape, mark]) => rest.replace(shape, mark), text);
}

/** True if a later request may succeed. */
const TEMPORARY: Readonly<Record<FailureReason, boolean>> = {
  timeout: true,
  network: true,
  rate_limit: true,
  invalid_response: true,
  aborted: true,
  http: false,
  safety: false,
  unavailable: false,
};

const KEPT = "The report is kept: call retry to decide on it again.";

/** Returns the error for a decision without an answer. It quotes nothing of the provider, whose message may contain a key. */
export function deciderFailed(
  label: string,
  failure: RequestFailure,
  { requests, timeoutMs }: { readonly requests: number; readonly timeoutMs: number },
): PhasegateError<"DECIDER_FAILED"> {
  const { reason, facts } = failure;
  const { status } = facts;
  const retryable = facts.retryable ?? (TEMPORARY[reason] || (status !== undefined && status >= 500));
  const times = requests > 1 ? `, asked ${requests} times` : "";
  return new PhasegateError("DECIDER_FAILED", `${said(label, failure, timeoutMs)}${times}`, {
    remedy: `${advice(failure)}${KEPT}`,
    details: { reason, status, retryable, requests },
  });
}

interface FailureFacts {
  /** A code or a name, never a message of the provider, since it is logged. */
  readonly code?: string | undefined;
  readonly status?: number | undefined;
  /** The wait that the provider asks for, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
  /** The fault of the answer, if there was one. */
  readonly problem?: string | undefined;
  /** The provider's message. It may contain a key, so it is used in the redacted exchange only. */
  readonly says?: string | undefined;
  /** True if a later request may succeed, for reasons that leave that open. */
  readonly retryable?: boolean | undefined;
}

/**
 * The reason why one request gave no usable answer. It contains nothing of the client's own error, whose message, body or headers may
 * contain a key.
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

/** Returns the failure for an HTTP status other than success. */
export function httpFailure(status: number, facts: Omit<FailureFacts, "status"> = {}): RequestFailure {
  return new RequestFailure(status === 429 ? "rate_limit" : "http", { ...facts, status });
}

/** Returns the failure for an error without an HTTP answer, by the names and codes in it. Its message is not used. */
export function failureOf(error: unknown): RequestFailure {
  if (error instanceof RequestFailure) return error;
  const names = chain(error);
  const code = names.find((name) => /^E[A-Z_]{3,40}$|^UND_ERR_[A-Z_]{1,40}$/.test(name));
  // fetch rejects with a TypeError, also while a body is read.
  if (code !== undefined || names.includes("TypeError")) return new RequestFailure("network", { code });
  if (names.includes("SyntaxError")) return new RequestFailure("invalid_response", { problem: "it was not JSON" });
  return new RequestFailure("unavailable", { code: names.find((name) => /^[A-Za-z]\w{1,60}$/.test(name)) });
}

/** The wait after a rate limit, if the provider does not say how long. */
const DEFAULT_WAIT_MS = 1000;

/** Returns the wait before the retry, in milliseconds; undefined if there is no retry. */
export function retryDelay({ reason, facts }: RequestFailure, maxRetryAfterMs: number): number | undefined {
  const { status = 0, retryAfterMs } = facts;
  switch (reason) {
    case "timeout":
    case "network":
    case "invalid_response":
      return 0;
    case "http":
      return status >= 500 ? within(retryAfterMs ?? 0, maxRetryAfterMs) : undefined;
    case "rate_limit":
      return within(retryAfterMs ?? Math.min(DEFAULT_WAIT_MS, maxRetryAfterMs), maxRetryAfterMs);
    default:
      return undefined;
  }
}

/** Returns the header `Retry-After`, in seconds or as a date, in milliseconds from now. */
export function readRetryAfter(value: string | null | undefined): number | undefined {
  const text = value?.trim() ?? "";
  if (text === "") return undefined;
  if (/^\d+(?:\.\d+)?$/.test(text)) return Number(text) * 1000;
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : Math.max(0, date - systemClock.now());
}

/** Returns the wait that Google asks for in the body of an error: `{"@type": "…RetryInfo", "retryDelay": "7s"}`. */
export function readRetryInfo(body: string): number | undefined {
  const delay = /"retryDelay"\s*:\s*"(\d+(?:\.\d+)?)s"/.exec(body)?.[1];
  return delay === undefined ? undefined : Number(delay) * 1000;
}

/** Returns the error for the package of a client that can't be used. */
export function unusableClient(needed: OptionalPackage, cause: unknown): PhasegateError<"DECIDER_FAILED"> {
  const { message, remedy } = whyUnusable(needed);
  return new PhasegateError("DECIDER_FAILED", message, {
    remedy: `${remedy} ${KEPT}`,
    details: { reason: "unavailable", retryable: false, requests: 0 },
    cause,
  });
}

function formsOf(secret: string): string[] {
  const bytes = new TextEncoder().encode(secret);
  const base64 = btoa(String.fromCharCode(...bytes)).replaceAll("=", "");
  return [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1), base64];
}

function said(label: string, { reason, facts }: RequestFailure, timeoutMs: number): string {
  const { status, code, problem, retryAfterMs } = facts;
  const named = code === undefined ? "" : ` (${code})`;
  switch (reason) {
    case "timeout":
      return `${label} had not answered after ${timeoutMs} ms`;
    case "network":
      return `${label} can't be reached, or the connection broke${named}`;
    case "http":
      return `the request to ${label} was answered with HTTP ${status}`;
    case "rate_limit":
      return `${label} has reached its rate limit (HTTP ${status})${retryAfterMs === undefined ? "" : `, for ${Math.ceil(retryAfterMs / 1000)} s`}`;
    case "safety":
      return `${label} refused to answer${named}`;
    case "invalid_response":
      return `the answer of ${label} can't be used: ${problem ?? "it was not JSON"}`;
    case "aborted":
      return `the request to ${label} was cancelled`;
    case "unavailable":
      return `${label} can't be asked${named}`;
  }
}

function advice({ reason, facts: { status = 0 } }: RequestFailure): string {
  if (reason === "safety") return "Check the texts of the report and the steps. ";
  if (reason === "timeout") return "Give a larger timeoutMs if the model needs more time. ";
  if (reason === "unavailable") return "Check the configuration of the model's client. ";
  if (reason !== "http" || status >= 500) return "";
  if (status === 401 || status === 403) return "Check the key and its permissions. ";
  if (status === 404) return "Check the name of the model. ";
  return "The hook onExchange receives the provider's message. ";
}

/** Returns the names and codes of an error and of its causes. */
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

/**
 * Returns the wait, if it is short enough. Retrying earlier would count the request against the limit, so a longer wait
 * means no retry.
 */
function within(milliseconds: number, most: number): number | undefined {
  return milliseconds <= most ? milliseconds : undefined;
}
