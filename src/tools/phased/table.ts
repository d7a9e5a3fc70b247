/** The table of the workflow tool: what each action runs, and how answers are completed. Loaded with the first call. */
import { isPhasegateError } from "../../errors.js";
import { systemClock } from "../../ports/clock.js";
import { isJsonObject } from "../../workflow/json.js";
import { isSessionId } from "../../workflow/names.js";
import { type Call, dispatch, errorIn, type Failure, type Product } from "../dispatch.js";
import { fits, type ShrinkRules, type WireObject } from "../wire.js";
import { type Action, isAction, type ToolContext, type WorkflowResponse } from "./actions.js";
import { callAfterError, GATES } from "./complete.js";
import { LISTS, startCall } from "./lists.js";
import { CALL, callWithForms } from "./next-call.js";
import { PHASES } from "./phases.js";
import { PLANS } from "./plan.js";
import { badParametersAnswer, errorAnswer, unknownActionAnswer } from "./refusals.js";
import { artifactNames, phaseContent } from "./shapes.js";
import { STATES } from "./state.js";

const WORKFLOW: Product<ToolContext, Action> = {
  actions: { ...LISTS, ...PHASES, ...STATES, ...PLANS, ...GATES },
  choose({ actions, sentAsText }, input) {
    if (!isJsonObject(input)) return undefined;
    const { action: name, ...fields }: WireObject = input;
    return isAction(name) && actions.includes(name) ? { name, fields: withObjects(fields, sentAsText) } : undefined;
  },
  callOf: (_, name, fields) => ({ action: name, ...fields }),
  finish,
  once,
  refuse,
  shrink: ({ actions }) => ({ kept: KEPT, next: (answer, leftOut) => callThatShows(answer, leftOut, actions) }),
};

/** Refuses evidence for a phase behind the current one; any other call for such a phase is no step ahead. */
const LATE = "PHASE_ALREADY_COMPLETED";

/** Executes a call, and counts it. Never rejects. */
export async function dispatchCounted(context: ToolContext, input: unknown): Promise<WorkflowResponse> {
  const begun = systemClock.elapsed();
  const { body } = await dispatch(WORKFLOW, { ...context, sentAsText: [] }, input);
  const { status, action: name, code } = body;
  const isSuccess = status !== "error";
  const isRefused = code === "PHASE_LOCKED" || code === "TASK_LOCKED" || (code === LATE && name === "complete_phase");
  context.metrics.record(isAction(name) ? name : "unknown", systemClock.elapsed() - begun, isSuccess, isRefused);
  return isResponse(body) ? body : { ...body, status: isSuccess ? "success" : "error", action: String(name) };
}

/** Returns the fields of a call, with the objects that were sent as texts of JSON, as some clients do; notes their names. */
function withObjects(fields: WireObject, sentAsText: string[] = []): WireObject {
  const read = ["evidence", "options"].flatMap((name) => {
    const found = objectIn(fields[name]);
    return found === undefined ? [] : [[name, found] as const];
  });
  sentAsText.push(...read.map(([name]) => name));
  return { ...fields, ...Object.fromEntries(read) };
}

function objectIn(text: unknown): WireObject | undefined {
  if (typeof text !== "string" || !text.trimStart().startsWith("{")) return undefined;
  try {
    const found: unknown = JSON.parse(text);
    return isJsonObject(found) ? found : undefined;
  } catch {
    return undefined;
  }
}

function isResponse(body: WireObject): body is WorkflowResponse {
  const { status, action: name } = body;
  return (status === "success" || status === "error" || status === "verifying") && typeof name === "string";
}

/**
 * Completes an answer: it begins with the outcome, a success unless it says otherwise, and the action. Actions that the host has
 * not given to its agents are left out.
 */
function finish({ actions, sentAsText = [] }: ToolContext, answer: WireObject, name: Action | undefined): WireObject {
  const { valid_actions: valid } = answer;
  const given: readonly unknown[] = actions;
  const isWithout = isJsonObject(answer.next) && !given.includes(answer.next.action);
  const next = isWithout ? undefined : answer.next;
  return {
    status: "success",
    action: name,
    ...answer,
    sent_as_text: sentAsText.length === 0 ? undefined : `${sentAsText.join(", ")}: was read; send an object instead`,
    valid_actions: Array.isArray(valid) ? valid.filter((one) => given.includes(one)) : valid,
    next,
  };
}

/**
 * Leaves the session's id out of an answer where `next` has it, which is copied whole. A start tells it to hosts, too, which
 * read no `next`.
 */
function once(answer: WireObject, name: Action | undefined): WireObject {
  const { session_id, ...rest } = answer;
  const isTold = name !== "start" && isJsonObject(rest.next) && rest.next.session_id === session_id;
  return isTold ? rest : answer;
}

/** The keys that an answer must have. */
const KEPT: ShrinkRules["kept"] = new Set(["status", "action", "session_id", "error", "error_type", "code", "next"]);

/** The problems at a gate: an agent can read omitted ones in `get_errors`. */
const PROBLEMS: readonly string[] = ["problems", "validation_errors", "missing_tasks", "unclaimed_items"];

/** Returns the call that shows what was omitted; the answer's own next call if there is none. */
function callThatShows({ session_id, next }: WireObject, leftOut: readonly string[], actions: readonly Action[]) {
  const id = session_id ?? (isJsonObject(next) ? next.session_id : undefined);
  if (typeof id !== "string" || next === null) return next;
  if (leftOut.includes("phase_content") && actions.includes("get_phase")) return CALL.phase(id);
  const isShown = leftOut.some((key) => PROBLEMS.includes(key)) && actions.includes("get_errors");
  return isShown ? CALL.errors(id) : next;
}

/** Returns the answer to a call that was not executed; for a phase that is ahead, with the current phase. */
async function refuse(context: ToolContext, { name, given }: Call<Action>, failure: Failure): Promise<WireObject> {
  const { engine, name: tool, actions } = context;
  const { session_id: id } = given;
  engine.reportError(`tool ${tool} ${name ?? ""}`.trim(), errorIn(failure), isSessionId(id) ? id : undefined);
  if ("faults" in failure) {
    const { faults } = failure;
    if (name === undefined) return unknownActionAnswer(faults[0], given.action, actions);
    return badParametersAnswer(name, faults, given);
  }
  const { error } = failure;
  const refusal = errorAnswer(context, name ?? "", error, isSessionId(id) ? id : undefined);
  if (name === "start" && isPhasegateError(error, "INVALID_INPUT")) {
    return withStartCall(context, refusal, withoutOption(given, error.details.field));
  }
  try {
    if (isPhasegateError(error, "PHASE_LOCKED")) return await withCurrentPhase(context, refusal, String(id));
    const next = name && (await callAfter(context, name, given, error));
    return next === undefined ? refusal : { ...refusal, next };
  } catch {
    // The refusal is complete without these, which agents can ask for.
    return refusal;
  }
}

/** Returns the parameters without the option that was refused: a form that repeats it would be refused again. */
function withoutOption(given: WireObject, field: string | undefined): WireObject {
  const [, refused] = /^options\.(.+)$/s.exec(field ?? "") ?? [];
  if (refused === undefined || !isJsonObject(given.options)) return given;
  const { [refused]: _, ...options } = given.options;
  return { ...given, options };
}

async function callAfter(context: ToolContext, name: Action, given: WireObject, error: unknown) {
  if (name === "complete_phase") return callAfterError(context, given, error);
  return isPhasegateError(error, "INVALID_INPUT") ? callWithForms(name, given) : undefined;
}

/** Adds a form of the call, with what the workflow needs. */
async function withStartCall({ engine }: ToolContext, refusal: WireObject, given: WireObject): Promise<WireObject> {
  const listings = await engine.listWorkflows().catch(() => []);
  const found = listings.find(({ type }) => type === given.workflow_type);
  return found?.status === "ready" ? { ...refusal, example: startCall(found.definition.structure, given) } : refusal;
}

async function withCurrentPhase(context: ToolContext, refusal: WireObject, sessionId: string) {
  const { engine, maxChars } = context;
  const [view, state] = await Promise.all([engine.session(sessionId).phase(), engine.session(sessionId).state()]);
  const whole = {
    ...refusal,
    artifacts_available: artifactNames(view.artifacts),
    current_phase_content: { ...phaseContent(view, false, context), content: view.content.text },
    progress: { completed: state.completedPhases, current: state.head.phase, total: state.head.total },
  };
  if (fits(whole, maxChars)) return whole;
  const { number, name } = view.phase;
  return { ...whole, current_phase_content: { phase_number: number, title: name, content: "too long: see get_phase" } };
}
