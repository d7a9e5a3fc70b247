/** Phased sessions over HTTP: a route for each action of the workflow tool, and the tool that executes them. */
import * as z from "zod";
import type { ErrorCode } from "../errors.js";
import type { Engine } from "../phased/engine.js";
import { type Actor, actorKey } from "../ports/actor.js";
import type { Login } from "../ports/login.js";
import { isErrorCode, WIRE_ERRORS } from "../tools/dispatch.js";
import {
  type Action,
  entryOf,
  outputSchema,
  parametersOf,
  WORKFLOW_READING,
  type WorkflowResponse,
} from "../tools/phased/actions.js";
import {
  checkActions,
  createWorkflowTool,
  type WorkflowTool,
  type WorkflowToolOptions,
} from "../tools/phased/workflow-tool.js";
import { errorSchema, HTTP_ERRORS } from "../tools/routed/answers.js";
import { RecentMap } from "../workflow/cache.js";
import { isJsonObject } from "../workflow/json.js";
import { shown } from "../workflow/names.js";
import { documentOf, jsonSchema, type OpenApiNode, type OpenApiOptions, type Route, type Service } from "./openapi.js";
import type { HttpRefusal } from "./refusals.js";

/** What an HTTP API for phased sessions, and its OpenAPI document, depend on. */
export interface PhasedHttpOptions extends OpenApiOptions {
  /**
   * The options of the workflow tool that answers: `actions` are the routes. With a login, `actor` is who has logged in, and
   * `authorize` decides what they may do. Default: those of the tool, with the name `sessions`.
   */
  readonly tool?: WorkflowToolOptions;
}

const ALWAYS = [400, 401, 414, 500, 503];
const ON_SESSION = [...ALWAYS, 404, 409];
const WRITING = [...ON_SESSION, 403, 413, 415, 422];

/** Returns every status that an action may be refused with. */
function refusalsOf(action: Action): readonly number[] {
  // What it counts is in memory: the engine is not asked.
  if (action === "get_metrics") return ALWAYS.filter((status) => status !== 503);
  if (!WORKFLOW_READING.has(action)) return WRITING;
  return parametersOf(action).all.includes("session_id") ? ON_SESSION : ALWAYS;
}

/** Returns the routes: one for each action that the host allows. */
function phasedRoutes(actions: readonly Action[]): readonly Route<Action>[] {
  return actions.map((call) => {
    const { summary, takes } = entryOf(call);
    return {
      call,
      method: WORKFLOW_READING.has(call) ? "GET" : "POST",
      path: `/sessions/${call}`,
      summary,
      refusals: refusalsOf(call),
      request: z.strictObject({ ...takes.shape, action: actionOf(call) }),
      answer: "Answer",
    };
  });
}

/** A client may send the `next` of an answer as it is: its action is then that of the path. */
function actionOf(call: Action) {
  return z.literal(call).optional().describe("The action of the path, as in the next of an answer");
}

const MEANINGS: Readonly<Record<number, string>> = {
  400: "The request is invalid: INVALID_INPUT, CURSOR_INVALID, EVIDENCE_UNSAFE or PATH_REFUSED",
  403: "The workflow does not permit this, or the caller may only see the session: NOT_ALLOWED",
  404: "SESSION_NOT_FOUND, WORKFLOW_NOT_FOUND, DEFINITION_INVALID, PHASE_OUT_OF_RANGE, TASK_NOT_FOUND or FILE_NOT_FOUND",
  409: "The state of the session does not allow the call, such as PHASE_LOCKED, INVALID_TRANSITION or ATTEMPTS_EXHAUSTED",
  413: "The body, or the evidence, is too large",
  422: "IDEMPOTENCY_KEY_REUSED: the key was used with another request before; PLAN_PARSE: the plan can't be read",
  500: "The server failed, such as STORAGE_FAILED, CONTENT_UNAVAILABLE or INTERNAL",
};

const refusalSchema = errorSchema.extend({ error_code: z.enum([...HTTP_ERRORS, ...Object.keys(WIRE_ERRORS)]) });

/** Returns the OpenAPI document of phased sessions. */
export function phasedDocument({ tool, ...options }: PhasedHttpOptions): OpenApiNode {
  const routes = phasedRoutes(checkActions(tool?.actions));
  const schemas = { Answer: outputSchema(), Error: jsonSchema(refusalSchema, "output") };
  return documentOf({ routes, schemas, meanings: MEANINGS, title: "Phased sessions" }, options);
}

/** The actors whose tools are kept: a tool counts the calls that `get_metrics` shows. */
const ACTORS_MAX = 1000;

/** Serves phased sessions. */
export function phasedService(
  engine: Engine,
  options: PhasedHttpOptions & { readonly login?: Login },
): Service<Action> {
  const given: WorkflowToolOptions = { name: "sessions", ...options.tool };
  const { actor: _, authorize: __, ...usual } = given;
  // With a login each call has an actor, and this tool only names the routes.
  const shared = createWorkflowTool(engine, options.login === undefined ? given : usual);
  const tools = new RecentMap<string, WorkflowTool>(ACTORS_MAX);
  const toolOf = (actor: Actor): WorkflowTool => {
    const tool = tools.get(actorKey(actor)) ?? createWorkflowTool(engine, { ...given, actor });
    tools.set(actorKey(actor), tool);
    return tool;
  };
  return {
    routes: phasedRoutes(shared.actions),
    document: phasedDocument(options),
    codes: { INVALID_FORMAT: "INVALID_INPUT", INVALID_FIELD: "INVALID_INPUT", INTERNAL_ERROR: "INTERNAL" },
    async answer({ call, params, actor, signal }) {
      if (!isJsonObject(params)) return NO_OBJECT;
      const { action = call, ...fields } = params;
      if (action !== call) {
        const message = `'action' must be ${call}, got ${shown(action)}`;
        return invalid(message, "Send it to the path of its action, or leave it out.");
      }
      const tool = actor === undefined ? shared : toolOf(actor);
      const body = await tool.dispatch({ ...fields, action }, { signal });
      return body.status === "error" && isErrorCode(body.code) ? refusalOf(body, body.code) : { status: 200, body };
    },
    reportError: (operation, error) => engine.reportError(operation, error),
  };
}

const NO_OBJECT = invalid("The request must be a JSON object.", "Send one JSON object.");

function invalid(message: string, remedy: string): HttpRefusal {
  return { status: 400, body: { error_code: "INVALID_INPUT", message, details: { remedy } } };
}

/** Returns a refusal of the tool as HTTP has it. A gate that was not met is not a refusal: its code is not that of an error. */
function refusalOf(answer: WorkflowResponse, code: ErrorCode): HttpRefusal {
  const { status: _, action, code: __, error, error_type, message = error, hint, remediation, ...more } = answer;
  const details = { ...more, remedy: remediation ?? "Correct the request." };
  return { status: WIRE_ERRORS[code].status, body: { error_code: code, message: String(message), details } };
}
