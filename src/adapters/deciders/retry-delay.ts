import type { RequestFailure } from "./request-failure.js";

/** What a limited rate is waited for, where the provider doesn't say how long. */
const UNSAID_MS = 1000;

/** How long to wait before the one retry, in milliseconds; undefined where there is none. */
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

/** Who is asked again before the time counts the request against the limit: better not at all. */
function within(milliseconds: number, most: number): number | undefined {
  return milliseconds <= most ? milliseconds : undefined;
}

/** The header `Retry-After`, in seconds or as a date, in milliseconds from now. */
export function readRetryAfter(value: string | null | undefined): number | undefined {
  const text = value?.trim() ?? "";
  if (text === "") return undefined;
  if (/^\d+(?:\.\d+)?$/.test(text)) return Number(text) * 1000;
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now());
}

/** How long Google asks to wait, which it says in the body of an error: `{"@type": "…RetryInfo", "retryDelay": "7s"}`. */
export function readRetryInfo(body: string): number | undefined {
  const delay = /"retryDelay"\s*:\s*"(\d+(?:\.\d+)?)s"/.exec(body)?.[1];
  return delay === undefined ? undefined : Number(delay) * 1000;
}
