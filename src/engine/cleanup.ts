import type { SessionId } from "../definition/names.js";
import { isPhasegateError } from "../errors.js";
import type { SessionStatus } from "../ports/storage-adapter.js";
import { type EngineContext, executeCommand } from "./context.js";

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
  const { storage, clock } = context.options;
  const updatedBefore = new Date(clock.now() - (request.olderThan ?? STALE_AFTER)).toISOString();
  const status = request.status === undefined ? {} : { status: [...request.status, "deleted" as const] };
  const removed: SessionId[] = [];
  let cursor: string | undefined;
  do {
    const page = await storage.list({ ...status, updatedBefore, ...(cursor === undefined ? {} : { cursor }) });
    for (const { sessionId, status: standing, kind } of page.items) {
      if (kind !== "phased") continue;
      if (standing !== "deleted" && !(await bury(context, sessionId))) continue;
      await context.kernel.remove(sessionId);
      removed.push(sessionId);
    }
    cursor = page.cursor;
  } while (cursor !== undefined);
  return { removed };
}

/** Writes the tombstone; false if somebody else has deleted the session meanwhile. */
async function bury(context: EngineContext, sessionId: SessionId): Promise<boolean> {
  try {
    await executeCommand(context, sessionId, { type: "delete", reason: "stale" });
    return true;
  } catch (error) {
    if (isPhasegateError(error, "SESSION_NOT_FOUND")) return false;
    throw error;
  }
}
