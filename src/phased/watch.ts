/** Watches commits of sessions as any process appends them; each is checked before it is returned. */
import { PhasegateError } from "../errors.js";
import { maySee } from "../ports/actor.js";
import {
  type Commit,
  queryChecks,
  type SessionQuery,
  type SessionSummary,
  type StorageAdapter,
  type WatchOptions,
} from "../ports/storage-adapter.js";
import type { Operations } from "../runtime/operations.js";
import { checkOptions } from "../workflow/host-options.js";
import type { SessionId } from "../workflow/names.js";
import type { LoadedPhased } from "./session-decisions.js";
import type { SessionEvent } from "./state/events.js";
import type { SessionHead } from "./state/head.js";

/** A checked commit of a session. */
export interface SessionCommit {
  /** The session that was changed. */
  readonly sessionId: SessionId;
  /** 1 for the first commit, without gaps. */
  readonly version: number;
  /** The time of the decision: ISO 8601, UTC. */
  readonly at: string;
  /** The hash of the commit. */
  readonly hash: string;
  /** The session after this commit, for lists. */
  readonly summary: SessionSummary;
  /** The events in order. Large evidence is in them by its digest. */
  readonly events: readonly SessionEvent[];
  /** The session's head after this commit. */
  readonly head: SessionHead;
}

/** Selects commits by the summary that each one carries. Filters are combined with *and*. */
export type WatchQuery = Pick<SessionQuery, "status" | "workflowType" | "target" | "idPrefix">;

/**
 * Yields commits as they are appended. The storage is asked at once, so that no commit after the call is
 * missed; the reading code is loaded with the first commit.
 */
export function watchCommits(
  storage: StorageAdapter,
  operations: Operations<LoadedPhased>,
  query: WatchQuery,
  options: WatchOptions,
): AsyncIterableIterator<SessionCommit, undefined> {
  return watchKind(storage, { ...query, kind: "phased" }, options, (next) =>
    operations.guard("watch", async ({ phased, context }) => {
      for (;;) {
        const commit = await next();
        if (commit === undefined) return undefined;
        // Before it is read: one that the caller can't see must not end the watch if it is damaged.
        if (context.caller !== undefined && !maySee(context.caller, "watch", commit.summary)) continue;
        const read = phased.readCommit(context.options, commit);
        if (await phased.isAccepted(context, read)) return read;
      }
    }),
  );
}

const { status, workflowType, target, idPrefix } = queryChecks;

/**
 * Yields commits of one kind of session. `read` waits for the next one, checks and reads it, and returns
 * undefined at the end.
 */
export function watchKind<T>(
  storage: StorageAdapter,
  query: WatchQuery & { readonly kind: string },
  { signal, onReady }: WatchOptions,
  read: (next: () => Promise<Commit | undefined>) => Promise<T | undefined>,
): AsyncIterableIterator<T, undefined> {
  const { kind: _, ...asked } = query;
  checkOptions("watch", asked, { status, workflowType, target, idPrefix });
  if (storage.watch === undefined) throw unsupported();
  const end = new AbortController();
  const abort = () => end.abort();
  const commits = storage.watch(query, { signal: end.signal, onReady })[Symbol.asyncIterator]();
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
