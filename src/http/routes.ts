/** The routes of the HTTP API, and the OpenAPI document that describes them. */
import * as z from "zod";
import {
  ANSWERS,
  errorSchema,
  historySchema,
  listSchema,
  resultSchema,
  statusSchema,
} from "../tools/routed/answers.js";
import { REQUESTS, type RoutedCall } from "../tools/routed/requests.js";

/** One route of the HTTP API. */
export interface Route {
  readonly call: RoutedCall;
  readonly method: "GET" | "POST";
  /** The path below the base path. */
  readonly path: string;
  readonly summary: string;
  /** Every status that it may answer with, except 200. */
  readonly refusals: readonly number[];
}

const ALWAYS = [400, 401, 414, 500, 503];
const ON_INSTANCE = [...ALWAYS, 404];
const WRITING = [...ON_INSTANCE, 409, 413, 415, 422];
const DECIDING = [...WRITING, 502];

/** The routes: one for each call of a routed workflow. */
export const ROUTES: readonly Route[] = [
  { call: "list", method: "GET", path: "/workflows/list", summary: "List the workflows", refusals: ALWAYS },
  { call: "start", method: "POST", path: "/workflows/start", summary: "Start an instance", refusals: DECIDING },
  {
    call: "advance",
    method: "POST",
    path: "/workflows/advance",
    summary: "Report on the current step, and get the next one",
    refusals: DECIDING,
  },
  {
    call: "resume",
    method: "POST",
    path: "/workflows/resume",
    summary: "Return to an instance, and report the step that you think it is at",
    refusals: DECIDING,
  },
  {
    call: "status",
    method: "GET",
    path: "/workflows/status",
    summary: "Get the status of an instance",
    refusals: ON_INSTANCE,
  },
  {
    call: "suspend",
    method: "POST",
    path: "/workflows/suspend",
    summary: "Suspend an instance; resume continues it",
    refusals: WRITING,
  },
  {
    call: "cancel",
    method: "POST",
    path: "/workflows/cancel",
    summary: "End an instance for good",
    refusals: WRITING,
  },
  {
    call: "retry",
    method: "POST",
    path: "/workflows/retry",
    summary: "Continue a failed instance",
    refusals: DECIDING,
  },
  {
    call: "history",
    method: "GET",
    path: "/workflows/history",
    summary: "Read the history of an instance, oldest entry first",
    refusals: ON_INSTANCE,
  },
];

/** The path of the OpenAPI document, below the base path. */
export const OPENAPI_PATH = "/openapi.json";

/** The parts of the OpenAPI document that do not follow from the schemas. */
export interface OpenApiOptions {
  /** Prefix of every path, such as `/api`. Default: none. */
  readonly basePath?: string;
  /** The title of the API. Default `Routed workflows`. */
  readonly title?: string;
  /** The version of the host's API. Default `1.0.0`. */
  readonly version?: string;
}

/** A part of an OpenAPI document. */
export type OpenApiNode = { [key: string]: unknown };

const MEANINGS: Readonly<Record<number, string>> = {
  400: "The request is invalid: INVALID_FORMAT, MISSING_FIELD, INVALID_TYPE or INVALID_FIELD",
  401: "The host does not allow the request",
  404: "INSTANCE_NOT_FOUND or DEFINITION_NOT_FOUND",
  409: "The instance's status does not allow the call, or another call changed the instance first",
  413: "The body is too large",
  414: "The URL is too long",
  415: "The body is not JSON, or is compressed",
  422: "The idempotency key was used with another request before",
  500: "The server failed: PERSISTENCE_ERROR, DEFINITION_SERVICE_ERROR, DEFINITION_UNAVAILABLE or INTERNAL_ERROR",
  502: "The decider gave no usable answer: the report is kept, and retry decides on it again",
  503: "BUSY or SESSION_LIMIT: nothing was done",
};

/** Returns the OpenAPI 3.1 document of the HTTP API as plain JSON. It is made from the schemas that check the requests. */
export function openApiDocument(options: OpenApiOptions = {}): OpenApiNode {
  const { basePath = "", title = "Routed workflows", version = "1.0.0" } = options;
  const paths = Object.fromEntries(
    ROUTES.map((route) => [`${basePath}${route.path}`, { [route.method.toLowerCase()]: operation(route) }]),
  );
  const requests = ROUTES.filter(({ method }) => method === "POST").map(({ call }): [string, OpenApiNode] => [
    requestName(call),
    jsonSchema(REQUESTS[call], "input"),
  ]);
  const answers = [...NAMES].map(([schema, name]): [string, OpenApiNode] => [name, jsonSchema(schema, "output")]);
  return {
    openapi: "3.1.0",
    info: { title, version },
    paths,
    components: { schemas: Object.fromEntries([...requests, ...answers]) },
  };
}

const NAMES = new Map<z.ZodType, string>([
  [listSchema, "Workflows"],
  [resultSchema, "Result"],
  [statusSchema, "Status"],
  [historySchema, "History"],
  [errorSchema, "Error"],
]);

function operation({ call, method, summary, refusals }: Route): OpenApiNode {
  const asked = method === "GET" ? { parameters: query(REQUESTS[call]) } : { ...body(call), parameters: [keyHeader] };
  return {
    operationId: call,
    summary,
    ...asked,
    responses: {
      "200": answer("Done", ANSWERS[call]),
      ...Object.fromEntries(
        [...refusals].sort().map((status) => [String(status), answer(MEANINGS[status] ?? "", errorSchema)]),
      ),
    },
  };
}

const keyHeader = {
  name: "Idempotency-Key",
  in: "header",
  description: "A request that is repeated with the same key is carried out once",
  schema: { type: "string", minLength: 1, maxLength: 200 },
};

function body(call: Route["call"]): OpenApiNode {
  return { requestBody: { required: true, ...content(requestName(call)) } };
}

function answer(description: string, schema: z.ZodType): OpenApiNode {
  return { description, ...content(NAMES.get(schema) ?? "") };
}

function content(name: string): OpenApiNode {
  return { content: { "application/json": { schema: { $ref: `#/components/schemas/${name}` } } } };
}

function query(schema: z.ZodObject): OpenApiNode[] {
  return Object.entries(schema.shape).map(([name, part]) => ({
    name,
    in: "query",
    required: part._zod.optin !== "optional",
    schema: jsonSchema(part, "input"),
  }));
}

function requestName(call: Route["call"]): string {
  return `${call.charAt(0).toUpperCase()}${call.slice(1)}Request`;
}

function jsonSchema(schema: z.core.$ZodType, io: "input" | "output"): OpenApiNode {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { unrepresentable: "any", io });
  return rest;
}
