import * as z from "zod";
import type { ModelReply } from "./model-client.js";
import { failureOf, RequestFailure } from "./request-failure.js";

const blockSchema = z.looseObject({ type: z.string(), text: z.string().optional() });
const resultSchema = z.object({
  model: z.string().optional().catch(undefined),
  content: z.union([blockSchema, z.array(blockSchema)]),
});

/** What the SDK's errors have as `code`: its own words, or the numbers of JSON-RPC. */
const errorSchema = z.object({ code: z.union([z.string(), z.number()]) });

/** The client can't be asked at all, by its capabilities or by the protocol's version. */
const CANNOT: ReadonlySet<string | number> = new Set([
  "CAPABILITY_NOT_SUPPORTED",
  "METHOD_NOT_SUPPORTED_BY_PROTOCOL_VERSION",
  -32601,
]);
const BROKEN: ReadonlySet<string | number> = new Set(["NOT_CONNECTED", "CONNECTION_CLOSED", "SEND_FAILED"]);

/** Takes the text out of what a client's model has answered. */
export function readSamplingResult(result: unknown): ModelReply {
  const { data } = resultSchema.safeParse(result);
  if (data === undefined) throw new RequestFailure("invalid_response", { problem: "it had no text" });
  const blocks = Array.isArray(data.content) ? data.content : [data.content];
  return { text: blocks.map(({ type, text }) => (type === "text" ? (text ?? "") : "")).join(""), model: data.model };
}

/** What went wrong; undefined where the client can't be asked at all. */
export function samplingFailure(error: unknown): RequestFailure | undefined {
  if (error instanceof RequestFailure) return error;
  const code = errorSchema.safeParse(error).data?.code;
  if (code === undefined) return failureOf(error);
  if (CANNOT.has(code)) return undefined;
  if (BROKEN.has(code)) return new RequestFailure("network", { code: String(code) });
  if (code === "REQUEST_TIMEOUT") return new RequestFailure("timeout");
  if (code === "INVALID_RESULT")
    return new RequestFailure("invalid_response", { problem: "it was no sampling result" });
  // A client whose user says no answers with an error, too: it may be another time.
  return new RequestFailure("unavailable", { code: String(code), retryable: true });
}
