import { PLAN_CHANGE_KINDS, type PlanChange } from "../session/plan-changes.js";
import type { ParametersOf } from "./actions.js";
import { blockedBy, nextCall, phaseCall, syncCall } from "./next-call.js";
import { tickNews } from "./plan-on-wire.js";
import type { ToolContext } from "./tool-context.js";
import { brief, compact, type WireObject } from "./wire-object.js";

/** As many differences of a kind as an answer lists. */
const LISTED_MAX = 15;

export async function syncPlan(context: ToolContext, params: ParametersOf<"sync_plan">): Promise<WireObject> {
  const { session_id: sessionId, preview = false, idempotency_key: idempotencyKey } = params;
  const result = await context.engine.syncPlan(sessionId, {
    preview,
    by: "agent",
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
  });
  const { changes, changed, shift, path } = result;
  const kinds = PLAN_CHANGE_KINDS.filter((kind) => changes[kind].length > 0);
  const shown = kinds.reduce((sum, kind) => sum + Math.min(changes[kind].length, LISTED_MAX), 0);
  return compact({
    status: "success",
    action: "sync_plan",
    session_id: sessionId,
    plan: path,
    preview,
    changed,
    synced: !preview && changed,
    summary: summary(preview, changed, changes.count),
    changes: Object.fromEntries(kinds.map((kind) => [kind, changes[kind].slice(0, LISTED_MAX).map(changeEntry)])),
    more_changes: changes.count > shown ? changes.count - shown : undefined,
    phases_shifted: shift === 0 ? undefined : shift,
    current_phase: result.currentPhase,
    total_phases: result.totalPhases,
    ...tickNews(result.ticks),
    blocked: blockedBy(result),
    next: preview && changed ? syncCall(sessionId) : nextCall(result, () => phaseCall(sessionId)),
  });
}

function summary(preview: boolean, changed: boolean, count: number): string {
  if (count === 0) return "the plan says what it said when it was pinned";
  const differences = count === 1 ? "1 difference" : `${count} differences`;
  if (!changed) return `${differences}, all behind this session: nothing of them is asked for any more`;
  if (preview) return `${differences}: nothing has changed yet, sync_plan without preview takes them over`;
  return `${differences}; what was completed stays completed`;
}

function changeEntry({ phase, id, name, from, to, behind }: PlanChange): WireObject {
  const text = (value: string | undefined) => (value === undefined ? undefined : brief(value, 120));
  const note = behind === true ? "behind this session: not asked for any more" : undefined;
  return compact({ phase, id, name: text(name), from: text(from), to: text(to), note });
}
