/**
 * The handlers of the actions that show or move a session through its phases: start, phases, tasks, documents, resume,
 * retry and rollback.
 */

import { PhasegateError } from "../../errors.js";
import { conceal, revealOf } from "../../gate/check-gate.js";
import { waivable } from "../../gate/waivers.js";
import type { TaskResult } from "../../phased/complete-task.js";
import type { StartResult } from "../../phased/start.js";
import type { PhaseView, TaskView } from "../../phased/views.js";
import { isJsonObject } from "../../workflow/json.js";
import { numberInPlan, type PhaseDefinition } from "../../workflow/structure.js";
import { action } from "../dispatch.js";
import { LEAST_PAGE, pageText } from "../pages.js";
import { fits, type WireObject } from "../wire.js";
import { ACTIONS, type Action, type ParametersOf, type ToolContext } from "./actions.js";
import { approvalNotice, waiverNotice } from "./approval-notices.js";
import {
  asRecorded,
  blockedBy,
  CALL,
  callAfterTask,
  callInPhase,
  callOf,
  idsOf,
  leaveOutNotice,
  type NextCall,
  nextCall,
  nextNotice,
  refusePlaceholder,
  replayNotice,
  requiredAndGivenUp,
  unrecordedNotice,
  type Work,
  workIn,
} from "./next-call.js";
import { planNotice, startedPlan, taskNotice } from "./plan.js";
import {
  documentNames,
  endNotice,
  leftNotice,
  openNotice,
  orphanNotice,
  phaseContent,
  searchNotice,
  skipNotice,
  taskContent,
} from "./shapes.js";
import { noteAge, tasksNotice } from "./state.js";

/** What runs the actions of this file. */
export const PHASES = {
  start: action(ACTIONS.start, start),
  get_phase: action(ACTIONS.get_phase, getPhase),
  get_task: action(ACTIONS.get_task, getTask),
  get_document: action(ACTIONS.get_document, getDocument),
  complete_task: action(ACTIONS.complete_task, completeTask),
  resume: action(ACTIONS.resume, resume),
  retry_phase: action(ACTIONS.retry_phase, retryPhase),
  rollback: action(ACTIONS.rollback, rollback),
};

/** The longest options that the answer to a start repeats, in characters of JSON; `get_session` has all. */
const OPTIONS_MAX = 1000;

/** The budget for what completes an answer. */
const ENVELOPE = 50;

const OPEN_SESSIONS =
  "other sessions on this target are open: resume one of them if this was not meant to be a new start";

async function start(context: ToolContext, params: ParametersOf<"start">): Promise<WireObject> {
  const { workflow_type: workflowType = "", target_file: target, options, idempotency_key: idempotencyKey } = params;
  refusePlaceholder("target_file", target, "Give the path of what the work is about, relative to the project.");
  const started =
    params.session_id === undefined
      ? await context.engine.start({ workflowType, target, options, idempotencyKey })
      : await startChild(context, params, params.session_id);
  const { phase, openSessions } = started;
  const isShown = Object.keys(started.options).length > 0 && fits(started.options, OPTIONS_MAX);
  const fields = {
    workflow_type: started.workflowType,
    target_file: started.target,
    ...placeOf(phase),
    options: isShown ? started.options : undefined,
    ...skipNotice(started.skipped),
    ...endNotice(phase.status === "completed", phase.parent),
    ...startedPlan(started.plan),
    ...openNotice(started.openPhases),
    ...searchNotice(started.searches, context),
    ...(openSessions.length > 0 && {
      open_sessions: openSessions.map(({ sessionId }) => sessionId),
      warning: OPEN_SESSIONS,
    }),
  };
  return phaseAnswer(context, "start", phase, fields, started);
}

/** Starts a child of a session. Its workflow, target and options are not the agent's to choose. */
function startChild({ engine }: ToolContext, params: ParametersOf<"start">, parent: string): Promise<StartResult> {
  const chosen = (["workflow_type", "target_file", "options"] as const).filter((name) => params[name] !== undefined);
  const [first] = chosen;
  if (first !== undefined) {
    throw new PhasegateError("INVALID_INPUT", `a start for a phase of ${parent} takes no ${chosen.join(", ")}`, {
      remedy: "Leave it out: the phase says what is started. For a session of its own, leave session_id out.",
      details: { field: first },
    });
  }
  return engine.session(parent).startChild({ item: params.item, idempotencyKey: params.idempotency_key });
}

async function getPhase(context: ToolContext, params: ParametersOf<"get_phase">): Promise<WireObject> {
  const view = await context.engine.session(params.session_id).phase(params.phase);
  return phaseAnswer(context, "get_phase", view, placeOf(view), params);
}

function placeOf({ currentPhase, totalPhases }: PhaseView): WireObject {
  return { current_phase: currentPhase, total_phases: totalPhases };
}

async function getTask(context: ToolContext, params: ParametersOf<"get_task">): Promise<WireObject> {
  const { session_id: sessionId, phase, task_number: number, cursor } = params;
  const view = await context.engine.session(sessionId).task(phase, number);
  const work = workIn(context, view);
  const shown = taskText(context, view);
  const answer = {
    status: "success",
    action: "get_task",
    session_id: sessionId,
    phase,
    task_number: number,
    ...(view.plan && taskNotice(view.plan)),
    task_content: taskContent(view, shown, context),
    ...planNotice(context, sessionId, view.plan),
    ...leaveOutNotice(view, work),
    ...nextNotice(
      view,
      nextCall(asRecorded(view), () => callAfterTask(view, work, number)),
    ),
  };
  return withText(context, answer, "task_content", shown.text, CALL.task(sessionId, phase, number), cursor);
}

/** Returns the text of a task without what `get_phase` shows for all of them. */
function taskText({ actions }: ToolContext, { own, content, leftOut }: TaskView) {
  return (actions.includes("get_phase") ? own : undefined) ?? { text: content.text, leftOut };
}

/**
 * Adds the task that an answer leads to, as get_task shows it: that spares the agent the call. Where it does not fit, or
 * can't be read, the answer leads to get_task.
 */
async function withNextTask(context: ToolContext, answer: WireObject): Promise<WireObject> {
  const { action, ...params } = isJsonObject(answer.next) ? answer.next : {};
  const call = ACTIONS.get_task.takes.safeParse(params);
  if (action !== "get_task" || !call.success) return answer;
  const { session_id: sessionId, phase, task_number: number } = call.data;
  const view = await context.engine
    .session(sessionId)
    .task(phase, number)
    .catch(() => undefined);
  if (view === undefined) return answer;
  const shown = taskText(context, view);
  const next = nextCall(asRecorded(view), () => callAfterTask(view, workIn(context, view), number));
  const task = {
    task_number: number,
    ...(view.plan && taskNotice(view.plan)),
    ...taskContent(view, shown, context),
    content: shown.text,
  };
  const whole = { ...answer, task, next };
  // Where tasks can't be noted, next may be the gate, whose checkpoint this answer need not have.
  return next?.action === "complete_task" && fits(whole, context.maxChars - ENVELOPE) ? whole : answer;
}

/** What to do about the note of a call that was copied unchanged. */
const PLACEHOLDER_NOTE =
  "Do the task first; then call it with a note of your own, or without one. If it can't be done, call it with outcome given_up and a note that says why.";

async function completeTask(context: ToolContext, params: ParametersOf<"complete_task">): Promise<WireObject> {
  const { session_id: sessionId, phase, task_number: task, note, outcome, skipped } = params;
  refusePlaceholder("note", note, PLACEHOLDER_NOTE);
  const request = { note, outcome, skipped, idempotencyKey: params.idempotency_key };
  const result = await context.engine.session(sessionId).completeTask(phase, task, request);
  const work = workIn(context, result);
  const call = nextCall(result, () => callInPhase(result, work));
  const asked = call?.action === "request_waiver" ? call : undefined;
  const why = outcome === "given_up" ? note : undefined;
  const next = asked === undefined ? call : withReason(asked, why);
  const isEnd = (why !== undefined && asked === undefined) || next?.action === "complete_phase";
  return withNextTask(context, {
    ...replayNotice(result.replayed, result),
    session_id: sessionId,
    phase,
    task_number: task,
    ...tasksNotice(result.tasks),
    blocked: blockedBy(result, next),
    if_impossible: isEnd ? callForGivenUp(context, result, why) : undefined,
    ...leaveOutNotice(result, work),
    next,
  });
}

/** Gives a waiver that is asked for one task the reason why that was given up. */
function withReason(call: NextCall, why: string | undefined): NextCall {
  const isOne = Array.isArray(call.fields) && call.fields.length === 1;
  return isOne && why !== undefined ? { ...call, reason: why } : call;
}

/**
 * Returns the request for a waiver, if tasks were given up: a plan's gate asks for the required ones, another one may ask for
 * what they were to bring about. Undefined if a person has been asked already, or nothing can be waived.
 */
function callForGivenUp({ actions }: ToolContext, result: TaskResult, why: string | undefined): WireObject | undefined {
  const { sessionId, phase, tasks, waitsForWaiver, waiverRefused } = result;
  if (!tasks.some(({ closed }) => closed === "given_up") || !actions.includes("request_waiver")) return undefined;
  if (waitsForWaiver || waiverRefused === true || waivable(phase.gate).names.length === 0) return undefined;
  const ids = idsOf(requiredAndGivenUp(phase, tasks));
  if (ids.length > 0) return withReason(CALL.waiver(sessionId, phase.number, ids), why);
  return CALL.waiver(sessionId, phase.number, ["<what the gate asks for and can't be met>"]);
}

async function getDocument(context: ToolContext, params: ParametersOf<"get_document">): Promise<WireObject> {
  const { session_id, path, cursor } = params;
  const view = await context.engine.session(session_id).document(path);
  const work = workIn(context, view);
  // What follows the text of the task that names it, or the phase's text.
  const follow = () => (view.task === undefined ? callInPhase(view, work) : callAfterTask(view, work, view.task));
  const answer = {
    status: "success",
    action: "get_document",
    session_id,
    document: { path: view.path, tokens: view.content.tokens, ...documentNames(view.documents) },
    ...nextNotice(view, nextCall(asRecorded(view), follow)),
  };
  const again = callOf("get_document", { session_id, path: view.path });
  return withNextTask(context, withText(context, answer, "document", view.content.text, again, cursor));
}

async function resume(context: ToolContext, params: ParametersOf<"resume">): Promise<WireObject> {
  const request = { idempotencyKey: params.idempotency_key };
  const resumed = await context.engine.session(params.session_id).resume(request);
  const fields = {
    ...placeOf(resumed.phase),
    resumed: true,
    paused_duration_seconds: resumed.pausedSeconds,
    checkpoint_note: resumed.note,
    note_written: noteAge(resumed),
  };
  return phaseAnswer(context, "resume", resumed.phase, fields, resumed);
}

/** Limits the problems of the attempts before that the answer to a retry names. */
const PREVIOUS_MAX = 20;

async function retryPhase(context: ToolContext, params: ParametersOf<"retry_phase">): Promise<WireObject> {
  const { session_id, phase: number, reset_evidence: resetEvidence = false, idempotency_key: idempotencyKey } = params;
  const request = { resetEvidence, as: "agent" as const, idempotencyKey };
  const retried = await context.engine.session(session_id).retryPhase(number, request);
  const { phase, previousProblems } = retried;
  const previous = conceal(previousProblems, revealOf(phase.phase.gate)).slice(0, PREVIOUS_MAX);
  const fields = {
    phase: number,
    retrying: true,
    evidence_reset: resetEvidence,
    previous_errors: previous.map(({ message }) => message),
  };
  return phaseAnswer(context, "retry_phase", phase, fields, retried);
}

async function rollback(context: ToolContext, params: ParametersOf<"rollback">): Promise<WireObject> {
  const request = { as: "agent" as const, idempotencyKey: params.idempotency_key };
  const moved = await context.engine.session(params.session_id).rollback(params.to_phase, request);
  const { phase, from, to, cleared, skipped, children } = moved;
  const fields = {
    from_phase: from,
    to_phase: to,
    rolled_back: true,
    artifacts_cleared: cleared,
    ...skipNotice(skipped),
    ...leftNotice(children, "they count for nothing any more: the phase starts new ones when it is entered again"),
    current_phase: skipped && phase.currentPhase,
  };
  return phaseAnswer(context, "rollback", phase, fields, moved);
}

/** Returns an answer with a phase in it: its text as far as it fits, and what to call next. */
function phaseAnswer(
  context: ToolContext,
  action: Action,
  view: PhaseView,
  fields: WireObject,
  { replayed = false, cursor }: { readonly replayed?: boolean; readonly cursor?: string },
): Promise<WireObject> {
  const { sessionId, phase } = view;
  const work = workIn(context, view);
  // After a retry that could not record it either, the same call would not help.
  const isRetry = action === "retry_phase";
  const next = nextCall(isRetry ? asRecorded(view) : view, () => callInPhase(view, work));
  const answerWith = (isWhole: boolean) => {
    const answer = {
      status: "success",
      action,
      ...replayNotice(replayed, view),
      session_id: sessionId,
      ...fields,
      ...approvalNotice(view.awaiting),
      ...waiverNotice(view, { isShort: true }),
      phase_content: phaseContent(view, isWhole, context),
      ...phaseNotices(context, view, work),
      blocked: blockedBy(view, next),
      // Evidence needs the whole checkpoint; after a retry, the refusal had it.
      next: isWhole || isRetry || next?.action !== "complete_phase" ? next : CALL.phase(sessionId),
    };
    return withText(context, answer, "phase_content", phaseText(view), CALL.phase(sessionId, phase.number), cursor);
  };
  if (action === "get_phase" || !context.actions.includes("get_phase")) return withNextTask(context, answerWith(true));
  // A start and a resume lead on, instead of to the same text again, if everything fits into their answer.
  const whole = action === "start" || action === "resume" ? answerWith(true) : undefined;
  const isEnough = whole !== undefined && whole.cursor === undefined && fits(whole, context.maxChars);
  return withNextTask(context, isEnough ? whole : answerWith(false));
}

/**
 * Adds the phase that a passed gate has opened to the gate's answer, as get_phase shows it: that spares the agent the call.
 * Where it does not fit, can't be read, or is not the current phase any more, the answer leads to get_phase.
 */
export async function withOpenedPhase(
  context: ToolContext,
  answer: WireObject,
  { sessionId, nextPhase }: { readonly sessionId: string; readonly nextPhase: PhaseDefinition | null },
): Promise<WireObject> {
  const isDue = isJsonObject(answer.next) && answer.next.action === "get_phase";
  if (!isDue || nextPhase === null) return answer;
  // By its number, a phase that is locked again meanwhile would count as a step ahead that was refused.
  const reading = context.engine.session(sessionId).phase();
  const view = await reading.catch(() => undefined);
  if (view === undefined || view.phase.number !== nextPhase.number) return answer;
  const work = workIn(context, view);
  const next = nextCall(view, () => callInPhase(view, work));
  const whole = {
    ...answer,
    next_phase: {
      phase_number: nextPhase.number,
      phase_in_plan: numberInPlan(nextPhase),
      title: nextPhase.name,
    },
    phase_content: { ...phaseContent(view, true, context), content: phaseText(view) },
    ...phaseNotices(context, view, work),
    blocked: blockedBy(view, next),
    next,
  };
  return fits(whole, context.maxChars - ENVELOPE) ? withNextTask(context, whole) : answer;
}

/** Returns what an agent must know beside the phase. */
function phaseNotices(context: ToolContext, view: PhaseView, work: Work): WireObject {
  return {
    ...orphanNotice(view),
    ...planNotice(context, view.sessionId, view.plan),
    ...unrecordedNotice(view),
    ...leaveOutNotice(view, work),
  };
}

/** Returns the text of a phase without what the plan's first phase has, and with what its tasks share. */
function phaseText({ content, own, shared }: PhaseView): string {
  const text = own?.text ?? content.text;
  if (shared === undefined) return text;
  return `${text.trimEnd()}\n\n---\n\n**For each task of this phase:**\n\n${shared.text}`;
}

/** The budget for the key of a text, and for what completes the answer. */
const CONTENT_OVERHEAD = 40;

/**
 * Adds as much of a text to one of an answer's objects as fits; `nextPage` is the call that returns the
 * rest, without its cursor.
 */
function withText(
  { maxChars }: ToolContext,
  answer: WireObject,
  key: string,
  text: string,
  nextPage: WireObject,
  cursor?: string,
): WireObject {
  const about = Object(answer[key]);
  const whole = { ...answer, [key]: { ...about, content: text } };
  if (cursor === undefined && fits(whole, maxChars - CONTENT_OVERHEAD)) return whole;
  const left = maxChars - JSON.stringify(answer).length - CONTENT_OVERHEAD;
  // If nothing fits next to the rest, the whole answer is paged; the answer to a change is shortened.
  if (cursor === undefined && left < LEAST_PAGE) return whole;
  const page = pageText(text, Math.max(left, LEAST_PAGE), cursor);
  if (page.cursor === undefined && page.from === 0) return whole;
  return {
    ...answer,
    [key]: { ...about, content: page.text, content_range: { from: page.from, to: page.to, total: page.total } },
    cursor: page.cursor,
    next: page.cursor === undefined ? answer.next : { ...nextPage, cursor: page.cursor },
  };
}
