/** Reads the parameters of a request: the query, or the body within its size limit, with the idempotency key. */
import { readText } from "../runtime/body.js";
import { isJsonObject } from "../workflow/json.js";
import { type QueryParameter, query } from "./openapi.js";
import { type HttpRefusal, REFUSALS, repeatedParameter, tooLarge } from "./refusals.js";
import type { Route } from "./service.js";

/** The parameters of a request, or its refusal. */
type ReadParams =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly refusal: HttpRefusal };

/** Reads the query of a GET, or the JSON of a POST with the idempotency key of its header. */
export async function readRequest(
  request: Request,
  { method, request: schema }: Pick<Route, "method" | "request">,
  maxBytes: number,
): Promise<ReadParams> {
  if (method === "GET") return readQuery(new URL(request.url), query(schema));
  const read = await readBody(request, maxBytes);
  const key = request.headers.get("idempotency-key");
  if (!read.ok || key === null || !isJsonObject(read.value)) return read;
  const { idempotency_key: inBody = key } = read.value;
  if (inBody !== key && inBody !== null) return { ok: false, refusal: REFUSALS.twoKeys };
  return { ok: true, value: { ...read.value, idempotency_key: key } };
}

function readQuery({ search, searchParams }: URL, parameters: readonly QueryParameter[]): ReadParams {
  if (!isEncoded(search)) return { ok: false, refusal: REFUSALS.notEncoded };
  const seen = new Set<string>();
  const twice = [...searchParams.keys()].find((name) => seen.size === seen.add(name).size);
  if (twice !== undefined) return { ok: false, refusal: repeatedParameter(twice.slice(0, 80)) };
  const types = new Map(parameters.map(({ name, schema }) => [name, schema.type]));
  return {
    ok: true,
    value: Object.fromEntries([...searchParams].map(([name, text]) => [name, readValue(text, types.get(name))])),
  };
}

/** Reads a text of a query as its type. One that does not fit stays a text, which the check of the request refuses. */
function readValue(text: string, type: unknown): unknown {
  if (type === "integer" && /^-?\d{1,15}$/.test(text)) return Number(text);
  if (type === "boolean" && (text === "true" || text === "false")) return text === "true";
  return text;
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

/** Reads a body of JSON of at most `maxBytes`. */
async function readBody(request: Request, maxBytes: number): Promise<ReadParams> {
  if (!isJson(request.headers.get("content-type"))) return { ok: false, refusal: REFUSALS.notJsonType };
  if (isCompressed(request.headers.get("content-encoding"))) return { ok: false, refusal: REFUSALS.compressed };
  const read = await readText(request, maxBytes);
  if (!read.ok) {
    if (read.why === "large") return { ok: false, refusal: tooLarge(maxBytes) };
    return { ok: false, refusal: read.why === "encoding" ? REFUSALS.notJson : REFUSALS.incomplete };
  }
  try {
    return { ok: true, value: JSON.parse(read.text) };
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
