/**
 * The tools through which clients work on routed workflows: one for each call, or one with an action. The
 * entry file of this folder; what is decided where:
 * - requests.ts: which requests are valid
 * - calls.ts: names, descriptions and published schemas of the calls
 * - routed-tools.ts: what each call runs, and what a long answer leaves out; also for HTTP
 * - refusals.ts: how wrong requests and errors are answered
 * - shapes.ts and answers.ts: how answers look on the wire
 */
import type * as z from "zod";
import { isPhasegateError, PhasegateError } from "../../errors.js";
import type { Attributed } from "../../phased/commands.js";
import { systemClock } from "../../ports/clock.js";
import type { RoutedEngine } from "../../routed/engine.js";
import type { AdvanceRequest, RoutedResult, RoutedView } from "../../routed/types.js";
import { isInvisible } from "../../workflow/field-types.js";
import { isJsonObject } from "../../workflow/json.js";
import { type Action, action, dispatch, type Product, readCall } from "../dispatch.js";
import { decidedWithin, PERSON_MS, takeAnswer } from "../person.js";
import { maxCharsFor, type ObjectSchema } from "../schemas.js";
import type { ShrinkRules, WireObject } from "../wire.js";
import {
  ALL_CALLS,
  actionInput,
  answerOutput,
  CALL_TEXTS,
  callInput,
  describe,
  namedCalls,
  type RoutedCallOptions,
  type RoutedContext,
} from "./calls.js";
import { type Refusal, refusalOf } from "./refusals.js";
import { REQUESTS, type RoutedCall } from "./requests.js";
import { historyOnWire, listOnWire, type Moved, resultOnWire, statusOnWire } from "./shapes.js";

export interface RoutedToolAnswer {
  /** True if the call was refused. */
  readonly isError: boolean;
  readonly body: { readonly [key: string]: unknown };
}

/** A tool that can be registered with any server that takes a name, schemas and a function. */
export interface RoutedTool {
  /** The name that clients call. */
  readonly name: string;
  /** The title for people. */
  readonly title: string;
  /** The description for agents. */
  readonly description: string;
  /** The calls that can be made through it. */
  readonly calls: readonly RoutedCall[];
  /** The JSON Schema of a call. */
  readonly inputSchema: ObjectSchema;
  /** The JSON Schema that all answers share. */
  readonly outputSchema: ObjectSchema;
  /** Executes a call. Never throws and never rejects: every error is an answer. */
  dispatch(input: unknown, options?: RoutedCallOptions): Promise<RoutedToolAnswer>;
}

export interface RoutedToolsOptions {
  /** One tool for each call, or one tool with an action. Default: one for each call. */
  readonly tools?: "separate" | "single";
  /** The name of the one tool. Default: `routed_workflow`. */
  readonly name?: string;
  /** Other names for calls: of the tools, or of the one tool's actions. */
  readonly names?: Partial<Readonly<Record<RoutedCall, string>>>;
  /** The calls that clients may use. Default: all. */
  readonly calls?: readonly RoutedCall[];
  /** The longest answer, in tokens of four characters. Default 6,000, at least 1,000. */
  readonly maxTokens?: number;
}

/** The budget for what surrounds a page of a history, in characters. */
const ENVELOPE = 300;

/**
 * Creates the tools.
 * @throws {PhasegateError} `INVALID_INPUT` when a call is unknown, or a name is invalid.
 */
export function createRoutedTools(engine: RoutedEngine, options: RoutedToolsOptions = {}): readonly RoutedTool[] {
  const { tools = "separate", name = "routed_workflow", calls = ALL_CALLS } = options;
  const names = namedCalls(calls, options.names ?? {});
  const maxChars = maxCharsFor(options.maxTokens);
  const outputSchema = answerOutput();
  const dispatchOf = (only?: RoutedCall): RoutedTool["dispatch"] => {
    const context = { engine, names, maxChars, pageChars: maxChars - ENVELOPE, only };
    return async (input, options = {}) => {
      const { ok, body } = await dispatch(ROUTED, { ...context, ...options }, input ?? {});
      return { isError: !ok, body };
    };
  };
  if (tools === "single") {
    const about = "Runs workflows whose next step is decided after each report.";
    const actions = [...names].map(([call, action]) => `${action}: ${describe(call, names)}`);
    const description = [about, ...actions].join("\n");
    const given = { calls: [...names.keys()], inputSchema: actionInput(names), outputSchema };
    return [{ name, title: "Routed workflows", description, ...given, dispatch: dispatchOf() }];
  }
  return [...names].map(([call, named]) => ({
    name: named,
    title: CALL_TEXTS[call].title,
    description: describe(call, names),
    calls: [call],
    inputSchema: callInput(call),
    outputSchema,
    dispatch: dispatchOf(call),
  }));
}

const CALLS: Record<RoutedCall, Action<RoutedContext>> = {
  list: action({ takes: REQUESTS.list, paging: "json" }, async ({ engine }) => listOnWire(await listWorkflows(engine))),
  start: action(
    { takes: REQUESTS.start },
    async (context, { workflow_name: workflow, context: initial, idempotency_key: key }) => {
      const { engine, signal, onAsk } = context;
      const started = await engine.start({ workflow, context: initial, idempotencyKey: key, signal, onAsk });
      return resultOnWire(context, started);
    },
  ),
  advance: action({ takes: REQUESTS.advance }, async (context: RoutedContext, params) => {
    const { instance_id: id } = params;
    return moved(context, () => context.engine.session(id).advance(reported(context, params)));
  }),
  resume: action({ takes: REQUESTS.resume }, async (context: RoutedContext, params) => {
    const { instance_id: id, assumed_current_step_name: assumedStep } = params;
    return moved(context, () => context.engine.session(id).resume({ ...reported(context, params), assumedStep }));
  }),
  status: action({ takes: REQUESTS.status, paging: "json" }, async (context, { instance_id: id }) =>
    viewOnWire(context, await context.engine.session(id).state()),
  ),
  suspend: action({ takes: REQUESTS.suspend }, async (context, params) => {
    return viewOnWire(context, await context.engine.session(params.instance_id).suspend(move(params)));
  }),
  cancel: action({ takes: REQUESTS.cancel }, async (context, params) => {
    return viewOnWire(context, await context.engine.session(params.instance_id).cancel(move(params)));
  }),
  retry: action(
    { takes: REQUESTS.retry },
    async (context: RoutedContext, { instance_id: id, idempotency_key: idempotencyKey }) => {
      const { engine, signal, onAsk } = context;
      return moved(context, () => engine.session(id).retry({ idempotencyKey, signal, onAsk }));
    },
  ),
  history: action(
    { takes: REQUESTS.history, paging: "own" },
    async ({ engine, pageChars }, { instance_id: id, cursor }) =>
      historyOnWire(id, await engine.session(id).history(), pageChars, cursor),
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
interface RoutedToolContext extends RoutedContext {
  /** The tool's only call; undefined if its `action` names the call. */
  readonly only: RoutedCall | undefined;
  /** The budget of an answer, in characters of JSON. */
  readonly maxChars: number;
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

const ROUTED: Product<RoutedToolContext, RoutedCall> = {
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

function callOf({ names, only }: RoutedToolContext, call: RoutedCall, fields: WireObject): WireObject | undefined {
  const name = names.get(call);
  return name === undefined ? undefined : { [only === undefined ? "action" : "tool"]: name, ...fields };
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

/** Returns the answer to a move, with the decision of a person who is awaited and present. */
async function moved(context: RoutedContext, work: () => Promise<RoutedResult>): Promise<WireObject> {
  const result = await work();
  return resultOnWire(context, (await withPerson(context, result, work)) ?? result);
}

async function withPerson(
  { engine, askPerson }: RoutedContext,
  result: RoutedResult,
  again: () => Promise<RoutedResult>,
): Promise<Moved | undefined> {
  const { sessionId, awaiting } = result.now ?? result;
  if (awaiting === undefined) return undefined;
  if (askPerson === undefined) return undefined;
  const { evidenceHash } = awaiting;
  const session = engine.session(sessionId);
  const deciding = takeAnswer<() => Promise<Moved>>(askPerson(awaiting), {
    async approve(given) {
      await session.approve({ ...given, evidenceHash });
      return again;
    },
    async deny({ by, note, ...given }) {
      const view = await session.deny({ ...given, by, note, evidenceHash });
      return async () => ({ ...view, nextStep: await session.step(), replayed: false, denied: { by, note } });
    },
  });
  // After a late approval the agent itself makes the call again.
  const answer = await decidedWithin(systemClock, PERSON_MS, deciding);
  return answer?.();
}

type Params<C extends RoutedCall> = z.infer<(typeof REQUESTS)[C]>;

function reported(
  { onCheck, signal, onAsk }: RoutedContext,
  { report, context_updates: contextUpdates, idempotency_key: idempotencyKey }: Omit<Params<"advance">, "instance_id">,
): AdvanceRequest {
  return { report, contextUpdates, idempotencyKey, signal, onAsk, onCheck };
}

/** Returns the state of an instance with its instructions, if the workflow's texts can be read. */
async function viewOnWire(context: RoutedContext, view: RoutedView): Promise<WireObject> {
  try {
    return statusOnWire(context, view, await context.engine.session(view.sessionId).step());
  } catch (error) {
    if (!isPhasegateError(error)) throw error;
    return statusOnWire(context, view);
  }
}

function move({ reason, idempotency_key: idempotencyKey }: Params<"suspend">): Attributed {
  // The engine would refuse a blank one, by the name of its own option.
  return { note: reason === undefined || isInvisible(reason) ? undefined : reason, idempotencyKey };
}
