import type { StateView } from "../engine/state-view.js";
import type { ParametersOf } from "./actions.js";
import { firstCallIn, phaseCall } from "./next-call.js";
import { pageItems } from "./paging.js";
import { rangesText } from "./ranges-text.js";
import type { ToolContext } from "./tool-context.js";
import { brief, compact, historyEntry, type WireObject } from "./wire.js";

/** Room for what a list's answer has beside its items. */
const ENVELOPE = 600;

export async function getState(context: ToolContext, params: ParametersOf<"get_state">): Promise<WireObject> {
  if (params.brief === true) return briefState(await context.engine.getState(params.session_id));
  const state = await context.engine.getFullState(params.session_id);
  const { head } = state;
  return compact({
    status: "success",
    action: "get_state",
    ...position(state),
    total_phases: head.total,
    completed_phases: state.completedPhases,
    skipped_phases: state.skippedPhases.length === 0 ? undefined : state.skippedPhases,
    artifacts: Object.fromEntries(state.artifacts.map(({ phase, artifact }) => [`phase_${phase}`, artifact])),
    ...executed(state.artifacts),
    created_at: head.createdAt,
    last_updated: state.updatedAt,
    attempts: head.attempts,
    resume_capable: head.status === "active" || head.status === "paused",
    next: nextCall(state),
  });
}

export async function getSession(context: ToolContext, params: ParametersOf<"get_session">): Promise<WireObject> {
  const state = await context.engine.getFullState(params.session_id);
  const history = await context.engine.history(params.session_id);
  const { head, options } = state;
  const session = compact({
    session_id: state.sessionId,
    workflow_type: head.workflowType,
    target_file: head.target,
    current_phase: head.phase,
    total_phases: head.total,
    completed_phases: state.completedPhases,
    status: head.status,
    created_at: head.createdAt,
    last_updated: state.updatedAt,
    completed_at: head.status === "completed" ? head.completedAt : undefined,
    paused_at: head.status === "paused" ? head.pausedAt : undefined,
    checkpoint_note: head.status === "paused" ? head.note : undefined,
    phase_history: history.map(historyEntry),
    options,
  });
  return { status: "success", action: "get_session", session, next: nextCall(state) };
}

export async function deleteSession(context: ToolContext, params: ParametersOf<"delete_session">): Promise<WireObject> {
  const { sessionId } = await context.engine.deleteSession(
    params.session_id,
    params.reason === undefined ? {} : { reason: params.reason },
  );
  return {
    status: "success",
    action: "delete_session",
    session_id: sessionId,
    deleted: true,
    cleanup: { state_file_removed: true, artifacts_preserved: false },
    next: { action: "list_sessions" },
  };
}

export async function pause(context: ToolContext, params: ParametersOf<"pause">): Promise<WireObject> {
  const { checkpoint_note: note, idempotency_key: idempotencyKey } = params;
  const request = { ...(note === undefined ? {} : { note }), ...(idempotencyKey === undefined ? {} : { idempotencyKey }) };
  const paused = await context.engine.pause(params.session_id, request);
  return {
    status: "success",
    action: "pause",
    session_id: paused.sessionId,
    paused: true,
    checkpoint: compact({ phase: paused.phase, timestamp: paused.pausedAt, note: paused.note }),
    resume_capable: true,
    next: { action: "resume", session_id: paused.sessionId },
  };
}

export async function getErrors(context: ToolContext, params: ParametersOf<"get_errors">): Promise<WireObject> {
  const failures = await context.engine.errors(params.session_id);
  const errors = failures.map(({ phase, attempt, at, problems }) => ({
    phase,
    attempt,
    timestamp: at,
    error_type: "ValidationError",
    message: `Phase ${phase} gate refused the evidence: ${problems.length} problem${problems.length === 1 ? "" : "s"}`,
    details: {
      missing_fields: problems.filter(({ problem }) => problem === "missing").map(({ field }) => field),
      validation_errors: problems.map(({ message }) => message),
    },
    remediation: `Submit evidence for phase ${phase} that has what is named here`,
  }));
  const page = pageItems(errors, context.room - ENVELOPE, params.cursor);
  return compact({
    status: "success",
    action: "get_errors",
    session_id: params.session_id,
    errors: page.items,
    error_count: errors.length,
    last_error: errors.at(-1)?.timestamp ?? null,
    cursor: page.cursor,
    next: nextPage("get_errors", params.session_id, page.cursor),
  });
}

export async function getHistory(context: ToolContext, params: ParametersOf<"get_history">): Promise<WireObject> {
  const history = (await context.engine.history(params.session_id)).map(historyEntry);
  const page = pageItems(history, context.room - ENVELOPE, params.cursor);
  return compact({
    status: "success",
    action: "get_history",
    session_id: params.session_id,
    history: page.items,
    count: page.items.length,
    total: history.length,
    cursor: page.cursor,
    next: nextPage("get_history", params.session_id, page.cursor),
  });
}

export async function getMetrics(context: ToolContext): Promise<WireObject> {
  const metrics = Object.entries(context.metrics.report()).map(([action, { count, errors, mean, p50, p95 }]) => [
    action,
    { count, errors, mean_ms: rounded(mean), p50_ms: rounded(p50), p95_ms: rounded(p95) },
  ]);
  return {
    status: "success",
    action: "get_metrics",
    metrics: Object.fromEntries(metrics),
    next: { action: "list_sessions" },
  };
}

/** Where am I, what is done, what is next: all that is needed after a context was compacted. */
function briefState(state: StateView): WireObject {
  const { head, structure } = state;
  const phase = structure.phases[head.position];
  return compact({
    status: "success",
    action: "get_state",
    ...position(state),
    target_file: brief(head.target, 200),
    title: phase === undefined ? undefined : brief(phase.name, 80),
    phases: `${state.completedPhases.length} of ${head.total} complete`,
    completed_phases: rangesText(state.completedPhases),
    attempts: head.attempts === 0 ? undefined : head.attempts,
    note: head.status === "paused" && head.note !== undefined ? brief(head.note, 200) : undefined,
    next: nextCall(state),
  });
}

function position({ sessionId, head }: StateView): WireObject {
  return {
    session_id: sessionId,
    workflow_type: head.workflowType,
    target_file: head.target,
    session_status: head.status,
    current_phase: head.phase,
  };
}

function nextCall({ sessionId, head, structure }: StateView): WireObject {
  const phase = structure.phases[head.position];
  switch (head.status) {
    case "paused":
      return { action: "resume", session_id: sessionId };
    case "failed":
      return { action: "retry_phase", session_id: sessionId, phase: head.phase };
    case "completed":
      return { action: "list_workflows" };
    default:
      return phase === undefined || phase.tasks.length > 0 ? phaseCall(sessionId) : firstCallIn(sessionId, phase);
  }
}

function executed(artifacts: readonly { phase: number; outputs?: unknown; commandsExecuted?: unknown }[]): WireObject {
  const outputs = artifacts.filter((artifact) => artifact.outputs !== undefined);
  const commands = artifacts.filter((artifact) => artifact.commandsExecuted !== undefined);
  return compact({
    outputs: outputs.length === 0 ? undefined : Object.fromEntries(outputs.map((a) => [`phase_${a.phase}`, a.outputs])),
    commands_executed:
      commands.length === 0
        ? undefined
        : Object.fromEntries(commands.map((a) => [`phase_${a.phase}`, a.commandsExecuted])),
  });
}

function nextPage(action: string, sessionId: string, cursor: string | undefined): WireObject {
  if (cursor !== undefined) return { action, session_id: sessionId, cursor };
  return { action: "get_state", session_id: sessionId, brief: true };
}

function rounded(milliseconds: number): number {
  return Math.round(milliseconds * 1000) / 1000;
}
