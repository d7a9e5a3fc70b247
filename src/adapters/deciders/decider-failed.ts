import { PhasegateError } from "../../errors.js";
import type { FailureReason, RequestFailure } from "./request-failure.js";

/** Whether asking later may help. */
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

/** The error for a question that got no answer. Its words are ours: a provider's may hold a key. */
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
