/** Reads from the log what a session asks a person, and the last denial. */

import { loadEvidence } from "../artifacts.js";
import type { EngineContext, LoadedSession } from "../engine-context.js";
import type { PhasedCommit, PhasedSession } from "../pinned.js";
import type { EventOf } from "../state/events.js";
import { type ApprovalRequest, type AwaitedApproval, awaitedBy, type Denial } from "./awaited.js";
import { notBelieved } from "./ledger.js";

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
