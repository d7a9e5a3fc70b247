/** The table of routed workflows: what each call runs and answers, for MCP's tools and for HTTP. */

import type * as z from "zod";
import { isPhasegateError, PhasegateError } from "../../errors.js";
import type { RoutedMove } from "../../routed/commands.js";
import type { AdvanceRequest, RoutedResult, RoutedView } from "../../routed/types.js";
import { isJsonObject } from "../../workflow/json.js";
import { type Action, action, type Product, readCall } from "../dispatch.js";
import type { ShrinkRules, WireObject } from "../wire.js";
import { keyed } from "../wire.js";
import type { RoutedContext } from "./calls.js";
import { type Refusal, refusalOf } from "./refusals.js";
import { REQUESTS, type RoutedCall } from "./requests.js";
import { historyOnWire, listOnWire, type Moved, resultOnWire, statusOnWire } from "./shapes.js";

const CALLS: Record<RoutedCall, Action<RoutedContext>> = {
  list: action(REQUESTS.list, async ({ engine }) => listOnWire(await listWorkflows(engine)), "json"),
  start: action(
    REQUESTS.start,
    async (context, { workflow_name: workflow, context: initial, idempotency_key: key }) => {
      const begun = { workflow, ...(initial === undefined ? {} : { context: initial }), ...keyed(key) };
      return resultOnWire(context, await context.engine.start(begun));
    },
  ),
  advance: action(REQUESTS.advance, async (context: RoutedContext, params) => {
    const { instance_id: id } = params;
    return moved(context, () => context.engine.advance(id, reported(params)));
  }),
  resume: action(REQUESTS.resume, async (context: RoutedContext, params) => {
    const { instance_id: id, assumed_current_step_name: assumedStep } = params;
    return moved(context, () => context.engine.resume(id, { ...reported(params), assumedStep }));
  }),
  status: action(
    REQUESTS.status,
    async (context, { instance_id: id }) => viewOnWire(context, await context.engine.status(id)),
    "json",
  ),
  suspend: action(REQUESTS.suspend, async (context, params) => {
    return viewOnWire(context, await context.engine.suspend(params.instance_id, move(params)));
  }),
  cancel: action(REQUESTS.cancel, async (context, params) => {
    return viewOnWire(context, await context.engine.cancel(params.instance_id, move(params)));
  }),
  retry: action(REQUESTS.retry, async (context: RoutedContext, { instance_id: id, idempotency_key: key }) => {
    return moved(context, () => context.engine.retry(id, keyed(key)));
  }),
  history: action(
    REQUESTS.history,
    async ({ engine, pageChars }, { instance_id: id, cursor }) =>
      historyOnWire(id, await engine.history(id), pageChars, cursor),
    "own",
  ),
};

/** Executes a call whose answer has no budget. Never rejects. */
export async function carryOut(
  context: RoutedContext,
  name: RoutedCall,
  input: unknown,
): Promise<{ readonly body: WireObject } | { readonly refusal: Refusal }> {
  const call = readCall(context, input, () => ({ name, fields: input }));
  const outcome = call.failure === undefined ? await CALLS[name].run(context, call.input) : call.failure;
  return "body" in outcome ? outcome : { refusal: refusalOf(context, call, outcome) };
}

/** A tool for one call, or for several that its `action` names. */
export interface RoutedToolContext extends RoutedContext {
  /** The tool's only call; undefined if its `action` names the call. */
  readonly only: RoutedCall | undefined;
  /** The budget of an answer, in characters of JSON. */
  readonly maxChars: number;
  /** The key under which `next` names the call. */
  readonly key: "tool" | "action";
}

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

/** Routed workflows as a product of the dispatcher. */
export const ROUTED: Product<RoutedToolContext, RoutedCall> = {
  actions: CALLS,
  choose({ only, names }, input) {
    if (only !== undefined) return { name: only, fields: input };
    if (!isJsonObject(input)) return undefined;
    const { action: chosen, ...fields }: WireObject = input;
    const name = [...names].find(([, named]) => named === chosen)?.[0];
    return name === undefined ? undefined : { name, fields };
  },
  callOf: (context, name, fields) => callOf(context, name, fields) ?? fields,
  refuse: (context, call, failure) => refusalOf(context, call, failure).body,
  shrink: (context, isRefusal) => ({
    kept: KEPT,
    textMax: SENTENCE_MAX,
    last: withoutInstructions,
    next: ({ instance_id }) => (isRefusal ? undefined : callOf(context, "status", { instance_id })),
  }),
};

function callOf({ names, key }: RoutedToolContext, call: RoutedCall, fields: WireObject): WireObject | undefined {
  const name = names.get(call);
  return name === undefined ? undefined : { [key]: name, ...fields };
}

const withoutInstructions: NonNullable<ShrinkRules["last"]> = (answer) => {
  const { next_step: step } = answer;
  if (!isJsonObject(step) || step.step_name === undefined) return undefined;
  const next_step = { step_name: step.step_name, instructions: "" };
  return { name: "next_step.instructions", answer: { ...answer, next_step } };
};

/** A failing list is a failure of the workflows' location. */
async function listWorkflows(engine: RoutedContext["engine"]) {
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

/** Returns the answer to a move; if a person is awaited and present, with their decision. */
async function moved(context: RoutedContext, work: () => Promise<RoutedResult>): Promise<WireObject> {
  const result = await work();
  return resultOnWire(context, (await withPerson(context, result, work)) ?? result);
}

async function withPerson(
  { engine, askPerson }: RoutedContext,
  result: RoutedResult,
  again: () => Promise<RoutedResult>,
): Promise<Moved | undefined> {
  const { instanceId, awaiting } = result.now ?? result;
  if (awaiting === undefined) return undefined;
  const answer = await askPerson?.(awaiting);
  if (answer === undefined) return undefined;
  const { decision, note = "", ...given } = answer;
  const { evidenceHash } = awaiting;
  if (decision === "approve") {
    await engine.approve(instanceId, { ...given, evidenceHash, ...(note === "" ? {} : { note }) });
    return again();
  }
  const view = await engine.deny(instanceId, { ...given, note, evidenceHash });
  return { ...view, nextStep: await engine.step(instanceId), replayed: false, denied: { by: answer.by, note } };
}

type Params<C extends RoutedCall> = z.infer<(typeof REQUESTS)[C]>;

function reported({
  report,
  context_updates: contextUpdates,
  idempotency_key: key,
}: Omit<Params<"advance">, "instance_id">): AdvanceRequest {
  return { report, ...(contextUpdates === undefined ? {} : { contextUpdates }), ...keyed(key) };
}

/** Returns the state of an instance with its instructions, if the workflow's texts can be read. */
async function viewOnWire(context: RoutedContext, view: RoutedView): Promise<WireObject> {
  try {
    return statusOnWire(context, view, await context.engine.step(view.instanceId));
  } catch (error) {
    if (!isPhasegateError(error)) throw error;
    return statusOnWire(context, view);
  }
}

function move({ reason, idempotency_key: key }: Params<"suspend">): RoutedMove {
  return { ...(reason === undefined ? {} : { reason }), ...keyed(key) };
}
