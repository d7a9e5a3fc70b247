/**
 * Executes calls of a routed engine, from the request on the wire to the answer, for MCP and HTTP. Never
 * rejects: every error is an answer.
 */

import type * as z from "zod";
import { isPhasegateError, PhasegateError } from "../../errors.js";
import type { RoutedMove } from "../../routed/commands.js";
import type { AdvanceRequest, RoutedResult, RoutedView } from "../../routed/types.js";
import { isJsonObject } from "../../workflow/json.js";
import { pageAnswer } from "../pages.js";
import { readJsonCursor, surelyFits } from "../paging.js";
import { brief, compact, type WireObject } from "../wire-object.js";
import { badRequest, type Refusal, refusalOf } from "./errors.js";
import { READING, type RoutedFace, type RoutedToolAnswer } from "./face.js";
import { parseRequest, REQUESTS, type RoutedCall } from "./requests.js";
import { historyOnWire, listOnWire, type Moved, resultOnWire, statusOnWire } from "./shapes.js";

/** The outcome of a call. */
type RoutedAnswer =
  | { readonly ok: true; readonly body: WireObject }
  | { readonly ok: false; readonly refusal: Refusal };

type Call = (face: RoutedFace, input: unknown) => Promise<RoutedAnswer>;

/** The keys that an answer must have. */
const KEPT: ReadonlySet<string> = new Set([
  "instance_id",
  "workflow_name",
  "status",
  "allowed",
  "error_code",
  "next_step",
]);
/** The longest sentence in an answer that is otherwise too long. */
const SENTENCE_MAX = 1000;

const CALLS: Record<RoutedCall, Call> = {
  list: call(REQUESTS.list, async ({ engine }) => listOnWire(await listWorkflows(engine))),
  start: call(REQUESTS.start, async (face, { workflow_name: workflow, context, idempotency_key: key }) => {
    const begun = { workflow, ...(context === undefined ? {} : { context }), ...keyed(key) };
    return resultOnWire(face, await face.engine.start(begun));
  }),
  advance: call(REQUESTS.advance, async (face, params) => {
    const { instance_id: id } = params;
    return moved(face, () => face.engine.advance(id, reported(params)));
  }),
  resume: call(REQUESTS.resume, async (face, params) => {
    const { instance_id: id, assumed_current_step_name: assumedStep } = params;
    return moved(face, () => face.engine.resume(id, { ...reported(params), assumedStep }));
  }),
  status: call(REQUESTS.status, async (face, { instance_id: id }) => standing(face, await face.engine.status(id))),
  suspend: call(REQUESTS.suspend, async (face, params) => {
    return standing(face, await face.engine.suspend(params.instance_id, move(params)));
  }),
  cancel: call(REQUESTS.cancel, async (face, params) => {
    return standing(face, await face.engine.cancel(params.instance_id, move(params)));
  }),
  retry: call(REQUESTS.retry, async (face, { instance_id: id, idempotency_key: key }) => {
    return moved(face, () => face.engine.retry(id, keyed(key)));
  }),
  history: call(REQUESTS.history, async ({ engine, pageRoom }, { instance_id: id, cursor }) => {
    return historyOnWire(id, await engine.history(id), pageRoom, cursor);
  }),
};

/** Executes a call of a routed engine. Never rejects. */
export async function carryOut(face: RoutedFace, call: RoutedCall, input: unknown): Promise<RoutedAnswer> {
  try {
    return await CALLS[call](face, input);
  } catch (error) {
    if (!isPhasegateError(error)) face.engine.reportError(`routed ${call}`, error);
    const params = isJsonObject(input) ? input : {};
    return { ok: false, refusal: refusalOf(face, call, params, error) };
  }
}

/** A client interface whose answers have a budget, and whose clients are told what to call next. */
export interface BoundedFace extends RoutedFace {
  /** In characters of JSON. */
  readonly room: number;
  /** A call as the client would make it. */
  readonly example: (call: RoutedCall, fields: WireObject) => WireObject | undefined;
}

/** Executes a call and keeps its answer within its budget. Never rejects. */
export async function answerInRoom(face: BoundedFace, call: RoutedCall, input: unknown): Promise<RoutedToolAnswer> {
  if (READING.has(call) && isJsonObject(input)) return read(face, call, input);
  const answered = await carryOut(face, call, input);
  if (!answered.ok) return refusal(face, answered.refusal.body);
  const { instance_id: id } = answered.body;
  const show = face.example("status", { instance_id: id });
  return { isError: false, body: shrinkResult(answered.body, face.room, show) };
}

/** Binds a request's schema to its handler. */
function call<S extends z.ZodObject>(
  schema: S,
  work: (face: RoutedFace, params: z.infer<S>) => Promise<WireObject>,
): Call {
  return async (face, input) => {
    const read = parseRequest(schema, input);
    if (!read.ok) return { ok: false, refusal: badRequest(read.bad) };
    return { ok: true, body: await work(face, read.params) };
  };
}

/** A reading answer that is too long comes as pages of its JSON. */
async function read(face: BoundedFace, call: RoutedCall, { cursor, ...rest }: WireObject): Promise<RoutedToolAnswer> {
  const given = typeof cursor === "string" ? cursor : undefined;
  const json = given === undefined ? undefined : readJsonCursor(given);
  // Only a history has pages of its own.
  const paged = json !== undefined || call !== "history";
  const inner = paged ? json?.inner : given;
  const answered = await carryOut(face, call, compact({ ...rest, cursor: given === undefined ? cursor : inner }));
  if (!answered.ok) return refusal(face, answered.refusal.body);
  try {
    const example = face.example(call, rest) ?? rest;
    const page = pageAnswer(answered.body, face.room, { call: example, cursor: paged ? given : undefined, inner });
    return { isError: false, body: page };
  } catch (error) {
    return refusal(face, refusalOf(face, call, rest, error).body);
  }
}

/** A failing list is a failure of the workflows' location. */
async function listWorkflows(engine: RoutedFace["engine"]) {
  try {
    return await engine.listWorkflows();
  } catch (cause) {
    if (isPhasegateError(cause, "BUSY") || isPhasegateError(cause, "FILE_NOT_FOUND")) throw cause;
    throw new PhasegateError("FILE_NOT_FOUND", "the workflows can't be listed", {
      remedy: "Tell the person who runs this server: the folder of the workflows can't be read.",
      details: { file: "." },
      cause,
    });
  }
}

function keyed(key: string | undefined) {
  return key === undefined ? {} : { idempotencyKey: key };
}

/** Returns the answer to a move; if a person is awaited and present, with their decision. */
async function moved(face: RoutedFace, work: () => Promise<RoutedResult>): Promise<WireObject> {
  const result = await work();
  return resultOnWire(face, (await withPerson(face, result, work)) ?? result);
}

async function withPerson(
  { engine, askPerson }: RoutedFace,
  result: RoutedResult,
  again: () => Promise<RoutedResult>,
): Promise<Moved | undefined> {
  const { instanceId, awaiting } = result.now ?? result;
  if (awaiting === undefined) return undefined;
  const answer = await askPerson?.(awaiting);
  if (answer === undefined) return undefined;
  const { decision, note = "", ...word } = answer;
  const { evidenceHash } = awaiting;
  if (decision === "approve") {
    await engine.approve(instanceId, { ...word, evidenceHash, ...(note === "" ? {} : { note }) });
    return again();
  }
  const view = await engine.deny(instanceId, { ...word, note, evidenceHash });
  return { ...view, nextStep: await engine.step(instanceId), replayed: false, denied: { by: answer.by, note } };
}

type Reported = z.infer<(typeof REQUESTS)["advance"]>;

function reported(params: Pick<Reported, "report" | "context_updates" | "idempotency_key">): AdvanceRequest {
  const { report, context_updates: contextUpdates, idempotency_key: key } = params;
  return { report, ...(contextUpdates === undefined ? {} : { contextUpdates }), ...keyed(key) };
}

/** Returns the state of an instance with its instructions, if the workflow's texts can be read. */
async function standing(face: RoutedFace, view: RoutedView): Promise<WireObject> {
  try {
    return statusOnWire(face, view, await face.engine.step(view.instanceId));
  } catch (error) {
    if (!isPhasegateError(error)) throw error;
    return statusOnWire(face, view);
  }
}

function move({ reason, idempotency_key: key }: z.infer<(typeof REQUESTS)["suspend"]>): RoutedMove {
  return { ...(reason === undefined ? {} : { reason }), ...keyed(key) };
}

function refusal({ room }: BoundedFace, body: WireObject): RoutedToolAnswer {
  return { isError: true, body: shrinkResult(body, room, undefined) };
}

/**
 * Shortens the answer to a change: omits the longest parts, names them, and names the call that shows them.
 * Instructions are omitted last.
 */
function shrinkResult(answer: WireObject, room: number, show: WireObject | undefined): WireObject {
  if (fits(answer, room)) return answer;
  const parts = Object.keys(answer).filter((key) => !KEPT.has(key));
  parts.sort((one, other) => lengthOf(answer[other]) - lengthOf(answer[one]));
  let shrunk: WireObject = { ...answer };
  const leftOut: string[] = [];
  const leaveOut = (name: string, next: WireObject) => {
    leftOut.push(name);
    shrunk = next;
  };
  for (const key of parts) {
    if (fits(whole(shrunk, leftOut, show), room)) break;
    const { [key]: value, ...rest } = shrunk;
    leaveOut(key, typeof value === "string" ? { ...rest, [key]: brief(value, SENTENCE_MAX) } : rest);
  }
  const { step_name: name } = compact({ ...(isObject(answer.next_step) ? answer.next_step : {}) });
  if (name !== undefined && !fits(whole(shrunk, leftOut, show), room)) {
    leaveOut("next_step.instructions", { ...shrunk, next_step: { step_name: name, instructions: "" } });
  }
  return whole(shrunk, leftOut, show);
}

function fits(answer: WireObject, room: number): boolean {
  return surelyFits(answer, room) || JSON.stringify(answer).length <= room;
}

function lengthOf(value: unknown): number {
  return JSON.stringify(value)?.length ?? 0;
}

function whole(answer: WireObject, leftOut: readonly string[], show: WireObject | undefined): WireObject {
  return leftOut.length === 0 ? answer : compact({ ...answer, left_out: leftOut, next: show });
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
