import { setTimeout as delay } from "node:timers/promises";
import type { Commit, SessionQuery } from "../../ports/storage-adapter.js";
import type { SessionId } from "../../workflow/names.js";
import { matchesQuery } from "../common/session-query.js";
import type { Connection } from "./connection.js";
import { asStorageFailure, isLocked } from "./failures.js";
import { COMMIT_COLUMNS, commitIn, numberIn, type Row, selectCommits, type TableNames } from "./rows.js";

/** So many commits are read at once. */
const BATCH = 64;

interface Watcher {
  /** The last commit that was looked at. */
  after: number;
  readonly found: Commit[];
  readonly query: SessionQuery;
  /** Ends the pause between two looks. */
  wake: () => void;
  /** Lets go of the signal. */
  release: () => void;
}

/**
 * Commits as anybody appends them. They are numbered in the order in which they were written, under the write lock, so
 * that whoever looks for those behind the last one that he has seen misses none.
 */
export class CommitFeed {
  readonly #connection: Connection;
  readonly #sql: ReturnType<typeof statements>;
  readonly #interval: number;
  readonly #watchers = new Set<Watcher>();

  constructor(connection: Connection, names: TableNames, interval: number) {
    this.#connection = connection;
    this.#sql = statements(names);
    this.#interval = interval;
  }

  /** Looks where the log ends at once; waits for what comes then until the signal aborts. */
  watch(query: SessionQuery, signal: AbortSignal): AsyncGenerator<Commit> {
    const watcher: Watcher = { after: this.#end(), found: [], query, wake: nothing, release: nothing };
    if (signal.aborted) return this.#follow(watcher);
    const leave = () => this.#leave(watcher);
    watcher.release = () => signal.removeEventListener("abort", leave);
    signal.addEventListener("abort", leave);
    this.#watchers.add(watcher);
    return this.#follow(watcher);
  }

  /** There is something new. */
  wake(): void {
    for (const watcher of this.#watchers) watcher.wake();
  }

  /** A session is about to be removed: its commits are read by all who have not seen them. In the same transaction. */
  keep(id: SessionId): void {
    for (const watcher of this.#watchers) this.#take(watcher, this.#prepare("own").all(watcher.after, id));
  }

  close(): void {
    for (const watcher of this.#watchers) this.#leave(watcher);
  }

  async *#follow(watcher: Watcher): AsyncGenerator<Commit> {
    try {
      while (this.#watchers.has(watcher)) {
        const next = watcher.found.shift();
        if (next !== undefined) yield next;
        else if (!this.#look(watcher)) await this.#pause(watcher);
      }
    } finally {
      this.#leave(watcher);
    }
  }

  /** Whether there was anything new. A lock that somebody holds is waited for as if there were nothing. */
  #look(watcher: Watcher): boolean {
    try {
      const rows = this.#prepare("next").all(watcher.after, watcher.after, BATCH);
      this.#take(watcher, rows);
      const last = rows.at(-1);
      if (last !== undefined) watcher.after = numberIn(last, "seq");
      return last !== undefined;
    } catch (error) {
      if (isLocked(error)) return false;
      throw asStorageFailure("watch", error);
    }
  }

  #take({ found, query }: Watcher, rows: readonly Row[]): void {
    found.push(...rows.map(commitIn).filter(({ summary }) => matchesQuery(summary, query)));
  }

  #end(): number {
    return numberIn(this.#prepare("end").get() ?? {}, "seq");
  }

  async #pause(watcher: Watcher): Promise<void> {
    const waiting = new AbortController();
    watcher.wake = () => waiting.abort();
    // A pause that was ended early is over, too.
    await delay(this.#interval, undefined, { signal: waiting.signal }).catch(nothing);
  }

  #leave(watcher: Watcher): void {
    this.#watchers.delete(watcher);
    watcher.release();
    watcher.wake();
  }

  #prepare(name: keyof ReturnType<typeof statements>) {
    return this.#connection.prepare(this.#sql[name]);
  }
}

function statements(names: TableNames) {
  const { commits, removed } = names;
  return {
    end: `SELECT max(
      coalesce((SELECT max(seq) FROM ${commits}), 0), coalesce((SELECT max(seq) FROM ${removed}), 0)) AS seq`,
    next: `${selectCommits(names, "WHERE c.seq > ?")}
      UNION ALL SELECT seq, session_id, ${COMMIT_COLUMNS} FROM ${removed} WHERE seq > ? AND body IS NOT NULL
      ORDER BY 1 LIMIT ?`,
    own: selectCommits(names, "WHERE c.seq > ? AND s.session_id = ? ORDER BY c.seq"),
  };
}

function nothing(): void {}
