import { isPhasegateError } from "../../errors.js";
import type { Commit, SessionQuery } from "../../ports/storage-adapter.js";
import { matchesQuery } from "../session-query.js";
import { Alarm } from "./alarm.js";
import type { Asking } from "./asking.js";
import type { CommitFeed, FeedPosition } from "./commit-feed.js";
import type { Connections } from "./connections.js";
import { Listener } from "./listener.js";

/** What `watch` is made of. */
export interface WatchParts {
  readonly connections: Connections;
  /** Asks without patience: `watch` has its own. */
  readonly asking: Asking;
  readonly feed: CommitFeed;
  readonly schema: string;
  /** How often to look where nothing wakes. */
  readonly pollMs: number;
}

/** Gives commits from a position on as they come, until the signal aborts. */
export async function* watchCommits(
  parts: WatchParts,
  begun: Promise<FeedPosition>,
  query: SessionQuery,
  signal: AbortSignal,
): AsyncGenerator<Commit> {
  const alarm = new Alarm();
  const wake = () => alarm.ring();
  signal.addEventListener("abort", wake);
  let listener: Listener | undefined;
  try {
    let position = await begun;
    if (!signal.aborted) listener = new Listener(parts.connections, parts.schema, wake);
    while (!signal.aborted) {
      for await (const { commits, to } of look(parts, position)) {
        for (const commit of commits) {
          if (signal.aborted) return;
          if (matchesQuery(commit.summary, query)) yield commit;
        }
        position = to;
      }
      if (!signal.aborted) await alarm.sleep(parts.pollMs);
    }
  } finally {
    signal.removeEventListener("abort", wake);
    await listener?.close();
  }
}

/** What is new; less of it where the connection is lost in the middle. The next look goes on from there. */
async function* look({ asking, feed }: WatchParts, position: FeedPosition): ReturnType<CommitFeed["since"]> {
  try {
    yield* feed.since(position);
  } catch (error) {
    if (!isPhasegateError(error, "STORAGE_FAILED") || !asking.mayRepeat(error.cause)) throw error;
  }
}
