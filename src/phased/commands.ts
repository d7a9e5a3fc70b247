import { isPhasegateError } from "../errors.js";
import type { Problem } from "../gate/verdict.js";
import { checkOwner, type Owner } from "../ports/actor.js";
import { mayOperate, speakerOf } from "../runtime/access.js";
import type { SessionId } from "../workflow/names.js";
import type { PhaseDefinition, WorkflowStructure } from "../workflow/structure.js";
import { type ApprovedPass, notAccepted } from "./approval/ledger.js";
import type { OpenChild } from "./children.js";
import {
  execute,
  executeCommand,
  loadPlanned,
  loadSession,
  preparing,
  requestFor,
  requirePhase,
  sessionNow,
} from "./context.js";
import { viewText } from "./documents.js";
import type { EngineContext, PhasedOutcome } from "./engine-context.js";
import { type SkippedPhase, skippedIn } from "./gate-answer.js";
import { requireWorkflow } from "./start.js";
import { requireRules, requireVerifiers } from "./start-checks.js";
import { type Actor, type Keyed, landing } from "./state/commands.js";
import type { PhaseComparison } from "./state/compare-phases.js";
import type { SessionHead } from "./state/head.js";
import { isOneOf, type PhasedSession, requireEvent } from "./state/machine.js";
import { acceptRefusal, moveTo } from "./state/migration.js";
import { inRanges } from "./state/ranges.js";
import type { TaskPairs } from "./state/task-notes.js";
import { type PhaseView, type StateView, viewPhase, viewState } from "./views.js";

/** A session that a command has changed. */
interface Changed {
  /** The session that was changed. */
  readonly sessionId: SessionId;
  /** True if an earlier call with the same key did it. */
  readonly replayed: boolean;
}

/** The same, with the current phase: in a repeated answer, that of the session as it is now. */
interface ChangedPhase extends Changed {
  /** The current phase. */
  readonly phase: PhaseView;
}

/** A paused session. */
export interface PauseResult extends Changed {
  /** The number of the current phase. */
  readonly phase: number;
  /** ISO 8601, UTC. */
  readonly pausedAt: string;
  /** The note of the request. */
  readonly note?: string;
  /** The children that can go on meanwhile, if the phase is a workflow. None if missing, and in a repeated answer. */
  readonly children?: readonly OpenChild[];
}

/** A resumed session. */
export interface ResumeResult extends ChangedPhase {
  /** How long the session was paused, in seconds. */
  readonly pausedSeconds: number;
  /** The note of the pause. Missing if it had none, and in a repeated answer. */
  readonly note?: string;
  /** True if a person has decided on a waiver since that note was written. */
  readonly beforeDecision?: true;
}

/** A phase that may be tried again. */
export interface RetryResult extends ChangedPhase {
  /** If false, the next submission is merged over the last one. */
  readonly resetEvidence: boolean;
  /** The problems of the last submission. */
  readonly previousProblems: readonly Problem[];
}

/** A session that was rolled back. */
export interface RollbackResult extends ChangedPhase {
  /** The number of the phase that it was in. */
  readonly from: number;
  /** The number of the requested phase. The session is in it now, unless a rule skips it again. */
  readonly to: number;
  /** The phases that are no longer completed. */
  readonly cleared: readonly number[];
  /** The phases that the workflow's rules skipped again, `to` or those after it. None if missing. */
  readonly skipped?: readonly SkippedPhase[];
  /** The children that count for nothing any more and are not completed. None if missing, and in a repeated answer. */
  readonly children?: readonly OpenChild[];
}

/** Who asks for something on behalf of the host, and why: recorded in the log, and shown by `history`. */
export interface Attributed extends Keyed {
  /** The name of the person or program; at most 200 characters. */
  readonly by?: string;
  /** Why; at most 2,000 characters. */
  readonly note?: string;
}

/** Passes or skips a phase on behalf of the host; name and note are recorded. */
export interface MoveRequest extends Attributed {
  readonly by: string;
  readonly note: string;
}

/** A session that the host has moved past a phase. */
export interface MoveResult {
  /** The session that was moved. */
  readonly sessionId: SessionId;
  /** The phase that was passed or skipped. */
  readonly phase: number;
  /** The current phase; null if the workflow is completed. */
  readonly nextPhase: PhaseDefinition | null;
  /** The phases after it that the workflow's rules skipped. None if missing. */
  readonly skipped?: readonly SkippedPhase[];
  /** The children that count for nothing any more and are not completed. None if missing, and in a repeated answer. */
  readonly children?: readonly OpenChild[];
}

/** Hands a session over to another owner. */
export interface AssignRequest extends Attributed {
  readonly by: string;
}

/** A deleted session. */
export interface DeleteResult {
  /** The id, which is never used again. */
  readonly sessionId: SessionId;
  /** The children that stay, and count for nothing any more. None if missing. */
  readonly children?: readonly OpenChild[];
}

export async function pause(
  context: EngineContext,
  id: SessionId,
  { by: operator, note, idempotencyKey }: Attributed,
): Promise<PauseResult> {
  const command = { type: "pause", operator, note } as const;
  const { sessionId, at, head, replayed } = await executeCommand(context, id, command, idempotencyKey);
  return { sessionId, replayed, phase: head.phase, pausedAt: at, note, children: await childrenOf(context, head) };
}

export async function resume(
  context: EngineContext,
  id: SessionId,
  { by: operator, note: said, idempotencyKey }: Attributed,
): Promise<ResumeResult> {
  const { head } = await checkReadable(context, id);
  const outcome = await executeCommand(context, id, { type: "resume", operator, note: said }, idempotencyKey);
  const { pausedSeconds } = requireEvent(outcome, "resumed");
  const pause: Pick<ResumeResult, "note" | "beforeDecision"> = head.status === "paused" ? head : {};
  return {
    ...(await changedPhase(context, outcome)),
    pausedSeconds,
    note: pause.note,
    beforeDecision: pause.beforeDecision,
  };
}

export async function retryPhase(
  context: EngineContext,
  id: SessionId,
  request: Attributed & { readonly phase: number; readonly resetEvidence?: boolean; readonly as?: Actor },
): Promise<RetryResult> {
  const { phase, resetEvidence = false, by: operator, note, idempotencyKey } = request;
  const { summary } = await checkReadable(context, id);
  const by = speakerOf(context.caller, "retryPhase", summary, request.as);
  const command = { type: "retryPhase", phase, resetEvidence, by, operator, note } as const;
  const outcome = await executeCommand(context, id, command, idempotencyKey);
  const previousProblems = await lastProblems(context, outcome);
  return { ...(await changedPhase(context, outcome)), resetEvidence, previousProblems };
}

export async function rollback(
  context: EngineContext,
  id: SessionId,
  request: Keyed & { readonly to: number; readonly as?: Actor },
): Promise<RollbackResult> {
  const { to, as: given, idempotencyKey } = request;
  const { summary, head } = await checkReadable(context, id, to);
  const by = speakerOf(context.caller, "rollback", summary, given);
  const outcome = await executeCommand(context, id, { type: "rollback", to, by }, idempotencyKey);
  const { from, cleared } = requireEvent(outcome, "rolled_back");
  const skipped = skippedIn(outcome.events, await context.pinned.structure(outcome));
  const children = outcome.replayed ? undefined : await childrenOf(context, head);
  return { ...(await changedPhase(context, outcome)), from, to, cleared, skipped, children };
}

/** A log that is damaged, or of a newer version, names no children. Throws all other errors again. */
function ifUnreadable(error: unknown): undefined {
  if (!isPhasegateError(error, "TAMPERED") && !isPhasegateError(error, "FORMAT_TOO_NEW")) throw error;
}

/** Returns the children of a state that are not completed; undefined if there are none. */
async function childrenOf(context: EngineContext, head: SessionHead): Promise<readonly OpenChild[] | undefined> {
  if (head.children === undefined) return undefined;
  return (await import("./children.js")).openChildren(context, head);
}

/** Returns the children of the state before that the state after a command has no more; undefined if there are none. */
async function leftBy(
  context: EngineContext,
  before: PhasedSession | undefined,
  { head, replayed }: Pick<PhasedSession, "head"> & { readonly replayed: boolean },
): Promise<readonly OpenChild[] | undefined> {
  if (replayed) return undefined;
  const kept = new Set(head.children?.map(({ sessionId }) => sessionId));
  const left = before?.head.children?.filter(({ sessionId }) => !kept.has(sessionId)) ?? [];
  return left.length === 0 ? undefined : (await import("./children.js")).openChildren(context, { children: left });
}

export async function movePast(
  context: EngineContext,
  id: SessionId,
  type: "overrideGate" | "skipPhase",
  request: MoveRequest & { readonly phase: number },
): Promise<MoveResult> {
  const { phase, by, note: reason, idempotencyKey } = request;
  const before = await context.kernel.newest(id);
  const outcome = await executeCommand(context, id, { type, phase, by, reason }, idempotencyKey);
  const entered = outcome.events.find(isOneOf("phase_entered"));
  const structure = await context.pinned.structure(outcome);
  const nextPhase = entered ? requirePhase(structure, entered.phase) : null;
  const skipped = skippedIn(outcome.events, structure);
  return { sessionId: outcome.sessionId, phase, nextPhase, skipped, children: await leftBy(context, before, outcome) };
}

export async function assign(
  context: EngineContext,
  id: SessionId,
  { owner, by, note, idempotencyKey }: AssignRequest & { readonly owner: Owner },
): Promise<StateView> {
  await executeCommand(context, id, { type: "assign", owner: checkOwner(owner), by, note }, idempotencyKey);
  return viewState(context, await loadSession(context, id));
}

/** Moves a session to the newest definition of its workflow. */
export interface MigrateRequest extends Keyed {
  /** The name of the person or program that asks for it; at most 200 characters. */
  readonly by: string;
  /** Why differences are accepted that the session can't be moved with otherwise, by the names of the phases. */
  readonly accept?: Readonly<Record<string, string>>;
}

export async function migrate(
  context: EngineContext,
  id: SessionId,
  { by, accept: given, idempotencyKey }: MigrateRequest,
): Promise<MigrateResult> {
  const accept = given && new Map(Object.entries(given));
  // The newest structure is no part of what the caller asks for: it may have changed when the call is repeated.
  const keyed = requestFor(idempotencyKey, ["migrate", by, ...(given === undefined ? [] : [given])]);
  let before: PhasedSession | undefined;
  // The structure fits one position: it is built anew if the session has moved meanwhile.
  const prepare = preparing(context, id, async (session, pinned) => {
    before = session;
    const { structure, tasks } = await newestFor(context, session, pinned);
    return { type: "migrate", structure, by, accept, tasks };
  });
  const outcome = await execute(context, id, prepare, keyed);
  const childrenLeft = await leftBy(context, before, outcome);
  return { ...(await viewState(context, await loadSession(context, id))), ...(childrenLeft && { childrenLeft }) };
}

/** A session that was moved to the newest definition of its workflow. */
export interface MigrateResult extends StateView {
  /** The children that count for nothing any more and are not completed. None if missing, and in a repeated answer. */
  readonly childrenLeft?: readonly OpenChild[];
}

/** What a migration would do to a session. */
export interface MigrationView {
  /** The revision that the session is on. */
  readonly from: string;
  /** The newest one. */
  readonly to: string;
  /** The phases that the session has behind it, the current one, and new ones before that, in the order of the newest one. */
  readonly phases: readonly PhaseComparison[];
  /** The phase that the session would enter, by its new number. Missing if it goes on in its phase. */
  readonly returnsTo?: number;
  /** The names of the differences that `migrate` refuses unless they are accepted. */
  readonly needsAccept: readonly string[];
  /** The names of completed phases that the session would have to do again. Missing if there are none. */
  readonly again?: readonly string[];
  /** The children that would count for nothing any more and are not completed. None if missing. */
  readonly childrenLeft?: readonly OpenChild[];
}

export async function viewMigration(
  context: EngineContext,
  id: SessionId,
  { accept: given = {} }: Pick<MigrateRequest, "accept">,
): Promise<MigrationView> {
  const { session, structure: before, unapproved } = await loadSession(context, id);
  if (unapproved !== undefined) throw notAccepted(unapproved);
  const { structure: after } = await newestFor(context, session, before);
  const skips = await context.pinned.skips(session, after);
  const accept = new Map(Object.entries(given));
  const move = moveTo(session.head, { before, after, by: "", accept, skips });
  if (move instanceof Error) throw move;
  const refusal = acceptRefusal(accept, move.phases);
  if (refusal !== undefined) throw refusal;
  const { phases, needsAccept, place, places, staysInPhase } = move;
  const entered = staysInPhase ? undefined : after.phases[landing(place, after, skips)]?.number;
  const kept = new Set([...places.map(([from]) => from), ...goneFrom(before, phases)]);
  const again = before.phases.flatMap(({ name }, from) =>
    inRanges(session.head.completed, from) && !kept.has(from) ? [name] : [],
  );
  const childrenLeft = staysInPhase ? undefined : await childrenOf(context, session.head);
  return {
    from: session.head.revision,
    to: after.revision,
    phases,
    ...(entered !== undefined && { returnsTo: entered }),
    needsAccept,
    ...(again.length > 0 && { again }),
    ...(childrenLeft && { childrenLeft }),
  };
}

/** Returns the positions of the phases that the newer definition does not have. */
function goneFrom({ phases }: WorkflowStructure, compared: readonly PhaseComparison[]): readonly number[] {
  const gone = new Set(compared.flatMap(({ is, was }) => (is === "gone" ? [was] : [])));
  return phases.flatMap(({ number }, from) => (gone.has(number) ? [from] : []));
}

/** Returns the newest definition of a session's workflow, with its plan, if the host can run it. */
async function newestFor(context: EngineContext, session: PhasedSession, pinned: WorkflowStructure) {
  const newest = await requireWorkflow(context.options, session.head.workflowType);
  const found = await withPlan(context, session, pinned, newest.structure);
  await requireVerifiers(found.structure, context.options);
  await requireRules(newest, context.options.clock);
  return found;
}

/**
 * Deletes a session with a tombstone that records the reason; a damaged one for those who may operate on all. If it is
 * interrupted, the same call or `cleanup` finishes it.
 */
export async function deleteSession(
  context: EngineContext,
  sessionId: SessionId,
  { by: operator, note: reason }: Pick<Attributed, "by" | "note">,
): Promise<DeleteResult> {
  const tombstone = () => executeCommand(context, sessionId, { type: "delete", reason, operator });
  const before = await context.kernel.find(sessionId).catch(ifUnreadable);
  const children = before && (await childrenOf(context, before.head));
  await context.kernel.delete(sessionId, tombstone, () => mayOperate(context.caller, "deleteSession"));
  return { sessionId, children };
}

/**
 * Checks that the phase in the answer may be seen and that its text can be read: otherwise the call would
 * change the session and then fail. A phase that does not exist is left for the transition to refuse.
 */
async function checkReadable(context: EngineContext, id: SessionId, phase?: number): Promise<PhasedSession> {
  const { session, structure, unapproved } = await loadSession(context, id, { snapshotsFirst: false });
  const number = phase ?? session.head.phase;
  const place = structure.phases.findIndex((candidate) => candidate.number === number);
  if (place < 0) return session;
  // Approvals that the rollback revokes need not count.
  const counts = ({ position }: ApprovedPass) => phase === undefined || position < place;
  if (unapproved !== undefined && counts(unapproved)) throw notAccepted(unapproved);
  await context.approvalGuard.check(session, structure, counts);
  // A rollback may skip the phase that it goes to.
  const skips = phase === undefined ? undefined : await context.pinned.skips(session, structure);
  const shown = structure.phases[landing(place, structure, skips)];
  if (shown !== undefined) await viewText(context, session, structure, shown);
  return session;
}

async function changedPhase(context: EngineContext, outcome: PhasedOutcome): Promise<ChangedPhase> {
  const { sessionId, replayed, ticks } = outcome;
  const session = await sessionNow(context, outcome);
  const structure = await context.pinned.structure(session);
  const phase = await viewPhase(context, { session, structure, ticks }, session.head.phase);
  return { sessionId, replayed, phase };
}

/** Returns the problems of the last submission at the current phase. */
async function lastProblems(
  { kernel }: EngineContext,
  { sessionId, head }: PhasedOutcome,
): Promise<readonly Problem[]> {
  if (head.submission === undefined) return [];
  const { events } = await kernel.at(sessionId, head.submission.version);
  return events.flatMap((event) => (event.type === "gate_failed" ? event.problems : []));
}

/** Returns the newest definition with the current plan, if there is one, and which tasks are still in the phase. */
async function withPlan(
  context: EngineContext,
  session: PhasedSession,
  pinned: WorkflowStructure,
  newest: WorkflowStructure,
): Promise<{ readonly structure: WorkflowStructure; readonly tasks?: TaskPairs }> {
  if (pinned.plan === undefined && newest.dynamic === undefined) return { structure: newest };
  if (session.head.status === "completed") return { structure: pinned };
  const { rereadPlan } = await loadPlanned();
  return rereadPlan(context, session, pinned, newest, "migrate");
}
