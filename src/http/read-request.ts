import { isJsonObject } from "../definition/json.js";
import type { Refusal } from "../tool/routed/refusal.js";
import { type ReadBody, readBody } from "./read-body.js";
import { refused } from "./refused.js";
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
