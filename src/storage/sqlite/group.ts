/**
 * Commits of concurrent sessions share a transaction, and so the sync of the disk, which takes longest. A commit that comes
 * alone is never kept waiting: one in 32 is, for a turn of the event loop, to see whether others come.
 *
 * The idea is group commit, as databases have it for their own transactions (DeWitt et al., Implementation techniques for
 * main memory database systems, 1984).
 */
import { isPhasegateError } from "../../errors.js";
import type { Commit } from "../../ports/storage-adapter.js";
import type { CommitWriter } from "./append.js";
import type { Connection } from "./connection.js";
import type { KnownSessions } from "./read.js";
import type { PackedPayload } from "./rows.js";

/** The most commits in a transaction, and characters of their bodies: others wait for its lock. */
const COMMITS_MAX = 256;
const CHARACTERS_MAX = 8 * 1024 * 1024;
/** How many commits are written at once after one that came alone. */
const ALONE = 31;

/** A commit to write, with its payloads. */
interface Item {
  readonly commit: Omit<Commit, "payloads">;
  readonly packed: readonly PackedPayload[];
}

/** A commit that waits for the end of the turn. */
interface Waiting extends Item {
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
  /** True if several commits came together the last time. */
  #isBusy = false;
  #alone = 0;

  constructor(connection: Connection, writer: CommitWriter, known: KnownSessions) {
    this.#connection = connection;
    this.#writer = writer;
    this.#known = known;
  }

  /** Writes a commit: at once, or with others at the end of the turn. Rejects as if it were alone. */
  async append(item: Item): Promise<void> {
    if (!this.#isScheduled && this.#alone > 0) {
      this.#alone -= 1;
      return this.#writeAlone(item);
    }
    const isFirst = !this.#isScheduled && !this.#isBusy;
    this.#schedule();
    if (isFirst) return this.#writeAlone(item);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ ...item, resolve, reject });
    });
  }

  /** Writes what waits now. */
  flush(): void {
    this.#isScheduled = false;
    this.#isBusy = this.#waiting.length > 1;
    if (!this.#isBusy) this.#alone = ALONE;
    while (this.#waiting.length > 0) void this.#writeGroup(this.#takeGroup());
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.flush());
  }

  /** Takes the commits of the next transaction, at most one of a session: the next one follows it. */
  #takeGroup(): Waiting[] {
    const group = new Map<string, Waiting>();
    const left: Waiting[] = [];
    let characters = 0;
    for (const item of this.#waiting) {
      const { sessionId, body } = item.commit;
      const isFull = group.size === COMMITS_MAX || (group.size > 0 && characters + body.length > CHARACTERS_MAX);
      if (isFull || group.has(sessionId)) left.push(item);
      else {
        group.set(sessionId, item);
        characters += body.length;
      }
    }
    this.#waiting = left;
    return [...group.values()];
  }

  async #writeGroup(group: readonly Waiting[]): Promise<void> {
    let isUndone = false;
    try {
      const outcomes = await this.#write(() => {
        isUndone = false;
        try {
          return group.map((item) => this.#appendOrRefuse(item));
        } catch (error) {
          // The transaction is rolled back, and nothing of it is written.
          isUndone = true;
          throw error;
        }
      });
      for (const [index, { resolve, reject }] of group.entries()) {
        const { refused } = outcomes[index] ?? {};
        if (refused === undefined) resolve();
        else reject(refused);
      }
    } catch (error) {
      // One that can't be written must not take the others with it.
      for (const item of group) {
        if (isUndone && group.length > 1) await this.#writeAlone(item).then(item.resolve, item.reject);
        else item.reject(error);
      }
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

  async #writeAlone(item: Item): Promise<void> {
    await this.#write(() => this.#append(item));
  }

  #append({ commit, packed }: Item): void {
    const { number, seq } = this.#writer.append(commit, packed);
    // The next one in this transaction counts on it. What is not committed after all is forgotten below.
    this.#known.set(commit, number, seq);
  }

  #write<T>(work: () => T): Promise<T> {
    return this.#connection.withRetry("append", () => {
      try {
        return this.#connection.transaction("append", () => {
          this.#known.clearIfChanged();
          return work();
        });
      } catch (error) {
        this.#known.clear();
        throw error;
      }
    });
  }
}
