import { conceal, revealOf } from "../../gate/reveal.js";
import type { PhaseView } from "../../phased/views.js";
import { type ToolContext, withText } from "../context.js";
import { compact, type WireObject } from "../wire-object.js";
import type { ParametersOf } from "./actions.js";
import { blockedBy, callAfterTask, callInPhase, nextCall, phaseCall, replayNews } from "./next-call.js";
import { planNews, startedPlan, taskNews } from "./plan.js";
import { approvalNews, phaseContent, taskContent } from "./shapes.js";
export async function start(context: ToolContext, params: ParametersOf<"start">): Promise<WireObject> {
  const { workflow_type: workflowType, target_file: target, idempotency_key: idempotencyKey } = params;
  const started = await context.engine.start({
    workflowType,
    target,
    ...(params.options === undefined ? {} : { options: params.options }),
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
  });
  const { phase, openSessions, sessionId, replayed } = started;
  const open = openSessions.map((session) => session.sessionId);
  return phaseAnswer(context, phase, {
    action: "start",
    ...replayNews(replayed, phase),
    session_id: sessionId,
    workflow_type: started.workflowType,
    target_file: started.target,
    current_phase: phase.currentPhase,
    total_phases: phase.totalPhases,
    ...startedPlan(started.plan),
    acknowledgment_required: true,
    ...(open.length === 0
      ? {}
      : {
          open_sessions: open,
          warning: "other sessions on this target are open: resume one of them if this was not meant to be a new start",
        }),
  });
}

export async function getPhase(context: ToolContext, params: ParametersOf<"get_phase">): Promise<WireObject> {
  const view = await context.engine.getPhase(params.session_id, params.phase);
  return phaseAnswer(context, view, { action: "get_phase", ...standing(view) }, params.cursor);
}

export async function getTask(context: ToolContext, params: ParametersOf<"get_task">): Promise<WireObject> {
  const { session_id: sessionId, phase, task_number: number, cursor } = params;
  const view = await context.engine.getTask(sessionId, phase, number);
  const answer = {
    status: "success",
    action: "get_task",
    session_id: sessionId,
    phase,
    task_number: number,
    ...(view.plan === undefined ? {} : taskNews(view.plan)),
    task_content: taskContent(view),
    ...planNews(context, sessionId, view.plan),
    blocked: blockedBy(view),
    next: nextCall(view, () => callAfterTask(view, view.phase, number, view.plan?.tasks)),
  };
  const again = { action: "get_task", session_id: sessionId, phase, task_number: number };
  return withText(context, compact(answer), "task_content", view.content.text, again, cursor);
}

export async function resume(context: ToolContext, params: ParametersOf<"resume">): Promise<WireObject> {
  const { phase, pausedSeconds, replayed } = await context.engine.resume(params.session_id, keyed(params));
  const news = replayNews(replayed, phase);
  const fields = {
    action: "resume",
    ...news,
    ...standing(phase),
    resumed: true,
    paused_duration_seconds: pausedSeconds,
  };
  return phaseAnswer(context, phase, fields);
}

export async function retryPhase(context: ToolContext, params: ParametersOf<"retry_phase">): Promise<WireObject> {
  const resetEvidence = params.reset_evidence ?? false;
  const request = { phase: params.phase, resetEvidence, by: "agent" as const, ...keyed(params) };
  const { phase, previousProblems: all, replayed } = await context.engine.retryPhase(params.session_id, request);
  const previousProblems = conceal(all, revealOf(phase.phase.gate));
  return phaseAnswer(context, phase, {
    action: "retry_phase",
    ...replayNews(replayed, phase),
    session_id: phase.sessionId,
    phase: params.phase,
    retrying: true,
    evidence_reset: resetEvidence,
    previous_errors: previousProblems.slice(0, 20).map(({ message }) => message),
  });
}

export async function rollback(context: ToolContext, params: ParametersOf<"rollback">): Promise<WireObject> {
  const request = { to: params.to_phase, by: "agent" as const, ...keyed(params) };
  const { phase, from, to, cleared, replayed } = await context.engine.rollback(params.session_id, request);
  return phaseAnswer(context, phase, {
    action: "rollback",
    ...replayNews(replayed, phase),
    session_id: phase.sessionId,
    from_phase: from,
    to_phase: to,
    rolled_back: true,
    artifacts_cleared: cleared,
  });
}

/** An answer with a phase in it: its text as far as it fits, and what to call next. */
function phaseAnswer(context: ToolContext, view: PhaseView, fields: WireObject, cursor?: string): WireObject {
  const { sessionId, phase } = view;
  const answer = {
    status: "success",
    ...fields,
    ...approvalNews(view.awaiting),
    phase_content: phaseContent(view),
    ...planNews(context, sessionId, view.plan),
    blocked: blockedBy(view),
    next: nextCall(view, () => callInPhase(view, phase, view.plan?.tasks)),
  };
  return withText(
    context,
    compact(answer),
    "phase_content",
    view.content.text,
    phaseCall(sessionId, phase.number),
    cursor,
  );
}

function standing(view: PhaseView): WireObject {
  return { session_id: view.sessionId, current_phase: view.currentPhase, total_phases: view.totalPhases };
}

function keyed(params: { readonly idempotency_key?: string }): { idempotencyKey?: string } {
  return params.idempotency_key === undefined ? {} : { idempotencyKey: params.idempotency_key };
}
