/** Routed workflows over HTTP: the table of routes, and what executes them. */
import type { RoutedEngine } from "../routed/engine.js";
import {
  ANSWERS,
  errorSchema,
  historySchema,
  listSchema,
  resultSchema,
  statusSchema,
} from "../tools/routed/answers.js";
import type { RoutedContext } from "../tools/routed/calls.js";
import { REQUESTS, type RoutedCall } from "../tools/routed/requests.js";
import { carryOut } from "../tools/routed/routed-tools.js";
import { documentOf, jsonSchema, type OpenApiNode, type OpenApiOptions, type Route, type Service } from "./openapi.js";

const NAMES = new Map<object, string>([
  [listSchema, "Workflows"],
  [resultSchema, "Result"],
  [statusSchema, "Status"],
  [historySchema, "History"],
]);

const ALWAYS = [400, 401, 414, 500, 503];
const ON_INSTANCE = [...ALWAYS, 404];
const WRITING = [...ON_INSTANCE, 403, 409, 413, 415, 422];
const DECIDING = [...WRITING, 502];

function route(
  call: RoutedCall,
  method: Route["method"],
  refusals: readonly number[],
  summary: string,
): Route<RoutedCall> {
  const answer = NAMES.get(ANSWERS[call]) ?? "";
  return { call, method, path: `/workflows/${call}`, summary, refusals, request: REQUESTS[call], answer };
}

export const ROUTES: readonly Route<RoutedCall>[] = [
  route("list", "GET", ALWAYS, "List the workflows"),
  route("start", "POST", DECIDING, "Start an instance"),
  route("advance", "POST", DECIDING, "Report on the current step, and get the next one"),
  route("resume", "POST", DECIDING, "Return to an instance, and report the step that you think it is at"),
  route("status", "GET", ON_INSTANCE, "Get the status of an instance"),
  route("suspend", "POST", WRITING, "Suspend an instance; resume continues it"),
  route("cancel", "POST", WRITING, "End an instance for good"),
  route("retry", "POST", DECIDING, "Continue a failed instance"),
  route("history", "GET", ON_INSTANCE, "Read the history of an instance, oldest entry first"),
];

const MEANINGS: Readonly<Record<number, string>> = {
  400: "The request is invalid: INVALID_FORMAT, MISSING_FIELD, INVALID_TYPE or INVALID_FIELD",
  403: "The caller may see the instance, but not do this: NOT_ALLOWED",
  404: "INSTANCE_NOT_FOUND or DEFINITION_NOT_FOUND",
  409: "The instance's status does not allow the call, or another call changed the instance first",
  413: "The body is too large",
  422: "The idempotency key was used with another request before",
  500: "The server failed: PERSISTENCE_ERROR, DEFINITION_SERVICE_ERROR, DEFINITION_UNAVAILABLE or INTERNAL_ERROR",
  502: "The decider gave no usable answer: the report is kept, and retry decides on it again",
};

export function routedDocument(options: OpenApiOptions): OpenApiNode {
  const answers = [...new Set(Object.values(ANSWERS))].map((schema) => [
    NAMES.get(schema) ?? "",
    jsonSchema(schema, "output"),
  ]);
  const schemas = { ...Object.fromEntries(answers), Error: jsonSchema(errorSchema, "output") };
  return documentOf({ routes: ROUTES, schemas, meanings: MEANINGS, title: "Routed workflows" }, options);
}

/** Maximum size of one page of a history, in characters of JSON. */
const PAGE_CHARACTERS = 256 * 1024;

export function routedService(engine: RoutedEngine, options: OpenApiOptions): Service<RoutedCall> {
  const names = new Map(ROUTES.map(({ call }) => [call, call]));
  const context: RoutedContext = { engine, names, pageChars: PAGE_CHARACTERS };
  return {
    routes: ROUTES,
    document: routedDocument(options),
    codes: {},
    async answer({ call, params, actor, signal }) {
      const own = { ...context, signal, engine: actor === undefined ? engine : engine.as(actor) };
      const done = await carryOut(own, call, params);
      return "body" in done ? { status: 200, ...done } : done.refusal;
    },
    reportError: (operation, error) => engine.reportError(operation, error),
  };
}
