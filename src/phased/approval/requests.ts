/** What sessions ask people: the approval that one session waits for, those of all sessions, and the last denial. */

import { isPhasegateError } from "../../errors.js";
import { isSessionId, type SessionId } from "../../workflow/names.js";
import { loadEvidence } from "../artifacts.js";
import { believed } from "../context.js";
import type { EngineContext, LoadedSession } from "../engine-context.js";
import type { PhasedCommit, PhasedSession } from "../pinned.js";
import type { EventOf } from "../state/events.js";
import { type ApprovalRequest, type AwaitedApproval, awaitedBy, type Denial, notBelieved } from "./ledger.js";

/** A question and its commit. */
export interface Asked {
  readonly commit: PhasedCommit;
  readonly event: EventOf<"approval_requested">;
}

/** Returns the question that a session waits on; undefined if there is none. */
export async function loadAsked({ kernel }: EngineContext, session: PhasedSession): Promise<Asked | undefined> {
  const { awaiting, status } = session.head;
  if (awaiting === undefined || status !== "active") return undefined;
  const commit = await kernel.at(session.sessionId, awaiting.version);
  const event = commit.events.find((candidate) => candidate.type === "approval_requested");
  return event === undefined ? undefined : { commit, event };
}

/** Returns the approval that a session waits for; undefined if there is none. */
export async function viewAwaited(
  context: EngineContext,
  session: PhasedSession,
): Promise<AwaitedApproval | undefined> {
  const asked = await loadAsked(context, session);
  return asked === undefined ? undefined : awaitedBy(asked.commit, asked.event);
}

/**
 * Returns the awaited approval with its evidence. Throws `APPROVAL_REFUSED` if the session passed a gate
 * with an approval that does not count.
 */
export async function viewRequest(
  context: EngineContext,
  { session, unapproved }: LoadedSession,
): Promise<ApprovalRequest | undefined> {
  if (unapproved !== undefined) throw notBelieved(unapproved);
  const asked = await loadAsked(context, session);
  if (asked === undefined) return undefined;
  const { commit, event } = asked;
  return {
    ...awaitedBy(commit, event),
    target: commit.head.target,
    evidence: await loadEvidence(context, commit, event.evidence),
    verification: event.verification ?? [],
    warnings: event.warnings ?? [],
    unsignedAllowed: context.options.approvals.unsigned,
  };
}

/** Returns the denial that ended the last submission at the current phase; undefined if it ended otherwise. */
export async function viewDenial({ kernel }: EngineContext, session: PhasedSession): Promise<Denial | undefined> {
  const { submission, awaiting } = session.head;
  if (submission === undefined || awaiting !== undefined) return undefined;
  const { events, at } = await kernel.at(session.sessionId, submission.version);
  const denied = events.find((event) => event.type === "denied");
  return denied && { by: denied.by, note: denied.note, authenticated: denied.authenticated, at };
}

/** The number of sessions that are listed at once. */
const PAGE = 100;

/** Lists the approvals that all active sessions wait for, newest session first. Reads the head of each. */
export async function listApprovals(context: EngineContext): Promise<readonly AwaitedApproval[]> {
  const { options } = context;
  const found: AwaitedApproval[] = [];
  let cursor: string | undefined;
  do {
    const query = {
      kind: "phased",
      status: ["active"],
      limit: PAGE,
      ...(cursor === undefined ? {} : { cursor }),
    } as const;
    const page = await options.storage.list(query);
    for (const id of [...page.items.map(({ sessionId }) => sessionId), ...(page.damaged ?? [])]) {
      const awaited = isSessionId(id) ? await awaitedIn(context, id) : undefined;
      if (awaited !== undefined) found.push(awaited);
    }
    cursor = page.cursor;
  } while (cursor !== undefined);
  return found;
}

/**
 * Reports a tampered session, or one with an approval that this host does not accept, to the host and omits
 * it, so that it does not hide the others.
 */
async function awaitedIn(context: EngineContext, sessionId: SessionId): Promise<AwaitedApproval | undefined> {
  try {
    const session = await context.kernel.find(sessionId);
    if (session?.head.awaiting === undefined) return undefined;
    const { unapproved } = await believed(context, session);
    if (unapproved !== undefined) throw notBelieved(unapproved);
    return await viewAwaited(context, session);
  } catch (error) {
    if (!isPhasegateError(error, "TAMPERED") && !isPhasegateError(error, "APPROVAL_REFUSED")) throw error;
    context.notifications.report("approvals", error);
    return undefined;
  }
}
