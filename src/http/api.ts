/**
 * Routed workflows over HTTP, as a handler from `Request` to `Response`. This is the entry file of the folder:
 *
 * - api.ts: the order of the checks (URL length, path, preflight, authorization, method), CORS headers
 * - request.ts: reads the query, or the body within its size limit, and the idempotency key; the statuses and messages
 *   of refusals by HTTP itself
 * - routes.ts: the table of routes, and the OpenAPI document that is made from it
 */
import type { RoutedEngine } from "../routed/engine.js";
import type { RoutedContext } from "../tools/routed/calls.js";
import type { Refusal } from "../tools/routed/refusals.js";
import { carryOut } from "../tools/routed/table.js";
import { REFUSALS, readRequest, URL_MAX, wrongMethod } from "./request.js";
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
