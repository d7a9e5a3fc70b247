/**
 * Routed workflows over HTTP, as a handler from `Request` to `Response`. This is the entry file of the folder:
 *
 * - api.ts: the order of the checks (URL length, path, preflight, authorization, method), CORS headers; reads the query, or
 *   the body within its size limit, and the idempotency key; the statuses and messages of refusals by HTTP itself
 * - routes.ts: the table of routes, and the OpenAPI document that is made from it
 * - health.ts: what orchestrators and Prometheus ask a server: probes and metrics
 */
import type { RoutedEngine } from "../routed/engine.js";
import { readText } from "../runtime/body.js";
import type { RoutedContext } from "../tools/routed/calls.js";
import type { Refusal } from "../tools/routed/refusals.js";
import { carryOut } from "../tools/routed/routed-tools.js";
import { isJsonObject } from "../workflow/json.js";
import { OPENAPI_PATH, type OpenApiOptions, openApiDocument, ROUTES, type Route } from "./routes.js";

/** Options of an HTTP API. */
export interface HttpApiOptions extends OpenApiOptions {
  /**
   * Decides on a request before it is carried out: `true` allows it, `false` answers 401, and a `Response` is sent as it
   * is. Default: every request is allowed. It must not read the body: clone the request for that. If it throws, the
   * request is not carried out, and the answer is 500.
   */
  readonly authorize?: (request: Request) => boolean | Response | Promise<boolean | Response>;
  /** Maximum size of a request body, in bytes. Default 1 MiB. */
  readonly maxBodyBytes?: number;
  /** The web pages that may call the API. Default: none. */
  readonly cors?: CorsOptions;
}

/** Answers a request. Never rejects. */
export type HttpApi = (request: Request) => Promise<Response>;

const BODY_BYTES = 1024 * 1024;
/** Maximum size of one page of a history, in characters of JSON. */
const PAGE_CHARACTERS = 256 * 1024;
const RETRY_AFTER_SECONDS = "1";

/**
 * Creates a handler that serves routed workflows over HTTP: for Node, Hono, Next, Bun, Deno and edge runtimes alike. It
 * serves its OpenAPI document, the one of `openApiDocument()`, at `/openapi.json`.
 */
export function createHttpApi(engine: RoutedEngine, options: HttpApiOptions = {}): HttpApi {
  const basePath = normalizedBase(options.basePath ?? "");
  const context: RoutedContext = { engine, names: NAMES, pageChars: PAGE_CHARACTERS };
  const api: Api = { context, basePath, options, document: openApiDocument({ ...options, basePath }) };
  return async (request) => {
    try {
      return respond(request, await answer(api, request), options);
    } catch (error) {
      engine.reportError(`http ${request.method}`, error);
      return respond(request, { refusal: REFUSALS.internal }, options);
    }
  };
}

const NAMES = new Map(ROUTES.map(({ call }) => [call, call]));

interface Api {
  readonly context: RoutedContext;
  readonly basePath: string;
  readonly options: HttpApiOptions;
  readonly document: object;
}

type Answer =
  | { readonly body: object }
  | { readonly refusal: Refusal; readonly headers?: Record<string, string> }
  | { readonly allow: string }
  | { readonly response: Response };

async function answer({ context, basePath, options, document }: Api, request: Request): Promise<Answer> {
  const { method, url } = request;
  // Checked before anything reads the URL: a host may accept URLs of any length.
  if (url.length > URL_MAX) return { refusal: REFUSALS.longUrl };
  const { pathname } = new URL(url);
  const path = pathname.startsWith(`${basePath}/`) ? pathname.slice(basePath.length).replace(/\/$/, "") : "";
  const route = ROUTES.find((one) => one.path === path);
  if (route === undefined && path !== OPENAPI_PATH) return { refusal: REFUSALS.notFound };
  const allow = route?.method === "POST" ? "POST, OPTIONS" : "GET, HEAD, OPTIONS";
  // Answered before authorization: a browser's preflight carries no credentials.
  if (method === "OPTIONS") return { allow };
  const authorized = await (options.authorize?.(request) ?? true);
  if (authorized instanceof Response) return { response: authorized };
  if (authorized !== true) return { refusal: REFUSALS.unauthorized, headers: { "www-authenticate": "Bearer" } };
  if (!allow.split(", ").includes(method)) return { refusal: wrongMethod(path, allow), headers: { allow } };
  return route === undefined
    ? { body: document }
    : carried(context, route, request, options.maxBodyBytes ?? BODY_BYTES);
}

async function carried(context: RoutedContext, route: Route, request: Request, maxBytes: number): Promise<Answer> {
  const read = await readRequest(request, route, maxBytes);
  if (!read.ok) return read;
  const answered = await carryOut(context, route.call, read.value);
  if ("body" in answered) return answered;
  const { refusal } = answered;
  return refusal.status === 503 ? { refusal, headers: { "retry-after": RETRY_AFTER_SECONDS } } : { refusal };
}

function respond(request: Request, answered: Answer, { cors }: HttpApiOptions): Response {
  if ("response" in answered) return answered.response;
  const shared = corsHeaders(request, cors);
  if ("allow" in answered) {
    const { allow } = answered;
    const preflight = cors === undefined ? {} : preflightHeaders(allow);
    return new Response(null, { status: 204, headers: { ...shared, ...preflight, allow } });
  }
  const [status, body, more] =
    "refusal" in answered ? [answered.refusal.status, answered.refusal.body, answered.headers] : [200, answered.body];
  return new Response(request.method === "HEAD" ? null : JSON.stringify(body), {
    status,
    headers: {
      "content-type": "application/json; charset=utf-8",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      ...shared,
      ...more,
    },
  });
}

/** Makes `api`, `/api` and `/api/` the same base path. */
function normalizedBase(path: string): string {
  const names = path.split("/").filter((name) => name !== "");
  return names.map((name) => `/${name}`).join("");
}

/** The web pages that may call an HTTP API. */
export interface CorsOptions {
  /** Origins such as `https://app.example`, or `"*"` for all pages. */
  readonly origins: readonly string[] | "*";
}

const DAY_SECONDS = "86400";

/** Returns the headers that let a page read an answer; none without {@link HttpApiOptions.cors}. */
function corsHeaders(request: Request, cors: CorsOptions | undefined): Record<string, string> {
  if (cors === undefined) return {};
  const origin = request.headers.get("origin");
  const allowed = cors.origins === "*" ? "*" : cors.origins.find((one) => one === origin);
  const vary: Record<string, string> = cors.origins === "*" ? {} : { vary: "origin" };
  return allowed === undefined ? vary : { ...vary, "access-control-allow-origin": allowed };
}

/** Returns the headers that a browser asks for before it lets a page send JSON. */
function preflightHeaders(allow: string): Record<string, string> {
  return {
    "access-control-allow-methods": allow,
    "access-control-allow-headers": "content-type, idempotency-key, authorization",
    "access-control-max-age": DAY_SECONDS,
  };
}

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

/** The longest URL, in characters. */
const URL_MAX = 8192;

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
function wrongMethod(path: string, allow: string): Refusal {
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
