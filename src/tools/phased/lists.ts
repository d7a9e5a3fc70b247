/** The handlers of the listing actions, and of the actions that end or pause a session. */

import type { BrokenSession } from "../../engine/lists.js";
import { conceal } from "../../gate/check-gate.js";
import type { RefusedStep } from "../../phased/phased.js";
import { isOnOlder, newestRevisions } from "../../phased/revisions.js";
import { NOTE_MAX, tooLong } from "../../phased/state/commands.js";
import type { SessionFacts } from "../../phased/views.js";
import type { WorkflowListing } from "../../ports/content-provider.js";
import { describeOptions, textsIn } from "../../rules/options.js";
import { type DiagnosticCode, formatDiagnostic } from "../../workflow/diagnostic.js";
import { openPhases } from "../../workflow/gate-definition.js";
import { isJsonObject } from "../../workflow/json.js";
import { shown } from "../../workflow/names.js";
import type { WorkflowStructure } from "../../workflow/structure.js";
import { action } from "../dispatch.js";
import { pageItems } from "../pages.js";
import { verificationNotice } from "../verification-notice.js";
import { brief, fits, type WireObject } from "../wire.js";
import { ACTIONS, type ParametersOf, type ToolContext } from "./actions.js";
import { CALL, callOf, nextCall, replayNotice } from "./next-call.js";
import { actionOf } from "./refusals.js";
import { historyEntry, leftNotice, openNotice, sessionEntry } from "./shapes.js";

/** What runs the actions of this file. */
export const LISTS = {
  list_workflows: action(ACTIONS.list_workflows, listWorkflows),
  list_sessions: action(ACTIONS.list_sessions, listSessions),
  delete_session: action(ACTIONS.delete_session, deleteSession),
  pause: action(ACTIONS.pause, pause),
  get_errors: action(ACTIONS.get_errors, getErrors),
  get_history: action(ACTIONS.get_history, getHistory),
  get_metrics: action(ACTIONS.get_metrics, getMetrics),
};

/** The budget for what surrounds a list's items. */
const ENVELOPE = 600;

/** Lists workflows: a line each, those that can't be used last; one that is asked for, or is the only one, with all it has. */
async function listWorkflows(
  context: ToolContext,
  { category, workflow_type: type, cursor: from }: ParametersOf<"list_workflows">,
): Promise<WireObject> {
  const listings = await context.engine.listWorkflows();
  const ready = listings.filter((listing) => listing.status === "ready");
  const broken = listings.filter((listing) => listing.status === "broken");
  ready.sort((one, other) => Number(!canStart(one)) - Number(!canStart(other)));
  const categories = [...new Set(ready.flatMap(({ definition }) => definition.structure.category ?? []))].sort();
  const named = listings.filter((listing) => listing.type === type);
  const known = category !== undefined && categories.includes(category) ? category : undefined;
  const inCategory = ready.filter(({ definition }) => definition.structure.category === known);
  const chosen = named.length > 0 ? named : known === undefined ? [...ready, ...broken] : inCategory;
  const entries = chosen.map(chosen.length === 1 ? workflowEntry : workflowLine);
  const unfinished = type === undefined && from === undefined ? await unfinishedSessions(context) : {};
  const budget = context.maxChars - ENVELOPE - JSON.stringify(unfinished).length;
  const { items, cursor } = pageItems(entries, budget, from, `workflows ${known ?? ""}`);
  const warnings = [
    category !== known && `unknown category ${shown(category)}: there are ${categories.join(", ") || "none"}`,
    type !== undefined && named.length === 0 && `unknown workflow ${shown(type)}: here are all`,
  ].filter((warning) => warning !== false);
  return {
    workflows: items,
    count: items.length,
    total: chosen.length,
    warning: warnings.join("; ") || undefined,
    cursor,
    ...unfinished,
    next: cursor === undefined ? afterList(chosen) : callOf("list_workflows", { category: known, cursor }),
  };
}

/** Limits the unfinished sessions that a list of workflows names. */
const UNFINISHED_MAX = 3;

/** Returns the sessions that the caller could go on with, newest first, and the call that does so; nothing if there are none. */
async function unfinishedSessions({ engine, actions }: ToolContext): Promise<WireObject> {
  if (!actions.includes("list_sessions")) return {};
  const { items, cursor } = await engine.listSessions({ status: ["active", "paused"], limit: UNFINISHED_MAX });
  const [first, ...others] = items;
  if (first === undefined) return {};
  return {
    unfinished: items.map(({ sessionId, target, status, current }) => ({
      session_id: sessionId,
      target_file: brief(target, 200),
      status,
      current_phase: current,
    })),
    more_unfinished: cursor === undefined ? undefined : CALL.sessions(),
    to_continue: CALL.state(others.length === 0 ? first.sessionId : "<one of unfinished>"),
  };
}

/** Returns the call after a list: the start of the only workflow that can be used, or more about the one that is chosen. */
function afterList(chosen: readonly WorkflowListing[]): WireObject | undefined {
  const ready = chosen.filter((listing) => listing.status === "ready");
  const [first, ...others] = ready.filter(canStart);
  if (first === undefined) return undefined;
  if (others.length === 0) return startCall(first.definition.structure);
  return callOf("list_workflows", { workflow_type: "<one of the above>" });
}

/** The size of a page of sessions; smaller if they don't fit. */
const SESSIONS_A_PAGE = 25;

async function listSessions(
  context: ToolContext,
  { status, cursor: from }: ParametersOf<"list_sessions">,
): Promise<WireObject> {
  const newest = await newestRevisions(context.engine);
  const filter = status === undefined ? (["active", "paused", "completed", "failed"] as const) : [status];
  for (let limit = SESSIONS_A_PAGE; ; limit = Math.floor(limit / 2)) {
    const page = await context.engine.listSessions({ status: filter, limit, cursor: from });
    const sessions = page.items.map((session) => ({
      ...sessionEntry(session),
      on_older_revision: isOnOlder(session, newest) || undefined,
    }));
    const broken = page.broken?.map(brokenEntry);
    if (limit > 1 && !fits([sessions, broken], context.maxChars - ENVELOPE)) continue;
    const { total, cursor } = page;
    const [first] = page.items;
    const isMore = cursor !== undefined;
    return {
      sessions,
      broken,
      count: sessions.length,
      total,
      has_more: total === undefined || isMore ? isMore : undefined,
      cursor,
      next: isMore
        ? callOf("list_sessions", { status, cursor })
        : first === undefined
          ? CALL.workflows()
          : CALL.state(first.sessionId),
    };
  }
}

async function deleteSession(
  { engine }: ToolContext,
  { session_id, reason }: ParametersOf<"delete_session">,
): Promise<WireObject> {
  // The engine would name it as its own option.
  if (reason !== undefined && reason.length > NOTE_MAX) throw tooLong("reason", NOTE_MAX);
  const { children } = await engine.session(session_id).delete({ note: reason });
  const cleanup = { state_file_removed: true, artifacts_preserved: false };
  const left = leftNotice(
    children,
    "they stay, and count for nothing any more: delete them, too, if nobody needs them",
  );
  return { session_id, deleted: true, cleanup, ...left, next: CALL.sessions() };
}

async function pause({ engine }: ToolContext, params: ParametersOf<"pause">): Promise<WireObject> {
  const { session_id, checkpoint_note: note, idempotency_key: idempotencyKey } = params;
  if (note !== undefined && note.length > NOTE_MAX) throw tooLong("checkpoint_note", NOTE_MAX);
  const paused = await engine.session(session_id).pause({ note, idempotencyKey });
  const answer = {
    session_id,
    paused: true,
    checkpoint: { phase: paused.phase, timestamp: paused.pausedAt, note: paused.note },
    resume_capable: true,
    ...leftNotice(paused.children, "they can go on: they count once this session is resumed"),
    next: CALL.resume(session_id),
  };
  if (!paused.replayed) return answer;
  const now = await engine.session(session_id).state();
  return { ...answer, ...replayNotice(true, now), next: nextCall(now, () => CALL.phase(session_id)) };
}

async function getErrors(
  { engine, maxChars }: ToolContext,
  { session_id, cursor: from }: ParametersOf<"get_errors">,
): Promise<WireObject> {
  const session = engine.session(session_id);
  const [failures, refusals, state] = await Promise.all([session.errors(), session.refusals(), session.state()]);
  const failed = failures.map(({ phase, attempt, at, problems: all, verification, reveal }) => {
    const problems = conceal(all, reveal ?? "fields");
    return {
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
    };
  });
  const errors = [...failed, ...refusals.map(refusalEntry)].sort((one, other) =>
    one.timestamp < other.timestamp ? -1 : Number(one.timestamp > other.timestamp),
  );
  const { items, cursor } = pageItems(errors, maxChars - ENVELOPE, from, `errors ${session_id}`);
  return {
    session_id,
    errors: items,
    error_count: errors.length,
    last_error: errors.at(-1)?.timestamp ?? null,
    cursor,
    next: nextPage("get_errors", state, cursor),
  };
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

async function getHistory(
  { engine, maxChars }: ToolContext,
  { session_id, cursor: from }: ParametersOf<"get_history">,
): Promise<WireObject> {
  const session = engine.session(session_id);
  const [attempts, state] = await Promise.all([session.history(), session.state()]);
  const { items, cursor } = pageItems(attempts.map(historyEntry), maxChars - ENVELOPE, from, `history ${session_id}`);
  const counts = { count: items.length, total: attempts.length };
  return { session_id, history: items, ...counts, cursor, next: nextPage("get_history", state, cursor) };
}

/** Returns the call for the next page, or for the state; null after the last page of a completed session. */
function nextPage(
  action: "get_errors" | "get_history",
  { sessionId, status }: SessionFacts,
  cursor: string | undefined,
): WireObject | null {
  if (cursor !== undefined) return callOf(action, { session_id: sessionId, cursor });
  return status === "completed" ? null : CALL.state(sessionId);
}

async function getMetrics(context: ToolContext): Promise<WireObject> {
  const rounded = (milliseconds: number) => Math.round(milliseconds * 1000) / 1000;
  const metrics = Object.entries(context.metrics.report()).map(
    ([action, { count, errors, refused, mean, p50, p95 }]) => [
      action,
      { count, errors, refused, mean_ms: rounded(mean), p50_ms: rounded(p50), p95_ms: rounded(p95) },
    ],
  );
  return { metrics: Object.fromEntries(metrics), next: CALL.sessions() };
}

type ReadyListing = Extract<WorkflowListing, { readonly status: "ready" }>;

/** Limits the diagnostics of a broken workflow in a list. */
const DIAGNOSTICS_MAX = 5;

/** Limits the text of a workflow in a list, in characters. */
const LINE_MAX = 200;

/** Returns a workflow in short: what it is for, or the first error of one that can't be used. */
function workflowLine(listing: WorkflowListing): WireObject {
  if (listing.status === "broken") {
    const [error] = listing.diagnostics.filter(({ severity }) => severity === "error");
    return { workflow_type: listing.type, broken: true, error: error && brief(formatDiagnostic(error), LINE_MAX) };
  }
  const { type, description, phases } = listing.definition.structure;
  const about = { workflow_type: type, description: brief(description, LINE_MAX) };
  return { ...about, ...notReady(listing), ...openNotice(openPhases(phases)) };
}

/** Returns true if the host has what a workflow needs. */
function canStart({ missingVerifiers, missingWorkflows }: ReadyListing): boolean {
  return missingVerifiers === undefined && missingWorkflows === undefined;
}

/** Says of a workflow that its host can't run why it can't be started. */
function notReady({ missingVerifiers: verifiers = [], missingWorkflows: workflows = [] }: ReadyListing): WireObject {
  const lacks = [
    ...(verifiers.length === 0 ? [] : [`its gates need verifiers that this host lacks: ${verifiers.join(", ")}`]),
    ...(workflows.length === 0
      ? []
      : [`its phases are workflows that this host lacks or can't start: ${workflows.join(", ")}`]),
  ];
  if (lacks.length === 0) return {};
  return { not_ready: `${brief(lacks.join("; "), LINE_MAX)}. Tell the person who runs it.` };
}

function workflowEntry(listing: WorkflowListing): WireObject {
  if (listing.status === "broken") {
    const errors = listing.diagnostics.filter(({ severity }) => severity === "error");
    const more = errors.length - DIAGNOSTICS_MAX;
    return {
      workflow_type: listing.type,
      broken: true,
      errors: errors.slice(0, DIAGNOSTICS_MAX).map(formatDiagnostic),
      more_errors: more > 0 ? more : undefined,
    };
  }
  const { structure } = listing.definition;
  return {
    workflow_type: structure.type,
    version: structure.version,
    name: structure.name,
    description: structure.description,
    category: structure.category,
    ...notReady(listing),
    // A plan brings its own.
    phases: structure.phases.length || undefined,
    ...openNotice(openPhases(structure.phases)),
    extends: structure.extends?.type,
    asks_less: asksLess(listing),
    plan_option: structure.dynamic?.sourcePathKey,
    options: optionsEntry(structure),
    estimated_duration: structure.estimatedDuration,
    target_languages: structure.targetLanguages,
    prerequisites: structure.prerequisites,
    tags: structure.tags,
    target: structure.target,
    artifacts: structure.artifacts,
  };
}

/** Returns the gates that ask for less than those of the workflow that is extended, each in a line. */
function asksLess({ diagnostics }: WorkflowListing): readonly string[] | undefined {
  const found = diagnostics.filter(({ code }) => code === ("GATE_WEAKER" satisfies DiagnosticCode));
  return found.length === 0
    ? undefined
    : found.slice(0, DIAGNOSTICS_MAX).map(({ message, hint }) => brief(`${message}. ${hint}`, 400));
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
 * Returns a call that starts a workflow: a form, with what is given, and each option that it needs and that has no default. A
 * plan goes to its own option, unless the target is the plan.
 */
export function startCall(
  { type, target, optionsSchema, dynamic }: WorkflowStructure,
  { target_file, options }: { readonly target_file?: unknown; readonly options?: unknown } = {},
): WireObject {
  const about = optionsSchema === undefined ? {} : describeOptions(optionsSchema);
  const { properties, required } = optionsSchema ?? {};
  const hasDefault = (name: string) => {
    const option = isJsonObject(properties) ? properties[name] : undefined;
    return isJsonObject(option) && option.default !== undefined;
  };
  const needed = textsIn(required)
    .filter((name) => !hasDefault(name))
    .slice(0, OPTIONS_MAX);
  const blanks = Object.fromEntries(
    needed.map((name) => [name, `<value: ${brief(about[name] ?? "any", OPTION_MAX)}>`]),
  );
  const plan = dynamic && {
    [dynamic.sourcePathKey]: "<path of its tasks.md; leave it out if target_file is that, or its folder>",
  };
  const known = isJsonObject(options) && fits(options, OPTIONS_SHOWN) ? options : {};
  const all = { ...blanks, ...plan, ...known };
  return {
    action: "start",
    workflow_type: type,
    target_file: target_file ?? (target === "none" ? undefined : "<path of what to work on, in the project>"),
    options: Object.keys(all).length === 0 ? undefined : all,
  };
}

/** The longest options that a form repeats, in characters of JSON. */
const OPTIONS_SHOWN = 1000;

/** Returns a session that can't be shown, with the reason. */
function brokenEntry({ sessionId, code, message }: BrokenSession): WireObject {
  return { session_id: brief(sessionId, 200), code, error: brief(message, 400) };
}
