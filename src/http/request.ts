/** Reads the parameters of an HTTP request: from the query of a GET, from the body and the headers of a POST. */
import type { Refusal } from "../tools/routed/refusals.js";
import { isJsonObject } from "../workflow/json.js";
import { REFUSALS, repeatedParameter, tooLarge } from "./refusals.js";
import type { Route } from "./routes.js";

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
