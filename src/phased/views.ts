/**
 * What a session shows: phases, tasks and state. An agent can read the current phase and earlier ones
 * only, and nothing behind an approval that this host does not accept.
 */
import type { Content } from "../ports/content-provider.js";
import type { SessionStatus } from "../ports/storage-adapter.js";
import { hasChildCheck } from "../workflow/child-workflow.js";
import type { JsonObject } from "../workflow/json.js";
import type { SessionId } from "../workflow/names.js";
import type { PhaseDefinition, TaskDefinition, WorkflowStructure } from "../workflow/structure.js";
import { type AwaitedApproval, type Denial, notAccepted, type UnapprovedPass } from "./approval/ledger.js";
import { phaseNow, viewAwaited, viewDenial, viewWaivers, type WaiversView } from "./approval/requests.js";
import { type ArtifactView, loadArtifacts, readEvents } from "./artifacts.js";
import type { ChildrenView } from "./children.js";
import { loadPlanned, phaseAsked, requirePhase } from "./context.js";
import {
  filled,
  findDocument,
  type NamedDocument,
  namedDocuments,
  taskThatNames,
  viewText,
  withOptions,
} from "./documents.js";
import type { EngineContext, LoadedSession, TextView } from "./engine-context.js";
import type { PlannedPhaseView, PlannedTaskView, PlanView } from "./plan/view.js";
import { exhausted, isWaiverOpen, readingRefusal, taskNotFound } from "./state/commands.js";
import type { Parent } from "./state/events.js";
import type { SessionHead } from "./state/head.js";
import type { PhasedSession } from "./state/machine.js";
import { inRanges, type Ranges } from "./state/ranges.js";
import { type LastNote, type PhaseTask, tasksOf } from "./state/task-notes.js";
import { knownGaps, snapshotGaps } from "./verify/beginnings.js";

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
  /** True if a request for a waiver waits for a person. */
  readonly waitsForWaiver: boolean;
  /** True if a person has denied the last request for a waiver, and nothing was submitted since. */
  readonly waiverRefused: boolean;
  /**
   * Verifiers without the snapshot that they compare with, and why taking it has failed; a retry of the phase takes it.
   * Missing if there are none.
   */
  readonly unrecorded?: readonly { readonly verifier: string; readonly failed?: string }[];
  /** The session and phase that it was started for, if it is a child. */
  readonly parent?: Parent | undefined;
}

/** What a view of a child says of its parent. */
interface ChildNotice {
  /** Why it counts for nothing, if it does: its parent is gone, or has left the phase. */
  readonly orphaned?: string | undefined;
}

/** A document of the workflow as an agent may see it. */
export interface DocumentView extends SessionFacts {
  /** Its path, relative to the workflow's folder. */
  readonly path: string;
  /** Its text as it is now, with its revision. */
  readonly content: Content;
  /** The documents that it names and that the session may read. */
  readonly documents: readonly NamedDocument[];
  /** The current phase, without what is waived. */
  readonly phase: PhaseDefinition;
  /** Its tasks, and which of them are done. */
  readonly tasks: readonly PhaseTask[];
  /** The number of the task that can be done next, if its text names the document. */
  readonly task?: number;
}

/** A text as an agent reads it, with its phase. */
interface ReadView extends TextView {
  /** The documents that it names and that the session may read; at most 50. */
  readonly documents: readonly NamedDocument[];
  /** The phase: the current one, or a completed one. The current one without what is waived. */
  readonly phase: PhaseDefinition;
  /** The tasks of that phase, and which of them are done. */
  readonly tasks: readonly PhaseTask[];
}

/** A phase as an agent may see it. */
export interface PhaseView extends SessionFacts, ReadView, WaiversView, ChildNotice {
  /** In a session with a plan: the plan, and the state of the phase's tasks. */
  readonly plan?: PlannedPhaseView;
  /** The type of the session's workflow. */
  readonly workflowType: string;
  /** The children of the phase, if it is the current one and a workflow. */
  readonly children?: ChildrenView | undefined;
  /** The names of earlier phases' artifacts, by phase. */
  readonly artifacts: ReadonlyMap<number, readonly string[]>;
  /** The approval that the session waits for, if it does. */
  readonly awaiting?: AwaitedApproval;
}

/** A task as an agent may see it. */
export interface TaskView extends SessionFacts, ReadView {
  /** For a task from a plan: its state, and the other tasks of its phase. */
  readonly plan?: PlannedTaskView;
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
export interface StateView extends SessionFacts, WaiversView, ChildNotice {
  /** The version of the last commit. */
  readonly version: number;
  /** A receipt for {@link Session.audit}: keep it outside the storage. */
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
  /** The numbers of the completed phases at which something was waived. */
  readonly waivedPhases: readonly number[];
  /** The tasks of the current phase, and which of them are done. */
  readonly tasks: readonly PhaseTask[];
  /** The children of the current phase, if that is a workflow. */
  readonly children?: ChildrenView | undefined;
  /** The last note on a task of the current phase. */
  readonly note?: Readonly<LastNote>;
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

/** Returns a phase that may be read: the current one or a completed one, with no approval before it that does not count. */
async function readable(
  context: EngineContext,
  { session, structure, unapproved }: LoadedSession,
  number: number,
): Promise<PhaseDefinition> {
  if (unapproved !== undefined) throw notAccepted(unapproved);
  const refusal = readingRefusal(session.head, number, structure);
  if (refusal !== undefined) throw refusal;
  await context.approvalGuard.check(session, structure);
  return requirePhase(structure, number);
}

/** Returns the current phase or a completed one. Throws `PHASE_LOCKED` for one that is ahead. */
export async function viewPhase(context: EngineContext, loaded: LoadedSession, number: number): Promise<PhaseView> {
  const { session, structure } = loaded;
  const { head } = session;
  const phase = await readable(context, loaded, number);
  await snapshotGaps(context, session, structure);
  const waivers = await viewWaivers(context, session, structure);
  const asked = phaseAsked(context, head, phase, waivers.waived);
  const plan = structure.plan && (await (await loadPlanned()).viewPlannedPhase(context, loaded, asked));
  const awaiting = head.awaiting === undefined ? undefined : await viewAwaited(context, session);
  const text = await viewText(context, session, structure, phase);
  const artifacts = await context.artifactNames.before(session, number);
  const documents = await namedDocuments(context, loaded, { phase }, text.content);
  return {
    ...factsOf(context, session),
    workflowType: head.workflowType,
    phase: asked,
    tasks: tasksOf(head, structure, phase, plan?.tasks),
    artifacts,
    documents,
    ...text,
    ...waivers,
    plan,
    awaiting,
    children: number === head.phase ? await childrenNow(context, loaded) : undefined,
    orphaned: await orphanedNow(context, session),
  };
}

/** Returns the children of the current phase; undefined if it is no workflow. */
async function childrenNow(context: EngineContext, loaded: LoadedSession): Promise<ChildrenView | undefined> {
  const gate = loaded.structure.phases[loaded.session.head.position]?.gate;
  if (gate === undefined || !hasChildCheck(gate)) return undefined;
  return (await import("./children.js")).viewChildren(context, loaded);
}

async function orphanedNow(context: EngineContext, session: PhasedSession): Promise<string | undefined> {
  if (session.head.parent === undefined) return undefined;
  return (await import("./children.js")).orphaned(context, session);
}

/** Returns a task of the current phase or of a completed one. Throws `PHASE_LOCKED` or `TASK_NOT_FOUND`. */
export async function viewTask(
  context: EngineContext,
  loaded: LoadedSession,
  phaseNumber: number,
  taskNumber: number,
): Promise<TaskView> {
  const { session, structure } = loaded;
  const phase = await readable(context, loaded, phaseNumber);
  const task = phase.tasks.find(({ number }) => number === taskNumber);
  if (task === undefined) throw taskNotFound(phase, taskNumber);
  const asked = await phaseNow(context, loaded, phase);
  const plan = task.plan && (await (await loadPlanned()).viewPlannedTask(context, loaded, asked, task));
  const text = await viewText(context, session, structure, phase, task);
  const documents = await namedDocuments(context, loaded, { phase, task }, text.content);
  return {
    ...factsOf(context, session),
    phase: asked,
    tasks: tasksOf(session.head, structure, phase, plan?.tasks),
    task,
    documents,
    ...text,
    plan,
  };
}

/** Returns a document of the session's workflow. Throws `PHASE_LOCKED`, `PATH_REFUSED` and `FILE_NOT_FOUND`. */
export async function viewDocument(
  context: EngineContext,
  loaded: LoadedSession,
  given: string,
): Promise<DocumentView> {
  const { session, structure } = loaded;
  const current = await readable(context, loaded, session.head.phase);
  const { document, isText } = await findDocument(context, loaded, given);
  const read = await document.read();
  const values = { target: session.head.target, plan: structure.plan?.path };
  const content = isText ? await withOptions(context, session.sessionId, filled(read, values)) : read;
  const documents = await namedDocuments(context, loaded, document, content);
  const phase = await phaseNow(context, loaded, current);
  const tasks = await phaseTasks(context, loaded, phase);
  const { path } = document;
  const task = await taskThatNames(context, loaded, { phase, tasks, path });
  return { ...factsOf(context, session), path, content, documents, phase, tasks, task };
}

/** Returns the tasks of a phase, without what is waived, by the session and its current plan. */
export async function phaseTasks(
  context: EngineContext,
  loaded: LoadedSession,
  phase: PhaseDefinition,
): Promise<readonly PhaseTask[]> {
  const { session, structure } = loaded;
  const plan = phase.plan && (await (await loadPlanned()).viewPlannedPhase(context, loaded, phase));
  return tasksOf(session.head, structure, phase, plan?.tasks);
}

/** Returns the state of a session from its head and its plan: the cost does not depend on the length of the log. */
export async function viewState(context: EngineContext, loaded: LoadedSession): Promise<StateView> {
  const { structure, session, unapproved } = loaded;
  if (unapproved !== undefined) {
    const { message, remedy } = notAccepted(unapproved);
    return { ...stateOf(context, loaded), awaitingApproval: false, unapproved: { ...unapproved, message, remedy } };
  }
  const waivers = await viewWaivers(context, session, structure);
  return {
    ...stateOf(context, loaded),
    ...(await planOf(context, loaded, waivers.waived)),
    ...waivers,
    children: await childrenNow(context, loaded),
    orphaned: await orphanedNow(context, session),
    awaiting: await viewAwaited(context, session),
    denied: await viewDenial(context, session, structure),
  };
}

/** Returns the state of a session with artifacts and options from its log. */
export async function viewFullState(context: EngineContext, loaded: LoadedSession): Promise<FullStateView> {
  const { session } = loaded;
  return {
    ...(await viewState(context, loaded)),
    artifacts: await loadArtifacts(context, session),
    options: await context.pinned.options(session.sessionId),
    skips: await skipsOf(context, loaded),
  };
}

/** Returns the phases that are skipped now, from the log: a rollback may have undone others. */
async function skipsOf(context: EngineContext, { session, structure }: LoadedSession): Promise<PhaseSkip[]> {
  const { skipped } = session.head;
  if (skipped.length === 0) return [];
  let found = new Map<number, Omit<PhaseSkip, "phase">>();
  for (const { event } of await readEvents(context, session)) {
    if (event.type === "migrated" && event.places !== undefined) {
      const moved = event.places.flatMap(([from, to]) => {
        const skip = found.get(from);
        return skip === undefined ? [] : [[to, skip] as const];
      });
      found = new Map(moved);
    } else if (event.type === "phase_skipped") found.set(event.position, { reason: event.reason, by: event.by });
  }
  return structure.phases.flatMap(({ number: phase }, position) => {
    const skip = inRanges(skipped, position) ? found.get(position) : undefined;
    return skip === undefined ? [] : [{ phase, ...skip }];
  });
}

/** Returns the facts about a session that decide what is possible. */
export function factsOf(
  context: EngineContext,
  session: { readonly sessionId: SessionId; readonly head: SessionHead },
): SessionFacts {
  const { sessionId, head } = session;
  const unrecorded = head.status === "completed" ? [] : (knownGaps(context, session) ?? []);
  return {
    sessionId,
    status: head.status,
    currentPhase: head.phase,
    totalPhases: head.total,
    awaitingApproval: head.status === "active" && head.awaiting !== undefined,
    waitsForWaiver: isWaiverOpen(head),
    waiverRefused: head.waiver?.denied === true,
    parent: head.parent,
    exhausted: head.status !== "completed" && exhausted(head, context.options.limits) !== undefined,
    unrecorded: unrecorded.length === 0 ? undefined : unrecorded,
  };
}

function stateOf(context: EngineContext, { session, structure }: LoadedSession): StateView {
  const { version, hash, head, at } = session;
  const numbers = (ranges: Ranges) =>
    structure.phases.filter((_, position) => inRanges(ranges, position)).map(({ number }) => number);
  const current = structure.phases[head.position];
  return {
    ...factsOf(context, session),
    version,
    hash,
    head,
    structure,
    updatedAt: at,
    completedPhases: numbers(head.completed),
    skippedPhases: numbers(head.skipped),
    waivedPhases: numbers(head.withWaivers ?? []),
    tasks: current === undefined ? [] : tasksOf(head, structure, current),
    note: head.tasks?.last,
  };
}

/** Returns what a session's plan says of the current phase, and of all its tasks. */
async function planOf(
  context: EngineContext,
  loaded: LoadedSession,
  waived: WaiversView["waived"],
): Promise<Partial<Pick<StateView, "plan" | "tasks">>> {
  const { session, structure } = loaded;
  if (structure.plan === undefined) return {};
  const { viewPlannedPhase } = await loadPlanned();
  const current = phaseAsked(context, session.head, requirePhase(structure, session.head.phase), waived);
  const live = await viewPlannedPhase(context, loaded, current);
  if (live === undefined) return {};
  const { tasks, ...plan } = live;
  return { tasks: tasksOf(session.head, structure, current, tasks), plan };
}
