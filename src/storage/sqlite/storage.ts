/**
 * SqliteStorage: sessions in a SQLite database. Statements run synchronously in the calling thread; locks of other
 * processes are awaited without blocking the event loop. This is the entry file of the folder.
 *
 * What is decided where:
 * - storage/sql/: the log in tables, which other drivers of SQLite have, too.
 * - open.ts: how a database is opened and secured against power failures.
 * - connection.ts: a write fails if the database's file was moved or replaced; locks are retried until `busyTimeout`.
 * - write.ts: commits of the same time share a transaction.
 * - payloads.ts: how payloads are compressed.
 * - failures.ts: which SQLite results become which error codes.
 */
import type { DatabaseSync } from "node:sqlite";
import type { PhasegateError } from "../../errors.js";
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
import { numberOptions } from "../common/failures.js";
import { checkCommit, damagedIn } from "../common/session-query.js";
import { removeSession } from "../sql/append.js";
import { CommitFeed } from "../sql/feed.js";
import { countActive, findChanges, listSessions } from "../sql/list.js";
import { readLog } from "../sql/read-log.js";
import { bytesIn, commitIn, numberIn, storedText, textIn } from "../sql/rows.js";
import { tableNames } from "../sql/tables.js";
import type { Connection } from "./connection.js";
import { asStorageFailure } from "./failures.js";
import { openDatabase } from "./open.js";
import { packPayloads, unpackPayload } from "./payloads.js";
import { CommitGroups, touch } from "./write.js";

/** Options of {@link SqliteStorage.open}. */
export interface SqliteStorageOptions {
  /** How long to wait for a lock of another connection, in milliseconds, before `BUSY` is thrown. Default: 5,000. */
  readonly busyTimeout?: number;
  /** Polling interval of `watch` for commits of other connections, in milliseconds. Default: 100. */
  readonly watchInterval?: number;
  /** Maximum size of a commit with its payloads, in bytes. Default: 64 MiB; at most 256 MiB. */
  readonly maxCommitBytes?: number;
  /** Prefix of all table names, for a database that has other tables. Default: none. */
  readonly tablePrefix?: string;
  /**
   * Creates the database and its tables, or updates them. Default: true. If false, a database that needs it is
   * refused with `STORAGE_FAILED` and not changed.
   */
  readonly migrate?: boolean;
  /**
   * Opens a file that may not be written, such as one on a read-only file system, and does not migrate it; every write fails.
   * The file system itself is read-only from Node 22.16 on. Default: false.
   */
  readonly readOnly?: boolean;
}

const MEBIBYTE = 1024 * 1024;
const LIMITS = {
  busyTimeout: { value: 5000, min: 0, max: 3_600_000 },
  watchInterval: { value: 100, min: 1, max: 3_600_000 },
  maxCommitBytes: { value: 64 * MEBIBYTE, min: 1, max: 256 * MEBIBYTE },
};

/**
 * Stores sessions in a SQLite database. An acknowledged commit survives a power failure. Any number of processes may
 * use the database at once; one of them writes at a time, for well under a millisecond on a good disk. Statements run
 * in the calling thread.
 *
 * `workflow_instances` and `workflow_history` are views of the log for people with a SQL prompt. The file has mode 0600, and
 * new folders 0700.
 *
 * Every method throws {@link PhasegateError} `STORAGE_FAILED` when SQLite fails, and `BUSY` when the database is
 * locked for longer than `busyTimeout`. A commit that cannot be read as it was written throws `TAMPERED`.
 */
export class SqliteStorage implements StorageAdapter {
  /** The durability of this storage, its limits, and whether several processes may use it. */
  readonly capabilities: StorageAdapter["capabilities"];
  readonly #connection: Connection;
  readonly #ownsDatabase: boolean;
  readonly #groups: CommitGroups;
  readonly #feed: CommitFeed;

  private constructor(
    connection: Connection,
    ownsDatabase: boolean,
    limits: Readonly<Record<keyof typeof LIMITS, number>>,
  ) {
    this.capabilities = readCapabilities(connection, limits.maxCommitBytes);
    this.#connection = connection;
    this.#ownsDatabase = ownsDatabase;
    this.#groups = new CommitGroups(connection);
    this.#feed = new CommitFeed(connection, limits.watchInterval);
  }

  /**
   * Opens the sessions in a database: a file, which is created if necessary, or an open database of the host. A
   * host's database gets our tables and is not changed otherwise; `close` leaves it open, and `capabilities` reports
   * what its settings guarantee.
   *
   * @param database Path of the file, `:memory:`, or an open database.
   * @throws {PhasegateError} `STORAGE_FAILED` when the database cannot be used.
   * @throws {PhasegateError} `FORMAT_TOO_NEW` when a newer version of phasegate made it.
   * @throws {PhasegateError} `BUSY` when it is locked.
   * @throws {PhasegateError} `INVALID_INPUT` when an option is not valid or the name is empty.
   */
  static async open(database: string | DatabaseSync, options: SqliteStorageOptions = {}): Promise<SqliteStorage> {
    const { tablePrefix = "", readOnly = false, migrate = !readOnly } = options;
    const limits = numberOptions(options, LIMITS);
    const ownsDatabase = typeof database === "string";
    const connection = await openDatabase(database, tableNames(tablePrefix), limits.busyTimeout, {
      migrate,
      readOnly,
    });
    try {
      return await connection.withRetry("open", () => new SqliteStorage(connection, ownsDatabase, limits));
    } catch (error) {
      if (ownsDatabase) connection.close();
      throw error;
    }
  }

  /** Returns the newest commit of a session; undefined if there is none. */
  async read(id: SessionId): Promise<Commit | undefined> {
    const row = await this.#get("newest", id);
    return row && commitIn(this.#connection, row);
  }

  /** Appends a commit. */
  async append(given: Commit, { follows }: AppendOptions = {}): Promise<void> {
    checkCommit(given, this.capabilities.maxCommitBytes);
    // Copy the commit: changes by the caller during the call must not reach the database.
    const { payloads = [], ...bare } = given;
    const commit = { ...bare, summary: { ...given.summary } };
    const packed = payloads.length === 0 ? [] : await packPayloads(payloads);
    await this.#groups.append({ commit, follows, packed });
    this.#feed.wake();
  }

  /**
   * Syncs the write-ahead log to the disk by an empty commit. Commits of a process that was killed before its sync
   * are visible when the database is next opened, but until then only in the operating system's memory.
   */
  async makeDurable(id: SessionId): Promise<void> {
    await this.#connection.write("make durable", () => touch(this.#connection, id));
  }

  /** Yields a session's commits in order, starting after version `after`. */
  log(id: SessionId, options: { readonly after?: number; readonly limit?: number } = {}): AsyncGenerator<Commit> {
    const connection = this.#connection;
    // A statement that stays open would prevent checkpoints of the write-ahead log.
    return readLog(options, {
      rows: (after, count) =>
        connection.withRetry("read", () => connection.prepare(connection.sql.log).all(id, after, count)),
      commitIn: (row) => commitIn(connection, row),
    });
  }

  /** Returns a payload's text; undefined if the session has none with this hash. */
  async payload(id: SessionId, hash: string): Promise<string | undefined> {
    const row = await this.#get("payload", id, storedText(hash));
    return row && unpackPayload(bytesIn(row, "body"), id, hash, this.capabilities.maxCommitBytes);
  }

  /** Lists sessions, newest first. */
  async list(query: SessionQuery): Promise<Page<SessionSummary>> {
    return this.#connection.withRetry("list", () => listSessions(this.#connection, query));
  }

  /** Yields the sessions whose newest summary is unreadable. Reading one reports the damage. */
  damaged(): AsyncGenerator<SessionId> {
    return damagedIn((query) => this.list(query));
  }

  /** Counts active sessions up to `upTo`. */
  async countActive(upTo: number): Promise<number> {
    return this.#connection.withRetry("count", () => countActive(this.#connection, upTo));
  }

  /** Removes a session. Its id is never used again. */
  async remove(id: SessionId): Promise<void> {
    await this.#connection.write("remove", () => {
      this.#feed.keep(id);
      removeSession(this.#connection, id);
    });
  }

  /**
   * Yields commits of any process, each at least once, in order within a session. If another process removes a
   * session before it is polled, only its tombstone is yielded. Damaged commits are skipped.
   */
  watch(
    query: SessionQuery,
    { signal, onReady }: WatchOptions & { readonly signal: AbortSignal },
  ): AsyncIterable<Commit> {
    let commits: AsyncIterable<Commit>;
    try {
      commits = this.#feed.watch(query, signal);
    } catch (error) {
      throw asStorageFailure("watch", error);
    }
    onReady?.();
    return commits;
  }

  /** Returns the sessions of a kind that have changed since a position, and those that were removed. */
  async changes(kind: string, since?: string): Promise<Changes> {
    return this.#connection.withRetry("list", () => findChanges(this.#connection, kind, since));
  }

  /** Returns the size of a session's commits and payloads, without indexes; undefined if there is none. */
  async size(id: SessionId): Promise<SessionSize | undefined> {
    const row = await this.#get("size", id);
    return row && { commits: numberIn(row, "commits"), bytes: numberIn(row, "bytes") };
  }

  /**
   * Returns the number of commits that were written, as the session's row counts them. If the log is shorter, its end was
   * cut off.
   */
  async hint(id: SessionId): Promise<number> {
    const row = await this.#get("version", id);
    return row === undefined ? 0 : numberIn(row, "version");
  }

  /**
   * Returns free pages to the file system and truncates the write-ahead log. Affects the whole database, whichever
   * session is named. A host's database without incremental vacuum keeps its free pages.
   */
  async compact(_id: SessionId): Promise<void> {
    const { database } = this.#connection;
    const pragma = (text: string) => this.#connection.withRetry("compact", () => this.#connection.prepare(text).get());
    const free = async () => numberIn(await pragma("PRAGMA freelist_count"), "freelist_count");
    for (let [before, now] = [Number.POSITIVE_INFINITY, await free()]; now > 0 && now < before; ) {
      await this.#connection.withRetry("compact", () => database.exec(`PRAGMA incremental_vacuum(${PAGES_AT_ONCE})`));
      [before, now] = [now, await free()];
    }
    // A reader may block part of the checkpoint; the next call does the rest.
    await pragma("PRAGMA wal_checkpoint(TRUNCATE)");
  }

  /** Ends all watches, and closes the database unless it belongs to the host. */
  async close(): Promise<void> {
    this.#feed.close();
    this.#groups.flush();
    if (this.#ownsDatabase) this.#connection.close();
  }

  #get(name: keyof Connection["sql"], ...values: (string | Uint8Array)[]) {
    const { sql } = this.#connection;
    return this.#connection.withRetry("read", () => this.#connection.prepare(sql[name]).get(...values));
  }
}

/** Free pages returned in one transaction, during which nobody else can write. */
const PAGES_AT_ONCE = 256;

/** The `synchronous` setting from which each safe journal mode survives a power failure. */
const POWER_FROM: Readonly<Record<string, number>> = { wal: 2, truncate: 2, persist: 2, delete: 3 };

/** Reads the guarantees of the database's settings: a host's database may have any. */
function readCapabilities(connection: Connection, maxCommitBytes: number): StorageAdapter["capabilities"] {
  const main = connection.prepare("SELECT file FROM pragma_database_list WHERE name = 'main'").get() ?? {};
  if (main.file === "" || main.file === null) return { durability: "memory", multiProcess: false, maxCommitBytes };
  const pragma = (name: string) => connection.prepare(`PRAGMA ${name}`).get();
  const enough = POWER_FROM[textIn(pragma("journal_mode"), "journal_mode")];
  const isPower = enough !== undefined && numberIn(pragma("synchronous"), "synchronous") >= enough;
  // Without a journal, a process that dies during a transaction leaves half of it.
  const durability = enough === undefined ? "memory" : isPower ? "power" : "process";
  return {
    durability,
    multiProcess: textIn(pragma("locking_mode"), "locking_mode") === "normal",
    maxCommitBytes,
  };
}
