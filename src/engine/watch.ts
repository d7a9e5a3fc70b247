/** Watches commits of sessions of any kind, as any process appends them; each is checked before it is returned. */
import { PhasegateError } from "../errors.js";
import { type Caller, maySee } from "../ports/actor.js";
import {
  type Commit,
  queryChecks,
  type SessionQuery,
  type SessionSummary,
  type StorageAdapter,
  type WatchOptions,
} from "../ports/storage-adapter.js";
import { checkOptions } from "../workflow/host-options.js";

/** Selects commits by the summary that each one carries. Filters are combined with *and*. */
export type WatchQuery = Pick<SessionQuery, "status" | "workflowType" | "target" | "idPrefix">;

const { status, workflowType, target, idPrefix } = queryChecks;

export interface Watching<Context, Seen extends { readonly summary: SessionSummary }> {
  readonly storage: StorageAdapter;
  readonly kind: string;
  /** The host itself if missing. */
  readonly caller?: Caller | undefined;
  /** Runs the wait for the next commit. */
  readonly guard: (work: (context: Context) => Promise<Seen | undefined>) => Promise<Seen | undefined>;
  /** Checks and reads a commit; undefined if it is not shown. */
  readonly read: (context: Context, commit: Commit) => Promise<Seen | undefined> | Seen;
}

/** Yields commits of one kind of session from the call on. Ends without an error when the signal aborts. */
export function watchSessions<Context, Seen extends { readonly summary: SessionSummary }>(
  { storage, kind, caller, guard, read }: Watching<Context, Seen>,
  query: WatchQuery,
  { signal, onReady }: WatchOptions,
): AsyncIterableIterator<Seen> {
  checkOptions("watch", query, { status, workflowType, target, idPrefix });
  if (storage.watch === undefined) throw unsupported();
  const end = new AbortController();
  const abort = () => end.abort();
  const commits = storage.watch({ ...query, kind }, { signal: end.signal, onReady })[Symbol.asyncIterator]();
  if (signal?.aborted) abort();
  signal?.addEventListener("abort", abort, { once: true });
  const release = () => {
    signal?.removeEventListener("abort", abort);
    abort();
  };
  const sees = (summary: SessionSummary) => caller === undefined || maySee(caller, "watch", summary);
  const nextSeen = async (context: Context): Promise<Seen | undefined> => {
    for (;;) {
      const { value: commit, done } = await commits.next();
      if (done) return undefined;
      // Checked before it is read: a damaged commit that the caller can't see must not end the watch.
      if (!sees(commit.summary)) continue;
      const seen = await read(context, commit);
      if (seen !== undefined && sees(seen.summary)) return seen;
    }
  };
  return {
    async next() {
      try {
        const value = await guard(nextSeen);
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
