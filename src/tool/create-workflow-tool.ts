import type { Engine } from "../engine/engine.js";
import { Metrics } from "../engine/metrics.js";
import { isPhasegateError } from "../errors.js";
import { ACTION_NAMES, type Action, isAction, type Request } from "./actions.js";
import { errorAnswer } from "./errors-on-wire.js";
import { handle } from "./handlers.js";
import { pageAnswer } from "./page-answer.js";
import { charactersFor, isJsonCursor } from "./paging.js";
import { type BadRequest, isBadRequest, parseRequest } from "./parse-request.js";
import type { ToolContext } from "./tool-context.js";
import { inputSchema, type ObjectSchema, outputSchema, toolDescription } from "./tool-schema.js";
import { compact, phaseContent, type WireObject } from "./wire.js";

/** How a host wants its tool. */
export interface WorkflowToolOptions {
  /** The tool's name; `pos_workflow` if not given. */
  readonly name?: string;
  /** What agents read of it; the default says all that they need. */
  readonly description?: string;
  /** The actions that agents get; all if not given. */
  readonly actions?: readonly Action[];
  /** The longest answer, in tokens of four characters. Default 6,000, at least 1,000. */
  readonly maxTokens?: number;
}

/** An answer: `status`, `action`, and what the action gives. */
export type WorkflowResponse = {
  readonly status: "success" | "error";
  readonly action: string;
  readonly [key: string]: unknown;
};

/** A tool that can be registered with anything that takes a name, schemas and a function. */
export interface WorkflowTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: ObjectSchema;
  readonly outputSchema: ObjectSchema;
  readonly actions: readonly Action[];
  /** Carries out a call. Never throws and never rejects: whatever is wrong is an answer. */
  dispatch(input: unknown): Promise<WorkflowResponse>;
}

const DEFAULT_TOKENS = 6000;
const LEAST_TOKENS = 1000;

/** Makes the one tool through which agents go through workflows. */
export function createWorkflowTool(engine: Engine, options: WorkflowToolOptions = {}): WorkflowTool {
  const actions = options.actions ?? ACTION_NAMES;
  const name = options.name ?? "pos_workflow";
  const room = charactersFor(Math.max(options.maxTokens ?? DEFAULT_TOKENS, LEAST_TOKENS));
  const context: ToolContext = { engine, name, room, metrics: new Metrics() };
  return {
    name,
    description: options.description ?? toolDescription(actions),
    inputSchema: inputSchema(actions),
    outputSchema: outputSchema(),
    actions,
    dispatch: (input) => measured(context, input, actions),
  };
}

async function measured(context: ToolContext, input: unknown, actions: readonly Action[]): Promise<WorkflowResponse> {
  const begun = performance.now();
  const response = asResponse(await dispatch(context, input, actions));
  const action = isAction(response.action) ? response.action : "unknown";
  context.metrics.record(action, performance.now() - begun, response.status === "success");
  return response;
}

async function dispatch(context: ToolContext, input: unknown, actions: readonly Action[]): Promise<WireObject> {
  let request: Request | BadRequest | undefined;
  try {
    request = parseRequest(input, actions);
    if (isBadRequest(request)) return badRequestAnswer(request);
    return await answer(context, request);
  } catch (error) {
    return refusalAnswer(context, request, error);
  }
}

/** Carries a call out; answers that are too long although they are paged come as pages of JSON. */
async function answer(context: ToolContext, request: Request): Promise<WireObject> {
  const { cursor, ...rest } = { cursor: undefined, ...request.params };
  const call = { action: request.action, ...rest };
  if (cursor === undefined || !isJsonCursor(cursor)) {
    return pageAnswer(await handle(context, request), context.room, call, undefined);
  }
  const uncut = parseRequest(call, [request.action]);
  if (isBadRequest(uncut)) return badRequestAnswer(uncut);
  return pageAnswer(await handle(context, uncut), context.room, call, cursor);
}

function badRequestAnswer(bad: BadRequest): WireObject {
  return compact({
    status: "error",
    action: bad.action,
    error: bad.message,
    error_type: "ValueError",
    code: "INVALID_INPUT",
    remediation: bad.remediation,
    example: bad.example,
    valid_actions: bad.validActions,
  });
}

/** A refusal; where a phase was asked for that lies ahead, with the one that must be done first. */
async function refusalAnswer(
  context: ToolContext,
  request: Request | BadRequest | undefined,
  error: unknown,
): Promise<WireObject> {
  if (request === undefined || isBadRequest(request)) return errorAnswer(context.name, "", error);
  const sessionId = "session_id" in request.params ? request.params.session_id : undefined;
  const refusal = errorAnswer(context.name, request.action, error, sessionId);
  if (sessionId === undefined || !isPhasegateError(error, "PHASE_LOCKED")) return refusal;
  try {
    return await withCurrentPhase(context, refusal, sessionId);
  } catch {
    // The refusal stands by itself; that the phase can't be shown is told to who asks for it.
    return refusal;
  }
}

async function withCurrentPhase({ engine, room }: ToolContext, refusal: WireObject, sessionId: string) {
  const [view, state] = await Promise.all([engine.getPhase(sessionId), engine.getState(sessionId)]);
  const whole = {
    ...refusal,
    current_phase_content: { ...phaseContent(view), content: view.content.text },
    progress: { completed: state.completedPhases, current: state.head.phase, total: state.head.total },
  };
  if (JSON.stringify(whole).length <= room) return whole;
  return { ...whole, current_phase_content: { phase_number: view.phase.number, title: view.phase.name } };
}

function asResponse(answer: WireObject): WorkflowResponse {
  const { status, action, ...rest } = answer;
  return { status: status === "success" ? "success" : "error", action: String(action), ...rest };
}
