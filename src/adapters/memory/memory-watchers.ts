import type { Commit, SessionQuery } from "../../ports/storage-adapter.js";
import { matchesQuery } from "../session-query.js";

/**
 * Who is told of commits in memory. A watcher that is slow holds no commits of its own: it remembers for each session the
 * first one that it has not given, and they lie in the session's log. So it costs as many entries as there are sessions
 * with news, however many commits there are; and a removed session's last ones are still given.
 */
export class MemoryWatchers {
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
