/**
 * Writes commits. Commits of concurrent sessions share a transaction, and so the sync of the disk, which
 * takes longest: with a hundred sessions at once, that is many times as many commits a second. Commits that wait for another
 * process's lock share a transaction, too.
 *
 * The idea is group commit, as databases have it for their own transactions (DeWitt et al., Implementation techniques for
 * main memory database systems, 1984).
 */
import { isPhasegateError } from "../../errors.js";
import type { Commit } from "../../ports/storage-adapter.js";
import type { SessionId } from "../../workflow/names.js";
import { takeGroup } from "../common/session-query.js";
import { appendCommit, storePayload } from "../sql/append.js";
import { changeOne } from "../sql/database.js";
import { numberIn, storedText } from "../sql/rows.js";
import { type Connection, pauseAfter } from "./connection.js";
import { asStorageFailure, isLocked, locked } from "./failures.js";
import type { PackedPayload } from "./payloads.js";

/** A commit to write, with its payloads, and the body of the commit before if it must have this one. */
interface Item {
  readonly commit: Omit<Commit, "payloads">;
  readonly follows: string | undefined;
  readonly packed: readonly PackedPayload[];
}

/** Writes a commit with its payloads, in a transaction. */
function writeItem(connection: Connection, { commit, follows, packed }: Item): void {
  const session = appendCommit(connection, commit, { follows, body: storedText(commit.body) });
  for (const { hash, bytes } of packed) storePayload(connection, session, hash, bytes);
}

/** The key of a temporary payload row. It is not a digest, so no payload has it. */
const TOUCHED = "settled";

/** Causes a sync without a change, by two writes: SQLite skips a single write that leaves a row unchanged. */
export function touch(connection: Connection, id: SessionId): void {
  const { names, sql } = connection;
  const newest = connection.prepare(sql.newest).get(id);
  if (newest === undefined) return;
  const session = numberIn(newest, "number");
  changeOne(connection, names.payloads, sql.store, [session, TOUCHED, new Uint8Array()]);
  changeOne(connection, names.payloads, sql.drop, [session, TOUCHED]);
}

/** The most commits in a transaction, and characters of their bodies: while it is written, other processes wait. */
const COMMITS_MAX = 256;
const CHARACTERS_MAX = 8 * 1024 * 1024;

interface Waiting extends Item {
  readonly sessionId: SessionId;
  readonly characters: number;
  readonly since: number;
  resolve(): void;
  reject(error: unknown): void;
}

/** Writes commits: those of a turn of the event loop together. */
export class CommitGroups {
  readonly #connection: Connection;
  #waiting: Waiting[] = [];
  /** Those of a transaction that failed: each gets one of its own. */
  #alone: Waiting[] = [];
  #endOfTurn: NodeJS.Immediate | undefined;
  #retry: NodeJS.Timeout | undefined;
  /** How often the lock of another process was met since the last transaction. */
  #tries = 0;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Writes a commit with others of this turn. Rejects as if it were alone. */
  append(item: Item): Promise<void> {
    const { sessionId, body } = item.commit;
    return new Promise((resolve, reject) => {
      const since = performance.now();
      this.#waiting.push({ ...item, sessionId, characters: body.length, since, resolve, reject });
      this.#endOfTurn ??= setImmediate(() => this.flush());
    });
  }

  /** Writes the waiting commits, one transaction after the other. Those that meet a lock wait on. */
  flush(): void {
    clearImmediate(this.#endOfTurn);
    clearTimeout(this.#retry);
    this.#endOfTurn = undefined;
    try {
      while (this.#waiting.length + this.#alone.length > 0) this.#writeGroup();
      this.#tries = 0;
    } catch (error) {
      this.#waitOn(error);
    }
  }

  /** Refuses the commits that have waited long enough, and tries again later for the others. */
  #waitOn(error: unknown): void {
    const now = performance.now();
    const inTime = (item: Waiting) => {
      const waited = now - item.since;
      if (waited >= this.#connection.busyTimeout) item.reject(locked("append", waited, error));
      return waited < this.#connection.busyTimeout;
    };
    this.#waiting = this.#waiting.filter(inTime);
    this.#alone = this.#alone.filter(inTime);
    this.#tries += 1;
    if (this.#waiting.length + this.#alone.length === 0) this.#tries = 0;
    else this.#retry = setTimeout(() => this.flush(), pauseAfter(this.#tries));
  }

  /** Writes one transaction, and settles its commits. Throws only SQLite's error of a lock. */
  #writeGroup(): void {
    const [group, left] = takeGroup(this.#waiting, COMMITS_MAX, CHARACTERS_MAX);
    this.#waiting = left;
    if (group.length === 0) group.push(...this.#alone.splice(0, 1));
    let isUndone = false;
    try {
      const refusals = this.#connection.transaction("append", () => {
        isUndone = true;
        const found = group.map((item) => this.#appendOrRefuse(item));
        isUndone = false;
        return found;
      });
      for (const [index, { resolve, reject }] of group.entries()) {
        if (refusals[index] === undefined) resolve();
        else reject(refusals[index]);
      }
    } catch (error) {
      // One that can't be written must not take the others with it; one that meets a lock by itself lets them pass.
      if (isUndone && (group.length > 1 || isLocked(error))) this.#alone.push(...group);
      else if (isLocked(error)) this.#waiting.unshift(...group);
      else for (const { reject } of group) reject(asStorageFailure("append", error));
      if (isLocked(error)) throw error;
    }
  }

  /** Writes a commit. Returns its conflict, which is found before anything of it was written. */
  #appendOrRefuse(item: Item): unknown {
    try {
      writeItem(this.#connection, item);
      return undefined;
    } catch (error) {
      if (isPhasegateError(error, "CONFLICT")) return error;
      throw error;
    }
  }
}
