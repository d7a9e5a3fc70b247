/** MemoryStorage: sessions in this process's memory. A watcher is told of appends directly, without polling. */
import type {
  Changes,
  Commit,
  Page,
  SessionQuery,
  SessionSummary,
  StorageAdapter,
  WatchOptions,
} from "../../ports/storage-adapter.js";
import type { SessionId } from "../../workflow/names.js";
import { Pause } from "../common/failures.js";
import {
  commitConflict,
  comparePositions,
  decodeCursor,
  decodePosition,
  encodePosition,
  invalidCommit,
  isIsoTime,
  matchesQuery,
  pageLimit,
  sessionPage,
} from "../common/session-query.js";

interface StoredSession {
  readonly commits: Commit[];
  readonly payloads: Map<string, string>;
  changed: number;
}

/** A watch. A slow one stores no commits, so its memory grows with the sessions, not with the commits. */
interface Watcher {
  readonly query: SessionQuery;
  /** For each session's log, the index of the first commit that has not been yielded. */
  readonly unseen: Map<readonly Commit[], number>;
  readonly pause: Pause;
}

/**
 * Stores sessions in memory, for tests and for hosts that keep nothing. Reads and appends take constant time, and lists go
 * through all sessions. Returned commits are frozen.
 */
export class MemoryStorage implements StorageAdapter {
  /** The durability of this storage, its limits, and whether several processes may use it. */
  readonly capabilities: StorageAdapter["capabilities"] = {
    durability: "memory",
    multiProcess: false,
    maxCommitBytes: Number.MAX_SAFE_INTEGER,
  };
  readonly #sessions = new Map<SessionId, StoredSession>();
  /** The removed sessions, with the numbers of their removals. */
  readonly #removed = new Map<SessionId, number>();
  readonly #watchers = new Set<Watcher>();
  /** Made when it is needed: Workers of Cloudflare allow no random values while a module is loaded. */
  #id: string | undefined;
  #changes = 0;

  #storageId(): string {
    this.#id ??= crypto.randomUUID();
    return this.#id;
  }

  /** Returns the newest commit of a session; undefined if there is none. */
  async read(id: SessionId): Promise<Commit | undefined> {
    return this.#sessions.get(id)?.commits.at(-1);
  }

  /** Appends a commit. */
  async append(commit: Commit): Promise<void> {
    const { sessionId: id, version, at, schema, previousHash, hash, body, payloads = [] } = commit;
    const { sessionId, createdAt } = commit.summary;
    const session = this.#sessions.get(id);
    const newest = session?.commits.at(-1);
    if (sessionId !== id) throw invalidCommit("sessionId", id);
    if (!isIsoTime(createdAt)) throw invalidCommit("summary.createdAt", createdAt);
    if (version !== (newest?.version ?? 0) + 1 || previousHash !== (newest?.hash ?? "")) {
      throw commitConflict(id, version, "it does not follow the newest version");
    }
    if (session === undefined && this.#removed.has(id)) throw commitConflict(id, version, "the session was removed");
    const stored: StoredSession = session ?? { commits: [], payloads: new Map(), changed: 0 };
    this.#sessions.set(id, stored);
    for (const { hash: digest, body: text } of payloads) {
      if (!stored.payloads.has(digest)) stored.payloads.set(digest, text);
    }
    const summary = Object.freeze({ ...commit.summary });
    stored.commits.push(Object.freeze({ sessionId: id, version, at, schema, previousHash, hash, summary, body }));
    stored.changed = ++this.#changes;
    for (const { query, unseen, pause } of this.#watchers) {
      if (unseen.has(stored.commits) || !matchesQuery(summary, query)) continue;
      unseen.set(stored.commits, version - 1);
      pause.wake();
    }
  }

  /** Yields a session's commits in order, starting after version `after`. */
  async *log(id: SessionId, options: { after?: number; limit?: number } = {}): AsyncGenerator<Commit> {
    const { after = 0, limit = Number.POSITIVE_INFINITY } = options;
    const commits = this.#sessions.get(id)?.commits ?? [];
    for (let index = after; index < after + limit; index++) {
      const commit = commits[index];
      if (commit === undefined) return;
      yield commit;
    }
  }

  /** Returns a payload's text; undefined if the session has none with this hash. */
  async payload(id: SessionId, hash: string): Promise<string | undefined> {
    return this.#sessions.get(id)?.payloads.get(hash);
  }

  /** Lists sessions, newest first. */
  async list(query: SessionQuery): Promise<Page<SessionSummary>> {
    const { workflowType, target, owner, idPrefix, updatedBefore, cursor } = query;
    const limit = pageLimit(query);
    const after = cursor === undefined ? undefined : decodeCursor(cursor);
    const found = this.#summaries().filter((summary) => matchesQuery(summary, query));
    const page = found.filter((one) => after === undefined || comparePositions(one, after) > 0).sort(comparePositions);
    const isCounted = (workflowType ?? target ?? owner ?? idPrefix ?? updatedBefore) === undefined;
    return { ...sessionPage(page, limit), ...(isCounted ? { total: found.length } : {}) };
  }

  /** Counts active sessions up to `upTo`. */
  async countActive(upTo: number): Promise<number> {
    return Math.min(this.#summaries().filter(({ status }) => status === "active").length, upTo);
  }

  /** Removes a session. Its id is never used again. */
  async remove(id: SessionId): Promise<void> {
    if (this.#sessions.delete(id)) this.#removed.set(id, ++this.#changes);
  }

  /** Returns the sessions of a kind that have changed since a position, and those that were removed. */
  async changes(kind: string, since?: string): Promise<Changes> {
    const after = since === undefined ? 0 : decodePosition(since, this.#storageId(), this.#changes);
    const changed = this.#summaries().filter((summary) => {
      return summary.kind === kind && (this.#sessions.get(summary.sessionId)?.changed ?? 0) > after;
    });
    const removed = since === undefined ? [] : [...this.#removed].filter(([, number]) => number > after);
    const sessionIds = [...changed.map(({ sessionId }) => sessionId), ...removed.map(([id]) => id)];
    return { sessionIds, position: encodePosition(this.#storageId(), this.#changes) };
  }

  /**
   * Yields commits as they are appended, without polling, and the last ones of a session that is removed. A slow consumer
   * does not block writers: pending commits stay in the log.
   */
  watch(
    query: SessionQuery,
    { signal, onReady }: WatchOptions & { readonly signal: AbortSignal },
  ): AsyncIterableIterator<Commit> {
    const watcher: Watcher = { query, unseen: new Map(), pause: new Pause() };
    const leave = () => {
      this.#watchers.delete(watcher);
      signal.removeEventListener("abort", leave);
      watcher.pause.wake();
    };
    if (!signal.aborted) this.#watchers.add(watcher);
    signal.addEventListener("abort", leave);
    onReady?.();
    return this.#follow(watcher, leave);
  }

  async *#follow(watcher: Watcher, leave: () => void): AsyncGenerator<Commit> {
    try {
      while (this.#watchers.has(watcher)) {
        const commit = takeNext(watcher);
        if (commit === undefined) await watcher.pause.wait();
        else yield commit;
      }
    } finally {
      leave();
    }
  }

  #summaries(): SessionSummary[] {
    return [...this.#sessions.values()].flatMap(({ commits }) => commits.at(-1)?.summary ?? []);
  }
}

/** The session goes to the end of the queue, so that a busy one does not block the others. */
function takeNext({ query, unseen }: Watcher): Commit | undefined {
  for (const [commits, from] of unseen) {
    unseen.delete(commits);
    const commit = commits.find(({ summary }, index) => index >= from && matchesQuery(summary, query));
    if (commit === undefined) continue;
    if (commit.version < commits.length) unseen.set(commits, commit.version);
    return commit;
  }
  return undefined;
}
