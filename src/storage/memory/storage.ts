import { PhasegateError } from "../../errors.js";
import {
  type Commit,
  type Page,
  SESSION_STATUSES,
  type SessionQuery,
  type SessionSummary,
  type StorageAdapter,
} from "../../ports/storage-adapter.js";
import type { SessionId } from "../../workflow/names.js";
import { comparePositions, decodeCursor, isIsoTime, matchesQuery, pageLimit, pageOf } from "../common/session-query.js";

interface StoredSession {
  readonly commits: Commit[];
  readonly payloads: Map<string, string>;
}

/**
 * Sessions in this process's memory: for tests, and for hosts that keep nothing. Reading and appending cost the same
 * however many sessions and commits there are; what is given back is frozen.
 */
export class MemoryStorage implements StorageAdapter {
  readonly capabilities: StorageAdapter["capabilities"] = {
    durability: "memory",
    multiProcess: false,
    maxCommitBytes: Number.MAX_SAFE_INTEGER,
  };
  readonly #sessions = new Map<SessionId, StoredSession>();
  readonly #removed = new Set<SessionId>();
  readonly #watchers = new MemoryWatchers();
  /** How many sessions stand how, in all and of each kind. */
  readonly #counts = new Map<string, number>();
  /** The first summaries of all sessions, in the order of a list backwards, so that a new one goes to the end. */
  readonly #order: SessionSummary[] = [];

  async read(id: SessionId): Promise<Commit | undefined> {
    return this.#sessions.get(id)?.commits.at(-1);
  }

  async append(commit: Commit): Promise<void> {
    const { payloads = [], ...rest } = commit;
    const { sessionId: id, version } = rest;
    checkSummary(commit);
    const session = this.#sessions.get(id);
    const newest = session?.commits.at(-1);
    if (version !== (newest?.version ?? 0) + 1 || rest.previousHash !== (newest?.hash ?? "")) {
      throw conflict(commit, "it does not follow the newest version");
    }
    if (this.#removed.has(id)) throw conflict(commit, "the session was removed");
    const summary = Object.freeze({ ...rest.summary });
    const { commits, payloads: texts } = session ?? this.#begin(id, summary);
    for (const { hash, body } of payloads) texts.set(hash, body);
    commits.push(Object.freeze({ ...rest, summary }));
    if (newest !== undefined) this.#count(newest.summary, -1);
    this.#count(summary, 1);
    this.#watchers.tell(commits);
  }

  async *log(id: SessionId, options: { after?: number; limit?: number } = {}): AsyncGenerator<Commit> {
    const { after = 0, limit = Number.POSITIVE_INFINITY } = options;
    const commits = this.#sessions.get(id)?.commits ?? [];
    for (let index = after; index < after + limit; index++) {
      const commit = commits[index];
      if (commit === undefined) return;
      yield commit;
    }
  }

  async payload(id: SessionId, hash: string): Promise<string | undefined> {
    return this.#sessions.get(id)?.payloads.get(hash);
  }

  async list(query: SessionQuery): Promise<Page<SessionSummary>> {
    const limit = pageLimit(query);
    const after = query.cursor === undefined ? undefined : decodeCursor(query.cursor);
    const found: SessionSummary[] = [];
    for (let index = this.#order.length - 1; index >= 0 && found.length <= limit; index--) {
      const summary = this.#newestAt(index);
      if (summary === undefined || !matchesQuery(summary, query)) continue;
      if (after === undefined || comparePositions(summary, after) > 0) found.push(summary);
    }
    const total = this.#total(query);
    return { ...pageOf(found, limit), ...(total === undefined ? {} : { total }) };
  }

  async countActive(upTo: number): Promise<number> {
    return Math.min(this.#counts.get("active") ?? 0, upTo);
  }

  async remove(id: SessionId): Promise<void> {
    const commits = this.#sessions.get(id)?.commits ?? [];
    const [first, newest] = [commits[0], commits.at(-1)];
    if (first === undefined || newest === undefined) return;
    this.#sessions.delete(id);
    this.#count(newest.summary, -1);
    this.#removed.add(id);
    this.#order.splice(this.#place(first.summary), 1);
  }

  /** At once and without polling. A slow consumer holds no commits back: what it has not had yet lies in the log. */
  watch(query: SessionQuery, { signal }: { readonly signal: AbortSignal }): AsyncIterableIterator<Commit> {
    return this.#watchers.begin(query, signal);
  }

  #begin(id: SessionId, summary: SessionSummary): StoredSession {
    const session: StoredSession = { commits: [], payloads: new Map() };
    this.#sessions.set(id, session);
    this.#order.splice(this.#place(summary), 0, summary);
    return session;
  }

  #count({ status, kind }: SessionSummary, difference: number): void {
    for (const key of [status, `${status} ${kind}`]) this.#counts.set(key, (this.#counts.get(key) ?? 0) + difference);
  }

  /** How many sessions a query finds, where the counts tell. */
  #total({ status, workflowType, target, kind, idPrefix, updatedBefore }: SessionQuery): number | undefined {
    if ((workflowType ?? target ?? idPrefix ?? updatedBefore) !== undefined) return undefined;
    const keys = [...new Set(status ?? SESSION_STATUSES)].map((one) => (kind === undefined ? one : `${one} ${kind}`));
    return keys.reduce((total, key) => total + (this.#counts.get(key) ?? 0), 0);
  }

  #newestAt(index: number): SessionSummary | undefined {
    const first = this.#order[index];
    return first && this.#sessions.get(first.sessionId)?.commits.at(-1)?.summary;
  }

  /** Where a session is in the order, or would be. */
  #place(summary: SessionSummary): number {
    let [low, high] = [0, this.#order.length];
    if (isBefore(this.#order.at(-1), summary)) return high;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (isBefore(this.#order[middle], summary)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function isBefore(one: SessionSummary | undefined, other: SessionSummary): boolean {
  return one !== undefined && comparePositions(one, other) > 0;
}

/** What lists go by must be what they can go by. */
function checkSummary({ sessionId, summary }: Commit): void {
  if (summary.sessionId === sessionId && isIsoTime(summary.createdAt)) return;
  throw new PhasegateError("INVALID_INPUT", `The summary of a commit of session ${sessionId} is not valid`, {
    remedy: "Commits are made by the engine; a host that makes its own must follow the port's types.",
    details: { field: "summary", expected: "the commit's sessionId, and createdAt as an ISO 8601 time" },
  });
}

function conflict({ sessionId, version }: Commit, reason: string): PhasegateError {
  return new PhasegateError("CONFLICT", `Version ${version} of session ${sessionId} was refused: ${reason}`, {
    remedy: "Read the session again and repeat the command on its newest version.",
    details: { sessionId, version },
  });
}

/**
 * Who is told of commits in memory. A watcher that is slow holds no commits of its own: it remembers for each session the
 * first one that it has not given, and they lie in the session's log. So it costs as many entries as there are sessions
 * with news, however many commits there are; and a removed session's last ones are still given.
 */
class MemoryWatchers {
  readonly #watchers = new Set<MemoryWatcher>();

  /** A watcher that sees what is told from now on. */
  begin(query: SessionQuery, signal: AbortSignal): AsyncIterableIterator<Commit> {
    const watcher = new MemoryWatcher(query, signal, () => this.#watchers.delete(watcher));
    if (!signal.aborted) this.#watchers.add(watcher);
    return watcher;
  }

  /** Tells of the newest of a session's commits. */
  tell(commits: readonly Commit[]): void {
    for (const watcher of this.#watchers) watcher.tell(commits);
  }
}

class MemoryWatcher implements AsyncIterableIterator<Commit> {
  readonly #query: SessionQuery;
  readonly #signal: AbortSignal;
  readonly #release: () => void;
  /** By a session's log, the place of the first commit in it that has not been given. */
  readonly #news = new Map<readonly Commit[], number>();
  /** Those who wait for a commit, in the order in which they have asked. */
  readonly #waiting: ((result: IteratorResult<Commit>) => void)[] = [];
  readonly #end = () => void this.return();
  #ended: boolean;

  constructor(query: SessionQuery, signal: AbortSignal, release: () => void) {
    this.#query = query;
    this.#signal = signal;
    this.#release = release;
    this.#ended = signal.aborted;
    signal.addEventListener("abort", this.#end, { once: true });
  }

  tell(commits: readonly Commit[]): void {
    const newest = commits.at(-1);
    if (newest === undefined || !matchesQuery(newest.summary, this.#query)) return;
    const first = this.#waiting.shift();
    if (first !== undefined) first({ done: false, value: newest });
    else if (!this.#news.has(commits)) this.#news.set(commits, commits.length - 1);
  }

  async next(): Promise<IteratorResult<Commit>> {
    const commit = this.#ended ? undefined : this.#take();
    if (commit !== undefined) return { done: false, value: commit };
    if (this.#ended) return { done: true, value: undefined };
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  async return(): Promise<IteratorResult<Commit>> {
    this.#ended = true;
    this.#release();
    this.#signal.removeEventListener("abort", this.#end);
    this.#news.clear();
    for (const resolve of this.#waiting.splice(0)) resolve({ done: true, value: undefined });
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** The next commit that was not given yet; the session goes to the end, so that a busy one keeps no other one back. */
  #take(): Commit | undefined {
    for (const [commits, place] of this.#news) {
      this.#news.delete(commits);
      for (let at = place; at < commits.length; at += 1) {
        const commit = commits[at];
        if (commit === undefined || !matchesQuery(commit.summary, this.#query)) continue;
        if (at + 1 < commits.length) this.#news.set(commits, at + 1);
        return commit;
      }
    }
    return undefined;
  }
}
