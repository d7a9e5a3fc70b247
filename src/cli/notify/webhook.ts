/** A receiver with an address: a POST, signed as the Standard Webhooks specification says. */
import { createHmac } from "node:crypto";
import { readRetryAfter } from "../../deciders/exchange.js";
import { errnoOf } from "../../errors.js";
import { packageVersion } from "../exit-codes.js";
import { BODIES, type Format } from "./formats.js";
import type { Failure, Receiver } from "./outbox.js";

const TIMEOUT = 10_000;

export interface Webhook {
  readonly url: URL;
  readonly format: Format;
  /** The keys of the signatures; without one there is no signature. */
  readonly keys: readonly Uint8Array[];
  /** The time that it may take to answer, in milliseconds. Default: 10,000. */
  readonly timeoutMs?: number;
}

export function webhook({ url, format, keys, timeoutMs = TIMEOUT }: Webhook): Receiver {
  return {
    name: url.host,
    async send(message, signal) {
      const body = JSON.stringify(BODIES[format](message));
      const late = AbortSignal.timeout(timeoutMs);
      try {
        const response = await fetch(url, {
          method: "POST",
          headers: {
            "content-type": "application/json",
            "user-agent": `phasegate/${packageVersion()}`,
            ...signed(message.id, Math.floor(Date.now() / 1000), body, keys),
          },
          body,
          // The message and its signature are for this address alone.
          redirect: "manual",
          signal: AbortSignal.any([signal, late]),
        });
        // The answer is known: how its body ends does not matter.
        await response.body?.cancel().catch(() => {});
        return failureOf(response);
      } catch (error) {
        return { why: late.aborted ? `no answer within ${timeoutMs / 1000} seconds` : causeOf(error), isPassing: true };
      }
    },
  };
}

/** Returns the headers for a body. `at` is the time of this try, in seconds since 1970. */
export function signed(id: string, at: number, body: string, keys: readonly Uint8Array[]): Record<string, string> {
  if (keys.length === 0) return {};
  const signatures = keys.map(
    (key) => `v1,${createHmac("sha256", key).update(`${id}.${at}.${body}`).digest("base64")}`,
  );
  return { "webhook-id": id, "webhook-timestamp": `${at}`, "webhook-signature": signatures.join(" ") };
}

function failureOf({ ok, status, headers }: Response): Failure | undefined {
  if (ok) return undefined;
  const why = `it answers ${status}`;
  if (status >= 300 && status < 400) return { why: `${why}; redirects are not followed` };
  if (status !== 429 && status < 500) return { why };
  return { why, isPassing: true, afterMs: readRetryAfter(headers.get("retry-after")) };
}

/** Returns the reason without the address, whose path may be a secret. */
function causeOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return `no answer (${errnoOf(cause) ?? "the connection failed"})`;
}
