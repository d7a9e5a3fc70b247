/** What answers say of a session's plan. */
import { type Diagnostic, formatDiagnostic } from "../definition/diagnostic.js";
import type { TickReport } from "../engine/engine-context.js";
import type { PlanView } from "../engine/plan/live-plan.js";
import type { PlannedTaskView } from "../engine/plan/view-plan.js";
import type { StartedPlan } from "../engine/start-session.js";
import { syncCall } from "./next-call.js";
import type { ToolContext } from "./tool-context.js";
import { brief, compact, type WireObject } from "./wire-object.js";

/** As many warnings as the answer to a start shows. */
const WARNINGS_SHOWN = 5;
/** As many ids as an answer lists. */
const IDS_MAX = 100;

/** The plan that a session was started on. */
export function startedPlan(plan: StartedPlan | undefined): WireObject {
  if (plan === undefined) return {};
  const { path, dialect, shift, warnings } = plan;
  return compact({
    plan: { path, dialect },
    phases_shifted: shift === 0 ? undefined : shift,
    plan_warnings:
      warnings.length === 0
        ? undefined
        : { count: warnings.length, first: warnings.slice(0, WARNINGS_SHOWN).map(warning) },
  });
}

function warning({ code, line, message, ...rest }: Diagnostic): WireObject {
  if (line === undefined) return { code, message: brief(formatDiagnostic({ code, message, ...rest }), 300) };
  return { code, line, message: brief(message, 300) };
}

/** The same in a few words, for an answer that must stay short. */
export function planNewsInShort(context: ToolContext, sessionId: string, plan: PlanView | undefined): WireObject {
  const { plan_changed: changed, plan_unreadable: unreadable, ...news } = planNews(context, sessionId, plan);
  const { plan_ticks_pending: pending } = news;
  return compact({
    plan_changed: changed === undefined ? undefined : "the plan was edited: see sync_plan with preview",
    plan_unreadable: unreadable === undefined ? undefined : true,
    plan_ticks_pending: pending === undefined ? undefined : true,
  });
}

/** What is to be said of the plan beside the work itself: that it has changed, can't be read, was ticked. */
export function planNews({ actions }: ToolContext, sessionId: string, plan: PlanView | undefined): WireObject {
  if (plan === undefined) return {};
  const { changed, unreadable, ticks, path } = plan;
  const next = actions.includes("sync_plan") ? { next: syncCall(sessionId, true) } : {};
  return compact({
    plan_changed: changed === undefined ? undefined : { path: brief(path, 200), summary: changed, ...next },
    plan_unreadable: unreadable === undefined ? undefined : `${brief(unreadable, 300)}: tasks are shown as pinned`,
    ...tickNews(ticks),
  });
}

/** What was written into the plan, and what could not be. */
export function tickNews(ticks: TickReport | undefined): WireObject {
  if (ticks === undefined) return {};
  const { ticked, unticked, missing, unwritable, pending } = ticks;
  const listed = (ids: readonly string[]) => (ids.length === 0 ? undefined : ids.slice(0, IDS_MAX));
  const inAll = (ids: readonly string[]) => (ids.length <= IDS_MAX ? undefined : ids.length);
  return compact({
    plan_ticked: listed(ticked),
    plan_ticked_in_all: inAll(ticked),
    plan_unticked: listed(unticked),
    plan_unticked_in_all: inAll(unticked),
    plan_missing: listed(missing),
    plan_missing_in_all: inAll(missing),
    plan_unwritable: listed(unwritable),
    plan_ticks_pending:
      pending === undefined ? undefined : `${brief(pending, 300)}; it is tried again at the next call on the session`,
  });
}

/** How a task stands among those of its phase. */
export function taskNews({ task, tasks }: PlannedTaskView): WireObject {
  const { id, state, optional, requirements, dependencies, open } = task;
  const ready = tasks.filter((other) => other.ready).map((other) => other.number);
  return compact({
    id,
    state,
    optional: optional || undefined,
    requirements,
    dependencies,
    open_dependencies: open.length === 0 ? undefined : open,
    ready_tasks: open.length === 0 ? undefined : ready,
  });
}
