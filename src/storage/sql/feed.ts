/**
 * Watches by reading what comes after a number: when this process has written, and at an interval if others write, too. Commits
 * are numbered under the write lock, so none is missed after the last one seen.
 */
import type { Commit, SessionQuery } from "../../ports/storage-adapter.js";
import type { SessionId } from "../../workflow/names.js";
import { ifSound, Pause } from "../common/failures.js";
import { matchesQuery } from "../common/session-query.js";
import type { LogDatabase, Row } from "./database.js";
import { commitIn, numberIn } from "./rows.js";

const BATCH = 64;

interface Watcher {
  after: number;
  readonly found: Commit[];
  readonly query: SessionQuery;
  readonly pause: Pause;
}

export class CommitFeed {
  readonly #database: LogDatabase;
  readonly #interval: number | undefined;
  readonly #watchers = new Set<Watcher>();

  /** The interval is in milliseconds. Without one, nobody else writes. */
  constructor(database: LogDatabase, interval?: number) {
    this.#database = database;
    this.#interval = interval;
  }

  /** Records the end of the log immediately, then yields later commits until the signal aborts. */
  watch(query: SessionQuery, signal: AbortSignal): AsyncGenerator<Commit> {
    const after = numberIn(this.#database.prepare(this.#database.sql.last).get(), "seq");
    const watcher: Watcher = { after, found: [], query, pause: new Pause() };
    const leave = () => this.#leave(watcher);
    if (!signal.aborted) this.#watchers.add(watcher);
    signal.addEventListener("abort", leave);
    return this.#follow(watcher, () => signal.removeEventListener("abort", leave));
  }

  wake(): void {
    for (const { pause } of this.#watchers) pause.wake();
  }

  /** Called in the transaction that removes a session: lets the watchers read the commits that they have not seen. */
  keep(id: SessionId): void {
    const own = this.#database.prepare(this.#database.sql.nextOwn);
    for (const watcher of this.#watchers) this.#take(watcher, own.all(watcher.after, id));
  }

  close(): void {
    for (const watcher of this.#watchers) this.#leave(watcher);
  }

  async *#follow(watcher: Watcher, release: () => void): AsyncGenerator<Commit> {
    try {
      while (this.#watchers.has(watcher)) {
        const next = watcher.found.shift();
        if (next !== undefined) yield next;
        else if (!this.#poll(watcher)) await watcher.pause.wait(this.#interval);
      }
    } finally {
      release();
      this.#leave(watcher);
    }
  }

  #leave(watcher: Watcher): void {
    this.#watchers.delete(watcher);
    watcher.pause.wake();
  }

  /** Returns true if there was anything new. A lock counts as nothing new. */
  #poll(watcher: Watcher): boolean {
    try {
      const rows = this.#database.prepare(this.#database.sql.next).all(watcher.after, watcher.after, BATCH);
      this.#take(watcher, rows);
      const last = rows.at(-1);
      if (last !== undefined) watcher.after = numberIn(last, "seq");
      return last !== undefined;
    } catch (error) {
      if (this.#database.isLocked(error)) return false;
      throw this.#database.asFailure("watch", error);
    }
  }

  #take({ found, query }: Watcher, rows: readonly Row[]): void {
    found.push(
      ...rows
        .flatMap((row) => ifSound(() => commitIn(this.#database, row)))
        .filter(({ summary }) => matchesQuery(summary, query)),
    );
  }
}
