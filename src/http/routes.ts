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
/** One thing that can be asked over HTTP. */
export interface Route {
  readonly call: RoutedCall;
  readonly method: "GET" | "POST";
  /** Below the base path. */
  readonly path: string;
  readonly summary: string;
  /** Beside 200: every status that it may answer with. */
  readonly refusals: readonly number[];
}

const ALWAYS = [400, 401, 414, 500, 503];
const ON_INSTANCE = [...ALWAYS, 404];
const WRITING = [...ON_INSTANCE, 409, 413, 415, 422];
const DECIDING = [...WRITING, 502];

/** Seed 003, section 7, and the rest in its style. */
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
    summary: "Come back to an instance, and say where you think you are",
    refusals: DECIDING,
  },
  {
    call: "status",
    method: "GET",
    path: "/workflows/status",
    summary: "Look where an instance stands",
    refusals: ON_INSTANCE,
  },
  {
    call: "suspend",
    method: "POST",
    path: "/workflows/suspend",
    summary: "Set an instance aside; resume takes it up",
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
    summary: "Take a failed instance up again",
    refusals: DECIDING,
  },
  {
    call: "history",
    method: "GET",
    path: "/workflows/history",
    summary: "Read what has happened, oldest first",
    refusals: ON_INSTANCE,
  },
];

/** Where the OpenAPI document is, below the base path. */
export const OPENAPI_PATH = "/openapi.json";

/** What the document says beside what follows from the schemas. */
export interface OpenApiOptions {
  /** Stands before every path: `/api`. */
  readonly basePath?: string;
  readonly title?: string;
  /** The version of the host's API. */
  readonly version?: string;
}

/** A part of an OpenAPI document. */
export type OpenApiNode = { [key: string]: unknown };

const MEANINGS: Readonly<Record<number, string>> = {
  400: "The request is wrong: INVALID_FORMAT, MISSING_FIELD, INVALID_TYPE or INVALID_FIELD",
  401: "The host refused the request",
  404: "INSTANCE_NOT_FOUND or DEFINITION_NOT_FOUND",
  409: "The instance's state doesn't allow it, or somebody else was first",
  413: "The body is too large",
  414: "The URL is too long",
  415: "The body is no JSON, or is compressed",
  422: "The idempotency key came with another request before",
  500: "The server failed: PERSISTENCE_ERROR, DEFINITION_SERVICE_ERROR, DEFINITION_UNAVAILABLE or INTERNAL_ERROR",
  502: "The decider gave no answer that can be used: the report is kept, and retry goes on with it",
  503: "BUSY or SESSION_LIMIT: nothing was done",
};

/** The OpenAPI 3.1 document of the HTTP API, made from the schemas that requests are checked by. Plain JSON. */
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
  description: "Repeated with the same key, a request is carried out once",
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
