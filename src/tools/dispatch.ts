/**
 * One call of a tool, from the request to the answer. Never rejects: every error is an answer. The entry file of this
 * folder; what is decided where:
 * - request.ts: how a request is read, and what its faults are
 * - budget.ts: how long an answer may be, and what a long answer to a change leaves out
 * - pages.ts: how a long answer to a reading call is paged, and what a cursor is
 * - errors.ts: the kind, HTTP status and code of each error
 * - wire.ts: what an answer and a published schema are
 * - phased/, routed/, search-tool.ts, and workspace/tools/ next to this module: one table of actions for each product,
 *   with the words of its answers and refusals
 */

import type * as z from "zod/mini";
import type { ApprovalSignature } from "../approval/message.js";
import { isJsonObject } from "../workflow/json.js";
import { type ShrinkRules, shrinkAnswer } from "./budget.js";
import { pageAnswer, readJsonCursor } from "./pages.js";
import { type Fault, givenFields, parseRequest } from "./request.js";
import type { WireObject } from "./wire.js";

/**
 * How a long answer is delivered. `own`: the action pages its text or list; `json`: it comes as pages of its JSON only;
 * `none`: the call has changed something and can't be repeated, so the answer is shortened.
 */
type Paging = "own" | "json" | "none";

/** An action of a tool: what it takes, what runs, and how a long answer is delivered. */
export interface Action<Context, Done extends object = WireObject> {
  readonly paging: Paging | ((given: WireObject) => Paging);
  /** Checks a call; returns what runs it, or its faults. */
  prepare(context: Context, input: unknown): Prepared<Done>;
}

type Prepared<Done> =
  | { readonly ok: true; readonly run: () => Promise<Done> }
  | { readonly ok: false; readonly faults: readonly Fault[] };

/** Creates an action from the schema of its parameters and the function that runs it. */
export function action<Context, S extends z.core.$ZodObject, Done extends object = WireObject>(
  input: S,
  run: (context: Context, params: z.output<S>) => Promise<Done>,
  paging: Action<Context>["paging"] = "none",
): Action<Context, Done> {
  return {
    paging,
    prepare(context, given) {
      const parsed = parseRequest(input, given);
      return parsed.ok ? { ok: true, run: () => run(context, parsed.params) } : parsed;
    },
  };
}

/** A person's answer at a gate that requires an approval. */
export interface PersonsAnswer {
  /** The decision. */
  readonly decision: "approve" | "deny";
  /** The name to record; of an approver, where it is signed. */
  readonly by: string;
  /** The reason, which the agent reads after a denial. */
  readonly note?: string;
  /** The approver's signature; without one, the decision counts only if the host allows that. */
  readonly signature?: ApprovalSignature;
}

/** Why a call was not executed: the faults of its request, or an error. */
export type Failure = { readonly faults: readonly Fault[] } | { readonly error: unknown };

/** What an action returned, or a refusal. */
export type Performed<Done, Refused> =
  | { readonly ok: true; readonly body: Done }
  | { readonly ok: false; readonly refusal: Refused };

/** Checks a call, runs its action, and turns what went wrong into a refusal. Never rejects. */
export async function perform<Done, Refused>(
  prepare: () => Prepared<Done>,
  refuse: (failure: Failure) => Refused | Promise<Refused>,
): Promise<Performed<Done, Refused>> {
  try {
    const prepared = prepare();
    if (!prepared.ok) return { ok: false, refusal: await refuse(prepared) };
    return { ok: true, body: await prepared.run() };
  } catch (error) {
    return { ok: false, refusal: await refuse({ error }) };
  }
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
  choose(context: Context, input: unknown): { readonly name: Name; readonly fields: unknown } | undefined;
  /** Returns the answer to a call that was not executed. */
  refuse(context: Context, call: Call<Name>, failure: Failure): WireObject | Promise<WireObject>;
  /** Returns a call as the agent would make it. */
  callOf(context: Context, name: Name, fields: WireObject): WireObject;
  /** Completes an answer before it is paged or shortened. */
  finish?(context: Context, answer: WireObject): WireObject;
  /** Returns what an answer can do without. */
  shrink(context: Context, isRefusal: boolean): ShrinkRules;
}

/** An answer within its budget. */
export interface Answer {
  readonly ok: boolean;
  readonly body: WireObject;
}

/** Executes a call and keeps its answer within its budget. Never rejects. */
export async function dispatch<Context extends { readonly maxChars: number }, Name extends string>(
  product: Product<Context, Name>,
  context: Context,
  input: unknown,
): Promise<Answer> {
  const { maxChars } = context;
  const finish = (body: WireObject) => product.finish?.(context, body) ?? body;
  const shorten = (ok: boolean, body: WireObject) => shrinkAnswer(finish(body), maxChars, product.shrink(context, !ok));
  let call: Call<Name> = { given: {} };
  const prepare = (): Prepared<WireObject> => {
    const chosen = product.choose(context, input);
    const fields = chosen === undefined ? input : chosen.fields;
    const given = isJsonObject(fields) ? givenFields(fields) : undefined;
    call = { ...(chosen === undefined ? {} : { name: chosen.name }), given: given ?? {} };
    if (chosen === undefined) return { ok: false, faults: [noAction(given)] };
    const { paging, prepare } = product.actions[chosen.name];
    const pages = typeof paging === "function" ? paging(call.given) : paging;
    if (given === undefined || pages === "none") {
      return delivered(prepare(context, given ?? fields), (body) => shorten(true, body));
    }
    const { cursor: _, ...rest } = given;
    const { own, json, inner } = cursorsOf(given.cursor, pages);
    const page = { call: product.callOf(context, chosen.name, rest), cursor: json, inner };
    const prepared = prepare(context, own === undefined ? rest : { ...rest, cursor: own });
    return delivered(prepared, (body) => pageAnswer(finish(body), maxChars, page));
  };
  const performed = await perform(prepare, (failure) => product.refuse(context, call, failure));
  return performed.ok ? performed : { ok: false, body: shorten(false, performed.refusal) };
}

function noAction(given: WireObject | undefined): Fault {
  if (given === undefined) return { field: "", kind: "no object", message: "" };
  return { field: "action", kind: given.action === undefined ? "missing" : "unknown", message: "" };
}

/** Adds what happens to the answer of a prepared call. */
function delivered(prepared: Prepared<WireObject>, deliver: (body: WireObject) => WireObject): Prepared<WireObject> {
  return prepared.ok ? { ok: true, run: async () => deliver(await prepared.run()) } : prepared;
}

/** The cursors of a call. */
interface Cursors {
  /** The cursor for the action itself. */
  readonly own: unknown;
  /** The cursor into the JSON of the answer. */
  readonly json: string | undefined;
  /** The action's cursor, for the cursors of further pages of JSON. */
  readonly inner: string | undefined;
}

function cursorsOf(given: unknown, paging: "own" | "json"): Cursors {
  if (typeof given !== "string") return { own: given, json: undefined, inner: undefined };
  const json = readJsonCursor(given);
  if (json !== undefined) return { own: json.inner, json: given, inner: json.inner };
  return paging === "own"
    ? { own: given, json: undefined, inner: given }
    : { own: undefined, json: given, inner: undefined };
}
