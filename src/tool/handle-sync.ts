import { revisionOf } from "../definition/digest.js";
import { PhasegateError } from "../errors.js";
import { PLAN_CHANGE_KINDS, type PlanChange, type PlanChanges } from "../session/plan-changes.js";
import type { ParametersOf } from "./actions.js";
import { blockedBy, nextCall, phaseCall, replayNews, syncCall } from "./next-call.js";
import { pageItems } from "./paging.js";
import { tickNews } from "./plan-on-wire.js";
import type { ToolContext } from "./tool-context.js";
import { brief, compact, type WireObject } from "./wire-object.js";

/** As many differences of a kind as the answer to a sync lists; a preview shows all of them, in pages. */
const LISTED_MAX = 15;
/** Room for what stands beside the differences. */
const ENVELOPE = 2000;

export async function syncPlan(context: ToolContext, params: ParametersOf<"sync_plan">): Promise<WireObject> {
  const { session_id: sessionId, preview = false, cursor, idempotency_key: idempotencyKey } = params;
  if (cursor !== undefined && !preview) throw cursorWithoutPreview();
  const result = await context.engine.syncPlan(sessionId, {
    preview,
    by: "agent",
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
  });
  const { changes, changed, shift, path, needsHost, currentPhase } = result;
  const seen = seenBy(changes, currentPhase);
  const page = preview ? changesPage(seen, context.room - ENVELOPE, cursor) : listed(seen);
  const done = preview && changed && !needsHost ? syncCall(sessionId) : nextCall(result, () => phaseCall(sessionId));
  return compact({
    status: "success",
    action: "sync_plan",
    ...replayNews(result.replayed, result),
    session_id: sessionId,
    plan: path,
    preview,
    changed,
    synced: !preview && changed,
    summary: summary(preview, changed, changes.count),
    change_counts: Object.fromEntries(kindsIn(changes.counts).map((kind) => [kind, changes.counts[kind]])),
    changes: page.changes,
    needs_host: needsHost ? "less would be asked for: only the person who runs this can sync it" : undefined,
    taken_away: seen.takenAway.length === 0 ? undefined : seen.takenAway.slice(0, LISTED_MAX).map(changeEntry),
    taken_away_ahead: changes.takenAway.length - seen.takenAway.length || undefined,
    more_changes: page.left === 0 ? undefined : page.left,
    changes_ahead: changes.count - seen.count || undefined,
    cursor: page.cursor,
    phases_shifted: shift === 0 ? undefined : shift,
    current_phase: currentPhase,
    total_phases: result.totalPhases,
    ...tickNews(result.ticks),
    blocked: blockedBy(result),
    next: page.cursor === undefined ? done : { ...syncCall(sessionId, true), cursor: page.cursor },
  });
}

/** The differences that an agent may read: of phases ahead of it, whose content it doesn't see yet, it gets the number. */
function seenBy(changes: PlanChanges, currentPhase: number): PlanChanges {
  const isSeen = ({ phase, behind }: PlanChange) => behind === true || phase <= currentPhase;
  const seen = { ...changes, counts: { ...changes.counts }, takenAway: changes.takenAway.filter(isSeen) };
  for (const kind of PLAN_CHANGE_KINDS) {
    seen[kind] = changes[kind].filter(isSeen);
    const hidden = changes[kind].length - seen[kind].length;
    seen.counts[kind] -= hidden;
    seen.count -= hidden;
  }
  return seen;
}

/** Differences by kind, and how many are not among them. */
interface ChangesPage {
  readonly changes: WireObject;
  readonly left: number;
  readonly cursor?: string;
}

/** Those that fit, kind after kind; a cursor is good as long as the differences are the same. */
function changesPage(changes: PlanChanges, room: number, at: string | undefined): ChangesPage {
  const all = PLAN_CHANGE_KINDS.flatMap((kind) =>
    changes[kind].map((change) => ({ kind, entry: changeEntry(change) })),
  );
  const { items, left, cursor } = pageItems(all, room, at, revisionOf(JSON.stringify(all)));
  const kinds = PLAN_CHANGE_KINDS.filter((kind) => items.some((item) => item.kind === kind));
  const of = (kind: string) => items.filter((item) => item.kind === kind).map(({ entry }) => entry);
  const shown = Object.fromEntries(kinds.map((kind) => [kind, of(kind)]));
  return { changes: shown, left, ...(cursor === undefined ? {} : { cursor }) };
}

/** The first ones of each kind: what has been taken over can't be asked for again. */
function listed(changes: PlanChanges): ChangesPage {
  const lists = kindsIn(changes.counts).map((kind) => [kind, changes[kind].slice(0, LISTED_MAX)] as const);
  const shown = lists.reduce((sum, [, list]) => sum + list.length, 0);
  return {
    changes: Object.fromEntries(lists.map(([kind, list]) => [kind, list.map(changeEntry)])),
    left: changes.count - shown,
  };
}

function kindsIn(counts: PlanChanges["counts"]) {
  return PLAN_CHANGE_KINDS.filter((kind) => counts[kind] > 0);
}

function cursorWithoutPreview(): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", "a cursor pages through a preview, and this call would sync", {
    remedy: "Pass preview: true with the cursor; sync without one.",
    details: { field: "cursor" },
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
