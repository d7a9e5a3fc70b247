import { PhasegateError } from "../errors.js";
import type { Commit, SessionQuery, SessionSummary, StorageAdapter } from "../ports/storage-adapter.js";
import type { SessionId } from "../workflow/names.js";
import type { Operations } from "./operations.js";
import type { SessionEvent } from "./state/events.js";
import type { SessionHead } from "./state/head.js";
/** A commit of a session, as it was stored and checked: what has happened, and where the session stands after it. */
export interface SessionCommit {
  readonly sessionId: SessionId;
  /** 1 for the first, without gaps. */
  readonly version: number;
  /** When it was decided: ISO 8601, UTC. */
  readonly at: string;
  readonly hash: string;
  readonly summary: SessionSummary;
  /** What has happened, in order. Large evidence stands in it by its digest. */
  readonly events: readonly SessionEvent[];
  readonly head: SessionHead;
}

/** Which commits are watched, by the summary that each one carries. Filters are joined by *and*. */
export type WatchQuery = Pick<SessionQuery, "status" | "workflowType" | "target" | "idPrefix">;

/**
 * Commits as they are appended, each checked and read. The storage is asked at once, so that nothing is missed which is
 * appended after the call; the first commit loads what reads it.
 */
export function watchCommits(
  storage: StorageAdapter,
  operations: Operations,
  query: WatchQuery,
  signal: AbortSignal | undefined,
): AsyncIterableIterator<SessionCommit, undefined> {
  return watchKind(storage, { ...query, kind: "phased" }, signal, (next) =>
    operations.guard("watch", async (phased, context) => {
      for (;;) {
        const commit = await next();
        if (commit === undefined) return undefined;
        const read = phased.readCommit(context.options, commit);
        if (await phased.isBelieved(context, read)) return read;
      }
    }),
  );
}

/** Commits of one kind of session; `read` waits for the next one, checks it and reads it, and gives undefined at the end. */
export function watchKind<T>(
  storage: StorageAdapter,
  query: WatchQuery & { readonly kind: string },
  signal: AbortSignal | undefined,
  read: (next: () => Promise<Commit | undefined>) => Promise<T | undefined>,
): AsyncIterableIterator<T, undefined> {
  if (storage.watch === undefined) throw unsupported();
  const end = new AbortController();
  const abort = () => end.abort();
  const commits = storage.watch(query, { signal: end.signal })[Symbol.asyncIterator]();
  if (signal?.aborted) abort();
  signal?.addEventListener("abort", abort, { once: true });
  const release = () => {
    signal?.removeEventListener("abort", abort);
    abort();
  };
  return {
    async next() {
      try {
        const value = await read(async () => {
          const { value: commit, done } = await commits.next();
          return done ? undefined : commit;
        });
        if (value !== undefined) return { done: false, value };
      } catch (error) {
        release();
        throw error;
      }
      release();
      return { done: true, value: undefined };
    },
    async return() {
      release();
      await commits.return?.();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

function unsupported(): PhasegateError<"UNSUPPORTED"> {
  return new PhasegateError("UNSUPPORTED", "this storage can't be watched", {
    remedy: "Use an adapter that has watch, or list the sessions.",
    details: { operation: "watch" },
  });
}
