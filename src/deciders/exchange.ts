/** One request to a model: the exchange for logs with secrets redacted, the failures, and the wait before a retry. */
import { type ErrorDetails, PhasegateError } from "../errors.js";
import type { DecisionRequest } from "../routed/decision/request.js";

/** The reason of a failed request to a model. */
export type FailureReason = ErrorDetails["DECIDER_FAILED"]["reason"];

/**
 * One request to a model and its result, for a log of AI interactions. Known keys, and everything that looks like a
 * key, are removed from all texts. The texts contain reports of agents, so the log is as confidential as the storage.
 */
export interface DeciderExchange {
  /** The decider: `gemini`, `ai-sdk` or `sampling`. */
  readonly decider: string;
  /** The provider's name of the model, if known. */
  readonly model?: string;
  /** The instance that the decision is for. */
  readonly instanceId: string;
  /** The name of its workflow. */
  readonly workflow: string;
  /** The call that the decision is for. */
  readonly operation: DecisionRequest["operation"];
  /** 1, or 2 for the retry. */
  readonly attempt: number;
  /** The prompts of the system and the user. */
  readonly request: { readonly system: string; readonly user: string };
  /** The model's text; after a failed request the provider's text about it. */
  readonly response?: string;
  /** The reason of the failure, and the HTTP status if there is one; missing after a success. */
  readonly failure?: { readonly reason: FailureReason; readonly status?: number };
  /** The number of input tokens, if known. */
  readonly inputTokens?: number;
  /** The number of output tokens, if known. */
  readonly outputTokens?: number;
  /** The duration of the request, in milliseconds. */
  readonly milliseconds: number;
}

/** Called after each request. Its errors are emitted as process warnings and do not affect the decision. */
export type OnExchange = (exchange: DeciderExchange) => unknown;

/** Takes secrets out of a text. */
type Redact = (text: string) => string;

/** Shorter secrets are words: to take them out would spoil texts, and hide nothing. */
const SHORTEST = 6;

const MARK = "[redacted]";

/** Takes these secrets out of texts, also where they are encoded for a URL, in base64 or in JSON. */
export function redactor(secrets: readonly string[]): Redact {
  const forms = new Set(secrets.filter((secret) => secret.length >= SHORTEST).flatMap(formsOf));
  const longestFirst = [...forms].sort((one, other) => other.length - one.length);
  return (text) => longestFirst.reduce((rest, form) => rest.replaceAll(form, MARK), text);
}

/** How keys of well-known providers look, and where keys stand in what clients and servers write. */
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

/** Takes out, besides, whatever looks like a key: for logs, where too much may be taken. */
export function redactShapes(text: string): string {
  return SHAPES.reduce((rest, [shape, mark]) => rest.replace(shape, mark), text);
}

/** True if asking later may help. */
const PASSES: Readonly<Record<FailureReason, boolean>> = {
  timeout: true,
  network: true,
  rate_limit: true,
  invalid_response: true,
  aborted: true,
  http: false,
  safety: false,
  unavailable: false,
};

const KEPT = "The report is kept: retry goes on with it.";

/** Returns the error for a question that got no answer. Its words are ours: a provider's may hold a key. */
export function deciderFailed(
  label: string,
  failure: RequestFailure,
  { requests, timeoutMs }: { readonly requests: number; readonly timeoutMs: number },
): PhasegateError<"DECIDER_FAILED"> {
  const { reason, facts } = failure;
  const { status } = facts;
  const retryable = facts.retryable ?? (PASSES[reason] || (status !== undefined && status >= 500));
  const times = requests > 1 ? `, asked ${requests} times` : "";
  return new PhasegateError("DECIDER_FAILED", `${said(label, failure, timeoutMs)}${times}`, {
    remedy: `${advice(failure)}${KEPT}`,
    details: { reason, ...(status === undefined ? {} : { status }), retryable, requests },
  });
}

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
  /** True if asking later may help, where the reason doesn't tell. */
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

/** Returns a failure for an HTTP status that is no success. */
export function httpFailure(status: number, facts: Omit<FailureFacts, "status"> = {}): RequestFailure {
  return new RequestFailure(status === 429 ? "rate_limit" : "http", { ...facts, status });
}

/** Returns a failure for an error that no HTTP answer belongs to, by its shape: what it says is not taken along. */
export function failureOf(error: unknown): RequestFailure {
  if (error instanceof RequestFailure) return error;
  const names = chain(error);
  const code = names.find((name) => /^E[A-Z_]{3,40}$|^UND_ERR_[A-Z_]{1,40}$/.test(name));
  // What fetch rejects with, at first or in the middle of a body, is a TypeError.
  if (code !== undefined || names.includes("TypeError")) return new RequestFailure("network", { code });
  if (names.includes("SyntaxError")) return new RequestFailure("invalid_response", { problem: "it was no JSON" });
  return new RequestFailure("unavailable", { code: names.find((name) => /^[A-Za-z]\w{1,60}$/.test(name)) });
}

/** What a limited rate is waited for, where the provider doesn't say how long. */
const UNSAID_MS = 1000;

/** Returns how long to wait before the one retry, in milliseconds; undefined where there is none. */
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
      return within(retryAfterMs ?? Math.min(UNSAID_MS, maxRetryAfterMs), maxRetryAfterMs);
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
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now());
}

/**
 * Returns how long Google asks to wait, which it says in the body of an error: `{"@type": "…RetryInfo", "retryDelay":
 * "7s"}`.
 */
export function readRetryInfo(body: string): number | undefined {
  const delay = /"retryDelay"\s*:\s*"(\d+(?:\.\d+)?)s"/.exec(body)?.[1];
  return delay === undefined ? undefined : Number(delay) * 1000;
}

/** Loads a client that hosts with another decider need not have. Throws `DECIDER_FAILED` where it isn't installed. */
export async function loadPackage<T>(name: string, version: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    throw new PhasegateError("DECIDER_FAILED", `this decider needs ${name}, which can't be loaded`, {
      remedy: `Install it next to phasegate: npm install ${name}@${version}. The report is kept: retry goes on with it.`,
      details: { reason: "unavailable", retryable: false, requests: 0 },
      cause: error,
    });
  }
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
      return `${label} limits its rate (HTTP ${status})${retryAfterMs === undefined ? "" : `, for ${Math.ceil(retryAfterMs / 1000)} s`}`;
    case "safety":
      return `${label} would not answer${named}`;
    case "invalid_response":
      return `the answer of ${label} can't be used: ${problem ?? "it was no JSON"}`;
    case "aborted":
      return `the question to ${label} was taken back`;
    case "unavailable":
      return `${label} can't be asked${named}`;
  }
}

function advice({ reason, facts: { status = 0 } }: RequestFailure): string {
  if (reason === "safety") return "Look at what the report and the steps say. ";
  if (reason === "timeout") return "Give a larger timeoutMs, if that is how long the model takes. ";
  if (reason === "unavailable") return "Look at how the client of the model is set up. ";
  if (reason !== "http" || status >= 500) return "";
  if (status === 401 || status === 403) return "Look at the key, and at what it may do. ";
  if (status === 404) return "Look at the name of the model. ";
  return "onExchange shows what the provider says. ";
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

/**
 * Returns the wait, if it is short enough. Retrying earlier would count the request against the limit, so a longer wait
 * means no retry.
 */
function within(milliseconds: number, most: number): number | undefined {
  return milliseconds <= most ? milliseconds : undefined;
}
