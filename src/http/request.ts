/**
 * Reads the parameters of an HTTP request: from the query of a GET, from the body and the headers of a POST. Also has the
 * table of refusals by the HTTP layer itself, for the fetch handler and the Node server of `phasegate serve`. Refusals of
 * engines are in tools/wire.ts.
 */
import type { Refusal } from "../tools/routed/refusals.js";
import { isJsonObject } from "../workflow/json.js";
import { OPENAPI_PATH, ROUTES, type Route } from "./routes.js";

/** The parameters of a request, or its refusal. */
type ReadParams = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly refusal: Refusal };

/** Reads the query of a GET, or the JSON of a POST with the idempotency key of its header. */
export async function readRequest(request: Request, { method }: Route, maxBytes: number): Promise<ReadParams> {
  if (method === "GET") return readQuery(new URL(request.url));
  const read = await readBody(request, maxBytes);
  const key = request.headers.get("idempotency-key");
  if (!read.ok || key === null || !isJsonObject(read.value)) return read;
  const { idempotency_key: inBody = key } = read.value;
  if (inBody !== key && inBody !== null) return { ok: false, refusal: REFUSALS.twoKeys };
  return { ok: true, value: { ...read.value, idempotency_key: key } };
}

function readQuery({ search, searchParams }: URL): ReadParams {
  if (!isEncoded(search)) return { ok: false, refusal: REFUSALS.notEncoded };
  const seen = new Set<string>();
  const twice = [...searchParams.keys()].find((name) => seen.size === seen.add(name).size);
  if (twice !== undefined) return { ok: false, refusal: repeatedParameter(twice.slice(0, 80)) };
  return { ok: true, value: Object.fromEntries(searchParams) };
}

/** Checks the encoding: `URLSearchParams` replaces what it cannot decode, and would return another value than was sent. */
function isEncoded(search: string): boolean {
  try {
    decodeURIComponent(search);
    return true;
  } catch {
    return false;
  }
}

const JSON_TYPE = /^application\/(?:[a-z0-9!#$&^_.-]+\+)?json$/;
const DECODED = /^(?:utf-?8|us-ascii)$/i;
const FIRST_BYTES = 4096;

/** Reads a body of JSON of at most `maxBytes`. */
async function readBody(request: Request, maxBytes: number): Promise<ReadParams> {
  if (!isJson(request.headers.get("content-type"))) return { ok: false, refusal: REFUSALS.notJsonType };
  if (isCompressed(request.headers.get("content-encoding"))) return { ok: false, refusal: REFUSALS.compressed };
  const read = await readBytes(request, maxBytes);
  if (!read.ok) return read;
  try {
    return { ok: true, value: JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(read.bytes)) };
  } catch {
    return { ok: false, refusal: REFUSALS.notJson };
  }
}

function isJson(header: string | null): boolean {
  const [type = "", ...parameters] = (header ?? "").split(";").map((part) => part.trim());
  const charset = parameters.map((parameter) => /^charset="?([^"]*)"?$/i.exec(parameter)?.[1]).find(Boolean);
  return JSON_TYPE.test(type.toLowerCase()) && (charset === undefined || DECODED.test(charset));
}

function isCompressed(header: string | null): boolean {
  return header !== null && header.trim().toLowerCase() !== "identity";
}

type ReadBytes = { readonly ok: true; readonly bytes: Uint8Array } | { readonly ok: false; readonly refusal: Refusal };

/**
 * Reads the bytes of a body into one buffer. Chunks are copied: a chunk of one byte may be a view of a large buffer, and a
 * list of such chunks would keep all these buffers in memory. A declared length is used only to refuse a body early.
 */
async function readBytes({ body, headers }: Request, maxBytes: number): Promise<ReadBytes> {
  if (Number(headers.get("content-length")) > maxBytes) return { ok: false, refusal: tooLarge(maxBytes) };
  let held = new Uint8Array(Math.min(FIRST_BYTES, maxBytes));
  let length = 0;
  const reader = body?.getReader();
  try {
    for (let part = await reader?.read(); part?.value !== undefined; part = await reader?.read()) {
      if (length + part.value.length > maxBytes) {
        await reader?.cancel();
        return { ok: false, refusal: tooLarge(maxBytes) };
      }
      held = grown(held, length + part.value.length, maxBytes);
      held.set(part.value, length);
      length += part.value.length;
    }
  } catch {
    // The client has disconnected, or has sent a broken chunk.
    return { ok: false, refusal: REFUSALS.incomplete };
  }
  return { ok: true, bytes: held.subarray(0, length) };
}

function grown(held: Uint8Array<ArrayBuffer>, needed: number, maxBytes: number): Uint8Array<ArrayBuffer> {
  if (needed <= held.length) return held;
  const larger = new Uint8Array(Math.min(Math.max(held.length * 2, needed), maxBytes));
  larger.set(held);
  return larger;
}

/** The longest URL, in characters. */
export const URL_MAX = 8192;

const INVALID_KEY = "Invalid value for field: idempotency_key.";

/** The refusals that are always the same. */
export const REFUSALS = {
  notHttp: refused(400, "INVALID_FORMAT", "The request is not valid HTTP/1.1.", "Send it with an HTTP client."),
  notEncoded: refused(
    400,
    "INVALID_FORMAT",
    "The query is not percent-encoded UTF-8.",
    "Encode each value as encodeURIComponent does: a percent sign is %25.",
  ),
  notJson: refused(400, "INVALID_FORMAT", "Request body must be valid JSON.", "Send one JSON object."),
  incomplete: refused(
    400,
    "INVALID_FORMAT",
    "The request body ended before it was complete.",
    "Send the whole body again.",
  ),
  twoKeys: refused(
    400,
    "INVALID_FIELD",
    INVALID_KEY,
    "The header Idempotency-Key has another value: send the key once.",
    { field: "idempotency_key" },
  ),
  unauthorized: refused(
    401,
    "UNAUTHORIZED",
    "The request is not authorized.",
    "Send the credentials that this server requires.",
  ),
  notFound: refused(
    404,
    "NOT_FOUND",
    "There is nothing at this path.",
    `The paths are ${[...ROUTES.map(({ path }) => path), OPENAPI_PATH].join(", ")}.`,
  ),
  noSuchMethod: refused(
    405,
    "METHOD_NOT_ALLOWED",
    "No path supports this method.",
    "The OpenAPI document lists the methods.",
  ),
  tooSlow: refused(408, "REQUEST_TIMEOUT", "The request did not arrive in time.", "Send it without pauses."),
  longUrl: refused(
    414,
    "URI_TOO_LONG",
    `A URL may have at most ${URL_MAX} characters.`,
    "Remove query parameters that the OpenAPI document does not list.",
  ),
  notJsonType: refused(
    415,
    "UNSUPPORTED_MEDIA_TYPE",
    "The request body must be JSON in UTF-8.",
    "Send the header Content-Type: application/json.",
  ),
  compressed: refused(
    415,
    "UNSUPPORTED_MEDIA_TYPE",
    "The request body must not be compressed.",
    "Send the JSON as it is, without the header Content-Encoding.",
  ),
  largeHeaders: refused(
    431,
    "HEADERS_TOO_LARGE",
    "The URL and the headers of the request are too large.",
    "Together they may have 16 KiB: send long values in the body.",
  ),
  internal: refused(
    500,
    "INTERNAL_ERROR",
    "An unexpected error occurred.",
    "Try again; if it fails again, tell the person who runs this server.",
    { code: "INTERNAL" },
  ),
} satisfies Readonly<Record<string, Refusal>>;

/** Returns the refusal of a parameter that is in the query twice. */
function repeatedParameter(field: string): Refusal {
  return refused(400, "INVALID_FIELD", `Invalid value for field: ${field}.`, "Send it once.", { field });
}

/** Returns the refusal of a method that the path does not support. */
export function wrongMethod(path: string, allow: string): Refusal {
  return refused(405, "METHOD_NOT_ALLOWED", `${path} supports ${allow}.`, "The OpenAPI document lists the methods.");
}

/** Returns the refusal of a body over the limit, in bytes. */
function tooLarge(limit: number): Refusal {
  const remedy = "Store large results where they can be read, and report that place.";
  return refused(413, "PAYLOAD_TOO_LARGE", `The request body may have at most ${limit} bytes.`, remedy, { limit });
}

function refused(
  status: number,
  code: Refusal["body"]["error_code"],
  message: string,
  remedy: string,
  details: Readonly<Record<string, unknown>> = {},
): Refusal {
  return { status, body: { error_code: code, message, details: { ...details, remedy } } };
}
