/** Loads instances up to the first approval that this host does not accept, and executes commands on them. */

import { isPhasegateError, PhasegateError } from "../errors.js";
import type { Executed } from "../log/commit.js";
import type { Prepared, PreparedOr, Unwritten } from "../log/log.js";
import type { KeyedRequest } from "../log/machine.js";
import type { SessionSummary } from "../ports/storage-adapter.js";
import { parseSessionId, type SessionId } from "../workflow/names.js";
import { notBelieved } from "./approvals.js";
import type { RoutedContext } from "./options.js";
import type { RoutedCommit, RoutedSession } from "./session.js";
import type { RoutedCommand } from "./state/commands.js";
import type { RoutedEvent, RoutedHead } from "./state/events.js";
import type { UnapprovedStep } from "./types.js";

/** An instance up to the first approval that this host does not accept. */
export interface BelievedInstance<S extends RoutedSession = RoutedSession> {
  /** If it passed a gate with an approval that this host does not accept, the instance before that gate. */
  readonly session: S | RoutedCommit;
  readonly unapproved?: UnapprovedStep;
}

/** Returns the current instance. Throws `SESSION_NOT_FOUND`. */
export async function requireInstance(context: RoutedContext, instanceId: string): Promise<RoutedSession> {
  const id = parseSessionId(instanceId);
  return requireFound(await context.kernel.find(id), id);
}

/**
 * Returns an instance up to the first approval that this host does not accept. Everything that shows an
 * instance starts here.
 */
export async function believed<S extends RoutedSession>(
  context: RoutedContext,
  session: S,
): Promise<BelievedInstance<S>> {
  const unapproved = await findUnapproved(context, session);
  if (unapproved === undefined) return { session };
  return { session: await context.kernel.at(session.sessionId, unapproved.version - 1), unapproved };
}

/**
 * Returns true if a step with an approval that does not count has not been left yet: the person can be
 * asked again.
 */
export function isStillThere({ version }: UnapprovedStep, { head }: RoutedSession): boolean {
  return version > (head.answered?.version ?? 0);
}

/**
 * Decides a command on an instance and writes the outcome. Throws `SESSION_NOT_FOUND`, and
 * `APPROVAL_REFUSED` if the instance is behind an approval that this host does not accept, unless `mayUndo`
 * says that the command revokes it.
 */
export function executeOn(
  context: RoutedContext,
  id: SessionId,
  prepare: (session: RoutedSession) => Promise<Prepared<RoutedCommand>> | Prepared<RoutedCommand>,
  keyed: KeyedRequest | undefined,
  mayUndo?: (unapproved: UnapprovedStep, session: RoutedSession) => boolean,
): Promise<Executed<RoutedEvent, RoutedHead>>;
/** The same, for a command that may turn out to need no commit. */
export function executeOn<Answer>(
  context: RoutedContext,
  id: SessionId,
  prepare: (session: RoutedSession) => Promise<PreparedOr<RoutedCommand, Answer>>,
  keyed: KeyedRequest | undefined,
  mayUndo?: (unapproved: UnapprovedStep, session: RoutedSession) => boolean,
): Promise<Executed<RoutedEvent, RoutedHead> | Unwritten<Answer>>;
export function executeOn<Answer>(
  context: RoutedContext,
  id: SessionId,
  prepare: (session: RoutedSession) => Promise<PreparedOr<RoutedCommand, Answer>> | PreparedOr<RoutedCommand, Answer>,
  keyed: KeyedRequest | undefined,
  mayUndo: (unapproved: UnapprovedStep, session: RoutedSession) => boolean = () => false,
): Promise<Executed<RoutedEvent, RoutedHead> | Unwritten<Answer>> {
  return context.kernel.execute(
    id,
    async (current) => {
      const session = requireFound(current, id);
      const unapproved = await findUnapproved(context, session);
      if (unapproved !== undefined && !mayUndo(unapproved, session)) await refuse(context, session, unapproved);
      return prepare(session);
    },
    keyed,
  );
}

/**
 * Returns the summary of an instance for a list; undefined if it is gone. Throws `TAMPERED` or
 * `APPROVAL_REFUSED`.
 */
export async function lookAtInstance(context: RoutedContext, id: SessionId): Promise<SessionSummary | undefined> {
  const session = await context.kernel.newest(id);
  if (session === undefined) return undefined;
  const unapproved = await findUnapproved(context, session);
  if (unapproved !== undefined) await refuse(context, session, unapproved);
  return session.summary;
}

/**
 * Throws `APPROVAL_REFUSED` for a watched commit behind an approval that this host does not accept. Returns
 * false if its instance is gone and can't be checked any more.
 */
export async function requireBelieved(context: RoutedContext, commit: RoutedCommit): Promise<boolean> {
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

/** Checks what the kernel has read; sessions of other kinds count as missing. */
function requireFound(session: RoutedSession | undefined, id: SessionId): RoutedSession {
  if (session !== undefined && session.head.status !== "DELETED") return session;
  throw new PhasegateError("SESSION_NOT_FOUND", `there is no workflow instance ${id}`, {
    remedy: "Use the instance_id as start gave it, or start a new instance.",
    details: { sessionId: id },
  });
}

async function findUnapproved(
  { approvals, pinned }: RoutedContext,
  session: RoutedSession,
): Promise<UnapprovedStep | undefined> {
  // A deleted instance shows nothing.
  if (!approvals.knowsApprovers || session.head.status === "DELETED") return undefined;
  return approvals.unapproved(session, await pinned.structure(session));
}

async function refuse({ pinned }: RoutedContext, session: RoutedSession, unapproved: UnapprovedStep): Promise<never> {
  throw notBelieved(unapproved, await pinned.structure(session));
}
