/**
 * Deletes sessions without recent commits, each with a tombstone, and finishes interrupted deletions.
 * Nothing is deleted unless the host calls it.
 */

import { isPhasegateError } from "../errors.js";
import type { SessionQuery, SessionStatus } from "../ports/storage-adapter.js";
import { isSessionId, type SessionId } from "../workflow/names.js";
import { executeCommand } from "./context.js";
import type { EngineContext } from "./engine-context.js";
import { badAge, checkRetention, isAge, LIVING, type LivingStatus, type Retention } from "./options.js";
import type { PhasedSession } from "./pinned.js";

/** Selects the sessions to delete. */
export interface CleanupRequest {
  /**
   * Only sessions without a commit for this long, in milliseconds. Default: the engine's `retention`, else
   * 7 days.
   */
  readonly olderThan?: number;
  /**
   * Only sessions in one of these states. Default: those in the engine's `retention`, or all if it has
   * none.
   */
  readonly status?: readonly LivingStatus[];
}

/** The result of a cleanup. */
export interface CleanupResult {
  /** The ids of the deleted sessions. */
  readonly removed: readonly SessionId[];
}

/** Deletes stale sessions and finishes interrupted deletions. */
export async function cleanup(context: EngineContext, request: CleanupRequest): Promise<CleanupResult> {
  const now = context.options.clock.now();
  checkRetention(context.options.retention ?? {});
  const ages = agesFor(request, context.options.retention);
  const removed: SessionId[] = [];
  // Interrupted deletions are finished whatever their age.
  for await (const sessionId of phasedSessions(context, { status: ["deleted"] })) {
    if (!(await context.kernel.isTombstone(sessionId).catch(keepUnreadable(context)))) continue;
    await context.kernel.remove(sessionId);
    removed.push(sessionId);
  }
  for (const [olderThan, status] of ages) {
    const stale = { status, updatedBefore: new Date(Math.max(0, now - olderThan)).toISOString() };
    for await (const sessionId of phasedSessions(context, stale)) {
      if (!(await writeTombstone(context, sessionId, stale))) continue;
      await context.kernel.remove(sessionId);
      removed.push(sessionId);
    }
  }
  return { removed };
}

const STALE_AFTER = 7 * 24 * 60 * 60 * 1000;

/** Groups the statuses by the age that applies to them. */
function agesFor(request: CleanupRequest, retention: Retention | undefined): Map<number, LivingStatus[]> {
  const { olderThan } = request;
  const ofRetention = olderThan === undefined && retention !== undefined;
  const statuses =
    request.status ?? (ofRetention ? LIVING.filter((status) => retention[status] !== undefined) : LIVING);
  const ages = new Map<number, LivingStatus[]>();
  for (const status of new Set(statuses)) {
    const age = olderThan ?? retention?.[status] ?? STALE_AFTER;
    if (!isAge(age)) throw badAge("olderThan", age);
    ages.set(age, [...(ages.get(age) ?? []), status]);
  }
  return ages;
}

/** Yields the ids of all matches, including sessions that a list can't show. */
async function* phasedSessions({ options }: EngineContext, query: SessionQuery): AsyncGenerator<SessionId> {
  let cursor: string | undefined;
  do {
    const page = await options.storage.list({ ...query, kind: "phased", ...(cursor === undefined ? {} : { cursor }) });
    for (const { sessionId } of page.items) yield sessionId;
    yield* (page.damaged ?? []).filter(isSessionId);
    cursor = page.cursor;
  } while (cursor !== undefined);
}

/** Keeps a session that can't be read, and reports it to the host, so that it does not block the others. */
function keepUnreadable({ notifications }: EngineContext): (error: unknown) => false {
  return (error) => {
    if (!isPhasegateError(error, "TAMPERED") && !isPhasegateError(error, "FORMAT_TOO_NEW")) throw error;
    notifications.report("cleanup", error);
    return false;
  };
}

/**
 * Writes the tombstone; returns false if the session is gone, or was changed after it was found to be
 * stale.
 */
async function writeTombstone(
  context: EngineContext,
  sessionId: SessionId,
  { status, updatedBefore }: { readonly status: readonly SessionStatus[]; readonly updatedBefore: string },
): Promise<boolean> {
  try {
    const command = { type: "delete", reason: "stale" } as const;
    const isStale = ({ at, head }: PhasedSession) => at < updatedBefore && status.includes(head.status);
    return (await executeCommand(context, sessionId, command, undefined, isStale)) !== undefined;
  } catch (error) {
    if (isPhasegateError(error, "SESSION_NOT_FOUND")) return false;
    return keepUnreadable(context)(error);
  }
}
