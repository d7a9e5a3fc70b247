/**
 * Starts sessions. Everything that can fail is done before the first commit is written, so a failed start leaves nothing
 * behind: the checks of the target, of the options by the schema that the workflow declares, and of its rules. The id has
 * the time of the start and a random end, or a digest of the idempotency key, so that a repeated call finds the same session.
 */

import { checkedPage } from "../engine/lists.js";
import { isPhasegateError, PhasegateError } from "../errors.js";
import type { Prepared } from "../log/log.js";
import { type KeyedRequest, keyedRequest, ownKey } from "../log/machine.js";
import type { Owner } from "../ports/actor.js";
import type { FullClock } from "../ports/clock.js";
import type { WorkflowListing } from "../ports/content-provider.js";
import type { SessionSummary } from "../ports/storage-adapter.js";
import { childOptionFaults, type Skips, skipsWith } from "../rules/options.js";
import { listSeen, ownerFor, requireOwnPlace } from "../runtime/access.js";
import { childWorkflowOf } from "../workflow/child-workflow.js";
import { type Diagnostic, type DiagnosticCode, weakerGates } from "../workflow/diagnostic.js";
import { openPhases } from "../workflow/gate-definition.js";
import type { JsonObject } from "../workflow/json.js";
import {
  isWorkflowType,
  nearest,
  parseRelativePath,
  randomEnd,
  type SessionId,
  sessionIdFor,
  sessionIdPrefix,
  shown,
} from "../workflow/names.js";
import { withSamples } from "../workflow/schema-sample.js";
import type { WorkflowDefinition, WorkflowStructure } from "../workflow/structure.js";
import { fullAt, loadPlanned, sessionNow } from "./context.js";
import { readText } from "./documents.js";
import type { EngineContext, PhasedOutcome } from "./engine-context.js";
import { type SkippedPhase, skippedIn } from "./gate-answer.js";
import { lookAtSession } from "./look.js";
import type { ResolvedOptions } from "./options.js";
import { withReadiness } from "./readiness.js";
import { checkRequest } from "./request-checks.js";
import {
  acceptedOptions,
  type Children,
  checkStartOptions,
  requireFittingOptions,
  requireRules,
  requireVerifiers,
} from "./start-checks.js";
import { landing, tooManyActive } from "./state/commands.js";
import type { Parent } from "./state/events.js";
import type { PhasedCommand } from "./state/transition.js";
import { beginPhase, withBegun } from "./verify/snapshots.js";
import { type PhaseView, viewPhase } from "./views.js";

/** Starts a session. */
export interface StartRequest {
  /** The type of the workflow. */
  readonly workflowType: string;
  /**
   * The subject of the work: a path relative to the project root. It need not exist. Required, unless the workflow declares
   * that it has none: then the default is `.`, the project itself.
   */
  readonly target?: string;
  /**
   * Options that the workflow reads: its rules, its texts and its verifiers. Checked by the schema that it declares, and
   * stored with the session; at most 64 KiB of JSON. Default: none.
   */
  readonly options?: Readonly<Record<string, unknown>>;
  /** A repeated call with the same key returns the same session. */
  readonly idempotencyKey?: string;
}

/** A started session. */
export interface StartResult {
  /** The session's id, for all later calls. */
  readonly sessionId: SessionId;
  /** The type of its workflow. */
  readonly workflowType: string;
  /** The subject of the work: a path relative to the project root. */
  readonly target: string;
  /** The options of the session, with the defaults that the workflow declares. */
  readonly options: JsonObject;
  /**
   * The current phase: the first one that is not skipped, unless an earlier call has started the session. The last one if
   * all are skipped: the session is then completed.
   */
  readonly phase: PhaseView;
  /** The phases that the workflow's rules skipped at the start. None if missing. */
  readonly skipped?: readonly SkippedPhase[];
  /** The numbers of its phases that require nothing. */
  readonly openPhases: readonly number[];
  /** True if a text of its workflow's folder tells the agent to search. */
  readonly searches: boolean;
  /** Other sessions on the same workflow and target that are not completed, newest first. */
  readonly openSessions: readonly SessionSummary[];
  /** The plan that its phases come from, if they do. */
  readonly plan?: {
    /** Relative to the project root. */
    readonly path: string;
    /** The format of the plan: `praxis-os`, `spec-kit`, … */
    readonly dialect: string;
    /** The number that was added to the plan's own phase numbers, so that they follow the static phases. */
    readonly shift: number;
    /** Warnings about the plan; empty if an earlier call started the session. */
    readonly warnings: readonly Diagnostic[];
  };
  /** True if an earlier call with the same key started it. */
  readonly replayed: boolean;
}

/** Limits how many other sessions are listed. */
const OTHERS_MAX = 10;

/** Starts a session. */
export async function startSession(context: EngineContext, request: StartRequest): Promise<StartResult> {
  checkRequest("start", request);
  return begin(context, request);
}

/** A session of another one, whose phase it is. */
interface ChildStart {
  readonly parent: Parent;
  /** Whose the parent is: a child that the host starts is theirs, too. */
  readonly owner: Owner | undefined;
  /** Returns the id that the child has in its parent's log; another one than `unusable`, which was used before. */
  readonly claim: (unusable: SessionId | undefined) => Promise<SessionId>;
}

/** Starts a session, or a child of another one: everything is checked before the parent's log says that there is one. */
export async function begin(context: EngineContext, request: StartRequest, child?: ChildStart): Promise<StartResult> {
  const { options } = context;
  const definition = await requireWorkflow(options, request.workflowType);
  const target = await checkTarget(options, request.target, definition.structure);
  const given = checkStartOptions(request.options ?? {});
  const key = request.idempotencyKey;
  const own = ownerFor(context, { kind: "phased", workflowType: definition.structure.type, target });
  const owner = context.caller === undefined && child !== undefined ? (child.owner ?? own) : own;
  const keyed = key === undefined ? undefined : keyedStart(context, key, definition.structure.type, target, given);
  const settings = await acceptedOptions(definition, given);
  const { structure, warnings } = await planned(context, definition, target, settings, keyed);
  await requireVerifiers(structure, options);
  const children = await requireChildren(context, structure);
  await requireFittingOptions(structure, settings, options);
  await requireRules(definition, options.clock, children);
  const hasSkips = structure.phases.some(({ skipWhen }) => skipWhen !== undefined);
  const skips = hasSkips ? await skipsWith(structure, settings) : undefined;
  const start = structure.phases.findIndex(({ number }) => number === structure.startPhase);
  // The number of phases if all are skipped.
  const position = landing(start, structure, skips);
  const first = structure.phases[position] ?? structure.phases.at(-1);
  if (first !== undefined) await readText(context, structure, target, first);
  await checkSessionLimit(context, keyed);
  const others = await openSessionsOn(context, structure.type, target);
  const beginning = { target, settings, position, skips, owner, parent: child?.parent };
  const started = await appendStart(context, structure, beginning, keyed, child?.claim);
  if (!started.replayed) context.pinned.remember(started, structure, settings);
  const session = await sessionNow(context, started);
  const loaded = { session, structure: await context.pinned.structure(session) };
  const phase = await viewPhase(context, loaded, session.head.phase);
  const { sessionId, replayed } = started;
  const { plan, phases, searches = false } = loaded.structure;
  return {
    sessionId,
    workflowType: structure.type,
    target,
    options: await context.pinned.options(sessionId),
    phase,
    skipped: skippedIn(started.events, loaded.structure),
    openPhases: openPhases(phases),
    searches,
    openSessions: others.filter((other) => other.sessionId !== sessionId).slice(0, OTHERS_MAX),
    plan: plan && { path: plan.path, dialect: plan.dialect, shift: plan.shift, warnings },
    replayed,
  };
}

/** Lists all workflows; broken ones with their diagnostics, others with what this engine lacks. */
export async function listWorkflows({ workflows, options }: EngineContext): Promise<readonly WorkflowListing[]> {
  const listings = await Promise.all((await workflows.all()).map((listing) => withRulesChecked(listing, options)));
  return withReadiness(listings, options.verifiers).map((listing) =>
    listing.status === "broken"
      ? listing
      : { ...listing, diagnostics: [...listing.diagnostics, ...weakerGates(listing.definition.structure)] },
  );
}

/** Returns a workflow in code whose rules can't run as a broken one. The rules of files are checked when they are read. */
async function withRulesChecked(listing: WorkflowListing, { clock }: ResolvedOptions): Promise<WorkflowListing> {
  if (listing.status === "broken" || listing.definition.structure.phases.some(({ file }) => file !== undefined))
    return listing;
  try {
    await requireRules(listing.definition, clock);
    return listing;
  } catch (error) {
    if (!isPhasegateError(error, "DEFINITION_INVALID")) throw error;
    const diagnostics = error.details.diagnostics.map((message): Diagnostic => {
      return { file: ".", severity: "error", code: "RULE_INVALID" satisfies DiagnosticCode, message };
    });
    return { status: "broken", type: listing.type, diagnostics };
  }
}

/**
 * Throws `DEFINITION_INVALID` if a phase is a workflow that can't be started on this host, or not with the phase's options: the
 * session would get stuck there. Returns these workflows. `above` are the workflows whose phases are being checked.
 */
async function requireChildren(
  { options }: Pick<EngineContext, "options">,
  { type, phases }: WorkflowStructure,
  above: readonly string[] = [],
): Promise<Children> {
  const children = new Map<string, WorkflowDefinition>();
  for (const { number, gate } of phases) {
    const child = childWorkflowOf(gate);
    if (child === undefined) continue;
    const refuse = (problem: string, remedy: string) =>
      new PhasegateError("DEFINITION_INVALID", `${type} can't be started: ${problem}`, {
        remedy,
        details: { workflowType: type, diagnostics: [problem] },
      });
    const phase = `phase ${number} is the workflow ${shown(child.type)}, which`;
    const definition = await options.content.definition(child.type);
    if (definition === undefined) {
      const remedy = "The host must serve that workflow, too: list the workflows to see what there is.";
      throw refuse(`${phase} does not exist`, remedy);
    }
    const [fault] = childOptionFaults(child, definition.structure);
    if (fault !== undefined)
      throw refuse(`${phase} can't be started so: ${fault}`, "Correct the options of the phase.");
    children.set(child.type, definition);
    if ([...above, type].includes(child.type)) continue;
    await requireVerifiers(definition.structure, options);
    await requireChildren({ options }, definition.structure, [...above, type]);
  }
  return children;
}

/** Returns the newest definition of a type. Throws `WORKFLOW_NOT_FOUND` with the most similar type. */
export async function requireWorkflow({ content }: ResolvedOptions, type: string): Promise<WorkflowDefinition> {
  const definition = isWorkflowType(type) ? await content.definition(type) : undefined;
  if (definition !== undefined) return { ...definition, structure: withSamples(definition) };
  const types = (await content.list()).map((listing) => listing.type);
  const similar = nearest(String(type), types);
  throw new PhasegateError("WORKFLOW_NOT_FOUND", `there is no workflow of type ${shown(type)}`, {
    remedy: similar === undefined ? "List the workflows to see what there is." : `Did you mean '${similar}'?`,
    details: { workflowType: shown(type), nearest: similar },
  });
}

/** The target of a session on a workflow that has none: the project itself. */
const NO_TARGET = ".";

async function checkTarget(
  options: ResolvedOptions,
  value: string | undefined,
  { type, target: kind }: WorkflowStructure,
): Promise<string> {
  if (value === undefined) {
    if (kind === "none") return NO_TARGET;
    throw new PhasegateError("INVALID_INPUT", `the target is missing: ${type} works on a file or folder`, {
      remedy: "Give the path of what the work is about, relative to the project, such as 'src/calculator.py'.",
      details: { field: "target", expected: "a relative path" },
    });
  }
  const target = parseRelativePath(value);
  await options.targets?.check(target);
  return target;
}

/** Returns the structure with the phases of the plan, if it has one. A repeated start does not read the plan again. */
async function planned(
  context: EngineContext,
  { structure }: WorkflowDefinition,
  target: string,
  settings: JsonObject,
  keyed: KeyedStart | undefined,
): Promise<{ readonly structure: WorkflowStructure; readonly warnings: readonly Diagnostic[] }> {
  if (structure.dynamic === undefined) return { structure, warnings: [] };
  const earlier = keyed === undefined ? undefined : await context.kernel.find(keyed.id);
  if (earlier !== undefined) return { structure: await context.pinned.structure(earlier), warnings: [] };
  const { pinPlan } = await loadPlanned();
  return pinPlan(context, structure, structure.dynamic, target, settings);
}

/** A start with an idempotency key, and the id of the session that it starts. */
interface KeyedStart {
  readonly request: KeyedRequest;
  readonly id: SessionId;
}

/**
 * A digest of the key replaces time and chance in the id, so that the same call finds the same session. Actors who use the
 * same key start a session each.
 */
function keyedStart(
  { caller }: EngineContext,
  key: string,
  type: string,
  target: string,
  given: JsonObject,
): KeyedStart {
  const request = keyedRequest(key, [type, target, given]);
  const own = caller === undefined ? request.id : ownKey(caller.actor.name, key);
  return { request, id: sessionIdFor(type, target, `k${own.slice(0, 16)}`) };
}

/** Refuses a new session above the limit of all, and above the caller's own. A repeated start is not a new session. */
async function checkSessionLimit(context: EngineContext, keyed: KeyedStart | undefined): Promise<void> {
  try {
    const full = await fullAt(context);
    if (full !== undefined) throw tooManyActive(full);
    await requireOwnPlace(context);
  } catch (error) {
    if (!isPhasegateError(error, "SESSION_LIMIT") || keyed === undefined) throw error;
    if ((await context.kernel.find(keyed.id)) === undefined) throw error;
  }
}

/** What the first commit of a session says. */
interface Beginning {
  readonly target: string;
  readonly settings: JsonObject;
  /** The position of the phase that it enters, from 0. */
  readonly position: number;
  readonly skips: Skips | undefined;
  readonly owner: Owner | undefined;
  readonly parent: Parent | undefined;
}

/** Called before anything is written, so that a failing list fails the start. */
async function openSessionsOn(context: EngineContext, workflowType: string, target: string) {
  const idPrefix = sessionIdPrefix(workflowType, target);
  const status = ["active", "paused", "failed"] as const;
  const query = { status, workflowType, target, idPrefix, limit: OTHERS_MAX + 1 };
  const { options, notifications, caller } = context;
  const page = await listSeen(options.storage, caller, { ...query, kind: "phased" });
  const lookAt = (id: SessionId) => lookAtSession(context, id);
  return (await checkedPage(page, query, lookAt, (error) => notifications.report("start", error))).items;
}

/** Appends the first commit of a session, under an unused id. */
async function appendStart(
  context: EngineContext,
  structure: WorkflowStructure,
  { target, settings, position, skips, owner, parent }: Beginning,
  keyed: KeyedStart | undefined,
  claim: ChildStart["claim"] | undefined,
): Promise<PhasedOutcome> {
  const { limits, clock } = context.options;
  const start = { type: "start", target, options: settings, owner, parent } as const;
  const command = { command: start, structure, limits, skips };
  const prepare = async (sessionId: SessionId) => {
    const session = { sessionId, head: { workflowType: structure.type, target }, options: settings };
    return withBegun(command, await beginPhase(context, session, structure, position));
  };
  if (claim !== undefined) return startClaimed(context, prepare, claim);
  if (keyed !== undefined) return startKeyed(context, prepare, keyed);
  for (;;) {
    const id = newSessionId(clock, structure.type, target);
    try {
      const started = await context.kernel.execute(
        id,
        (current) => (current === undefined ? prepare(id) : { answer: "id in use" as const }),
        undefined,
        { isNew: true },
      );
      if (!("answer" in started)) return started;
    } catch (error) {
      // An unreadable session occupies its id too.
      if (!isPhasegateError(error, "CONFLICT") && !isPhasegateError(error, "TAMPERED")) throw error;
    }
  }
}

/** Thrown if somebody else was faster: nothing was started. */
export class ChildTaken extends Error {}

/** A child whose session was deleted is claimed again, under another id. */
async function startClaimed(
  { kernel }: EngineContext,
  prepare: (id: SessionId) => Promise<Prepared<PhasedCommand>>,
  claim: ChildStart["claim"],
): Promise<PhasedOutcome> {
  for (let used: SessionId | undefined; ; ) {
    const id = await claim(used);
    try {
      const started = await kernel.execute(id, (current) =>
        current === undefined ? prepare(id) : { answer: "id in use" as const },
      );
      if ("answer" in started) throw new ChildTaken();
      return started;
    } catch (error) {
      if (!isPhasegateError(error, "CONFLICT")) throw error;
      used = id;
    }
  }
}

/** Returns an unused id for a session that is started now. */
export function newSessionId(clock: FullClock, workflowType: string, target: string): SessionId {
  return sessionIdFor(workflowType, target, `${timeStamp(clock.now())}_${randomEnd(clock.newId())}`);
}

/** Throws `CONFLICT` if the session that the key has started was deleted, or is the caller's no more. */
async function startKeyed(
  { kernel, caller }: EngineContext,
  prepare: (id: SessionId) => Promise<Prepared<PhasedCommand>>,
  { id, request }: KeyedStart,
): Promise<PhasedOutcome> {
  try {
    const started = await kernel.execute(id, () => prepare(id), request);
    if (!started.replayed || (await kernel.find(id)) !== undefined) return started;
  } catch (error) {
    if (!isPhasegateError(error, "CONFLICT")) throw error;
  }
  const why = caller === undefined ? "was deleted" : "is not yours any more, or was deleted";
  throw new PhasegateError("CONFLICT", `the session that the key ${shown(request.key)} has started ${why}`, {
    remedy: "Start with a new idempotency key, or without one.",
    details: { sessionId: id },
  });
}

/** Formats a time as `YYYYMMDD_HHMMSS` in UTC. */
function timeStamp(now: number): string {
  const digits = new Date(now).toISOString().replace(/[^0-9]/g, "");
  return `${digits.slice(0, 8)}_${digits.slice(8, 14)}`;
}
