import type { SessionId } from "../definition/names.js";
import { isPhasegateError, PhasegateError } from "../errors.js";
import type { SessionQuery, SessionStatus, SessionSummary } from "../ports/storage-adapter.js";
import { executeCommand } from "./context.js";
import type { EngineContext } from "./engine-context.js";

/** Which sessions a cleanup deletes. */
export interface CleanupRequest {
  /** Only sessions without a commit for this long, in milliseconds. Default: 7 days. */
  readonly olderThan?: number;
  /** Only sessions that stand so; all if not given. */
  readonly status?: readonly Exclude<SessionStatus, "deleted">[];
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
  const { clock } = context.options;
  const { olderThan = STALE_AFTER } = request;
  if (!Number.isFinite(olderThan) || olderThan < 0) throw badAge(olderThan);
  const updatedBefore = new Date(clock.now() - olderThan).toISOString();
  const removed: SessionId[] = [];
  // Deletions that were interrupted, whatever their age: those sessions are gone for everybody already.
  for await (const { sessionId } of phasedSessions(context, { status: ["deleted"] })) {
    await context.kernel.remove(sessionId);
    removed.push(sessionId);
  }
  const status = request.status ?? (["active", "paused", "completed", "failed"] as const);
  for await (const { sessionId } of phasedSessions(context, { status, updatedBefore })) {
    if (!(await bury(context, sessionId, { status, updatedBefore }))) continue;
    await context.kernel.remove(sessionId);
    removed.push(sessionId);
  }
  return { removed };
}

async function* phasedSessions({ options }: EngineContext, query: SessionQuery): AsyncGenerator<SessionSummary> {
  let cursor: string | undefined;
  do {
    const page = await options.storage.list({ ...query, kind: "phased", ...(cursor === undefined ? {} : { cursor }) });
    yield* page.items;
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
    throw error;
  }
}

/** Somebody has gone on with the session meanwhile. */
class TouchedError extends Error {}

function badAge(olderThan: number): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", `olderThan is ${olderThan}: it must be a number of milliseconds`, {
    remedy: "Give an age in milliseconds, 0 or more; 7 days if you leave it out.",
    details: { field: "olderThan", expected: "milliseconds, 0 or more" },
  });
}
