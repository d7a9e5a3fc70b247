import { isPhasegateError, PhasegateError } from "../errors.js";
import type { Executed } from "../log/commit.js";
import type { Prepared } from "../log/log.js";
import type { KeyedRequest } from "../log/machine.js";
import type { SessionSummary } from "../ports/storage-adapter.js";
import { parseSessionId, type SessionId } from "../workflow/names.js";
import { notBelieved } from "./approval-guard.js";
import type { RoutedContext } from "./options.js";
import type { RoutedCommit, RoutedSession } from "./session.js";
import type { RoutedCommand } from "./state/commands.js";
import type { RoutedEvent, RoutedHead } from "./state/events.js";
import type { UnapprovedStep } from "./types.js";
/** An instance as far as this host believes its log. */
export interface BelievedInstance<S extends RoutedSession = RoutedSession> {
  /** Where it was let past a gate on an approval that this host does not believe, the instance before that. */
  readonly session: S | RoutedCommit;
  readonly unapproved?: UnapprovedStep;
}

/** An instance as it stands. Throws `SESSION_NOT_FOUND`. */
export async function requireInstance(context: RoutedContext, instanceId: string): Promise<RoutedSession> {
  const id = parseSessionId(instanceId);
  return requireFound(await context.kernel.find(id), id);
}

/** The same for what the kernel has read; sessions of other kinds are none of ours. */
function requireFound(session: RoutedSession | undefined, id: SessionId): RoutedSession {
  if (session !== undefined && session.head.status !== "DELETED") return session;
  throw new PhasegateError("SESSION_NOT_FOUND", `there is no workflow instance ${id}`, {
    remedy: "Use the instance_id as start gave it, or start a new instance.",
    details: { sessionId: id },
  });
}

/** An instance as far as this host believes its log. Whatever shows one begins here. */
export async function believed<S extends RoutedSession>(
  context: RoutedContext,
  session: S,
): Promise<BelievedInstance<S>> {
  const unapproved = await findUnapproved(context, session);
  if (unapproved === undefined) return { session };
  return { session: await context.kernel.at(session.sessionId, unapproved.version - 1), unapproved };
}

/** Whether a step with an approval that doesn't count has not been left yet: a person can be asked again then. */
export function isStillThere({ version }: UnapprovedStep, { head }: RoutedSession): boolean {
  return version > (head.answered?.version ?? 0);
}

/**
 * Decides a command on an instance, and writes the outcome. Throws `SESSION_NOT_FOUND`; and `APPROVAL_REFUSED` where the
 * instance stands behind an approval that this host does not believe, unless the command `mayUndo` that.
 */
export function executeOn(
  context: RoutedContext,
  id: SessionId,
  prepare: (session: RoutedSession) => Promise<Prepared<RoutedCommand>> | Prepared<RoutedCommand>,
  keyed: KeyedRequest | undefined,
  mayUndo: (unapproved: UnapprovedStep, session: RoutedSession) => boolean = () => false,
): Promise<Executed<RoutedEvent, RoutedHead>> {
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

/** How an instance stands, for a list; undefined if it is gone. Throws `TAMPERED` or `APPROVAL_REFUSED`. */
export async function lookAtInstance(context: RoutedContext, id: SessionId): Promise<SessionSummary | undefined> {
  const session = await context.kernel.newest(id);
  if (session === undefined) return undefined;
  const unapproved = await findUnapproved(context, session);
  if (unapproved !== undefined) await refuse(context, session, unapproved);
  return session.summary;
}

/**
 * Throws `APPROVAL_REFUSED` for a commit that was watched and stands behind an approval that this host does not believe.
 * False if its instance is gone already, and can't be checked any more.
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

async function findUnapproved(
  { approvals, pinned }: RoutedContext,
  session: RoutedSession,
): Promise<UnapprovedStep | undefined> {
  // What is deleted claims nothing any more.
  if (!approvals.knowsApprovers || session.head.status === "DELETED") return undefined;
  return approvals.unapproved(session, await pinned.structure(session));
}

async function refuse({ pinned }: RoutedContext, session: RoutedSession, unapproved: UnapprovedStep): Promise<never> {
  throw notBelieved(unapproved, await pinned.structure(session));
}
