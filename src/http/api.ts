/**
 * Phased sessions and routed workflows over HTTP, as a handler from `Request` to `Response`. This is the entry file of the
 * folder:
 *
 * - api.ts: the order of the checks (URL length, path, preflight, authorization, login, method), CORS headers; reads the
 *   query, or the body within its size limit, and the idempotency key
 * - refusals.ts: the statuses and messages of refusals by HTTP itself
 * - openapi.ts: what is known of one kind of sessions, and the OpenAPI document that is made from its routes
 * - phased.ts, routes.ts: the routes of each kind, and what executes them
 * - node.ts: fetch handlers in servers of Node: Express, Fastify, Nest, `node:http`
 * - health.ts: what orchestrators and Prometheus ask a server: probes and metrics
 */
import { PhasegateError } from "../errors.js";
import type { Engine } from "../phased/engine.js";
import { askLogin, isResponse, type Login, loginCheck } from "../ports/login.js";
import type { RoutedEngine } from "../routed/engine.js";
import { readText } from "../runtime/body.js";
import { checkRequest } from "../runtime/fetch.js";
import {
  callable,
  checkOptions,
  either,
  fromOne,
  group,
  having,
  type OptionChecks,
  oneOf,
  optionally,
  text,
  texts,
} from "../workflow/host-options.js";
import { isJsonObject } from "../workflow/json.js";
import {
  type HttpAnswer,
  normalizedBase,
  OPENAPI_PATH,
  type OpenApiNode,
  type OpenApiOptions,
  query,
  type Route,
  type Service,
} from "./openapi.js";
import { type PhasedHttpOptions, phasedDocument, phasedService } from "./phased.js";
import { type HttpRefusal, notFound, REFUSALS, repeatedParameter, tooLarge, URL_MAX, wrongMethod } from "./refusals.js";
import { routedDocument, routedService } from "./routes.js";

/** Options of an HTTP API. */
export interface HttpApiOptions extends OpenApiOptions {
  /**
   * Decides on a request before it is carried out: `true` allows it, `false` answers 401, and a `Response` is sent as it
   * is. Default: every request is allowed. It must not read the body: clone the request for that. If it throws, the
   * request is not carried out, and the answer is 500.
   */
  readonly authorize?: (request: Request) => boolean | Response | Promise<boolean | Response>;
  /**
   * Tells who calls, after `authorize`: whom it lets in uses `engine.as(actor)`, and its refusals and its documents for
   * clients are sent as they are. Those of `phasegate/login` fit. Default: everybody calls as the host. If it rejects, the
   * request is not carried out, and the answer is 500.
   */
  readonly login?: Login;
  /** Maximum size of a request body, in bytes. Default 1 MiB. */
  readonly maxBodyBytes?: number;
  /** The web pages that may call the API. Default: none. */
  readonly cors?: CorsOptions;
}

/** Options of an HTTP API for phased sessions. */
export interface PhasedHttpApiOptions extends HttpApiOptions, PhasedHttpOptions {}

/** Answers a request. Never rejects; throws `INVALID_INPUT` for what is no `Request`. */
export type HttpApi = (request: Request) => Promise<Response>;

const BODY_BYTES = 1024 * 1024;
const RETRY_AFTER_SECONDS = "1";

const CORS: OptionChecks<CorsOptions> = { origins: either('a list of origins, or "*" for all', texts, oneOf("*")) };
const CHECKS: OptionChecks<HttpApiOptions> = {
  basePath: optionally(text),
  title: optionally(text),
  version: optionally(text),
  authorize: optionally(callable),
  login: optionally(loginCheck),
  maxBodyBytes: optionally(fromOne),
  cors: optionally(group("an object with origins", CORS)),
};
const PHASED_CHECKS = { tool: optionally(having("the options of a tool")) };

/**
 * Creates a handler that serves phased sessions or routed workflows over HTTP: for Node, Hono, Next, Bun, Deno and edge
 * runtimes alike. It serves its OpenAPI document, the one of `openApiDocument`, at `/openapi.json`.
 * @throws {PhasegateError} `INVALID_INPUT` when an option is unknown or invalid, such as an unknown action in `tool.actions`.
 */
export function createHttpApi(engine: Engine, options?: PhasedHttpApiOptions): HttpApi;
/** Creates a handler that serves routed workflows, in the same way. */
export function createHttpApi(engine: RoutedEngine, options?: HttpApiOptions): HttpApi;
export function createHttpApi(engine: Engine | RoutedEngine, options: PhasedHttpApiOptions = {}): HttpApi {
  const isRouted = !("cleanup" in engine);
  checkOptions<HttpApiOptions>("createHttpApi", options, isRouted ? CHECKS : { ...CHECKS, ...PHASED_CHECKS });
  const { login, authorize, tool } = options;
  if (tool?.authorize !== undefined && tool.actor === undefined && login === undefined) {
    // There is no actor that the rule could be asked about.
    throw new PhasegateError("INVALID_INPUT", "createHttpApi: tool.authorize needs a login", {
      remedy:
        "Give login, or tool.actor: whom the rule is asked about. Or use the option authorize, which decides on each request.",
      details: { field: "login", expected: "a login" },
    });
  }
  // By name, as a copy has no getters of a class: without the login, everybody would be the host.
  const rules = { login, authorize };
  const given = { ...options, ...rules, basePath: normalizedBase(options.basePath) };
  return "cleanup" in engine
    ? handlerOf(phasedService(engine, given), given)
    : handlerOf(routedService(engine, given), given);
}

/**
 * Returns the OpenAPI 3.1 document of an HTTP API as plain JSON, made from the schemas that check the requests.
 * @throws {PhasegateError} `INVALID_INPUT` when `tool.actions` is empty or contains an unknown action.
 */
export function openApiDocument(kind: "phased", options?: PhasedHttpOptions): OpenApiNode;
/** Returns the document of routed workflows. */
export function openApiDocument(kind: "routed", options?: OpenApiOptions): OpenApiNode;
export function openApiDocument(kind: "phased" | "routed", options: PhasedHttpOptions = {}): OpenApiNode {
  return kind === "phased" ? phasedDocument(options) : routedDocument(options);
}

type Options = HttpApiOptions & { readonly basePath: string };

function handlerOf<Call extends string>(service: Service<Call>, options: Options): HttpApi {
  const answered = async (request: Request) => {
    const found = await answer(service, request, options).catch((error: unknown) => {
      service.reportError(`http ${request.method}`, error);
      return REFUSALS.internal;
    });
    return isResponse(found) ? found : respond(request, found, service, options);
  };
  return (request) => {
    checkRequest("createHttpApi", request);
    return answered(request);
  };
}

async function answer<Call extends string>(
  service: Service<Call>,
  request: Request,
  options: Options,
): Promise<HttpAnswer | Response> {
  const { method, url } = request;
  const { basePath, authorize, login, cors, maxBodyBytes = BODY_BYTES } = options;
  // Checked before anything reads the URL: a host may accept URLs of any length.
  if (url.length > URL_MAX) return REFUSALS.longUrl;
  const document = login?.metadata?.(request);
  if (document !== undefined) return document;
  const { pathname } = new URL(url);
  const path = pathname.startsWith(`${basePath}/`) ? pathname.slice(basePath.length).replace(/\/$/, "") : "";
  const route = service.routes.find((one) => one.path === path);
  if (route === undefined && path !== OPENAPI_PATH) {
    return notFound([...service.routes.map((one) => one.path), OPENAPI_PATH], basePath, pathname);
  }
  const allow = route?.method === "POST" ? "POST, OPTIONS" : "GET, HEAD, OPTIONS";
  // Answered before authorization: a browser's preflight carries no credentials.
  if (method === "OPTIONS") return { status: 204, headers: { ...(cors && preflightHeaders(allow)), allow } };
  const authorized = authorize === undefined ? true : await authorize(request);
  if (isResponse(authorized)) return authorized;
  if (authorized !== true) return { ...REFUSALS.unauthorized, headers: { "www-authenticate": "Bearer" } };
  const actor = login && (await askLogin(login, request));
  if (isResponse(actor)) return actor;
  if (!allow.split(", ").includes(method)) return { ...wrongMethod(path, allow), headers: { allow } };
  if (route === undefined) return { status: 200, body: service.document };
  const read = await readRequest(request, route, maxBodyBytes);
  if (!read.ok) return read.refusal;
  const answered = await service.answer({ call: route.call, params: read.value, actor, signal: request.signal });
  return answered.status === 503 ? { ...answered, headers: { "retry-after": RETRY_AFTER_SECONDS } } : answered;
}

function respond(
  request: Request,
  { status, body, headers }: HttpAnswer,
  { codes }: Pick<Service<string>, "codes">,
  { cors }: HttpApiOptions,
): Response {
  const shared = corsHeaders(request, cors);
  if (body === undefined) return new Response(null, { status, headers: { ...shared, ...headers } });
  // A refusal has the code that the clients of this kind of sessions know.
  const known = "error_code" in body && typeof body.error_code === "string" ? codes[body.error_code] : undefined;
  const sent = known === undefined ? body : { ...body, error_code: known };
  return new Response(request.method === "HEAD" ? null : JSON.stringify(sent), {
    status,
    headers: {
      "content-type": "application/json; charset=utf-8",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      ...shared,
      ...headers,
    },
  });
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

function preflightHeaders(allow: string): Record<string, string> {
  return {
    "access-control-allow-methods": allow,
    "access-control-allow-headers": "content-type, idempotency-key, authorization",
    "access-control-max-age": DAY_SECONDS,
  };
}

type ReadParams =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly refusal: HttpRefusal };

/** Reads the query of a GET, or the JSON of a POST with the idempotency key of its header. */
export async function readRequest(
  request: Request,
  { method, request: schema }: Pick<Route, "method" | "request">,
  maxBytes: number,
): Promise<ReadParams> {
  if (method === "GET") return readQuery(new URL(request.url), schema);
  const read = await readBody(request, maxBytes);
  const key = request.headers.get("idempotency-key");
  if (!read.ok || key === null || !isJsonObject(read.value)) return read;
  const { idempotency_key: inBody = key } = read.value;
  if (inBody !== key && inBody !== null) return { ok: false, refusal: REFUSALS.twoKeys };
  return { ok: true, value: { ...read.value, idempotency_key: key } };
}

function readQuery({ search, searchParams }: URL, schema: Route["request"]): ReadParams {
  if (!isEncoded(search)) return { ok: false, refusal: REFUSALS.notEncoded };
  const seen = new Set<string>();
  const twice = [...searchParams.keys()].find((name) => seen.size === seen.add(name).size);
  if (twice !== undefined) return { ok: false, refusal: repeatedParameter(twice.slice(0, 80)) };
  const types = new Map(query(schema).map((parameter) => [parameter.name, parameter.schema.type]));
  const values = [...searchParams].map(([name, text]) => [name, readValue(text, types.get(name))]);
  return { ok: true, value: Object.fromEntries(values) };
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

async function readBody(request: Request, maxBytes: number): Promise<ReadParams> {
  const encoding = request.headers.get("content-encoding") ?? "identity";
  if (!isJson(request.headers.get("content-type"))) return { ok: false, refusal: REFUSALS.notJsonType };
  if (encoding.trim().toLowerCase() !== "identity") return { ok: false, refusal: REFUSALS.compressed };
  const read = await readText(request, maxBytes);
  if (read.ok) {
    try {
      return { ok: true, value: JSON.parse(read.text) };
    } catch {
      return { ok: false, refusal: REFUSALS.notJson };
    }
  }
  if (read.why === "large") return { ok: false, refusal: tooLarge(maxBytes) };
  if (read.why === "used") return { ok: false, refusal: REFUSALS.usedBody };
  return { ok: false, refusal: read.why === "encoding" ? REFUSALS.notJson : REFUSALS.incomplete };
}

function isJson(header: string | null): boolean {
  const [type = "", ...parameters] = (header ?? "").split(";").map((part) => part.trim());
  const charset = parameters.map((parameter) => /^charset="?([^"]*)"?$/i.exec(parameter)?.[1]).find(Boolean);
  return JSON_TYPE.test(type.toLowerCase()) && (charset === undefined || DECODED.test(charset));
}
