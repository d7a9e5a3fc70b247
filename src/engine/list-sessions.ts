import type { SessionId } from "../definition/names.js";
import { isPhasegateError } from "../errors.js";
import type { SessionQuery, SessionSummary } from "../ports/storage-adapter.js";
import { notBelieved } from "./approval/ledger.js";
import { checkedPage, type SessionPage } from "./checked-page.js";
import type { EngineContext } from "./engine-context.js";
import type { PhasedCommit, PhasedSession } from "./pinned.js";
import { reportFailure } from "./report-failure.js";

/** A page of phased sessions, each as its log has it; of those that can't be shown the host is told. */
export async function listSessions(context: EngineContext, query: SessionQuery): Promise<SessionPage> {
  const { options, notifications } = context;
  const page = await options.storage.list({ ...query, kind: "phased" });
  const lookAt = (id: SessionId) => lookAtSession(context, id);
  return checkedPage(page, query, lookAt, (error) => reportFailure(notifications, "listSessions", error));
}

/** How a session stands, out of its log; undefined if it is gone. Throws `TAMPERED` or `APPROVAL_REFUSED`. */
export async function lookAtSession(context: EngineContext, id: SessionId): Promise<SessionSummary | undefined> {
  const session = await context.kernel.newest(id);
  if (session === undefined) return undefined;
  await requireBelieved(context, session);
  return session.summary;
}

/**
 * Whether a commit that was watched stands behind no approval that this host does not believe; if it does, the host is
 * told. A session that is gone already can't be checked any more, and its commits count for nothing then.
 */
export async function isBelieved(context: EngineContext, commit: PhasedCommit): Promise<boolean> {
  try {
    await requireBelieved(context, commit);
    return true;
  } catch (error) {
    if (isPhasegateError(error, "APPROVAL_REFUSED")) reportFailure(context.notifications, "watch", error);
    else if (!isPhasegateError(error, "TAMPERED") || (await context.kernel.newest(commit.sessionId)) !== undefined)
      throw error;
    return false;
  }
}

async function requireBelieved({ pinned, approvalGuard }: EngineContext, session: PhasedSession): Promise<void> {
  const { status, completed } = session.head;
  // What is deleted claims nothing any more, and a session without a completed phase has passed no gate.
  if (status === "deleted" || completed.length === 0 || !approvalGuard.knowsApprovers) return;
  const unapproved = await approvalGuard.unapproved(session, await pinned.structure(session));
  if (unapproved !== undefined) throw notBelieved(unapproved);
}
