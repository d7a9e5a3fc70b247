/**
 * One kind of sessions over HTTP: its routes, how a call is executed, and the OpenAPI document that is made from the routes
 * and from the schemas that check the requests.
 */
import * as z from "zod/mini";
import type { Actor } from "../ports/actor.js";
import { fieldNames, isOptional } from "../tools/schemas.js";

/** The path of the OpenAPI document, below the base path. */
export const OPENAPI_PATH = "/openapi.json";

/** The parts of the OpenAPI document that do not follow from the schemas. */
export interface OpenApiOptions {
  /** Prefix of every path, such as `/api`. Default: none. */
  readonly basePath?: string;
  /** The title of the API. Default `Phased sessions` or `Routed workflows`. */
  readonly title?: string;
  /** The version of the host's API. Default `1.0.0`. */
  readonly version?: string;
}

export interface Route<Call extends string = string> {
  /** The call that it makes; also the name of the operation. */
  readonly call: Call;
  readonly method: "GET" | "POST";
  /** The path below the base path. */
  readonly path: string;
  readonly summary: string;
  /** Every status that it may answer with, except 200. */
  readonly refusals: readonly number[];
  /** What it takes: the query of a GET, or the JSON of a POST. */
  readonly request: z.core.$ZodObject;
  /** The name of its answer among the schemas of the document. */
  readonly answer: string;
}

/** An answer before it is sent; a refusal has an `error_code` in its body. */
export interface HttpAnswer {
  readonly status: number;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A call that has passed the checks of HTTP itself. */
export interface HttpCall<Call extends string> {
  readonly call: Call;
  readonly params: unknown;
  /** Who calls; undefined without a login. */
  readonly actor: Actor | undefined;
  /** Aborts when the client has gone. */
  readonly signal: AbortSignal;
}

export interface Service<Call extends string> {
  readonly routes: readonly Route<Call>[];
  readonly document: object;
  /** The codes that its clients know for some of the codes of refusals. */
  readonly codes: Readonly<Record<string, string | undefined>>;
  /** Executes a call. Rejects only if the login has given an actor whose name is not valid. */
  answer(call: HttpCall<Call>): Promise<HttpAnswer>;
  /** Tells the host of an error outside of a call. */
  reportError(operation: string, error: unknown): void;
}

/** A part of an OpenAPI document. */
export type OpenApiNode = { [key: string]: unknown };

/** The statuses that mean the same for all kinds of sessions. */
const MEANINGS: Readonly<Record<number, string>> = {
  401: "The host does not allow the request",
  414: "The URL is too long",
  415: "The body is not JSON, or is compressed",
  503: "BUSY or SESSION_LIMIT: nothing was done",
};

interface Described {
  readonly routes: readonly Route[];
  /** The schemas of the answers by name, with that of refusals, `Error`. */
  readonly schemas: Readonly<Record<string, OpenApiNode>>;
  /** What each other status of a refusal means. */
  readonly meanings: Readonly<Record<number, string>>;
  readonly title: string;
}

export function documentOf({ routes, schemas, meanings, title }: Described, options: OpenApiOptions): OpenApiNode {
  const { version = "1.0.0" } = options;
  const basePath = normalizedBase(options.basePath);
  const paths = routes.map((route) => {
    return [`${basePath}${route.path}`, { [route.method.toLowerCase()]: operation(route, meanings) }];
  });
  const requests = routes
    .filter(({ method }) => method === "POST")
    .map(({ call, request }) => [requestName(call), jsonSchema(request, "input")]);
  return {
    openapi: "3.1.0",
    info: { title: options.title ?? title, version },
    paths: Object.fromEntries(paths),
    components: { schemas: { ...Object.fromEntries(requests), ...schemas } },
  };
}

/** Makes `api`, `/api` and `/api/` the same base path. */
export function normalizedBase(path = ""): string {
  const names = path.split("/").filter((name) => name !== "");
  return names.map((name) => `/${name}`).join("");
}

function operation({ call, method, summary, refusals, request, answer }: Route, meanings: Described["meanings"]) {
  const keys = fieldNames(request).includes("idempotency_key") ? { parameters: [keyHeader] } : {};
  const asked =
    method === "GET"
      ? { parameters: query(request) }
      : { requestBody: { required: true, ...content(requestName(call)) }, ...keys };
  const refused = [...refusals].sort().map((status) => {
    return [String(status), { description: meanings[status] ?? MEANINGS[status] ?? "", ...content("Error") }];
  });
  const responses = { "200": { description: "Done", ...content(answer) }, ...Object.fromEntries(refused) };
  return { operationId: call, summary, ...asked, responses };
}

const keyHeader = {
  name: "Idempotency-Key",
  in: "header",
  description: "A request that is repeated with the same key is carried out once",
  schema: { type: "string", minLength: 1, maxLength: 200 },
};

function content(name: string): OpenApiNode {
  return { content: { "application/json": { schema: { $ref: `#/components/schemas/${name}` } } } };
}

interface QueryParameter {
  readonly name: string;
  readonly in: "query";
  readonly required: boolean;
  readonly schema: OpenApiNode;
}

const queries = new WeakMap<z.core.$ZodObject, readonly QueryParameter[]>();

/** Returns the parameters of a query; always the same list for a schema, since each request asks for it. */
export function query(request: z.core.$ZodObject): readonly QueryParameter[] {
  const made =
    queries.get(request) ??
    Object.entries(request._zod.def.shape).map(([name, part]) => {
      return { name, in: "query" as const, required: !isOptional(request, name), schema: jsonSchema(part, "input") };
    });
  queries.set(request, made);
  return made;
}

/** `complete_phase` becomes `CompletePhaseRequest`. */
function requestName(call: string): string {
  const words = call.split("_").map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`);
  return `${words.join("")}Request`;
}

export function jsonSchema(schema: z.core.$ZodType, io: "input" | "output"): OpenApiNode {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { unrepresentable: "any", io });
  return rest;
}
