/**
 * Executes a call: checks it, runs the action's handler, and keeps the answer within its budget. Never
 * rejects: every error is an answer.
 */

import { isPhasegateError } from "../../errors.js";
import { isJsonObject } from "../../workflow/json.js";
import { isSessionId } from "../../workflow/names.js";
import type { ToolContext, WorkflowResponse } from "../context.js";
import { pageAnswer, shrinkAnswer } from "../pages.js";
import { readJsonCursor, surelyFits } from "../paging.js";
import { compact, type WireObject } from "../wire-object.js";
import { isAction, parametersOf, type Request } from "./actions.js";
import { complete } from "./complete.js";
import { errorAnswer } from "./errors.js";
import { deleteSession, getErrors, getHistory, getMetrics, listSessions, listWorkflows, pause } from "./lists.js";
import { type BadRequest, isBadRequest, parseRequest } from "./parse-request.js";
import { getPhase, getSession, getState, getTask, resume, retryPhase, rollback, start } from "./phases.js";
import { syncPlan } from "./plan.js";
import { phaseContent } from "./shapes.js";

/** Executes a call, and counts it. Never rejects. */
export async function measured(context: ToolContext, input: unknown): Promise<WorkflowResponse> {
  const begun = performance.now();
  const response = asResponse(await dispatch(context, input));
  const action = isAction(response.action) ? response.action : "unknown";
  context.metrics.record(action, performance.now() - begun, response.status === "success");
  return response;
}

function asResponse(answer: WireObject): WorkflowResponse {
  const { status, action, ...rest } = answer;
  return { status: status === "success" ? "success" : "error", action: String(action), ...rest };
}

async function dispatch(context: ToolContext, input: unknown): Promise<WireObject> {
  let request: Request | BadRequest | undefined;
  let made: WireObject;
  try {
    request = parseRequest(input, context.actions);
    if (!isBadRequest(request) && isReading(request)) return await read(context, request);
    made = isBadRequest(request) ? badRequestAnswer(request) : await handle(context, request);
  } catch (error) {
    made = await refusalAnswer(context, request, error);
  }
  return shrinkAnswer(restrict(context, made), context.room, context.actions);
}

/** Returns true if an action changes nothing, so that its answer can be requested in pages. */
function isReading({ action, params }: Request): boolean {
  if (action === "sync_plan") return params.preview === true;
  return parametersOf(action).all.includes("cursor");
}

/** Executes a reading call; an answer that is still too long comes as pages of its JSON. */
async function read(context: ToolContext, request: Request): Promise<WireObject> {
  const { cursor, ...rest } = { cursor: undefined, ...request.params };
  const call = { action: request.action, ...rest };
  const json = cursor === undefined ? undefined : readJsonCursor(cursor);
  if (json === undefined) {
    const answer = restrict(context, await handle(context, request));
    return pageAnswer(answer, context.room, { call, inner: cursor });
  }
  const asked = parseRequest(compact({ ...call, cursor: json.inner }), [request.action]);
  if (isBadRequest(asked)) return badRequestAnswer(asked);
  const answer = restrict(context, await handle(context, asked));
  return pageAnswer(answer, context.room, { call, cursor, inner: json.inner });
}

/** Removes actions that the host has not given to its agents. */
function restrict({ actions }: ToolContext, answer: WireObject): WireObject {
  const { next, valid_actions: valid } = answer;
  const isGiven = (action: unknown) => isAction(action) && actions.includes(action);
  if (valid === undefined && (!isJsonObject(next) || isGiven(next.action))) return compact(answer);
  return compact({
    ...answer,
    ...(isJsonObject(next) && !isGiven(next.action) ? { next: undefined } : {}),
    ...(Array.isArray(valid) ? { valid_actions: valid.filter(isGiven) } : {}),
  });
}

/** Executes a checked call. */
function handle(context: ToolContext, request: Request): Promise<WireObject> {
  switch (request.action) {
    case "list_workflows":
      return listWorkflows(context, request.params);
    case "start":
      return start(context, request.params);
    case "get_phase":
      return getPhase(context, request.params);
    case "get_task":
      return getTask(context, request.params);
    case "complete_phase":
      return complete(context, request.params);
    case "get_state":
      return getState(context, request.params);
    case "list_sessions":
      return listSessions(context, request.params);
    case "get_session":
      return getSession(context, request.params);
    case "delete_session":
      return deleteSession(context, request.params);
    case "pause":
      return pause(context, request.params);
    case "resume":
      return resume(context, request.params);
    case "retry_phase":
      return retryPhase(context, request.params);
    case "rollback":
      return rollback(context, request.params);
    case "sync_plan":
      return syncPlan(context, request.params);
    case "get_errors":
      return getErrors(context, request.params);
    case "get_history":
      return getHistory(context, request.params);
    case "get_metrics":
      return getMetrics(context);
  }
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

/** Returns a refusal; for a phase that is ahead, with the current phase. */
async function refusalAnswer(
  context: ToolContext,
  request: Request | BadRequest | undefined,
  error: unknown,
): Promise<WireObject> {
  const action = request === undefined || isBadRequest(request) ? "" : request.action;
  if (!isPhasegateError(error)) context.engine.reportError(`tool ${context.name} ${action}`.trim(), error);
  if (request === undefined || isBadRequest(request)) return errorAnswer(context.name, action, error);
  const sessionId = "session_id" in request.params ? request.params.session_id : undefined;
  const refusal = errorAnswer(context.name, action, error, isSessionId(sessionId) ? sessionId : undefined);
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
  if (surelyFits(whole, room) || JSON.stringify(whole).length <= room) return whole;
  const { number, name } = view.phase;
  return { ...whole, current_phase_content: { phase_number: number, title: name, content: "too long: see get_phase" } };
}
