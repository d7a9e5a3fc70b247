import type { RoutedEngine } from "../routed/engine.js";
import type { RoutedContext } from "../tools/routed/context.js";
import type { Refusal } from "../tools/routed/refusals.js";
import { carryOut } from "../tools/routed/table.js";
import { readRequest, refused } from "./request.js";
import { OPENAPI_PATH, type OpenApiOptions, openApiDocument, ROUTES, type Route } from "./routes.js";
/** How a host wants its HTTP API. */
export interface HttpApiOptions extends OpenApiOptions {
  /**
   * Whether a request may be carried out; a response is sent as it is, and `false` is a 401. All may be if not given. Must
   * not read the body: clone the request for that. If it throws, nothing is carried out.
   */
  readonly authorize?: (request: Request) => boolean | Response | Promise<boolean | Response>;
  /** The longest body, in bytes. Default 1 MiB. */
  readonly maxBodyBytes?: number;
  /** Which web pages may call; none if not given. */
  readonly cors?: CorsOptions;
}

/** Answers a request. Never rejects. */
export type HttpApi = (request: Request) => Promise<Response>;

const BODY_BYTES = 1024 * 1024;
/** The longest URL. */
const URL_CHARACTERS = 8192;
/** As much of a history as one answer has, in characters of JSON. */
const PAGE_CHARACTERS = 256 * 1024;
const RETRY_AFTER_SECONDS = "1";

/**
 * Routed workflows over HTTP, as a handler that takes a `Request` and gives a `Response`: for Node, Hono, Next, Bun, Deno
 * and edge runtimes alike. Its routes are in `openApiDocument()`, which it serves at `/openapi.json`.
 */
export function createHttpApi(engine: RoutedEngine, options: HttpApiOptions = {}): HttpApi {
  const basePath = checkedBase(options.basePath ?? "");
  const context: RoutedContext = { engine, names: NAMES, pageChars: PAGE_CHARACTERS };
  const api: Api = { context, basePath, options, document: openApiDocument({ ...options, basePath }) };
  return async (request) => {
    try {
      return respond(request, await answer(api, request), options);
    } catch (error) {
      engine.reportError(`http ${request.method}`, error);
      return respond(request, { refusal: INTERNAL }, options);
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
  // Before anything that goes through it: a host may take URLs of any length.
  if (url.length > URL_CHARACTERS) return { refusal: LONG_URL };
  const { pathname } = new URL(url);
  const path = pathname.startsWith(`${basePath}/`) ? pathname.slice(basePath.length).replace(/\/$/, "") : "";
  const route = ROUTES.find((one) => one.path === path);
  if (route === undefined && path !== OPENAPI_PATH) return { refusal: NOT_FOUND };
  const allow = route?.method === "POST" ? "POST, OPTIONS" : "GET, HEAD, OPTIONS";
  // Before anybody is asked who they are: a browser's preflight brings no credentials.
  if (method === "OPTIONS") return { allow };
  const authorized = await (options.authorize?.(request) ?? true);
  if (authorized instanceof Response) return { response: authorized };
  if (authorized !== true) return { refusal: UNAUTHORIZED, headers: { "www-authenticate": "Bearer" } };
  if (!allow.split(", ").includes(method)) return { refusal: wrongMethod(path, allow), headers: { allow } };
  return route === undefined
    ? { body: document }
    : carried(context, route, request, options.maxBodyBytes ?? BODY_BYTES);
}

async function carried(context: RoutedContext, route: Route, request: Request, maxBytes: number): Promise<Answer> {
  const read = await readRequest(request, route, maxBytes);
  if (!read.ok) return read;
  const answered = await carryOut(context, route.call, read.value);
  if (answered.ok) return answered;
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

/** `api`, `/api` and `/api/` are one base. */
function checkedBase(path: string): string {
  const names = path.split("/").filter((name) => name !== "");
  return names.map((name) => `/${name}`).join("");
}

const INTERNAL = refused(500, "INTERNAL_ERROR", "An unexpected error occurred.", {
  code: "INTERNAL",
  remedy: "Try once more; if it fails again, tell the person who runs this server.",
});
const NOT_FOUND = refused(404, "NOT_FOUND", "There is nothing at this path.", {
  remedy: `There are ${[...ROUTES.map(({ path }) => path), OPENAPI_PATH].join(", ")}.`,
});
const LONG_URL = refused(414, "URI_TOO_LONG", `A URL may have ${URL_CHARACTERS} characters.`, {
  remedy: "Leave out of the query what the OpenAPI document doesn't name.",
});
const UNAUTHORIZED = refused(401, "UNAUTHORIZED", "The request is not authorized.", {
  remedy: "Send the credentials that this server asks for.",
});

function wrongMethod(path: string, allow: string): Refusal {
  return refused(405, "METHOD_NOT_ALLOWED", `${path} takes ${allow}.`, {
    remedy: "The OpenAPI document names every method.",
  });
}

/** Which web pages may call. */
export interface CorsOptions {
  /** Origins such as `https://app.example`, or `"*"` for all pages. */
  readonly origins: readonly string[] | "*";
}

const DAY_SECONDS = "86400";

/** The headers that let a page read an answer; none unless the host has asked for them. */
function corsHeaders(request: Request, cors: CorsOptions | undefined): Record<string, string> {
  if (cors === undefined) return {};
  const origin = request.headers.get("origin");
  const allowed = cors.origins === "*" ? "*" : cors.origins.find((one) => one === origin);
  const vary: Record<string, string> = cors.origins === "*" ? {} : { vary: "origin" };
  return allowed === undefined ? vary : { ...vary, "access-control-allow-origin": allowed };
}

/** What a page's browser asks before it sends JSON. */
function preflightHeaders(allow: string): Record<string, string> {
  return {
    "access-control-allow-methods": allow,
    "access-control-allow-headers": "content-type, idempotency-key, authorization",
    "access-control-max-age": DAY_SECONDS,
  };
}
