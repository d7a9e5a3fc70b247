/** The statuses and messages of refusals by HTTP itself, in the codes of routed workflows. */
import { USED_BODY } from "../runtime/body.js";
import type { Refusal } from "../tools/routed/refusals.js";
import { shown } from "../workflow/names.js";

export interface HttpRefusal {
  readonly status: number;
  readonly body: { readonly error_code: string; readonly message: string; readonly details?: object | undefined };
}

/** The longest URL, in characters. */
export const URL_MAX = 8192;

/** The code of each status, unless a refusal is about one field. */
const CODES = {
  400: "INVALID_FORMAT",
  401: "UNAUTHORIZED",
  404: "NOT_FOUND",
  405: "METHOD_NOT_ALLOWED",
  408: "REQUEST_TIMEOUT",
  413: "PAYLOAD_TOO_LARGE",
  414: "URI_TOO_LONG",
  415: "UNSUPPORTED_MEDIA_TYPE",
  431: "HEADERS_TOO_LARGE",
  500: "INTERNAL_ERROR",
} as const satisfies Record<number, Refusal["body"]["error_code"]>;

const METHODS = "The OpenAPI document lists the methods.";

/** The refusals that are always the same. */
export const REFUSALS = {
  notHttp: refused(400, "The request is not valid HTTP/1.1.", "Send it with an HTTP client."),
  notEncoded: refused(
    400,
    "The query is not percent-encoded UTF-8.",
    "Encode each value as encodeURIComponent does: a percent sign is %25.",
  ),
  notJson: refused(400, "Request body must be valid JSON.", "Send one JSON object."),
  incomplete: refused(400, "The request body ended before it was complete.", "Send the whole body again."),
  twoKeys: wrongField("idempotency_key", "The header Idempotency-Key has another value: send the key once."),
  unauthorized: refused(401, "The request is not authorized.", "Send the credentials that this server requires."),
  noSuchMethod: refused(405, "No path supports this method.", METHODS),
  tooSlow: refused(408, "The request did not arrive in time.", "Send it without pauses."),
  longUrl: refused(
    414,
    `A URL may have at most ${URL_MAX} characters.`,
    "Remove query parameters that the OpenAPI document does not list.",
  ),
  notJsonType: refused(
    415,
    "The request body must be JSON in UTF-8.",
    "Send the header Content-Type: application/json.",
  ),
  compressed: refused(
    415,
    "The request body must not be compressed.",
    "Send the JSON as it is, without the header Content-Encoding.",
  ),
  largeHeaders: refused(
    431,
    "The URL and the headers of the request are too large.",
    "Together they may have 16 KiB: send long values in the body.",
  ),
  usedBody: refused(500, USED_BODY.message, USED_BODY.remedy, { code: "INTERNAL" }),
  internal: refused(
    500,
    "An unexpected error occurred.",
    "Try again; if it fails again, tell the person who runs this server.",
    { code: "INTERNAL" },
  ),
} satisfies Readonly<Record<string, HttpRefusal>>;

export function repeatedParameter(field: string): HttpRefusal {
  return wrongField(field, "Send it once.");
}

export function notFound(paths: readonly string[], base: string, asked: string): HttpRefusal {
  const meant = paths.find((path) => asked.endsWith(path));
  const place = meant === undefined ? base : asked.slice(0, -meant.length);
  const misplaced = place === base ? "" : ` For this one, createHttpApi needs basePath: ${shown(place)}.`;
  const whole = paths.map((path) => `${base}${path}`).join(", ");
  return refused(404, "There is nothing at this path.", `The paths are ${whole}.${misplaced}`);
}

export function wrongMethod(path: string, allow: string): HttpRefusal {
  return refused(405, `${path} supports ${allow}.`, METHODS);
}

export function tooLarge(limit: number): HttpRefusal {
  const remedy = "Store large results where they can be read, and report that place.";
  return refused(413, `The request body may have at most ${limit} bytes.`, remedy, { limit });
}

function wrongField(field: string, remedy: string): HttpRefusal {
  const message = `Invalid value for field: ${field}.`;
  return { status: 400, body: { error_code: "INVALID_FIELD", message, details: { field, remedy } } };
}

function refused(status: keyof typeof CODES, message: string, remedy: string, details: object = {}): HttpRefusal {
  return { status, body: { error_code: CODES[status], message, details: { ...details, remedy } } };
}
