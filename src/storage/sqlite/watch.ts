/**
 * Watches commits by polling. Commits are numbered under the write lock, so whoever reads those after the last one
 * seen misses none.
 */
import { setTimeout as delay } from "node:timers/promises";
import { isPhasegateError } from "../../errors.js";
import type { Commit, SessionQuery } from "../../ports/storage-adapter.js";
import type { SessionId } from "../../workflow/names.js";
import { matchesQuery } from "../common/session-query.js";
import type { Connection } from "./connection.js";
import { asStorageFailure, isLocked } from "./failures.js";
import { COMMIT_COLUMNS, commitIn, numberIn, type Row, selectCommits, type TableNames } from "./rows.js";

/** Commits read per query. */
const BATCH = 64;

interface Watcher {
  /** The number of the last commit that was read. */
  after: number;
  readonly found: Commit[];
  readonly query: SessionQuery;
  /** Ends the pause between two polls. */
  wake: () => void;
  /** Removes the abort listener. */
  release: () => void;
}

/** Yields commits as they are appended by any process. */
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

  /** Records the end of the log immediately, then yields later commits until the signal aborts. */
  watch(query: SessionQuery, signal: AbortSignal): AsyncGenerator<Commit> {
    const watcher: Watcher = { after: this.#end(), found: [], query, wake: nothing, release: nothing };
    if (signal.aborted) return this.#follow(watcher);
    const leave = () => this.#leave(watcher);
    watcher.release = () => signal.removeEventListener("abort", leave);
    signal.addEventListener("abort", leave);
    this.#watchers.add(watcher);
    return this.#follow(watcher);
  }

  /** Makes all watchers poll now. */
  wake(): void {
    for (const watcher of this.#watchers) watcher.wake();
  }

  /** Called in the transaction that removes a session: lets the watchers read the commits that they have not seen. */
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
        else if (!this.#poll(watcher)) await this.#pause(watcher);
      }
    } finally {
      this.#leave(watcher);
    }
  }

  /** Returns true if there was anything new. A lock counts as nothing new. */
  #poll(watcher: Watcher): boolean {
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
    found.push(...rows.flatMap(ifSound).filter(({ summary }) => matchesQuery(summary, query)));
  }

  #end(): number {
    return numberIn(this.#prepare("end").get() ?? {}, "seq");
  }

  async #pause(watcher: Watcher): Promise<void> {
    const waiting = new AbortController();
    watcher.wake = () => waiting.abort();
    // An aborted delay is a pause that ended early.
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

/** Returns the commit in a row, unless it is damaged: reading its session reports the damage. */
function ifSound(row: Row): Commit[] {
  try {
    return [commitIn(row)];
  } catch (error) {
    if (isPhasegateError(error, "TAMPERED")) return [];
    throw error;
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
