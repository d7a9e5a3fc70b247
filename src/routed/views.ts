/**
 * Loads instances up to the first approval that this host does not accept, executes commands on them, and shows
 * their state, the next step, and what they ask a person.
 */

import { type ListedSession, waitingAs } from "../engine/lists.js";
import { isPhasegateError } from "../errors.js";
import type { Prepare, PreparedOr } from "../log/log.js";
import { fullAt } from "../phased/context.js";
import { tooManyActive } from "../phased/state/commands.js";
import { parseSessionId, type SessionId } from "../workflow/names.js";
import { FINISH } from "../workflow/routed-definition.js";
import { notAccepted, questionIn } from "./approvals.js";
import { instructionsOf, loadTexts } from "./decide.js";
import type { RoutedContext } from "./options.js";
import { type RoutedCommand, type RoutedHead, stepOf } from "./state/events.js";
import type { RoutedCommit, RoutedSession } from "./state/machine.js";
import { allowedOperations, noInstance, type RoutedOperation, setsGoing } from "./state/transition.js";
import type { RoutedQuestion, RoutedResult, RoutedView, StepView, UnapprovedStep } from "./types.js";

/** An instance up to the first approval that this host does not accept. */
export interface AcceptedInstance<S extends RoutedSession = RoutedSession> {
  /** If it passed a gate with an approval that this host does not accept, the instance before that gate. */
  readonly session: S | RoutedCommit;
  readonly unapproved?: UnapprovedStep;
}

/** Returns the current instance. Throws `SESSION_NOT_FOUND`. */
export async function requireInstance(context: RoutedContext, sessionId: string): Promise<RoutedSession> {
  const id = parseSessionId(sessionId);
  return requireFound(await context.kernel.find(id), id);
}

/** Returns an instance up to the first approval that this host does not accept. Everything that shows an instance starts here. */
export async function acceptedState<S extends RoutedSession>(
  context: RoutedContext,
  session: S,
): Promise<AcceptedInstance<S>> {
  const unapproved = await findUnapproved(context, session);
  if (unapproved === undefined) return { session };
  return { session: await context.kernel.at(session.sessionId, unapproved.version - 1), unapproved };
}

/** Returns true if a step with an approval that does not count has not been left yet: the person can be asked again. */
export function isStillThere({ version }: UnapprovedStep, { head }: RoutedSession): boolean {
  return version > (head.answered?.version ?? 0);
}

/**
 * Returns how a command on an instance is prepared. Throws `SESSION_NOT_FOUND`, and `APPROVAL_REFUSED` if the instance is
 * behind an approval that this host does not accept, unless `mayUndo` says that the command revokes it.
 */
export function prepareOn<Answer = never>(
  context: RoutedContext,
  id: SessionId,
  prepare: (
    session: RoutedSession,
    unapproved?: UnapprovedStep,
  ) => Promise<PreparedOr<RoutedCommand, Answer>> | PreparedOr<RoutedCommand, Answer>,
  mayUndo: (unapproved: UnapprovedStep, session: RoutedSession) => boolean,
): Prepare<RoutedCommand, RoutedHead, Answer> {
  return async (current) => {
    const session = requireFound(current, id);
    const unapproved = await findUnapproved(context, session);
    if (unapproved !== undefined && !mayUndo(unapproved, session)) await refuse(context, session, unapproved);
    const prepared = await prepare(session, unapproved);
    if ("command" in prepared && setsGoing(session.head, prepared.command)) await requirePlace(context);
    return prepared;
  };
}

/** Returns the summary of an instance for a list; undefined if it is gone. Throws `TAMPERED` or `APPROVAL_REFUSED`. */
export async function lookAtInstance(context: RoutedContext, id: SessionId): Promise<ListedSession | undefined> {
  const session = (await context.kernel.look(id))?.newest;
  if (session === undefined) return undefined;
  const unapproved = await findUnapproved(context, session);
  if (unapproved !== undefined) await refuse(context, session, unapproved);
  const { head, summary } = session;
  const approval = head.status === "active" && head.pending?.awaiting !== undefined;
  const host = head.status === "failed" && head.retryable && head.spent >= context.options.limits.maxAttemptsTotal;
  return waitingAs(summary, { approval, waiver: false, host });
}

/**
 * Throws `APPROVAL_REFUSED` for a watched commit behind an approval that this host does not accept. Returns
 * false if its instance is gone and can't be checked any more.
 */
export async function requireAccepted(context: RoutedContext, commit: RoutedCommit): Promise<boolean> {
  try {
    const unapproved = await findUnapproved(context, commit);
    if (unapproved !== undefined) await refuse(context, commit, unapproved);
    return true;
  } catch (error) {
    const isGone = isPhasegateError(error, "TAMPERED") && (await context.kernel.newest(commit.sessionId)) === undefined;
    if (!isGone) throw error;
    return false;
  }
}

/** Throws `SESSION_LIMIT` if as many sessions are active as the host allows. */
export async function requirePlace(context: RoutedContext): Promise<void> {
  const full = await fullAt(context);
  if (full !== undefined) throw tooManyActive(full);
}

/** Checks what the kernel has read; sessions of other kinds count as missing. */
function requireFound(session: RoutedSession | undefined, id: SessionId): RoutedSession {
  if (session !== undefined && session.head.status !== "deleted") return session;
  throw noInstance(id);
}

async function findUnapproved(
  { approvals, pinned }: RoutedContext,
  session: RoutedSession,
): Promise<UnapprovedStep | undefined> {
  // A deleted instance shows nothing.
  if (!approvals.knowsApprovers || session.head.status === "deleted") return undefined;
  return approvals.unapproved(session, await pinned.structure(session));
}

async function refuse({ pinned }: RoutedContext, session: RoutedSession, unapproved: UnapprovedStep): Promise<never> {
  throw notAccepted(unapproved, await pinned.structure(session));
}

/** Returns the state of an instance, up to the first approval that this host does not accept. */
export async function viewInstance(context: RoutedContext, session: RoutedSession): Promise<RoutedView> {
  const found = await acceptedState(context, session);
  if (found.unapproved === undefined) return viewAccepted(context, session);
  const allowed: RoutedOperation[] = isStillThere(found.unapproved, session) ? ["resume", "delete"] : ["delete"];
  const view = await viewAccepted(context, found.session);
  return { ...view, awaiting: undefined, allowed, unapproved: found.unapproved };
}

/** Returns the result of a call that moves an instance. */
export async function resultOf(
  context: RoutedContext,
  session: RoutedSession,
  replayed: boolean,
): Promise<RoutedResult> {
  const view = async (at: RoutedSession) => ({
    ...(await viewInstance(context, at)),
    nextStep: await stepView(context, at),
  });
  const answer = { ...(await view(session)), replayed };
  const latest = replayed ? await requireInstance(context, session.sessionId) : session;
  return latest.version === session.version ? answer : { ...answer, now: await view(latest) };
}

/** Returns the current step with its instructions. Throws `DEFINITION_UNAVAILABLE`. */
export async function stepView(context: RoutedContext, at: RoutedSession): Promise<StepView> {
  const { session } = await acceptedState(context, at);
  const { step = "", workflow, status } = session.head;
  // The end is the same in every workflow, also in one that no longer exists. A decider may end the work at a step.
  if (step === FINISH || status === "completed") return { name: FINISH, instructions: "Workflow complete." };
  if (step === "") return { name: step, instructions: "The first step is not decided yet: call resume." };
  const instructions = instructionsOf(await loadTexts(context, workflow), step);
  const gate = stepOf(await context.pinned.structure(session), step)?.gate;
  return { name: step, instructions, gate };
}

/** Returns what an instance asks a person; undefined if it waits for none. */
export async function questionOf(
  { kernel, pinned, options }: RoutedContext,
  session: RoutedSession,
): Promise<RoutedQuestion | undefined> {
  const { sessionId, head } = session;
  const { awaiting } = head.pending ?? {};
  if (awaiting === undefined || head.status !== "active") return undefined;
  const { steps } = await pinned.structure(session);
  const phase = steps.findIndex(({ name }) => name === head.step) + 1;
  const asked = questionIn(await kernel.at(sessionId, awaiting.version), phase);
  return asked && { ...asked, unsignedAllowed: options.approvals.unsigned };
}

async function viewAccepted(context: RoutedContext, session: RoutedSession): Promise<RoutedView> {
  const { sessionId, version, at, head } = session;
  const { workflow, revision, step, context: values, pending, createdAt, status } = head;
  if (status === "deleted") throw new Error("a deleted instance is not shown");
  const awaiting = await questionOf(context, session);
  return {
    sessionId,
    workflow,
    revision,
    status,
    currentStep: step,
    context: values,
    version,
    createdAt,
    updatedAt: at,
    completedAt: "completedAt" in head ? head.completedAt : undefined,
    reason: "reason" in head ? head.reason : undefined,
    pending: pending && awaiting === undefined ? { operation: pending.operation } : undefined,
    awaiting,
    allowed: allowedOperations(head),
  };
}
