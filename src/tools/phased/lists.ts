/** The handlers of the listing actions, and of the actions that end or pause a session. */

import type { BrokenSession } from "../../engine/lists.js";
import { conceal } from "../../gate/check-gate.js";
import type { RefusedStep } from "../../phased/phased.js";
import { tooLong } from "../../phased/state/commands.js";
import { NOTE_MAX } from "../../phased/state/decide-gate.js";
import type { SessionFacts } from "../../phased/views.js";
import type { WorkflowListing } from "../../ports/content-provider.js";
import { describeOptions, textsIn } from "../../rules/options.js";
import { formatDiagnostic } from "../../workflow/diagnostic.js";
import { openPhases } from "../../workflow/gate-definition.js";
import { isJsonObject } from "../../workflow/json.js";
import { shown } from "../../workflow/names.js";
import type { WorkflowStructure } from "../../workflow/structure.js";
import { pageItems } from "../pages.js";
import { verificationNotice } from "../verification-notice.js";
import { brief, compact, fits, type WireObject } from "../wire.js";
import type { ParametersOf, ToolContext } from "./actions.js";
import { nextCall, phaseCall, replayNotice } from "./next-call.js";
import { actionOf } from "./refusals.js";
import { historyEntry, openNotice, sessionEntry } from "./shapes.js";

/** The budget for what surrounds a list's items. */
const ENVELOPE = 600;

/** Lists workflows: a line each, those that can't be used last; one that is asked for, or is the only one, with all it has. */
export async function listWorkflows(
  context: ToolContext,
  { category, workflow_type: type, cursor }: ParametersOf<"list_workflows">,
): Promise<WireObject> {
  const listings = await context.engine.listWorkflows();
  const ready = listings.filter((listing) => listing.status === "ready");
  const categories = [...new Set(ready.flatMap(({ definition }) => definition.structure.category ?? []))].sort();
  const inCategory = ready.filter(({ definition }) => definition.structure.category === category);
  const broken = listings.filter((listing) => listing.status === "broken");
  const named = listings.filter((listing) => listing.type === type);
  const known = category !== undefined && inCategory.length > 0 ? category : undefined;
  const chosen = named.length > 0 ? named : known === undefined ? [...ready, ...broken] : inCategory;
  const entries = chosen.length === 1 ? chosen.map(workflowEntry) : chosen.map(workflowLine);
  const page = pageItems(entries, context.maxChars - ENVELOPE, cursor, `workflows ${known ?? ""}`);
  const warnings = [
    ...(category === undefined || known !== undefined
      ? []
      : [`unknown category ${shown(category)}: there are ${categories.join(", ") || "none"}`]),
    ...(type === undefined || named.length > 0 ? [] : [`unknown workflow ${shown(type)}: here are all`]),
  ];
  return compact({
    status: "success",
    action: "list_workflows",
    workflows: page.items,
    count: page.items.length,
    total: chosen.length,
    warning: warnings.length === 0 ? undefined : warnings.join("; "),
    cursor: page.cursor,
    next:
      page.cursor !== undefined
        ? compact({ action: "list_workflows", category: known, cursor: page.cursor })
        : afterList(chosen),
  });
}

/** Returns the call after a list: the start of the only workflow that can be used, or more about the one that is chosen. */
function afterList(chosen: readonly WorkflowListing[]): WireObject | undefined {
  const [first, ...others] = chosen.filter((listing) => listing.status === "ready");
  if (first === undefined) return undefined;
  return others.length === 0
    ? startCall(first.definition.structure)
    : { action: "list_workflows", workflow_type: "<one of the above>" };
}

/** The size of a page of sessions; smaller if they don't fit. */
const SESSIONS_A_PAGE = 25;

export async function listSessions(
  context: ToolContext,
  { status, cursor }: ParametersOf<"list_sessions">,
): Promise<WireObject> {
  const filter = status === undefined ? (["active", "paused", "completed", "failed"] as const) : [status];
  for (let limit = SESSIONS_A_PAGE; ; limit = Math.floor(limit / 2)) {
    const page = await context.engine.listSessions({
      status: filter,
      limit,
      cursor,
    });
    const sessions = page.items.map(sessionEntry);
    const broken = page.broken?.map(brokenEntry);
    if (limit > 1 && JSON.stringify([sessions, broken]).length > context.maxChars - ENVELOPE) continue;
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

export async function deleteSession(context: ToolContext, params: ParametersOf<"delete_session">): Promise<WireObject> {
  const { sessionId } = await context.engine
    .session(params.session_id)
    .delete(params.reason === undefined ? {} : { reason: params.reason });
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
  const { checkpoint_note: note, idempotency_key: key } = params;
  // The engine would name it as its own option.
  if (note !== undefined && note.length > NOTE_MAX) throw tooLong("checkpoint_note", NOTE_MAX);
  const request = { note, idempotencyKey: key };
  const paused = await context.engine.session(params.session_id).pause(request);
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
  const now = await context.engine.session(sessionId).state();
  return { ...answer, ...replayNotice(replayed, now), next: nextCall(now, () => phaseCall(sessionId)) };
}

/** The budget for what surrounds a session's list items. */
const SESSIONS_ENVELOPE = 600;

export async function getErrors(context: ToolContext, params: ParametersOf<"get_errors">): Promise<WireObject> {
  const { engine } = context;
  const [failures, refusals, state] = await Promise.all([
    engine.session(params.session_id).errors(),
    engine.session(params.session_id).refusals(),
    engine.session(params.session_id).state(),
  ]);
  const shown = failures.map(({ problems, ...failure }) => {
    return { ...failure, problems: conceal(problems, failure.reveal ?? "fields") };
  });
  const failed = shown.map(({ phase, attempt, at, problems, verification, reveal }) => ({
    phase,
    attempt,
    timestamp: at,
    error_type: "ValidationError",
    message: `Phase ${phase} gate refused the evidence: ${problems.length} problem${problems.length === 1 ? "" : "s"}`,
    details: {
      missing_fields: problems.filter(({ problem }) => problem === "missing").map(({ field }) => field),
      validation_errors: problems.map(({ message }) => message),
      ...verificationNotice(verification, reveal),
    },
    remediation: `Submit evidence for phase ${phase} that has what is named here`,
  }));
  const errors = [...failed, ...refusals.map(refusalEntry)].sort((one, other) =>
    one.timestamp < other.timestamp ? -1 : Number(one.timestamp > other.timestamp),
  );
  const page = pageItems(errors, context.maxChars - SESSIONS_ENVELOPE, params.cursor, `errors ${params.session_id}`);
  return compact({
    status: "success",
    action: "get_errors",
    session_id: params.session_id,
    errors: page.items,
    error_count: errors.length,
    last_error: errors.at(-1)?.timestamp ?? null,
    cursor: page.cursor,
    next: nextPage("get_errors", state, page.cursor),
  });
}

/** Returns a step ahead that was refused. */
function refusalEntry({ phase, at, operation, code, requested, task }: RefusedStep) {
  const place = task === undefined ? `phase ${requested}` : `task ${task} of phase ${requested}`;
  return {
    phase,
    timestamp: at,
    error_type: "StateError",
    code,
    message: `${actionOf(operation) ?? operation} of ${place} was refused in phase ${phase}`,
    remediation: task === undefined ? `Work on phase ${phase}` : "Do the tasks that it depends on first",
  };
}

export async function getHistory(context: ToolContext, params: ParametersOf<"get_history">): Promise<WireObject> {
  const { engine } = context;
  const [attempts, state] = await Promise.all([
    engine.session(params.session_id).history(),
    engine.session(params.session_id).state(),
  ]);
  const history = attempts.map(historyEntry);
  const page = pageItems(history, context.maxChars - SESSIONS_ENVELOPE, params.cursor, `history ${params.session_id}`);
  return compact({
    status: "success",
    action: "get_history",
    session_id: params.session_id,
    history: page.items,
    count: page.items.length,
    total: history.length,
    cursor: page.cursor,
    next: nextPage("get_history", state, page.cursor),
  });
}

export async function getMetrics(context: ToolContext): Promise<WireObject> {
  const metrics = Object.entries(context.metrics.report()).map(
    ([action, { count, errors, refused, mean, p50, p95 }]) => [
      action,
      { count, errors, refused, mean_ms: rounded(mean), p50_ms: rounded(p50), p95_ms: rounded(p95) },
    ],
  );
  return {
    status: "success",
    action: "get_metrics",
    metrics: Object.fromEntries(metrics),
    next: { action: "list_sessions" },
  };
}

/** Limits the diagnostics of a broken workflow in a list. */
const DIAGNOSTICS_MAX = 5;

/** Limits the text of a workflow in a list, in characters. */
const LINE_MAX = 200;

/** Returns a workflow in short: what it is for, or the first error of one that can't be used. */
function workflowLine(listing: WorkflowListing): WireObject {
  if (listing.status === "broken") {
    const [error] = listing.diagnostics.filter(({ severity }) => severity === "error");
    return compact({
      workflow_type: listing.type,
      broken: true,
      error: error === undefined ? undefined : brief(formatDiagnostic(error), LINE_MAX),
    });
  }
  const { type, description, phases } = listing.definition.structure;
  return { workflow_type: type, description: brief(description, LINE_MAX), ...openNotice(openPhases(phases)) };
}

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
    version: structure.version,
    name: structure.name,
    description: structure.description,
    category: structure.category,
    phases: structure.phases.length,
    ...openNotice(openPhases(structure.phases)),
    plan_option: structure.dynamic?.sourcePathKey,
    options: optionsEntry(structure),
    estimated_duration: structure.estimatedDuration,
    target_languages: structure.targetLanguages,
    prerequisites: structure.prerequisites,
    tags: structure.tags,
    target: structure.target,
    artifacts: structure.artifacts,
  });
}

/** Limits the options in a list, and what is said about each, in characters. */
const OPTIONS_MAX = 20;
const OPTION_MAX = 120;

function optionsEntry({ optionsSchema }: WorkflowStructure): WireObject | undefined {
  if (optionsSchema === undefined) return undefined;
  const described = Object.entries(describeOptions(optionsSchema)).slice(0, OPTIONS_MAX);
  return Object.fromEntries(described.map(([name, about]) => [name, brief(about, OPTION_MAX)]));
}

/**
 * Returns a call that starts a workflow: a form, with what is given, and each option that it needs. A plan goes to its own
 * option, unless the target is the plan.
 */
export function startCall(
  { type, target, optionsSchema, dynamic }: WorkflowStructure,
  { target_file, options }: { readonly target_file?: unknown; readonly options?: unknown } = {},
): WireObject {
  const about = optionsSchema === undefined ? {} : describeOptions(optionsSchema);
  const needed = textsIn(optionsSchema?.required).slice(0, OPTIONS_MAX);
  const blanks = Object.fromEntries(
    needed.map((name) => [name, `<value: ${brief(about[name] ?? "any", OPTION_MAX)}>`]),
  );
  const plan = dynamic && {
    [dynamic.sourcePathKey]: "<path of its tasks.md; leave it out if target_file is that, or its folder>",
  };
  const known = isJsonObject(options) && fits(options, OPTIONS_SHOWN) ? options : {};
  const all = { ...blanks, ...plan, ...known };
  return compact({
    action: "start",
    workflow_type: type,
    target_file: target_file ?? (target === "none" ? undefined : "<path of what to work on, in the project>"),
    options: Object.keys(all).length === 0 ? undefined : all,
  });
}

/** The longest options that a form repeats, in characters of JSON. */
const OPTIONS_SHOWN = 1000;

/** Returns a session that can't be shown, with the reason. */
function brokenEntry({ sessionId, code, message }: BrokenSession): WireObject {
  return { session_id: brief(sessionId, 200), code, error: brief(message, 400) };
}

/** Returns the call for the next page, or for the state; null after the last page of a completed session. */
function nextPage(action: string, { sessionId, status }: SessionFacts, cursor: string | undefined): WireObject | null {
  if (cursor !== undefined) return { action, session_id: sessionId, cursor };
  return status === "completed" ? null : { action: "get_state", session_id: sessionId, brief: true };
}

function rounded(milliseconds: number): number {
  return Math.round(milliseconds * 1000) / 1000;
}
