import type { Refusal } from "../tools/routed/refusals.js";
import { isJsonObject } from "../workflow/json.js";
import type { Route } from "./routes.js";
/** Reads what a request asks: the query of a GET, the JSON and the idempotency key of a POST. */
export async function readRequest(request: Request, { method }: Route, maxBytes: number): Promise<ReadBody> {
  if (method === "GET") return readQuery(new URL(request.url));
  const read = await readBody(request, maxBytes);
  const key = request.headers.get("idempotency-key");
  if (!read.ok || key === null || !isJsonObject(read.value)) return read;
  const { idempotency_key: inBody = key } = read.value;
  if (inBody !== key && inBody !== null) return { ok: false, refusal: TWO_KEYS };
  return { ok: true, value: { ...read.value, idempotency_key: key } };
}

/** The longest query that is read, in characters: as long as all headers of a request may be in Node. */
const QUERY_MAX = 16 * 1024;

function readQuery(url: URL): ReadBody {
  const { search } = url;
  if (search.length > QUERY_MAX) return { ok: false, refusal: TOO_LONG };
  if (!isEncoded(search)) return { ok: false, refusal: NOT_ENCODED };
  const { searchParams } = url;
  const seen = new Set<string>();
  const twice = [...searchParams.keys()].find((name) => seen.size === seen.add(name).size);
  if (twice !== undefined) return { ok: false, refusal: repeated(twice.slice(0, 80)) };
  return { ok: true, value: Object.fromEntries(searchParams) };
}

/** `URLSearchParams` puts replacement characters in the place of what it can't decode: another value than was sent. */
function isEncoded(search: string): boolean {
  try {
    decodeURIComponent(search);
    return true;
  } catch {
    return false;
  }
}

const NOT_ENCODED = refused(400, "INVALID_FORMAT", "The query is not percent-encoded UTF-8.", {
  remedy: "Encode each value, as encodeURIComponent does: a percent sign is %25.",
});

const TOO_LONG = refused(414, "INVALID_FORMAT", `The query is longer than ${QUERY_MAX} characters.`, {
  remedy: "Ask for less at once.",
});

const TWO_KEYS = refused(400, "INVALID_FIELD", "Invalid value for field: idempotency_key.", {
  field: "idempotency_key",
  remedy: "The header Idempotency-Key says another one: give it once.",
});

function repeated(field: string): Refusal {
  return refused(400, "INVALID_FIELD", `Invalid value for field: ${field}.`, { field, remedy: "Give it once." });
}

/** A body that was read, or why it wasn't. */
type ReadBody = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly refusal: Refusal };

const JSON_TYPE = /^application\/(?:[a-z0-9!#$&^_.-]+\+)?json$/;
const DECODED = /^(?:utf-?8|us-ascii)$/i;
const FIRST_BYTES = 4096;

/** Reads a request's JSON, no more than so many bytes of it. */
async function readBody(request: Request, maxBytes: number): Promise<ReadBody> {
  if (!isJson(request.headers.get("content-type"))) return { ok: false, refusal: NOT_JSON };
  if (isCompressed(request.headers.get("content-encoding"))) return { ok: false, refusal: COMPRESSED };
  const read = await readBytes(request, maxBytes);
  if (!read.ok) return read;
  try {
    return { ok: true, value: JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(read.bytes)) };
  } catch {
    return { ok: false, refusal: BROKEN };
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
 * list of such chunks would hold all these buffers. The declared length is believed only where it is over the limit.
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
      held = withRoom(held, length + part.value.length, maxBytes);
      held.set(part.value, length);
      length += part.value.length;
    }
  } catch {
    // The stream says why, but only to a client that is gone, or that sent a broken chunk.
    return { ok: false, refusal: BROKEN_OFF };
  }
  return { ok: true, bytes: held.subarray(0, length) };
}

function withRoom(held: Uint8Array<ArrayBuffer>, needed: number, maxBytes: number): Uint8Array<ArrayBuffer> {
  if (needed <= held.length) return held;
  const larger = new Uint8Array(Math.min(Math.max(held.length * 2, needed), maxBytes));
  larger.set(held);
  return larger;
}

const NOT_JSON = refused(415, "UNSUPPORTED_MEDIA_TYPE", "The request body must be JSON in UTF-8.", {
  remedy: "Send the header Content-Type: application/json.",
});
const COMPRESSED = refused(415, "UNSUPPORTED_MEDIA_TYPE", "The request body must not be compressed.", {
  remedy: "Leave the header Content-Encoding out, and send the JSON as it is.",
});
const BROKEN_OFF = refused(400, "INVALID_FORMAT", "The request body ended before it was complete.", {
  remedy: "Send the whole body once more.",
});
const BROKEN = refused(400, "INVALID_FORMAT", "Request body must be valid JSON.", { remedy: "Send one JSON object." });

function tooLarge(maxBytes: number): Refusal {
  const remedy = "Put large results where they can be read from, and report where that is.";
  return refused(413, "PAYLOAD_TOO_LARGE", `The request body may have ${maxBytes} bytes.`, { remedy, limit: maxBytes });
}

/** A refusal of HTTP's own: before any engine was asked. */
export function refused(
  status: number,
  code: Refusal["body"]["error_code"],
  message: string,
  details: { readonly remedy: string; readonly [key: string]: unknown },
): Refusal {
  return { status, body: { error_code: code, message, details } };
}
