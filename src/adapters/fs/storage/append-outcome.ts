import type { Commit } from "../../../ports/storage-adapter.js";
import { conflict, isMissing, outcomeUnknown } from "./fs-failure.js";

/** In a session's folder, a missing file means that the session was removed meanwhile. */
export async function orConflict<T>(result: Promise<T>, { sessionId, version }: Commit) {
  return result.catch((error: unknown): never => {
    throw isMissing(error) ? conflict(sessionId, version, "the session was removed") : error;
  });
}

/**
 * The version has its name, but whether the name outlives a loss of power is not known: the call failed,
 * and the commit may be there.
 */
export async function orUnknown(synced: Promise<void>): Promise<void> {
  try {
    await synced;
  } catch (error) {
    throw outcomeUnknown(error);
  }
}
