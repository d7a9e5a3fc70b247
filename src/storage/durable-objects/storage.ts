/**
 * DurableStorage: sessions in the SQLite of one of Cloudflare's Durable Objects, in which the engine runs, too. This is the entry
 * file of the folder.
 *
 * - storage/sql/: the log in tables, which other drivers of SQLite have, too.
 * - database.ts: what is used of an object's `ctx.storage`; its errors.
 * - parts.ts: a text that is too large for a row.
 */
import type {
  AppendOptions,
  Changes,
  Commit,
  Page,
  SessionQuery,
  SessionSize,
  SessionSummary,
  StorageAdapter,
  WatchOptions,
} from "../../ports/storage-adapter.js";
import type { SessionId } from "../../workflow/names.js";
import { numberOptions, unknownOutcome } from "../common/failures.js";
import { checkCommit, damagedIn } from "../common/session-query.js";
import { removeSession } from "../sql/append.js";
import { subject } from "../sql/failures.js";
import { CommitFeed } from "../sql/feed.js";
import { countActive, findChanges, listSessions } from "../sql/list.js";
import { migrate, needsMigration } from "../sql/migrations.js";
import { readLog } from "../sql/read-log.js";
import { commitIn, numberIn } from "../sql/rows.js";
import { tableNames } from "../sql/tables.js";
import { causeOf, type DurableObjectDatabase, ObjectDatabase } from "./database.js";
import { payloadInParts, storeCommitInParts } from "./parts.js";

/** Options of {@link DurableStorage}. */
export interface DurableStorageOptions {
  /** Maximum size of a commit with its payloads, in bytes. Default: 16 MiB; at most 32 MiB, as an object has 128 MB of memory. */
  readonly maxCommitBytes?: number;
  /** Prefix of all table names, for an object that has other tables. Default: none. */
  readonly tablePrefix?: string;
}

const MEBIBYTE = 1024 * 1024;
const LIMITS = { maxCommitBytes: { value: 16 * MEBIBYTE, min: 1, max: 32 * MEBIBYTE } };

/**
 * Stores sessions in the SQLite database of a Durable Object of Cloudflare. Make one inside of the object, and run all of its
 * engines on it. Statements run synchronously; `append` and `remove` then wait until the write is durable.
 *
 * `workflow_instances` and `workflow_history` are views of the log for people.
 *
 * Every method throws `STORAGE_FAILED` when SQLite fails. A commit that cannot be read as it was written throws `TAMPERED`.
 */
export class DurableStorage implements StorageAdapter {
  /** The durability of this storage, its limits, and whether several processes may use it. */
  readonly capabilities: StorageAdapter["capabilities"];
  readonly #storage: DurableObjectDatabase;
  readonly #database: ObjectDatabase;
  readonly #feed: CommitFeed;

  /**
   * Opens the sessions in an object's database, and makes or updates the tables. It runs synchronously, so an object's
   * constructor may do it without `blockConcurrencyWhile`.
   *
   * @param storage The object's `ctx.storage`.
   * @throws {PhasegateError} `STORAGE_FAILED` when the database cannot be used.
   * @throws {PhasegateError} `FORMAT_TOO_NEW` when a newer version of phasegate made its tables.
   * @throws {PhasegateError} `INVALID_INPUT` when an option is not valid.
   */
  constructor(storage: DurableObjectDatabase, options: DurableStorageOptions = {}) {
    const { maxCommitBytes } = numberOptions(options, LIMITS);
    this.capabilities = { durability: "power", multiProcess: false, maxCommitBytes };
    this.#storage = storage;
    this.#database = new ObjectDatabase(storage, tableNames(options.tablePrefix ?? ""));
    this.#feed = new CommitFeed(this.#database);
    if (this.#do("open", () => needsMigration(this.#database, true)))
      this.#write("open", () => migrate(this.#database));
  }

  /** Returns the newest commit of a session; undefined if there is none. */
  async read(id: SessionId): Promise<Commit | undefined> {
    return this.#do("read", () => {
      const row = this.#row("newest", id);
      return row && commitIn(this.#database, row);
    });
  }

  /** Appends a commit. */
  async append(commit: Commit, { follows }: AppendOptions = {}): Promise<void> {
    checkCommit(commit, this.capabilities.maxCommitBytes);
    this.#write("append", () => storeCommitInParts(this.#database, commit, follows));
    await this.#synced("append");
    this.#feed.wake();
  }

  /** Waits until all that was read is durable. */
  async makeDurable(_id: SessionId): Promise<void> {
    await this.#synced("make durable");
  }

  /** Yields a session's commits in order, starting after version `after`. */
  log(id: SessionId, options: { readonly after?: number; readonly limit?: number } = {}): AsyncGenerator<Commit> {
    const { sql } = this.#database;
    return readLog(options, {
      rows: async (after, count) => this.#do("read", () => this.#database.prepare(sql.log).all(id, after, count)),
      commitIn: (row) => this.#do("read", () => commitIn(this.#database, row)),
    });
  }

  /** Returns a payload's text; undefined if the session has none with this hash. */
  async payload(id: SessionId, hash: string): Promise<string | undefined> {
    return this.#do("read", () => payloadInParts(this.#database, id, hash));
  }

  /** Lists sessions, newest first. */
  async list(query: SessionQuery): Promise<Page<SessionSummary>> {
    return this.#do("list", () => listSessions(this.#database, query));
  }

  /** Yields the sessions whose newest summary is unreadable. Reading one reports the damage. */
  damaged(): AsyncGenerator<SessionId> {
    return damagedIn((query) => this.list(query));
  }

  /** Counts active sessions up to `upTo`. */
  async countActive(upTo: number): Promise<number> {
    return this.#do("count", () => countActive(this.#database, upTo));
  }

  /** Removes a session. Its id is never used again. */
  async remove(id: SessionId): Promise<void> {
    this.#write("remove", () => {
      this.#feed.keep(id);
      removeSession(this.#database, id);
    });
    await this.#synced("remove");
  }

  /** Yields commits as they are appended, without polling: nobody but this storage writes into the object. */
  watch(
    query: SessionQuery,
    { signal, onReady }: WatchOptions & { readonly signal: AbortSignal },
  ): AsyncIterable<Commit> {
    const commits = this.#do("watch", () => this.#feed.watch(query, signal));
    onReady?.();
    return commits;
  }

  /** Returns the sessions of a kind that have changed since a position, and those that were removed. */
  async changes(kind: string, since?: string): Promise<Changes> {
    return this.#do("list", () => findChanges(this.#database, kind, since));
  }

  /** Returns the size of a session's commits and payloads, without indexes; undefined if there is none. */
  async size(id: SessionId): Promise<SessionSize | undefined> {
    const row = this.#do("read", () => this.#row("size", id));
    return row && { commits: numberIn(row, "commits"), bytes: numberIn(row, "bytes") };
  }

  /**
   * Returns the number of commits that were written, as the session's row counts them. If the log is shorter, its end was
   * cut off.
   */
  async hint(id: SessionId): Promise<number> {
    const row = this.#do("read", () => this.#row("version", id));
    return row === undefined ? 0 : numberIn(row, "version");
  }

  /** Ends all watches. The database stays open: it is the object's. */
  async close(): Promise<void> {
    this.#feed.close();
  }

  #row(name: "newest" | "size" | "version", id: SessionId) {
    return this.#database.prepare(this.#database.sql[name]).get(id);
  }

  #write<T>(operation: string, action: () => T): T {
    return this.#do(operation, () => this.#storage.transactionSync(action));
  }

  #do<T>(operation: string, action: () => T): T {
    try {
      return action();
    } catch (error) {
      throw this.#database.asFailure(operation, error);
    }
  }

  /**
   * Waits until what was written is durable. An object's answer waits for it by itself, but not what its own code does next. If it
   * fails, Cloudflare ends the object: nobody reads what was not kept.
   */
  async #synced(operation: string): Promise<void> {
    try {
      await this.#storage.sync();
    } catch (error) {
      throw unknownOutcome({ subject, operation, cause: causeOf(error), error });
    }
  }
}
