/** MemoryStorage: sessions in this process's memory. A watcher is told of appends directly, without polling. */
import {
  type Changes,
  type Commit,
  type Page,
  SESSION_STATUSES,
  type SessionQuery,
  type SessionSummary,
  type StorageAdapter,
  type WatchOptions,
} from "../../ports/storage-adapter.js";
import type { SessionId } from "../../workflow/names.js";
import {
  commitConflict,
  comparePositions,
  decodeCursor,
  decodePosition,
  encodePosition,
  invalidCommit,
  isIsoTime,
  type ListPosition,
  matchesQuery,
  pageLimit,
  sessionPage,
} from "../common/session-query.js";

interface StoredSession {
  readonly commits: Commit[];
  readonly payloads: Map<string, string>;
  /** The number of its last change. */
  changed: number;
}

/**
 * Stores sessions in memory, for tests and for hosts that keep nothing. Reads and appends take constant time.
 * Returned commits are frozen.
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
  readonly #watchers = new MemoryWatchers();
  readonly #storageId = crypto.randomUUID();
  #changes = 0;
  /** The number of sessions by status, and by status and kind. */
  readonly #counts = new Map<string, number>();
  readonly #order = new SessionOrder();
  /** The sessions that are, or once were, on each target: a start looks for others on its own. */
  readonly #onTarget = new Map<string, SessionOrder>();

  /** Returns the newest commit of a session; undefined if there is none. */
  async read(id: SessionId): Promise<Commit | undefined> {
    return this.#sessions.get(id)?.commits.at(-1);
  }

  /**
   * Appends a commit.
   *
   * @throws {PhasegateError} `CONFLICT` when it does not follow the newest version, or the session was removed.
   * @throws {PhasegateError} `INVALID_INPUT` when its summary is not valid.
   */
  async append(commit: Commit): Promise<void> {
    const { sessionId: id, version, at, schema, previousHash, hash, body, payloads = [] } = commit;
    if (commit.summary.sessionId !== id) throw invalidCommit("sessionId", id);
    const session = this.#sessions.get(id);
    const newest = session?.commits.at(-1);
    const { createdAt } = commit.summary;
    const isKnown = newest !== undefined && createdAt === newest.summary.createdAt;
    if (!isKnown && !isIsoTime(createdAt)) throw invalidCommit("summary.createdAt", createdAt);
    if (version !== (newest?.version ?? 0) + 1 || previousHash !== (newest?.hash ?? "")) {
      throw commitConflict(id, version, "it does not follow the newest version");
    }
    if (session === undefined && this.#removed.has(id)) throw commitConflict(id, version, "the session was removed");
    const summary = Object.freeze({ ...commit.summary });
    const stored = session ?? this.#begin(id, summary);
    const { commits, payloads: texts } = stored;
    for (const payload of payloads) texts.set(payload.hash, payload.body);
    commits.push(Object.freeze({ sessionId: id, version, at, schema, previousHash, hash, summary, body }));
    stored.changed = ++this.#changes;
    if (newest !== undefined && newest.summary.target !== summary.target) this.#orderOn(summary.target).add(summary);
    if (newest?.summary.status !== summary.status || newest.summary.kind !== summary.kind) {
      if (newest !== undefined) this.#count(newest.summary, -1);
      this.#count(summary, 1);
    }
    this.#watchers.notify(commits);
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

  /**
   * Lists sessions, newest first.
   *
   * @throws {PhasegateError} `CURSOR_INVALID` when the cursor is not one of a page.
   * @throws {PhasegateError} `INVALID_INPUT` when the limit is not valid.
   */
  async list(query: SessionQuery): Promise<Page<SessionSummary>> {
    const limit = pageLimit(query);
    const after = query.cursor === undefined ? undefined : decodeCursor(query.cursor);
    const found: SessionSummary[] = [];
    const order = query.target === undefined ? this.#order : this.#onTarget.get(query.target);
    for (const id of order?.after(after) ?? []) {
      const summary = this.#sessions.get(id)?.commits.at(-1)?.summary;
      if (summary !== undefined && matchesQuery(summary, query)) found.push(summary);
      if (found.length > limit) break;
    }
    const total = this.#total(query);
    return { ...sessionPage(found, limit), ...(total === undefined ? {} : { total }) };
  }

  /** Counts active sessions up to `upTo`. */
  async countActive(upTo: number): Promise<number> {
    return Math.min(this.#counts.get("active") ?? 0, upTo);
  }

  /** Removes a session. Its id is never used again. */
  async remove(id: SessionId): Promise<void> {
    const commits = this.#sessions.get(id)?.commits ?? [];
    const [first, newest] = [commits[0], commits.at(-1)];
    if (first === undefined || newest === undefined) return;
    this.#sessions.delete(id);
    this.#count(newest.summary, -1);
    this.#removed.set(id, ++this.#changes);
    this.#order.delete(first.summary);
    for (const { target } of [first.summary, newest.summary]) {
      const order = this.#onTarget.get(target);
      order?.delete(first.summary);
      if (order?.isEmpty === true) this.#onTarget.delete(target);
    }
  }

  /**
   * Returns the sessions of a kind that have changed since a position, and those that were removed.
   *
   * @throws {PhasegateError} `CURSOR_INVALID` when the position is not one of this storage.
   */
  async changes(kind: string, since?: string): Promise<Changes> {
    const after = since === undefined ? 0 : decodePosition(since, this.#storageId, this.#changes);
    const sessionIds: SessionId[] = [];
    for (const [id, { commits, changed }] of this.#sessions) {
      if (changed > after && commits.at(-1)?.summary.kind === kind) sessionIds.push(id);
    }
    for (const [id, changed] of this.#removed) if (changed > after && since !== undefined) sessionIds.push(id);
    return { sessionIds, position: encodePosition(this.#storageId, this.#changes) };
  }

  /**
   * Yields commits as they are appended, without polling. A slow consumer does not block writers: pending commits
   * stay in the log.
   */
  watch(
    query: SessionQuery,
    { signal, onReady }: WatchOptions & { readonly signal: AbortSignal },
  ): AsyncIterableIterator<Commit> {
    const watched = this.#watchers.begin(query, signal);
    onReady?.();
    return watched;
  }

  #begin(id: SessionId, summary: SessionSummary): StoredSession {
    const session: StoredSession = { commits: [], payloads: new Map(), changed: 0 };
    this.#sessions.set(id, session);
    this.#order.add(summary);
    this.#orderOn(summary.target).add(summary);
    return session;
  }

  #orderOn(target: string): SessionOrder {
    const known = this.#onTarget.get(target);
    if (known !== undefined) return known;
    const order = new SessionOrder();
    this.#onTarget.set(target, order);
    return order;
  }

  #count({ status, kind }: SessionSummary, difference: number): void {
    for (const key of [status, `${status} ${kind}`]) this.#counts.set(key, (this.#counts.get(key) ?? 0) + difference);
  }

  /** Returns the total number of results, if the counts tell it. */
  #total({ status, workflowType, target, owner, kind, idPrefix, updatedBefore }: SessionQuery): number | undefined {
    if ((workflowType ?? target ?? owner ?? idPrefix ?? updatedBefore) !== undefined) return undefined;
    const keys = [...new Set(status ?? SESSION_STATUSES)].map((one) => (kind === undefined ? one : `${one} ${kind}`));
    return keys.reduce((total, key) => total + (this.#counts.get(key) ?? 0), 0);
  }
}

/** Sessions in the order of lists, each once. They are kept in reverse, so that a new session goes to the end. */
class SessionOrder {
  readonly #sessions: SessionSummary[] = [];

  get isEmpty(): boolean {
    return this.#sessions.length === 0;
  }

  /** Yields the ids of the sessions after a position, or of all. */
  *after(position: ListPosition | undefined): Generator<SessionId> {
    const end = position === undefined ? this.#sessions.length : this.#placeOf(position);
    for (let index = end - 1; index >= 0; index--) {
      const session = this.#sessions[index];
      if (session !== undefined) yield session.sessionId;
    }
  }

  add(session: SessionSummary): void {
    const place = this.#placeOf(session);
    if (this.#sessions[place]?.sessionId !== session.sessionId) this.#sessions.splice(place, 0, session);
  }

  delete(session: SessionSummary): void {
    const place = this.#placeOf(session);
    if (this.#sessions[place]?.sessionId === session.sessionId) this.#sessions.splice(place, 1);
  }

  /** Returns the index of a position, or where it belongs. */
  #placeOf(position: ListPosition): number {
    let [low, high] = [0, this.#sessions.length];
    if (isBefore(this.#sessions.at(-1), position)) return high;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (isBefore(this.#sessions[middle], position)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function isBefore(one: ListPosition | undefined, other: ListPosition): boolean {
  return one !== undefined && comparePositions(one, other) > 0;
}

/**
 * The watchers of a memory store. A slow watcher stores no commits: for each session it remembers the index of the
 * first commit that it has not yielded, so its memory grows with the sessions, not with the commits. The last commits
 * of a removed session are still yielded.
 */
class MemoryWatchers {
  readonly #watchers = new Set<MemoryWatcher>();

  /** Starts a watcher that sees all later commits. */
  begin(query: SessionQuery, signal: AbortSignal): AsyncIterableIterator<Commit> {
    const watcher = new MemoryWatcher(query, signal, () => this.#watchers.delete(watcher));
    if (!signal.aborted) this.#watchers.add(watcher);
    return watcher;
  }

  /** Notifies the watchers of a session's newest commit. */
  notify(commits: readonly Commit[]): void {
    for (const watcher of this.#watchers) watcher.notify(commits);
  }
}

class MemoryWatcher implements AsyncIterableIterator<Commit> {
  readonly #query: SessionQuery;
  readonly #signal: AbortSignal;
  readonly #release: () => void;
  /** For each session's log, the index of the first commit that has not been yielded. */
  readonly #unseen = new Map<readonly Commit[], number>();
  /** Pending calls of `next`, in order. */
  readonly #pending: ((result: IteratorResult<Commit>) => void)[] = [];
  readonly #end = () => void this.return();
  #ended: boolean;

  constructor(query: SessionQuery, signal: AbortSignal, release: () => void) {
    this.#query = query;
    this.#signal = signal;
    this.#release = release;
    this.#ended = signal.aborted;
    signal.addEventListener("abort", this.#end, { once: true });
  }

  notify(commits: readonly Commit[]): void {
    const newest = commits.at(-1);
    if (newest === undefined || !matchesQuery(newest.summary, this.#query)) return;
    const first = this.#pending.shift();
    if (first !== undefined) first({ done: false, value: newest });
    else if (!this.#unseen.has(commits)) this.#unseen.set(commits, commits.length - 1);
  }

  async next(): Promise<IteratorResult<Commit>> {
    const commit = this.#ended ? undefined : this.#take();
    if (commit !== undefined) return { done: false, value: commit };
    if (this.#ended) return { done: true, value: undefined };
    return new Promise((resolve) => this.#pending.push(resolve));
  }

  async return(): Promise<IteratorResult<Commit>> {
    this.#ended = true;
    this.#release();
    this.#signal.removeEventListener("abort", this.#end);
    this.#unseen.clear();
    for (const resolve of this.#pending.splice(0)) resolve({ done: true, value: undefined });
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /**
   * Returns the next commit that was not yielded. Its session goes to the end of the queue, so that a busy session
   * does not block the others.
   */
  #take(): Commit | undefined {
    for (const [commits, place] of this.#unseen) {
      this.#unseen.delete(commits);
      for (let at = place; at < commits.length; at += 1) {
        const commit = commits[at];
        if (commit === undefined || !matchesQuery(commit.summary, this.#query)) continue;
        if (at + 1 < commits.length) this.#unseen.set(commits, at + 1);
        return commit;
      }
    }
    return undefined;
  }
}
