/**
 * One call of a tool, from the request to the answer. Never rejects: every error is an answer. The entry file of this
 * folder; what is decided where:
 * - dispatch.ts: an answer over its token budget is paged if it can be requested again, else shortened; the kind, HTTP
 *   status and code of each error
 * - pages.ts: how a long answer to a reading call is paged, and what a cursor is
 * - wire.ts: how a request is read; what an answer is, and what a long answer to a change leaves out
 * - schemas.ts: the JSON Schemas that tools publish, and how long an answer may be
 * - person.ts: how long a call waits for a person, and whose answer counts; progress.ts: what is told while checks run
 * - phased/, routed/, search-tool.ts, and workspace/tools/ next to this module: one table of actions for each product,
 *   with the words of its answers and refusals
 */
import type * as z from "zod/mini";
import { type ErrorCode, PhasegateError } from "../errors.js";
import { isJsonObject } from "../workflow/json.js";
import { pageAnswer, readJsonCursor } from "./pages.js";
import {
  compact,
  type Fault,
  fits,
  givenFields,
  parseRequest,
  type ShrinkRules,
  shrinkAnswer,
  type WireObject,
} from "./wire.js";

/**
 * The delivery of a long answer. `own`: the action pages its text or list; `json`: it comes as pages of its JSON only;
 * `none`, the default: the call has changed something and can't be repeated, so the answer is shortened.
 */
export type Paging = "own" | "json" | "none";

/** An action of a tool: what it takes, what runs, and how a long answer is delivered. */
export interface Action<Context, Done extends object = WireObject> {
  readonly paging: Paging | ((given: WireObject) => Paging);
  /** Checks a call and runs it. Never rejects. */
  run(context: Context, input: unknown): Promise<Outcome<Done>>;
}

/** The answer of an action, or the reason why it failed. */
export type Outcome<Done> = { readonly body: Done } | Failure;

/** The reason why a call was not executed: the faults of its request, or an error. */
export type Failure = { readonly faults: readonly Fault[] } | { readonly error: unknown };

/** Creates an action from what it takes, how a long answer is delivered, and the function that runs it. */
export function action<Context, S extends z.core.$ZodObject, Done extends object = WireObject>(
  { takes, paging = "none" }: { readonly takes: S; readonly paging?: Action<Context>["paging"] },
  run: (context: Context, params: z.output<S>) => Promise<Done>,
): Action<Context, Done> {
  return {
    paging,
    async run(context, given) {
      try {
        const parsed = parseRequest(takes, given);
        return parsed.ok ? { body: await run(context, parsed.params) } : parsed;
      } catch (error) {
        return { error };
      }
    },
  };
}

/** A call of a tool, as far as it is known; without a name if there is no such action. */
export interface Call<Name extends string = string> {
  readonly name?: Name;
  /** The fields that the call gives. */
  readonly given: WireObject;
}

/** A product on the wire: its actions, and the words of its refusals. */
export interface Product<Context extends { readonly maxChars: number }, Name extends string> {
  readonly actions: Readonly<Record<Name, Action<Context>>>;
  /** Returns the action that a call names, and its fields; undefined if there is no such action. */
  readonly choose: Choose<Context, Name>;
  /** Returns the answer to a call that was not executed. */
  refuse(context: Context, call: Call<Name>, failure: Failure): WireObject | Promise<WireObject>;
  /** Returns a call as the agent would make it. */
  callOf(context: Context, name: Name, fields: WireObject): WireObject;
  /** Completes an answer before it is paged or shortened. */
  finish?(context: Context, answer: WireObject, name: Name | undefined): WireObject;
  /** Leaves out what an answer says twice, also one that was paged or shortened. */
  once?(answer: WireObject, name: Name | undefined): WireObject;
  /** Returns what an answer can do without. */
  shrink(context: Context, isRefusal: boolean): ShrinkRules;
}

type Choose<Context, Name extends string> = (
  context: Context,
  input: unknown,
) => { readonly name: Name; readonly fields: unknown } | undefined;

/** Returns the error of a failed call, as a host is told of it: an invalid request is `INVALID_INPUT`. */
export function errorIn(failure: Failure): unknown {
  if ("error" in failure) return failure.error;
  const { field = "", message = "" } = failure.faults[0] ?? {};
  return new PhasegateError("INVALID_INPUT", message === "" ? "the request is not valid" : message, {
    remedy: "Correct the request.",
    details: { field },
  });
}

/** Executes a call and keeps its answer within its budget. Never rejects. */
export async function dispatch<Context extends { readonly maxChars: number }, Name extends string>(
  product: Product<Context, Name>,
  context: Context,
  input: unknown,
): Promise<{ readonly ok: boolean; readonly body: WireObject }> {
  const { maxChars } = context;
  const call = readCall(context, input, product.choose);
  const finished = (body: WireObject) => compact(product.finish?.(context, body, call.name) ?? body);
  const shortened = (body: WireObject, isRefusal: boolean) => {
    const whole = finished(body);
    return fits(whole, maxChars) ? whole : shrinkAnswer(whole, maxChars, product.shrink(context, isRefusal));
  };
  const answer = async (name: Name): Promise<Outcome<WireObject>> => {
    const { paging, run } = product.actions[name];
    const pages = typeof paging === "function" ? paging(call.given) : paging;
    if (pages === "none" || !isJsonObject(call.input)) {
      const outcome = await run(context, call.input);
      return "body" in outcome ? { body: shortened(outcome.body, false) } : outcome;
    }
    const { cursor, ...again } = call.given;
    const { own, json, inner } = cursorsOf(cursor, pages);
    const outcome = await run(context, own === undefined ? again : { ...again, cursor: own });
    if (!("body" in outcome)) return outcome;
    const page = { call: () => product.callOf(context, name, again), cursor: json, inner };
    return { body: pageAnswer(finished(outcome.body), maxChars, page) };
  };
  // An error is, for example, a cursor that does not belong to the answer.
  const outcome = call.failure ?? (await answer(call.name).catch((error: unknown) => ({ error })));
  const isDone = "body" in outcome;
  const body = isDone ? outcome.body : shortened(await product.refuse(context, call, outcome), true);
  return { ok: isDone, body: product.once?.(body, call.name) ?? body };
}

/** A call of a tool that was read: its action with what it gets, or why it can't be run. */
type ReadCall<Name extends string> = { readonly given: WireObject; readonly input?: unknown } & (
  | { readonly name: Name; readonly failure?: undefined }
  | { readonly name?: undefined; readonly failure: Failure }
);

/** Reads a call whose action is found by `choose`. Never throws. */
export function readCall<Context, Name extends string>(
  context: Context,
  input: unknown,
  choose: Choose<Context, Name>,
): ReadCall<Name> {
  try {
    const chosen = choose(context, input);
    const fields = chosen === undefined ? input : chosen.fields;
    const given = isJsonObject(fields) ? givenFields(fields) : undefined;
    if (chosen === undefined) return { given: given ?? {}, failure: { faults: [noAction(given)] } };
    return { name: chosen.name, given: given ?? {}, input: given ?? fields };
  } catch (error) {
    return { given: {}, failure: { error } };
  }
}

function noAction(given: WireObject | undefined): Fault {
  if (given === undefined) return { field: "", kind: "no object", message: "" };
  return { field: "action", kind: given.action === undefined ? "missing" : "unknown", message: "" };
}

/** Returns the cursors of a call: of the action itself, into the JSON of its answer, and of further pages of JSON. */
function cursorsOf(given: unknown, paging: "own" | "json") {
  if (typeof given !== "string") return { own: given };
  const json = readJsonCursor(given);
  if (json !== undefined) return { own: json.inner, json: given, inner: json.inner };
  return paging === "own" ? { own: given, inner: given } : { json: given };
}

/** The kinds of errors in answers about phased workflows. */
type ErrorType = "ValueError" | "NotFoundError" | "ValidationError" | "StateError" | "RuntimeError";

interface WireError {
  /** For agents of phased workflows. */
  readonly type: ErrorType;
  /** The HTTP status. */
  readonly status: number;
  /** The code for clients of routed workflows. */
  readonly code: string;
  /** The HTTP status for clients of routed workflows, where some errors have another meaning. */
  readonly routedStatus: number;
}

const wire = (type: ErrorType, status: number, code: string, routedStatus = status): WireError => {
  return { type, status, code, routedStatus };
};

/**
 * The one map of error codes to the wire: the kind that agents of phased workflows get, the HTTP status, and the code that
 * clients of routed workflows get, with their own status if it differs.
 */
export const WIRE_ERRORS: Record<ErrorCode, WireError> = {
  INVALID_INPUT: wire("ValueError", 400, "INVALID_FIELD"),
  CURSOR_INVALID: wire("ValueError", 400, "INVALID_FIELD"),
  EVIDENCE_UNSAFE: wire("ValueError", 400, "INVALID_FIELD"),
  EVIDENCE_TOO_LARGE: wire("ValueError", 413, "INVALID_FIELD", 400),
  WORKFLOW_NOT_FOUND: wire("NotFoundError", 404, "DEFINITION_NOT_FOUND"),
  DEFINITION_INVALID: wire("RuntimeError", 404, "DEFINITION_NOT_FOUND"),
  SESSION_NOT_FOUND: wire("NotFoundError", 404, "INSTANCE_NOT_FOUND"),
  INVALID_TRANSITION: wire("StateError", 409, "INVALID_TRANSITION"),
  STEP_NOT_CURRENT: wire("StateError", 409, "STEP_NOT_CURRENT"),
  CONFLICT: wire("StateError", 409, "CONFLICT"),
  APPROVAL_REFUSED: wire("StateError", 409, "APPROVAL_REFUSED"),
  NOT_ALLOWED: wire("StateError", 403, "NOT_ALLOWED"),
  IDEMPOTENCY_KEY_REUSED: wire("ValueError", 422, "IDEMPOTENCY_KEY_REUSED"),
  CANCELLED: wire("StateError", 409, "CANCELLED"),
  BUSY: wire("RuntimeError", 503, "BUSY"),
  SESSION_LIMIT: wire("RuntimeError", 503, "SESSION_LIMIT"),
  DEFINITION_UNAVAILABLE: wire("RuntimeError", 500, "DEFINITION_UNAVAILABLE"),
  DEFINITION_CHANGED: wire("StateError", 500, "DEFINITION_UNAVAILABLE"),
  CONTENT_UNAVAILABLE: wire("NotFoundError", 500, "DEFINITION_SERVICE_ERROR"),
  // Agents name files and paths in phased sessions; in routed workflows only definitions do.
  FILE_NOT_FOUND: wire("NotFoundError", 404, "DEFINITION_SERVICE_ERROR", 500),
  PATH_REFUSED: wire("ValueError", 400, "DEFINITION_SERVICE_ERROR", 500),
  DECIDER_FAILED: wire("RuntimeError", 502, "AI_SERVICE_ERROR"),
  // In a routed engine only the prompt: anything else that is too large is refused on arrival.
  TOO_LARGE: wire("ValueError", 413, "AI_SERVICE_ERROR", 502),
  STORAGE_FAILED: wire("RuntimeError", 500, "PERSISTENCE_ERROR"),
  TAMPERED: wire("StateError", 500, "PERSISTENCE_ERROR"),
  FORMAT_TOO_NEW: wire("RuntimeError", 500, "PERSISTENCE_ERROR"),
  INTERNAL: wire("RuntimeError", 500, "INTERNAL_ERROR"),
  // A routed engine has none of these: only a faulty port can throw them.
  UNSUPPORTED: wire("RuntimeError", 500, "INTERNAL_ERROR"),
  PHASE_LOCKED: wire("StateError", 409, "INTERNAL_ERROR", 500),
  PHASE_ALREADY_COMPLETED: wire("StateError", 409, "INTERNAL_ERROR", 500),
  PHASE_OUT_OF_RANGE: wire("ValueError", 404, "INTERNAL_ERROR", 500),
  TASK_NOT_FOUND: wire("NotFoundError", 404, "INTERNAL_ERROR", 500),
  TASK_LOCKED: wire("StateError", 409, "INTERNAL_ERROR", 500),
  ATTEMPTS_EXHAUSTED: wire("StateError", 409, "INTERNAL_ERROR", 500),
  PLAN_PARSE: wire("ValueError", 422, "INTERNAL_ERROR", 500),
  TEMPLATE: wire("RuntimeError", 500, "INTERNAL_ERROR"),
};

export function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === "string" && Object.hasOwn(WIRE_ERRORS, code);
}

/** The longest message, in characters. */
const MESSAGE_MAX = 1500;

export function shortMessage(text: string): string {
  return text.length <= MESSAGE_MAX
    ? text
    : `${text.slice(0, MESSAGE_MAX)}… (${text.length - MESSAGE_MAX} more characters)`;
}
