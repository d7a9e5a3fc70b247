import type { Refusal } from "../tool/routed/refusal.js";
import { refused } from "./refused.js";

/** A body that was read, or why it wasn't. */
export type ReadBody =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly refusal: Refusal };

const JSON_TYPE = /^application\/(?:[a-z0-9!#$&^_.-]+\+)?json$/;
const DECODED = /^(?:utf-?8|us-ascii)$/i;

/** Reads a request's JSON, no more than so many bytes of it. */
export async function readBody(request: Request, maxBytes: number): Promise<ReadBody> {
  if (!isJson(request.headers.get("content-type"))) return { ok: false, refusal: NOT_JSON };
  const bytes = await readBytes(request, maxBytes);
  if (bytes === undefined) return { ok: false, refusal: tooLarge(maxBytes) };
  try {
    return { ok: true, value: JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)) };
  } catch {
    return { ok: false, refusal: BROKEN };
  }
}

function isJson(header: string | null): boolean {
  const [type = "", ...parameters] = (header ?? "").split(";").map((part) => part.trim());
  const charset = parameters.map((parameter) => /^charset="?([^"]*)"?$/i.exec(parameter)?.[1]).find(Boolean);
  return JSON_TYPE.test(type.toLowerCase()) && (charset === undefined || DECODED.test(charset));
}

/** Undefined for what is longer: what the header says is believed only where it says too much. */
async function readBytes({ body, headers }: Request, maxBytes: number): Promise<Uint8Array | undefined> {
  if (Number(headers.get("content-length")) > maxBytes) return undefined;
  const parts: Uint8Array[] = [];
  let length = 0;
  const reader = body?.getReader();
  for (let part = await reader?.read(); part?.value !== undefined; part = await reader?.read()) {
    length += part.value.length;
    if (length > maxBytes) {
      await reader?.cancel();
      return undefined;
    }
    parts.push(part.value);
  }
  return joined(parts, length);
}

function joined(parts: readonly Uint8Array[], length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

const NOT_JSON = refused(415, "UNSUPPORTED_MEDIA_TYPE", "The request body must be JSON in UTF-8.", {
  remedy: "Send the header Content-Type: application/json.",
});
const BROKEN = refused(400, "INVALID_FORMAT", "Request body must be valid JSON.", { remedy: "Send one JSON object." });

function tooLarge(maxBytes: number): Refusal {
  const remedy = "Put large results where they can be read from, and report where that is.";
  return refused(413, "PAYLOAD_TOO_LARGE", `The request body may have ${maxBytes} bytes.`, { remedy, limit: maxBytes });
}
