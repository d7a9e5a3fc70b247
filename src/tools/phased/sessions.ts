import { conceal } from "../../gate/reveal.js";
import type { ToolContext } from "../context.js";
import { pageItems } from "../paging.js";
import { compact, type WireObject } from "../wire-object.js";
import type { ParametersOf } from "./actions.js";
import { nextCall, phaseCall, replayNews } from "./next-call.js";
import { historyEntry, verificationNews } from "./shapes.js";

/** Room for what a list's answer has beside its items. */
const ENVELOPE = 600;

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
  const request = {
    ...(note === undefined ? {} : { note }),
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
  };
  const paused = await context.engine.pause(params.session_id, request);
  const { sessionId, replayed } = paused;
  const answer = {
    status: "success",
    action: "pause",
    session_id: sessionId,
    paused: true,
    checkpoint: compact({ phase: paused.phase, timestamp: paused.pausedAt, note: paused.note }),
    resume_capable: true,
    next: { action: "resume", session_id: sessionId },
  };
  if (!replayed) return answer;
  const now = await context.engine.getState(sessionId);
  return { ...answer, ...replayNews(replayed, now), next: nextCall(now, () => phaseCall(sessionId)) };
}

export async function getErrors(context: ToolContext, params: ParametersOf<"get_errors">): Promise<WireObject> {
  const failures = await context.engine.errors(params.session_id);
  const shown = failures.map(({ problems, ...failure }) => {
    return { ...failure, problems: conceal(problems, failure.reveal ?? "fields") };
  });
  const errors = shown.map(({ phase, attempt, at, problems, verification, reveal }) => ({
    phase,
    attempt,
    timestamp: at,
    error_type: "ValidationError",
    message: `Phase ${phase} gate refused the evidence: ${problems.length} problem${problems.length === 1 ? "" : "s"}`,
    details: {
      missing_fields: problems.filter(({ problem }) => problem === "missing").map(({ field }) => field),
      validation_errors: problems.map(({ message }) => message),
      ...verificationNews(verification, reveal),
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

function nextPage(action: string, sessionId: string, cursor: string | undefined): WireObject {
  if (cursor !== undefined) return { action, session_id: sessionId, cursor };
  return { action: "get_state", session_id: sessionId, brief: true };
}

function rounded(milliseconds: number): number {
  return Math.round(milliseconds * 1000) / 1000;
}
