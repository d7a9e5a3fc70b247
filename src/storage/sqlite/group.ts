/**
 * Commits of concurrent sessions share a transaction, and so the sync of the disk, which takes longest. A commit that comes
 * alone is written at once; one in 32 shows, at the end of its turn of the event loop, whether others come by now. Commits that
 * wait for another process's lock share a transaction, too.
 *
 * The idea is group commit, as databases have it for their own transactions (DeWitt et al., Implementation techniques for
 * main memory database systems, 1984).
 */
import { isPhasegateError } from "../../errors.js";
import type { Commit } from "../../ports/storage-adapter.js";
import type { CommitWriter } from "./append.js";
import type { Connection } from "./connection.js";
import { asStorageFailure, isLocked, locked } from "./failures.js";
import type { KnownSessions } from "./read.js";
import type { PackedPayload } from "./rows.js";

/** The most commits in a transaction, and characters of their bodies: while it is written, other processes wait. */
const COMMITS_MAX = 256;
const CHARACTERS_MAX = 8 * 1024 * 1024;
/** How many commits are written at once after one that came alone. */
const ALONE = 31;
/** After a group, the next commits are expected to come together for so long, in milliseconds. */
const BUSY_MS = 50;

/** A commit to write, with its payloads. */
interface Item {
  readonly commit: Omit<Commit, "payloads">;
  readonly follows: string | undefined;
  readonly packed: readonly PackedPayload[];
}

/** A commit that waits for the end of the turn, or for a lock. */
interface Waiting extends Item {
  /** When it came. */
  readonly since: number;
  /** True if it was in a transaction that failed: it gets one of its own. */
  readonly isRetried: boolean;
  resolve(): void;
  reject(error: unknown): void;
}

/** What came of a commit in a transaction: the error of one that does not follow its session's newest. */
type Outcome = { readonly refused?: unknown };

/** Writes commits, those of the same time together. */
export class CommitGroups {
  readonly #connection: Connection;
  readonly #writer: CommitWriter;
  readonly #known: KnownSessions;
  #waiting: Waiting[] = [];
  #isScheduled = false;
  /** True from the first attempt to write until nothing waits any more. */
  #isWriting = false;
  /** True if several commits came together the last time. */
  #isBusy = false;
  /** When the last group was written. */
  #metAt = 0;
  #alone = 0;

  constructor(connection: Connection, writer: CommitWriter, known: KnownSessions) {
    this.#connection = connection;
    this.#writer = writer;
    this.#known = known;
  }

  /** Writes a commit: at once, or with others at the end of the turn. Rejects as if it were alone. */
  append(item: Item): Promise<void> {
    return new Promise((resolve, reject) => {
      const since = performance.now();
      this.#waiting.push({ ...item, since, isRetried: false, resolve, reject });
      this.#isBusy &&= since - this.#metAt < BUSY_MS;
      // One that comes while others wait for a lock goes into their transaction. If each waited for itself, those of a busy
      // process would never meet again: eight processes wrote an eighth of what one did.
      const isFirst = !this.#isWriting && !this.#isScheduled;
      const isExpectedAlone = isFirst && this.#alone > 0;
      if (isExpectedAlone) this.#alone -= 1;
      else this.#schedule();
      if (isExpectedAlone || (isFirst && !this.#isBusy)) this.#write();
    });
  }

  /** Tries to write what waits now. */
  flush(): void {
    this.#isScheduled = false;
    this.#isBusy = this.#waiting.length > 1;
    if (!this.#isBusy) this.#alone = ALONE;
    if (this.#waiting.length === 0) return;
    if (!this.#isWriting) return this.#write();
    try {
      // The lock may be free before it is tried again.
      this.#writeAll();
    } catch (error) {
      if (!isLocked(error)) throw error;
    }
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.flush());
  }

  /** Writes all that waits: at once if no other process holds the lock, or when it is free. */
  #write(timeout = this.#connection.busyTimeout): void {
    this.#isWriting = true;
    const writeAll = () => {
      this.#writeAll();
      this.#isWriting = false;
    };
    this.#connection.withRetry("append", writeAll, timeout).catch((error: unknown) => this.#giveUp(error));
  }

  /** Refuses the commits that have waited long enough, and lets later ones wait on. */
  #giveUp(error: unknown): void {
    const now = performance.now();
    const left = ({ since }: Waiting) => since + this.#connection.busyTimeout - now;
    const late = this.#waiting.filter((item) => left(item) <= 0);
    this.#waiting = this.#waiting.filter((item) => left(item) > 0);
    const cause = error instanceof Error ? error.cause : error;
    for (const { since, reject } of late) reject(locked("append", Math.round(now - since), cause));
    if (this.#waiting.length === 0) this.#isWriting = false;
    else this.#write(this.#waiting.reduce((least, item) => Math.min(least, left(item)), Number.POSITIVE_INFINITY));
  }

  /** Takes the commits of the next transaction, at most one of a session: the next one follows it. */
  #takeGroup(): Waiting[] {
    if (this.#waiting[0]?.isRetried) return this.#waiting.splice(0, 1);
    const group = new Map<string, Waiting>();
    const left: Waiting[] = [];
    let characters = 0;
    let isFull = false;
    for (const item of this.#waiting) {
      const { sessionId, body } = item.commit;
      isFull ||= group.size === COMMITS_MAX || (group.size > 0 && characters + body.length > CHARACTERS_MAX);
      if (isFull || item.isRetried || group.has(sessionId)) left.push(item);
      else {
        group.set(sessionId, item);
        characters += body.length;
      }
    }
    this.#waiting = left;
    return [...group.values()];
  }

  /** Writes one transaction after the other. Throws only SQLite's error of a lock: what is left waits on. */
  #writeAll(): void {
    while (this.#waiting.length > 0) this.#writeGroup();
  }

  #writeGroup(): void {
    let group: readonly Waiting[] = [];
    let isUndone = false;
    try {
      const outcomes = this.#transaction(() => {
        group = this.#takeGroup();
        if (group.length > 1) [this.#isBusy, this.#alone] = [true, 0];
        try {
          return group.map((item) => this.#appendOrRefuse(item));
        } catch (error) {
          // The transaction is rolled back, and nothing of it is written.
          isUndone = true;
          throw error;
        }
      });
      if (group.length > 1) this.#metAt = performance.now();
      for (const [index, { resolve, reject }] of group.entries()) {
        const { refused } = outcomes[index] ?? {};
        if (refused === undefined) resolve();
        else reject(refused);
      }
    } catch (error) {
      this.#undone(group, error, isUndone);
    }
  }

  /** Rejects the commits of a failed transaction, or has them wait on. `isUndone` is true if one of them made it fail. */
  #undone(group: readonly Waiting[], error: unknown, isUndone: boolean): void {
    if (isUndone && group.length > 1) {
      // One that can't be written must not take the others with it.
      this.#waiting.unshift(...group.map((item) => ({ ...item, isRetried: true })));
    } else if (isLocked(error)) {
      // One that meets a lock by itself lets the others pass.
      if (isUndone) this.#waiting.push(...group);
      else this.#waiting.unshift(...group);
      throw error;
    } else {
      // If the transaction did not even begin, none of those that wait can have one.
      const failed = group.length > 0 ? group : this.#waiting.splice(0);
      for (const { reject } of failed) reject(asStorageFailure("append", error));
    }
  }

  #appendOrRefuse(item: Item): Outcome {
    try {
      this.#append(item);
      return {};
    } catch (error) {
      // Found before anything of it was written.
      if (isPhasegateError(error, "CONFLICT")) return { refused: error };
      throw error;
    }
  }

  #append({ commit, follows, packed }: Item): void {
    const { number, seq } = this.#writer.append(commit, follows, packed);
    // The next one in this transaction counts on it. What is not committed after all is forgotten below.
    this.#known.set(commit, number, seq);
  }

  #transaction<T>(work: () => T): T {
    try {
      return this.#connection.transaction("append", () => {
        this.#known.clearIfChanged();
        return work();
      });
    } catch (error) {
      this.#known.clear();
      throw error;
    }
  }
}
