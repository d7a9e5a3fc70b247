import { isPhasegateError } from "../errors.js";
import type { SessionQuery, SessionStatus } from "../ports/storage-adapter.js";
import { isSessionId, type SessionId } from "../workflow/names.js";
import { reportFailure } from "./announce.js";
import { executeCommand } from "./context.js";
import type { EngineContext } from "./engine-context.js";
import { badAge, checkRetention, isAge, LIVING, type LivingStatus, type Retention } from "./options.js";
/** Which sessions a cleanup deletes. */
export interface CleanupRequest {
  /** Only sessions without a commit for this long, in milliseconds. The engine's `retention` if not given, else 7 days. */
  readonly olderThan?: number;
  /** Only sessions that stand so. If not given: those that the engine's `retention` names, or all where there is none. */
  readonly status?: readonly LivingStatus[];
}

/** What a cleanup did. */
export interface CleanupResult {
  readonly removed: readonly SessionId[];
}

const STALE_AFTER = 7 * 24 * 60 * 60 * 1000;

/**
 * Deletes stale sessions, each with its tombstone, and finishes deletions that a crash has
 * interrupted. Nothing is deleted unless the host calls it.
 */
export async function cleanup(context: EngineContext, request: CleanupRequest): Promise<CleanupResult> {
  const now = context.options.clock.now();
  checkRetention(context.options.retention ?? {});
  const ages = agesFor(request, context.options.retention);
  const removed: SessionId[] = [];
  // Deletions that were interrupted, whatever their age: those sessions are gone for everybody already.
  for await (const sessionId of phasedSessions(context, { status: ["deleted"] })) {
    if (!(await context.kernel.isTombstone(sessionId).catch(asLeft(context)))) continue;
    await context.kernel.remove(sessionId);
    removed.push(sessionId);
  }
  for (const [olderThan, status] of ages) {
    const stale = { status, updatedBefore: new Date(Math.max(0, now - olderThan)).toISOString() };
    for await (const sessionId of phasedSessions(context, stale)) {
      if (!(await bury(context, sessionId, stale))) continue;
      await context.kernel.remove(sessionId);
      removed.push(sessionId);
    }
  }
  return { removed };
}

/** The ages that are asked for, each with all statuses that it is for. */
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

/** The ids of those that a list finds, and of those that it can't show. */
async function* phasedSessions({ options }: EngineContext, query: SessionQuery): AsyncGenerator<SessionId> {
  let cursor: string | undefined;
  do {
    const page = await options.storage.list({ ...query, kind: "phased", ...(cursor === undefined ? {} : { cursor }) });
    for (const { sessionId } of page.items) yield sessionId;
    yield* (page.damaged ?? []).filter(isSessionId);
    cursor = page.cursor;
  } while (cursor !== undefined);
}

/** Writes the tombstone; false if the session is gone, or was worked on after it was found to be stale. */
async function bury(
  context: EngineContext,
  sessionId: SessionId,
  { status, updatedBefore }: { readonly status: readonly SessionStatus[]; readonly updatedBefore: string },
): Promise<boolean> {
  try {
    await executeCommand(context, sessionId, { type: "delete", reason: "stale" }, undefined, ({ at, head }) => {
      if (at >= updatedBefore || !status.includes(head.status)) throw new TouchedError();
    });
    return true;
  } catch (error) {
    if (error instanceof TouchedError || isPhasegateError(error, "SESSION_NOT_FOUND")) return false;
    return asLeft(context)(error);
  }
}

/** One session that can't be read keeps no other one from being deleted: it is left as it is, and the host is told. */
function asLeft({ notifications }: EngineContext): (error: unknown) => false {
  return (error) => {
    if (!isPhasegateError(error, "TAMPERED") && !isPhasegateError(error, "FORMAT_TOO_NEW")) throw error;
    reportFailure(notifications, "cleanup", error);
    return false;
  };
}

/** Somebody has gone on with the session meanwhile. */
class TouchedError extends Error {}
