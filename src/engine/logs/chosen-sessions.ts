import { parseSessionId, type SessionId } from "../../definition/names.js";
import type { SessionQuery, StorageAdapter } from "../../ports/storage-adapter.js";
import { LogRefusal } from "./log-refusal.js";

/** Which sessions are meant; all if nothing is said. */
export interface SessionChoice {
  /** These, in this order; the filters don't count then. */
  readonly sessionIds?: readonly string[];
  /** Those that pass these filters, newest first. */
  readonly query?: Omit<SessionQuery, "limit" | "cursor">;
}

const PAGE = 100;

/**
 * Sessions that no list shows, since their newest commits can't be read: each may be one that is meant. Those who are
 * named are looked at anyway.
 */
export async function* unlistedSessions(
  storage: StorageAdapter,
  { sessionIds }: SessionChoice,
): AsyncGenerator<readonly [SessionId, LogRefusal]> {
  if (sessionIds !== undefined || storage.damaged === undefined) return;
  for await (const id of storage.damaged()) {
    yield [id, new LogRefusal("unreadable", "its newest commit can't be read, so that no list shows it")];
  }
}

/** The ids of the sessions that are meant, page by page. Throws `INVALID_INPUT` for what can't be an id. */
export async function* chosenSessions(
  storage: StorageAdapter,
  { sessionIds, query = {} }: SessionChoice,
): AsyncGenerator<SessionId> {
  if (sessionIds !== undefined) {
    yield* sessionIds.map(parseSessionId);
    return;
  }
  let cursor: string | undefined;
  do {
    const page = await storage.list({ ...query, limit: PAGE, ...(cursor === undefined ? {} : { cursor }) });
    for (const { sessionId } of page.items) yield sessionId;
    cursor = page.cursor;
  } while (cursor !== undefined);
}
