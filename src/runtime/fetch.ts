/** What fetch handlers take: a `Request`. A host may hand over what its own framework gives it. */
import { PhasegateError } from "../errors.js";

/** Returns true for a request of any class: a server may have replaced the runtime's with its own. */
export function isRequest(value: unknown): value is Request {
  if (typeof value !== "object" || value === null || !("url" in value) || !("headers" in value)) return false;
  return typeof value.url === "string" && typeof Object(value.headers).get === "function";
}

/**
 * Refuses what is no request. Throws at once, and rejects no promise: a framework then answers and logs it, and its client does
 * not wait for ever.
 * @throws {PhasegateError} `INVALID_INPUT`
 */
export function checkRequest(of: string, value: unknown): void {
  if (isRequest(value)) return;
  throw new PhasegateError("INVALID_INPUT", `the handler of ${of} takes a Request, and got something else`, {
    remedy:
      "In Express, Fastify, Nest and on node:http, wrap it: toNodeHandler(handler) of phasegate/http. In Hono, pass on c.req.raw.",
    details: { field: "request", expected: "a Request" },
  });
}
