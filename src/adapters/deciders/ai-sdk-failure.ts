import * as z from "zod";
import { failureOf, httpFailure, RequestFailure } from "./request-failure.js";
import { readRetryAfter, readRetryInfo } from "./retry-delay.js";

/** What errors of the AI SDK have in common, whichever package they are of. */
const answeredSchema = z.object({
  statusCode: z.number(),
  responseHeaders: z.record(z.string(), z.string()).optional().catch(undefined),
  responseBody: z.string().optional().catch(undefined),
  cause: z.unknown(),
});

/** What went wrong, by an error of the AI SDK. What the provider says is taken along where keys in it can be found. */
export function aiSdkFailure(error: unknown, mayShow: boolean): RequestFailure {
  if (error instanceof RequestFailure) return error;
  const { data } = answeredSchema.safeParse(error);
  if (data === undefined) return failureOf(error);
  const { statusCode, responseHeaders = {}, responseBody, cause } = data;
  const says = mayShow ? responseBody : undefined;
  if (statusCode < 200 || statusCode > 299) {
    const retryAfterMs = readRetryAfter(responseHeaders["retry-after"]) ?? readRetryInfo(responseBody ?? "");
    return httpFailure(statusCode, { says, retryAfterMs });
  }
  // It was answered, but what came was cut off, or not what this provider's answers are.
  const { reason, facts } = failureOf(cause);
  if (reason === "network") return new RequestFailure("network", facts);
  return new RequestFailure("invalid_response", { problem: "it was no answer of this provider", says });
}
