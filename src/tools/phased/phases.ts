/**
 * The handlers of the actions that show or move a session through its phases: start, phases, tasks, documents, resume,
 * retry and rollback.
 */
import { conceal, revealOf } from "../../gate/check-gate.js";
import { waivable } from "../../gate/waivers.js";
import type { TaskResult } from "../../phased/complete-task.js";
import type { DocumentView, PhaseView } from "../../phased/views.js";
import { optional } from "../../workflow/json.js";
import { LEAST_PAGE, pageText } from "../pages.js";
import { compact, fits, type WireObject } from "../wire.js";
import type { ParametersOf, ToolContext } from "./actions.js";
import { approvalNotice, waiverNotice } from "./approval-notices.js";
import {
  asRecorded,
  blockedBy,
  callAfterTask,
  callInPhase,
  leaveOutNotice,
  nextCall,
  phaseCall,
  refusePlaceholder,
  replayNotice,
  taskCall,
  unrecordedNotice,
  waiverCall,
} from "./next-call.js";
import { planNotice, startedPlan, taskNotice } from "./plan.js";
import { documentNames, openNotice, phaseContent, searchNotice, skipNotice, taskContent } from "./shapes.js";
import { noteAge, tasksNotice } from "./state.js";

export async function start(context: ToolContext, params: ParametersOf<"start">): Promise<WireObject> {
  const { workflow_type: workflowType, target_file: target, options } = params;
  refusePlaceholder("target_file", target, "Give the path of what the work is about, relative to the project.");
  const started = await context.engine.start({
    workflowType,
    target,
    options,
    idempotencyKey: params.idempotency_key,
  });
  const { phase, openSessions, sessionId, replayed } = started;
  const open = openSessions.map((session) => session.sessionId);
  return phaseAnswer(context, phase, {
    action: "start",
    ...replayNotice(replayed, phase),
    session_id: sessionId,
    workflow_type: started.workflowType,
    target_file: started.target,
    current_phase: phase.currentPhase,
    total_phases: phase.totalPhases,
    options: shortOptions(started.options),
    ...skipNotice(started.skipped),
    workflow_complete: phase.status === "completed" || undefined,
    ...startedPlan(started.plan),
    ...openNotice(started.openPhases),
    ...searchNotice(started.searches, context),
    ...(open.length === 0
      ? {}
      : {
          open_sessions: open,
          warning: "other sessions on this target are open: resume one of them if this was not meant to be a new start",
        }),
  });
}

/** The longest options that the answer to a start repeats, in characters of JSON; `get_session` has all. */
const OPTIONS_MAX = 1000;

function shortOptions(options: WireObject): WireObject | undefined {
  const { length } = JSON.stringify(options);
  return Object.keys(options).length === 0 || length > OPTIONS_MAX ? undefined : options;
}

export async function getPhase(context: ToolContext, params: ParametersOf<"get_phase">): Promise<WireObject> {
  const view = await context.engine.session(params.session_id).phase(params.phase);
  const { sessionId, currentPhase, totalPhases } = view;
  const fields = {
    action: "get_phase",
    session_id: sessionId,
    current_phase: currentPhase,
    total_phases: totalPhases,
  };
  return phaseAnswer(context, view, fields, params.cursor);
}

export async function getTask(context: ToolContext, params: ParametersOf<"get_task">): Promise<WireObject> {
  const { session_id: sessionId, phase, task_number: number, cursor } = params;
  const view = await context.engine.session(sessionId).task(phase, number);
  const work = workIn(context, view);
  const next = nextCall(asRecorded(view), () => callAfterTask(view, work, number));
  const whole = { text: view.content.text, leftOut: view.leftOut };
  const shown = (context.actions.includes("get_phase") ? view.own : undefined) ?? whole;
  const answer = {
    status: "success",
    action: "get_task",
    session_id: sessionId,
    phase,
    task_number: number,
    ...(view.plan === undefined ? {} : taskNotice(view.plan)),
    task_content: taskContent(view, shown, context),
    ...planNotice(context, sessionId, view.plan),
    ...leaveOutNotice(view, work),
    ...optional("blocked", blockedBy(view, next)),
    next,
  };
  return withText(context, answer, "task_content", shown.text, taskCall(sessionId, phase, number), cursor);
}

/** Returns the text of a phase without what the plan's first phase has, and with what its tasks share. */
function phaseText({ content, own, shared }: PhaseView): string {
  const text = own?.text ?? content.text;
  if (shared === undefined) return text;
  return `${text.trimEnd()}\n\n---\n\n**For each task of this phase:**\n\n${shared.text}`;
}

/** What to do about the note of a call that was copied unchanged. */
const PLACEHOLDER_NOTE =
  "Do the task first; then call it with a note of your own, or without one. If it can't be done, call it with outcome given_up and a note that says why.";

export async function completeTask(context: ToolContext, params: ParametersOf<"complete_task">): Promise<WireObject> {
  const { session_id: sessionId, phase, task_number: task, note, outcome, skipped, idempotency_key: key } = params;
  refusePlaceholder("note", note, PLACEHOLDER_NOTE);
  const request = {
    note,
    outcome,
    skipped,
    idempotencyKey: key,
  };
  const result = await context.engine.session(sessionId).completeTask(phase, task, request);
  const next = nextCall(result, () => callInPhase(result, workIn(context, result)));
  return compact({
    status: "success",
    action: "complete_task",
    ...replayNotice(result.replayed, result),
    session_id: sessionId,
    phase,
    task_number: task,
    ...tasksNotice(result.tasks),
    blocked: blockedBy(result, next),
    if_impossible:
      outcome === "given_up" || next?.action === "complete_phase" ? callForGivenUp(context, result) : undefined,
    ...leaveOutNotice(result, workIn(context, result)),
    next,
  });
}

/**
 * Returns the request for a waiver, if tasks were given up: the gate may ask for what they were to bring about. Undefined if
 * a person has been asked already, or nothing can be waived.
 */
function callForGivenUp({ actions }: ToolContext, result: TaskResult): WireObject | undefined {
  const { sessionId, phase, tasks, waitsForWaiver, waiverRefused } = result;
  if (!tasks.some(({ closed }) => closed === "given_up") || !actions.includes("request_waiver")) return undefined;
  if (waitsForWaiver || waiverRefused === true || waivable(phase.gate).names.length === 0) return undefined;
  return waiverCall(sessionId, phase.number, ["<what the gate asks for and can't be met>"]);
}

export async function getDocument(context: ToolContext, params: ParametersOf<"get_document">): Promise<WireObject> {
  const { session_id: sessionId, path, cursor } = params;
  const view = await context.engine.session(sessionId).document(path);
  const next = nextCall(asRecorded(view), () => callAfterDocument(context, view));
  const answer = {
    status: "success",
    action: "get_document",
    session_id: sessionId,
    document: { path: view.path, tokens: view.content.tokens, ...documentNames(view.documents) },
    blocked: blockedBy(view, next),
    next,
  };
  const again = { action: "get_document", session_id: sessionId, path: view.path };
  return withText(context, answer, "document", view.content.text, again, cursor);
}

/** Returns the call after a document: what follows the text of the task that names it, or the phase's text. */
function callAfterDocument(context: ToolContext, view: DocumentView): WireObject | null {
  const work = workIn(context, view);
  return view.task === undefined ? callInPhase(view, work) : callAfterTask(view, work, view.task);
}

export async function resume(context: ToolContext, params: ParametersOf<"resume">): Promise<WireObject> {
  const { phase, pausedSeconds, note, beforeDecision, replayed } = await context.engine
    .session(params.session_id)
    .resume({ idempotencyKey: params.idempotency_key });
  const replay = replayNotice(replayed, phase);
  const fields = {
    action: "resume",
    ...replay,
    session_id: phase.sessionId,
    current_phase: phase.currentPhase,
    total_phases: phase.totalPhases,
    resumed: true,
    paused_duration_seconds: pausedSeconds,
    checkpoint_note: note,
    note_written: noteAge({ beforeDecision }),
  };
  return phaseAnswer(context, phase, fields);
}

export async function retryPhase(context: ToolContext, params: ParametersOf<"retry_phase">): Promise<WireObject> {
  const resetEvidence = params.reset_evidence ?? false;
  const request = { resetEvidence, by: "agent" as const, idempotencyKey: params.idempotency_key };
  const {
    phase,
    previousProblems: all,
    replayed,
  } = await context.engine.session(params.session_id).retryPhase(params.phase, request);
  const previousProblems = conceal(all, revealOf(phase.phase.gate));
  return phaseAnswer(context, phase, {
    action: "retry_phase",
    ...replayNotice(replayed, phase),
    session_id: phase.sessionId,
    phase: params.phase,
    retrying: true,
    evidence_reset: resetEvidence,
    previous_errors: previousProblems.slice(0, 20).map(({ message }) => message),
  });
}

export async function rollback(context: ToolContext, params: ParametersOf<"rollback">): Promise<WireObject> {
  const request = { by: "agent" as const, idempotencyKey: params.idempotency_key };
  const { phase, from, to, cleared, skipped, replayed } = await context.engine
    .session(params.session_id)
    .rollback(params.to_phase, request);
  return phaseAnswer(context, phase, {
    action: "rollback",
    ...replayNotice(replayed, phase),
    session_id: phase.sessionId,
    from_phase: from,
    to_phase: to,
    rolled_back: true,
    artifacts_cleared: cleared,
    ...skipNotice(skipped),
    current_phase: skipped === undefined ? undefined : phase.currentPhase,
  });
}

/** Returns an answer with a phase in it: its text as far as it fits, and what to call next. */
function phaseAnswer(context: ToolContext, view: PhaseView, fields: WireObject, cursor?: string): WireObject {
  const { sessionId, phase } = view;
  // After a retry that could not record it either, the same call would not help.
  const isRetry = fields.action === "retry_phase";
  const state = isRetry ? asRecorded(view) : view;
  const next = nextCall(state, () => callInPhase(view, workIn(context, view)));
  const answerWith = (isWhole: boolean) =>
    compact({
      status: "success",
      ...fields,
      ...approvalNotice(view.awaiting),
      ...waiverNotice(view, { isShort: true }),
      phase_content: phaseContent(view, isWhole, context),
      ...planNotice(context, sessionId, view.plan),
      ...unrecordedNotice(view),
      ...leaveOutNotice(view, workIn(context, view)),
      ...optional("blocked", blockedBy(view, next)),
      // Evidence needs the whole checkpoint; after a retry, the refusal had it.
      next: isWhole || isRetry || next?.action !== "complete_phase" ? next : phaseCall(sessionId),
    });
  const page = (answer: WireObject) =>
    withText(context, answer, "phase_content", phaseText(view), phaseCall(sessionId, phase.number), cursor);
  const isWhole = fields.action === "get_phase" || !context.actions.includes("get_phase");
  // A start and a resume lead on, instead of to the same text again, if everything fits into their answer.
  const leadsOn = fields.action === "start" || fields.action === "resume";
  const whole = isWhole || leadsOn ? page(answerWith(true)) : undefined;
  if (whole !== undefined && (isWhole || (!("cursor" in whole) && fits(whole, context.maxChars)))) return whole;
  return page(answerWith(false));
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
  const object = answer[key];
  const about = typeof object === "object" ? object : {};
  const whole = { ...answer, [key]: { ...about, content: text } };
  if (cursor === undefined && fits(whole, maxChars - CONTENT_OVERHEAD)) return whole;
  const left = maxChars - JSON.stringify(answer).length - CONTENT_OVERHEAD;
  // If nothing fits next to the rest, the whole answer is paged; the answer to a change is shortened.
  if (cursor === undefined && left < LEAST_PAGE) return whole;
  const page = pageText(text, Math.max(left, LEAST_PAGE), cursor);
  if (page.cursor === undefined && page.from === 0) return whole;
  return compact({
    ...answer,
    [key]: { ...about, content: page.text, content_range: { from: page.from, to: page.to, total: page.total } },
    cursor: page.cursor,
    ...(page.cursor === undefined ? {} : { next: { ...nextPage, cursor: page.cursor } }),
  });
}

/** Returns what the next call depends on: the phase, its tasks, and what agents may call. */
function workIn({ actions }: ToolContext, { phase, tasks }: Pick<PhaseView, "phase" | "tasks">) {
  return { phase, tasks, actions };
}
