import type * as z from "zod";
import { isJsonObject } from "../../definition/json.js";
import { isPhasegateError, PhasegateError } from "../../errors.js";
import type { RoutedMove } from "../../routed/engine/moves.js";
import type { AdvanceRequest, RoutedResult, RoutedView } from "../../routed/engine/types.js";
import type { WireObject } from "../wire-object.js";
import { historyOnWire } from "./history-on-wire.js";
import { type Moved, resultOnWire, statusOnWire } from "./instances-on-wire.js";
import { listOnWire } from "./list-on-wire.js";
import { parseRequest } from "./parse-request.js";
import { badRequest, type Refusal, refusalOf } from "./refusal.js";
import { REQUESTS, type RoutedCall } from "./requests.js";
import type { RoutedFace } from "./routed-face.js";

/** What came of a call. */
export type RoutedAnswer =
  | { readonly ok: true; readonly body: WireObject }
  | { readonly ok: false; readonly refusal: Refusal };

/** Carries out a call of a routed engine, from its request on the wire to its answer there. Never rejects. */
export async function carryOut(face: RoutedFace, call: RoutedCall, input: unknown): Promise<RoutedAnswer> {
  try {
    return await CALLS[call](face, input);
  } catch (error) {
    if (!isPhasegateError(error)) face.engine.reportError(`routed ${call}`, error);
    const params = isJsonObject(input) ? input : {};
    return { ok: false, refusal: refusalOf(face, call, params, error) };
  }
}

type Call = (face: RoutedFace, input: unknown) => Promise<RoutedAnswer>;

/** Binds a request's schema to what is done with it. */
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

/** Whatever keeps the workflows from being listed is a failure of the place that they come from. */
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

/** Where an instance stands, with what to do there, as long as the workflow's files can be read. */
async function standing(face: RoutedFace, view: RoutedView): Promise<WireObject> {
  try {
    return statusOnWire(face, view, await face.engine.step(view.instanceId));
  } catch (error) {
    if (!isPhasegateError(error)) throw error;
    return statusOnWire(face, view);
  }
}

/** A move; where a person is waited for and is there, with their word. */
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

function move({ reason, idempotency_key: key }: z.infer<(typeof REQUESTS)["suspend"]>): RoutedMove {
  return { ...(reason === undefined ? {} : { reason }), ...keyed(key) };
}

function keyed(key: string | undefined) {
  return key === undefined ? {} : { idempotencyKey: key };
}
