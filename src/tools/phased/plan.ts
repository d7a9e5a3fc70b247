/** A session's plan in answers: the handler of `sync_plan`, changes, ticks, and errors of plans. */
import { type AnyPhasegateError, PhasegateError } from "../../errors.js";
import type { TickReport } from "../../phased/engine-context.js";
import type { PlannedTaskView, PlanView } from "../../phased/plan/view.js";
import type { StartResult } from "../../phased/start.js";
import { PLAN_CHANGE_KINDS, type PlanChange, type PlanChanges } from "../../phased/state/events.js";
import { type Diagnostic, formatDiagnostic } from "../../workflow/diagnostic.js";
import { action } from "../dispatch.js";
import { pageItems } from "../pages.js";
import { brief, type WireObject } from "../wire.js";
import { ACTIONS, type ParametersOf, type ToolContext } from "./actions.js";
import { blockedBy, CALL, nextCall, replayNotice } from "./next-call.js";

/** What runs the action of this file. */
export const PLANS = {
  sync_plan: action(ACTIONS.sync_plan, syncPlan),
};

/** The budget for what surrounds the differences. */
const ENVELOPE = 2000;

/** Limits the differences of a kind in the answer to a sync; a preview shows all, in pages. */
const LISTED_MAX = 15;

async function syncPlan(context: ToolContext, params: ParametersOf<"sync_plan">): Promise<WireObject> {
  const { session_id: sessionId, preview = false, cursor, idempotency_key: key } = params;
  if (cursor !== undefined && !preview) {
    throw new PhasegateError("INVALID_INPUT", "a cursor pages through a preview, and this call would sync", {
      remedy: "Pass preview: true with the cursor; sync without one.",
      details: { field: "cursor" },
    });
  }
  const result = await context.engine.session(sessionId).syncPlan({ preview, as: "agent", idempotencyKey: key });
  const { changes, changed, shift, path, needsHost, currentPhase } = result;
  const seen = seenBy(changes, currentPhase);
  const page = preview ? changesPage(seen, context.maxChars - ENVELOPE, cursor) : listed(seen);
  const done = preview && changed && !needsHost ? CALL.sync(sessionId) : nextCall(result, () => CALL.phase(sessionId));
  return {
    ...replayNotice(result.replayed, result),
    session_id: sessionId,
    plan: path,
    preview,
    changed,
    synced: !preview && changed,
    summary: summary(preview, changed, changes.count),
    change_counts: Object.fromEntries(kindsIn(changes.counts).map((kind) => [kind, changes.counts[kind]])),
    changes: page.changes,
    needs_host: needsHost ? "the changed plan requires less: only the person who runs this can sync it" : undefined,
    taken_away: seen.takenAway.length === 0 ? undefined : seen.takenAway.slice(0, LISTED_MAX).map(changeEntry),
    taken_away_ahead: changes.takenAway.length - seen.takenAway.length || undefined,
    more_changes: page.left || undefined,
    changes_ahead: changes.count - seen.count || undefined,
    cursor: page.cursor,
    phases_shifted: shift || undefined,
    current_phase: currentPhase,
    total_phases: result.totalPhases,
    ...(result.ticks && tickNotice(result.ticks)),
    blocked: blockedBy(result),
    next: page.cursor === undefined ? done : { ...CALL.sync(sessionId, true), cursor: page.cursor },
  };
}

/** Limits the warnings in the answer to a start. */
const WARNINGS_SHOWN = 5;

/** Returns the plan that a session was started on. */
export function startedPlan(plan: StartResult["plan"]): WireObject {
  if (plan === undefined) return {};
  const { path, dialect, shift, warnings } = plan;
  const first = warnings.slice(0, WARNINGS_SHOWN).map(warning);
  return {
    plan: { path, dialect },
    phases_shifted: shift || undefined,
    plan_warnings: first.length === 0 ? undefined : { count: warnings.length, first },
  };
}

/** Returns the same in a few words, for an answer that must stay short. */
export function planNoticeInShort(context: ToolContext, sessionId: string, plan: PlanView | undefined): WireObject {
  const whole = planNotice(context, sessionId, plan);
  return {
    plan_changed: whole.plan_changed && "the plan was edited: see sync_plan with preview",
    plan_unreadable: whole.plan_unreadable && true,
    plan_ticks_pending: whole.plan_ticks_pending && true,
  };
}

/** Returns what an answer says about the plan: changes, ticks, or that it can't be read. */
export function planNotice({ actions }: ToolContext, sessionId: string, plan: PlanView | undefined): WireObject {
  if (plan === undefined) return {};
  const { changed, unreadable, ticks, path } = plan;
  const next = actions.includes("sync_plan") ? CALL.sync(sessionId, true) : undefined;
  return {
    plan_changed: changed && { path: brief(path, 200), summary: changed, next },
    plan_unreadable: unreadable && `${brief(unreadable, 300)}: tasks are shown as pinned`,
    ...(ticks && tickNotice(ticks)),
  };
}

/** Limits the ids in an answer. */
const IDS_MAX = 100;

/** Returns the tasks that the plan has dropped: they need not be done. */
export function droppedNotice(ids: readonly string[] = []): WireObject {
  return { dropped_tasks: ids.length === 0 ? undefined : ids.slice(0, IDS_MAX) };
}

/** Returns what was written into the plan, and what could not be. */
export function tickNotice({ ticked, unticked, missing, unwritable, pending }: TickReport): WireObject {
  const listed = (ids: readonly string[]) => (ids.length === 0 ? undefined : ids.slice(0, IDS_MAX));
  const inAll = (ids: readonly string[]) => (ids.length <= IDS_MAX ? undefined : ids.length);
  return {
    plan_ticked: listed(ticked),
    plan_ticked_in_all: inAll(ticked),
    plan_unticked: listed(unticked),
    plan_unticked_in_all: inAll(unticked),
    plan_missing: listed(missing),
    plan_missing_in_all: inAll(missing),
    plan_unwritable: listed(unwritable),
    plan_ticks_pending: pending && `${brief(pending, 300)}; it is tried again at the next call on the session`,
  };
}

/** Returns ids of tasks as one text, since a list of them could be handed back as a claim; undefined if there are none. */
export function idsText(ids: readonly string[]): string | undefined {
  return ids.length === 0 ? undefined : ids.join(", ");
}

/** Limits the title of a requirement, in characters. */
const TITLE_MAX = 120;

/** Returns the state of a task among those of its phase. */
export function taskNotice({ task, tasks, titles }: PlannedTaskView): WireObject {
  const { id, state, closed, optional, requirements, dependencies, open } = task;
  const ready = tasks.filter((other) => other.ready).map((other) => other.number);
  const titled = (reference: string) => {
    const title = titles.get(reference);
    return title === undefined ? reference : `${reference}: ${brief(title, TITLE_MAX)}`;
  };
  return {
    id,
    state,
    closed,
    optional: optional || undefined,
    requirements: requirements?.map(titled),
    dependencies: idsText(dependencies),
    open_dependencies: idsText(open),
    ready_tasks: open.length === 0 ? undefined : ready,
  };
}

/** Returns the fields that errors of plans add to an answer, or replace in it. */
export function planWords(error: AnyPhasegateError, message: string, hint: string): WireObject {
  switch (error.code) {
    case "PLAN_PARSE": {
      const { file, line } = error.details;
      return { error: "parse_error", message, hint, source_path: file, line_number: line };
    }
    case "TEMPLATE":
      return { error: "template_error", message, hint, source_path: error.details.file };
    case "PHASE_OUT_OF_RANGE": {
      const { sourcePath } = error.details;
      if (sourcePath === undefined) return { message, hint };
      return { error: "phase_out_of_range_error", message, hint, source_path: sourcePath };
    }
    case "TASK_LOCKED":
      return { open_dependencies: idsText(error.details.open), ready_tasks: error.details.ready };
    default:
      return {};
  }
}

/** Returns the differences that an agent may read: of phases ahead, whose content it can't see yet, only the number. */
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

/** Returns the differences that fit, by kind; a cursor is valid as long as the differences stay the same. */
function changesPage(changes: PlanChanges, maxChars: number, at: string | undefined) {
  const all = PLAN_CHANGE_KINDS.flatMap((kind) =>
    changes[kind].map((change) => ({ kind, entry: changeEntry(change) })),
  );
  const { items, left, cursor } = pageItems(all, maxChars, at, JSON.stringify(all));
  const kinds = PLAN_CHANGE_KINDS.filter((kind) => items.some((item) => item.kind === kind));
  const of = (kind: string) => items.filter((item) => item.kind === kind).map(({ entry }) => entry);
  const shown = Object.fromEntries(kinds.map((kind) => [kind, of(kind)]));
  return { changes: shown, left, cursor };
}

function changeEntry({ phase, id, name, from, to, behind }: PlanChange): WireObject {
  const text = (value: string | undefined) => (value === undefined ? undefined : brief(value, 120));
  const note = behind === true ? "in a completed phase: not required any more" : undefined;
  return { phase, id, name: text(name), from: text(from), to: text(to), note };
}

/** Returns the first differences of each kind: a sync can't be requested again. */
function listed(changes: PlanChanges) {
  const lists = kindsIn(changes.counts).map((kind) => [kind, changes[kind].slice(0, LISTED_MAX)] as const);
  const shown = lists.reduce((sum, [, list]) => sum + list.length, 0);
  return {
    changes: Object.fromEntries(lists.map(([kind, list]) => [kind, list.map(changeEntry)])),
    left: changes.count - shown,
    cursor: undefined,
  };
}

function kindsIn(counts: PlanChanges["counts"]) {
  return PLAN_CHANGE_KINDS.filter((kind) => counts[kind] > 0);
}

function summary(preview: boolean, changed: boolean, count: number): string {
  if (count === 0) return "the plan has not changed since it was pinned";
  const differences = count === 1 ? "1 difference" : `${count} differences`;
  if (!changed) return `${differences}, all in completed phases: nothing more is required`;
  if (preview) return `${differences}: nothing has changed yet, sync_plan without preview adopts them`;
  return `${differences}; what was completed stays completed`;
}

function warning({ code, line, message, ...rest }: Diagnostic): WireObject {
  if (line === undefined) return { code, message: brief(formatDiagnostic({ code, message, ...rest }), 300) };
  return { code, line, message: brief(message, 300) };
}
