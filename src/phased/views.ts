/**
 * What a session shows: phases, tasks and state. An agent can read the current phase and completed ones
 * only, and nothing behind an approval that this host does not accept.
 */

import { PhasegateError } from "../errors.js";
import { fillText } from "../gate/fill-params.js";
import type { Content } from "../ports/content-provider.js";
import type { SessionStatus } from "../ports/storage-adapter.js";
import { RecentMap } from "../runtime/cache.js";
import { type JsonObject, revisionOf } from "../workflow/json.js";
import { type MarkdownFacts, readMarkdownFacts } from "../workflow/markdown-facts.js";
import type { SessionId } from "../workflow/names.js";
import type { PhaseDefinition, TaskDefinition, WorkflowStructure } from "../workflow/structure.js";
import { type AwaitedApproval, type Denial, notAccepted, type UnapprovedPass } from "./approval/ledger.js";
import { viewAwaited, viewDenial } from "./approval/requests.js";
import { type ArtifactView, loadArtifacts, readEvents } from "./artifacts.js";
import { loadPlanned, requirePhase } from "./context.js";
import type { EngineContext, LoadedSession } from "./engine-context.js";
import type { PlannedPhaseView, PlannedTaskView, PlanView } from "./plan/view.js";
import { exhausted, readingRefusal } from "./state/commands.js";
import { approvalOf } from "./state/decide-gate.js";
import { inRanges, type Ranges, type SessionHead } from "./state/head.js";

/** The facts about a session that decide what is possible. */
export interface SessionFacts {
  /** The session's id. */
  readonly sessionId: SessionId;
  /** The session's status. */
  readonly status: SessionStatus;
  /** The number of the current phase. */
  readonly currentPhase: number;
  /** The number of phases. */
  readonly totalPhases: number;
  /** True if the agent has used all its attempts at the current phase: only the host can grant more. */
  readonly exhausted: boolean;
  /** True if complete evidence waits for a person's approval. */
  readonly awaitingApproval: boolean;
}

/** A text with the facts that were read from it. */
export interface TextView {
  /** The text with its revision. */
  readonly content: Content;
  /** Title, duration, steps and the like, as far as the Markdown has them. */
  readonly facts: MarkdownFacts;
  /** True if the text has changed since the session was started. */
  readonly contentChanged: boolean;
}

/** A phase as an agent may see it. */
export interface PhaseView extends SessionFacts, TextView {
  /** In a session with a plan: the plan, and the state of the phase's tasks. */
  readonly plan?: PlannedPhaseView;
  /** The type of the session's workflow. */
  readonly workflowType: string;
  /** The requested phase: the current one, or a completed one. */
  readonly phase: PhaseDefinition;
  /** The names of earlier phases' artifacts, by phase. */
  readonly artifacts: ReadonlyMap<number, readonly string[]>;
  /** The approval that the session waits for, if it does. */
  readonly awaiting?: AwaitedApproval;
}

/** A task as an agent may see it. */
export interface TaskView extends SessionFacts, TextView {
  /** For a task from a plan: its state, and the other tasks of its phase. */
  readonly plan?: PlannedTaskView;
  /** The phase of the task. */
  readonly phase: PhaseDefinition;
  /** The requested task. */
  readonly task: TaskDefinition;
}

/** A gate that was passed with an approval that this host does not accept, and what to do about it. */
export interface UnapprovedView extends UnapprovedPass {
  /** What is wrong, in a sentence. */
  readonly message: string;
  /** What to do about it. */
  readonly remedy: string;
}

/** The state of a session. */
export interface StateView extends SessionFacts {
  /** The version of the last commit. */
  readonly version: number;
  /** A receipt for {@link Engine.audit}: keep it outside the storage. */
  readonly hash: string;
  /** The session's head: attempts, completed phases and the like, as the log has them. */
  readonly head: SessionHead;
  /** The phases and gates that the session is bound to. */
  readonly structure: WorkflowStructure;
  /** ISO 8601, UTC. */
  readonly updatedAt: string;
  /** The numbers of the phases whose gates passed. */
  readonly completedPhases: readonly number[];
  /** The numbers of the phases that the host or the workflow's rules have skipped. */
  readonly skippedPhases: readonly number[];
  /** The plan that its phases come from, if they do. */
  readonly plan?: PlanView;
  /** The approval that the session waits for, if it does. */
  readonly awaiting?: AwaitedApproval;
  /** The denial that ended the last submission, if one did. */
  readonly denied?: Denial;
  /**
   * The gate that the log shows as passed with an approval that this host does not accept. Everything else
   * here is the session before that gate: what follows it in the log does not count. Missing if there is
   * none, and at hosts without approvers.
   */
  readonly unapproved?: UnapprovedView;
}

/** The state of a session with its artifacts and options. */
export interface FullStateView extends StateView {
  /** The artifacts of the completed phases, by phase. */
  readonly artifacts: readonly ArtifactView[];
  /** The options that it was started with. */
  readonly options: JsonObject;
  /** The phases that are skipped, each with the reason. */
  readonly skips: readonly PhaseSkip[];
}

/** A phase that is skipped. */
export interface PhaseSkip {
  /** The phase's number. */
  readonly phase: number;
  /** Why it is skipped. */
  readonly reason: string;
  /** Who decided that; `skip_when` if it was the workflow's own rule. */
  readonly by: string;
}

/** Returns the current phase or a completed one. Throws `PHASE_LOCKED` for one that is ahead. */
export async function viewPhase(context: EngineContext, loaded: LoadedSession, number: number): Promise<PhaseView> {
  const { session, structure, unapproved } = loaded;
  if (unapproved !== undefined) throw notAccepted(unapproved);
  const { head } = session;
  const refusal = readingRefusal(head, number, structure);
  if (refusal !== undefined) throw refusal;
  await context.approvalGuard.check(session, structure);
  const phase = requirePhase(structure, number);
  const plan = structure.plan && (await (await loadPlanned()).viewPlannedPhase(context, loaded, phase));
  const awaiting = await viewAwaited(context, session);
  return {
    ...(plan === undefined ? {} : { plan }),
    ...(awaiting === undefined ? {} : { awaiting }),
    ...factsOf(context, session),
    workflowType: head.workflowType,
    phase,
    artifacts: await context.artifactNames.before(session, number),
    ...(await viewText(context, session, structure, phase)),
  };
}

/** Returns a task of the current phase or of a completed one. Throws `PHASE_LOCKED` or `TASK_NOT_FOUND`. */
export async function viewTask(
  context: EngineContext,
  loaded: LoadedSession,
  phaseNumber: number,
  taskNumber: number,
): Promise<TaskView> {
  const { session, structure, unapproved } = loaded;
  if (unapproved !== undefined) throw notAccepted(unapproved);
  const refusal = readingRefusal(session.head, phaseNumber, structure);
  if (refusal !== undefined) throw refusal;
  await context.approvalGuard.check(session, structure);
  const phase = requirePhase(structure, phaseNumber);
  const task = phase.tasks.find(({ number }) => number === taskNumber);
  if (task === undefined) throw taskNotFound(phase, taskNumber);
  const plan = task.plan && (await (await loadPlanned()).viewPlannedTask(context, loaded, phase, task));
  return {
    ...(plan === undefined ? {} : { plan }),
    ...factsOf(context, session),
    phase,
    task,
    ...(await viewText(context, session, structure, phase, task)),
  };
}

/** Limits how many texts' facts are cached, by revision. */
const FACTS_KEPT = 256;

const factsByRevision = new RecentMap<string, MarkdownFacts>(FACTS_KEPT);

/** Returns the text of a phase, or of one of its tasks, as it is now, with the session's options in it. */
export async function viewText(
  context: EngineContext,
  session: { readonly sessionId: SessionId },
  structure: WorkflowStructure,
  phase: PhaseDefinition,
  task?: TaskDefinition,
): Promise<TextView> {
  const view = await readText(context, structure, phase, task);
  if (!view.content.text.includes("{options.")) return view;
  const text = fillText(view.content.text, await context.pinned.options(session.sessionId));
  if (text === view.content.text) return view;
  const content = { ...view.content, text, revision: revisionOf(text), tokens: Math.ceil(text.length / 4) };
  return { ...view, content, facts: readMarkdownFacts(text) };
}

/** Returns the text of a phase, or of one of its tasks, as its author wrote it. */
export async function readText(
  context: EngineContext,
  structure: WorkflowStructure,
  phase: PhaseDefinition,
  task?: TaskDefinition,
): Promise<TextView> {
  if (phase.plan !== undefined) {
    const { renderedText } = await loadPlanned();
    return renderedText(context, structure, phase, task);
  }
  const part = { phase: phase.number, ...(task === undefined ? {} : { task: task.number }) };
  const pinned = (task ?? phase).textRevision;
  const content = await context.options.content.text(structure.type, part);
  let facts = factsByRevision.get(content.revision);
  if (facts === undefined) {
    facts = readMarkdownFacts(content.text);
    factsByRevision.set(content.revision, facts);
  }
  return { content, facts, contentChanged: pinned !== undefined && pinned !== content.revision };
}

/**
 * Returns the state of a session from its head and its plan: the cost does not depend on the length of the
 * log.
 */
export function viewState(context: EngineContext, loaded: LoadedSession): StateView | Promise<StateView> {
  const { structure, session, unapproved } = loaded;
  if (unapproved !== undefined) {
    const { message, remedy } = notAccepted(unapproved);
    return { ...stateOf(context, loaded), awaitingApproval: false, unapproved: { ...unapproved, message, remedy } };
  }
  const asksPerson = approvalOf(structure.phases[session.head.position]?.gate) !== undefined;
  if (structure.plan === undefined && !asksPerson) return stateOf(context, loaded);
  return withMore(context, loaded);
}

/** Returns the state of a session with artifacts and options from its log. */
export async function viewFullState(context: EngineContext, loaded: LoadedSession): Promise<FullStateView> {
  const { session } = loaded;
  return {
    ...(await viewState(context, loaded)),
    artifacts: await loadArtifacts(context, session),
    options: await startOptions(context, session.sessionId),
    skips: await skipsOf(context, loaded),
  };
}

/** Returns the phases that are skipped now, from the log: a rollback may have undone others. */
async function skipsOf(context: EngineContext, { session, structure }: LoadedSession): Promise<PhaseSkip[]> {
  const { skipped } = session.head;
  if (skipped.length === 0) return [];
  const found = new Map<number, PhaseSkip>();
  for (const { event } of await readEvents(context, session)) {
    if (event.type !== "phase_skipped" || !inRanges(skipped, event.position)) continue;
    const { position, reason, by } = event;
    found.set(position, { phase: structure.phases[position]?.number ?? event.phase, reason, by });
  }
  return [...found].sort(([one], [other]) => one - other).map(([, skip]) => skip);
}

/**
 * Returns the artifact of a completed phase; undefined for the current one, and for one that was skipped. Throws
 * `PHASE_LOCKED` for one that is ahead.
 */
export async function viewArtifact(
  context: EngineContext,
  { session, structure }: LoadedSession,
  number: number,
): Promise<ArtifactView | undefined> {
  const refusal = readingRefusal(session.head, number, structure);
  if (refusal !== undefined) throw refusal;
  const [artifact] = await loadArtifacts(context, session, number);
  return artifact;
}

/** Returns the options that a session was started with. */
export async function startOptions({ pinned }: EngineContext, sessionId: SessionId): Promise<JsonObject> {
  return pinned.options(sessionId);
}

/** Returns the facts about a session that decide what is possible. */
export function factsOf(
  { options }: EngineContext,
  { sessionId, head }: { readonly sessionId: SessionId; readonly head: SessionHead },
): SessionFacts {
  return {
    sessionId,
    status: head.status,
    currentPhase: head.phase,
    totalPhases: head.total,
    awaitingApproval: head.status === "active" && head.awaiting !== undefined,
    exhausted: head.status !== "completed" && exhausted(head, options.limits) !== undefined,
  };
}

function taskNotFound(phase: PhaseDefinition, task: number): PhasegateError<"TASK_NOT_FOUND"> {
  const valid = phase.tasks.map(({ number }) => number);
  return new PhasegateError("TASK_NOT_FOUND", `phase ${phase.number} has no task ${task}`, {
    remedy:
      valid.length === 0 ? "This phase has no tasks: its content says what to do." : `Use one of: ${valid.join(", ")}.`,
    details: { phase: phase.number, task, valid },
  });
}

function stateOf(context: EngineContext, { session, structure }: LoadedSession): StateView {
  const { version, hash, head, at } = session;
  const numbers = (ranges: Ranges) =>
    structure.phases.filter((_, position) => inRanges(ranges, position)).map(({ number }) => number);
  return {
    ...factsOf(context, session),
    version,
    hash,
    head,
    structure,
    updatedAt: at,
    completedPhases: numbers(head.completed),
    skippedPhases: numbers(head.skipped),
  };
}

/** Adds what the head does not have: the plan, the awaited approval and the last denial. */
async function withMore(context: EngineContext, loaded: LoadedSession): Promise<StateView> {
  const state = loaded.structure.plan === undefined ? stateOf(context, loaded) : await withPlan(context, loaded);
  const awaiting = await viewAwaited(context, loaded.session);
  const denied = await viewDenial(context, loaded.session);
  return { ...state, ...(awaiting === undefined ? {} : { awaiting }), ...(denied === undefined ? {} : { denied }) };
}

async function withPlan(context: EngineContext, loaded: LoadedSession): Promise<StateView> {
  const { livePlan } = await loadPlanned();
  const live = await livePlan(context, loaded);
  return { ...stateOf(context, loaded), ...(live === undefined ? {} : { plan: live.view }) };
}
