import type { BrokenSession } from "../../phased/lists.js";
import type { WorkflowListing } from "../../ports/content-provider.js";
import { formatDiagnostic } from "../../workflow/diagnostic.js";
import { shown } from "../../workflow/names.js";
import type { ToolContext } from "../context.js";
import { pageItems } from "../paging.js";
import { brief, compact, type WireObject } from "../wire-object.js";
import type { ParametersOf } from "./actions.js";
import { sessionEntry } from "./shapes.js";

/** How many sessions a page asks for; fewer where they would not fit. */
const SESSIONS_A_PAGE = 25;
/** Room for what a list's answer has beside its items. */
const ENVELOPE = 600;

export async function listWorkflows(
  context: ToolContext,
  { category, cursor }: ParametersOf<"list_workflows">,
): Promise<WireObject> {
  const listings = await context.engine.listWorkflows();
  const ready = listings.filter((listing) => listing.status === "ready");
  const categories = [...new Set(ready.flatMap(({ definition }) => definition.structure.category ?? []))].sort();
  const unknown = category !== undefined && !categories.includes(category);
  const chosen =
    category === undefined || unknown
      ? listings
      : ready.filter(({ definition }) => definition.structure.category === category);
  const page = pageItems(chosen.map(workflowEntry), context.room - ENVELOPE, cursor);
  const first = chosen.find((listing) => listing.status === "ready");
  return compact({
    status: "success",
    action: "list_workflows",
    workflows: page.items,
    count: page.items.length,
    total: chosen.length,
    warning: unknown
      ? `unknown category ${shown(category)}: all workflows are listed; there are ${categories.join(", ") || "none"}`
      : undefined,
    cursor: page.cursor,
    next:
      page.cursor !== undefined
        ? compact({ action: "list_workflows", category: unknown ? undefined : category, cursor: page.cursor })
        : first === undefined
          ? undefined
          : startCall(first),
  });
}

export async function listSessions(
  context: ToolContext,
  { status, cursor }: ParametersOf<"list_sessions">,
): Promise<WireObject> {
  const filter = status === undefined ? (["active", "paused", "completed", "failed"] as const) : [status];
  for (let limit = SESSIONS_A_PAGE; ; limit = Math.floor(limit / 2)) {
    const page = await context.engine.listSessions({
      status: filter,
      limit,
      ...(cursor === undefined ? {} : { cursor }),
    });
    const sessions = page.items.map(sessionEntry);
    const broken = page.broken?.map(brokenEntry);
    if (limit > 1 && JSON.stringify([sessions, broken]).length > context.room - ENVELOPE) continue;
    const first = page.items[0];
    return compact({
      status: "success",
      action: "list_sessions",
      sessions,
      broken,
      count: sessions.length,
      total: page.total,
      has_more: page.total === undefined || page.cursor !== undefined ? page.cursor !== undefined : undefined,
      cursor: page.cursor,
      next:
        page.cursor !== undefined
          ? compact({ action: "list_sessions", status, cursor: page.cursor })
          : first === undefined
            ? { action: "list_workflows" }
            : { action: "get_state", session_id: first.sessionId, brief: true },
    });
  }
}

/** A session that can't be shown, and why. */
function brokenEntry({ sessionId, code, message }: BrokenSession): WireObject {
  return { session_id: brief(sessionId, 200), code, error: brief(message, 400) };
}

/** The plan of a workflow that has one may be told by an option; its target may also be the plan itself. */
function startCall({ type, definition }: Extract<WorkflowListing, { status: "ready" }>): WireObject {
  const { dynamic } = definition.structure;
  const call = { action: "start", workflow_type: type, target_file: "<path of what to work on>" };
  return dynamic === undefined ? call : { ...call, options: { [dynamic.sourcePathKey]: "<path of its tasks.md>" } };
}

/** As many diagnostics of a broken workflow as a list shows. */
const DIAGNOSTICS_MAX = 5;

function workflowEntry(listing: WorkflowListing): WireObject {
  if (listing.status === "broken") {
    const errors = listing.diagnostics.filter(({ severity }) => severity === "error");
    const more = errors.length - DIAGNOSTICS_MAX;
    return compact({
      workflow_type: listing.type,
      broken: true,
      errors: errors.slice(0, DIAGNOSTICS_MAX).map(formatDiagnostic),
      more_errors: more > 0 ? more : undefined,
    });
  }
  const { structure } = listing.definition;
  return compact({
    workflow_type: structure.type,
    name: structure.name,
    description: structure.description,
    category: structure.category,
    phases: structure.phases.length,
    plan_option: structure.dynamic?.sourcePathKey,
    estimated_duration: structure.estimatedDuration,
    target_languages: structure.targetLanguages,
    artifacts: structure.artifacts,
  });
}
