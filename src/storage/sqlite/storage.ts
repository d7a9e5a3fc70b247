/**
 * SqliteStorage: sessions in a SQLite database. Statements run synchronously in the calling thread; locks of other
 * processes are awaited without blocking the event loop. This is the entry file of the folder.
 *
 * What is decided where:
 * - open.ts: how a database is opened and secured against power failures; migrations, which are never changed once released.
 * - connection.ts: a write fails if the database's file was moved or replaced; locks are retried until `busyTimeout`.
 * - rows.ts: the tables, and how commits, texts and payloads become rows.
 * - group.ts: commits of the same time, and those that wait for a lock together, share a transaction; append.ts: a commit must follow the newest one; a removed id is never used again.
 * - views.ts: what people see at a SQL prompt.
 * - read.ts: a cache is valid only while no other connection has written; each query of a list uses one index.
 * - watch.ts: watching is polling by sequence number.
 * - failures.ts: which SQLite results become which error codes.
 */
import type { DatabaseSync } from "node:sqlite";
import { PhasegateError } from "../../errors.js";
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
import { numberOption } from "../common/number-option.js";
import { checkCommit, damagedIn } from "../common/session-query.js";
import { CommitWriter, SessionRemover } from "./append.js";
import type { Connection } from "./connection.js";
import { asStorageFailure } from "./failures.js";
import { CommitGroups } from "./group.js";
import { openDatabase } from "./open.js";
import { CommitReader, KnownSessions, SessionLister } from "./read.js";
import { numberIn, packPayloads, type TableNames, tableNames, textIn } from "./rows.js";
import { CommitFeed } from "./watch.js";

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
}

const MEBIBYTE = 1024 * 1024;
const LIMITS = {
  busyTimeout: { value: 5000, min: 0, max: 3_600_000 },
  watchInterval: { value: 100, min: 1, max: 3_600_000 },
  maxCommitBytes: { value: 64 * MEBIBYTE, min: 1, max: 256 * MEBIBYTE },
};

type Limits = Readonly<Record<keyof typeof LIMITS, number>>;

/**
 * Stores sessions in a SQLite database. An acknowledged commit survives a power failure. Any number of processes may
 * use the database at once; one of them writes at a time, for well under a millisecond on a good disk. Statements run
 * in the calling thread.
 *
 * `workflow_instances` and `workflow_history` are views of the log for people with a SQL prompt. The file has mode 0600, and
 * new folders 0700.
 *
 * Every method throws {@link PhasegateError} `STORAGE_FAILED` when SQLite fails, and `BUSY` when the database is
 * locked for longer than `busyTimeout`.
 */
export class SqliteStorage implements StorageAdapter {
  /** The durability of this storage, its limits, and whether several processes may use it. */
  readonly capabilities: StorageAdapter["capabilities"];
  readonly #connection: Connection;
  readonly #names: TableNames;
  readonly #ownsDatabase: boolean;
  readonly #known: KnownSessions;
  readonly #reader: CommitReader;
  readonly #writer: CommitWriter;
  readonly #groups: CommitGroups;
  readonly #lister: SessionLister;
  readonly #remover: SessionRemover;
  readonly #feed: CommitFeed;

  private constructor(connection: Connection, names: TableNames, limits: Limits, ownsDatabase: boolean) {
    this.capabilities = readCapabilities(connection, limits.maxCommitBytes);
    this.#connection = connection;
    this.#names = names;
    this.#ownsDatabase = ownsDatabase;
    this.#known = new KnownSessions(connection, ownsDatabase);
    this.#reader = new CommitReader(connection, names, this.#known);
    this.#writer = new CommitWriter(connection, names, this.#known);
    this.#groups = new CommitGroups(connection, this.#writer, this.#known);
    this.#lister = new SessionLister(connection, names);
    this.#remover = new SessionRemover(connection, names);
    this.#feed = new CommitFeed(connection, names, limits.watchInterval);
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
    const limits = {
      busyTimeout: numberOption("busyTimeout", options.busyTimeout, LIMITS.busyTimeout),
      watchInterval: numberOption("watchInterval", options.watchInterval, LIMITS.watchInterval),
      maxCommitBytes: numberOption("maxCommitBytes", options.maxCommitBytes, LIMITS.maxCommitBytes),
    };
    const names = tableNames(options.tablePrefix ?? "");
    const connection = await openDatabase(database, {
      names,
      busyTimeout: limits.busyTimeout,
      migrate: options.migrate ?? true,
    });
    const ownsDatabase = typeof database === "string";
    try {
      return await connection.withRetry("open", () => new SqliteStorage(connection, names, limits, ownsDatabase));
    } catch (error) {
      if (ownsDatabase) connection.close();
      throw error;
    }
  }

  /**
   * Returns the newest commit of a session; undefined if there is none.
   *
   * @throws {PhasegateError} `TAMPERED` when its summary is unreadable.
   */
  read(id: SessionId): Promise<Commit | undefined> {
    return this.#connection.withRetry("read", () => this.#reader.newest(id));
  }

  /**
   * Appends a commit.
   *
   * @throws {PhasegateError} `CONFLICT` when it does not follow the newest version, or the session was removed.
   * @throws {PhasegateError} `INVALID_INPUT` when the commit is malformed.
   * @throws {PhasegateError} `TOO_LARGE` when it exceeds `maxCommitBytes`.
   */
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
    await this.#connection.write("make durable", () => this.#writer.touch(id));
  }

  /**
   * Yields a session's commits in order, starting after version `after`.
   *
   * @throws {PhasegateError} `TAMPERED` when a commit's summary is unreadable.
   */
  log(id: SessionId, options: { readonly after?: number; readonly limit?: number } = {}): AsyncGenerator<Commit> {
    return this.#reader.log(id, options.after ?? 0, options.limit ?? Number.POSITIVE_INFINITY);
  }

  /**
   * Returns a payload's text; undefined if the session has none with this hash.
   *
   * @throws {PhasegateError} `TAMPERED` when it is damaged.
   */
  async payload(id: SessionId, hash: string): Promise<string | undefined> {
    return this.#reader.payload(id, hash, this.capabilities.maxCommitBytes);
  }

  /**
   * Lists sessions, newest first.
   *
   * @throws {PhasegateError} `CURSOR_INVALID` when the cursor is not one of a page.
   * @throws {PhasegateError} `INVALID_INPUT` when the limit is not valid.
   */
  async list(query: SessionQuery): Promise<Page<SessionSummary>> {
    return this.#connection.withRetry("list", () => this.#lister.list(query));
  }

  /** Yields the sessions whose newest summary is unreadable. Reading one reports the damage. */
  damaged(): AsyncGenerator<SessionId> {
    return damagedIn((query) => this.list(query));
  }

  /** Counts active sessions up to `upTo`. */
  async countActive(upTo: number): Promise<number> {
    return this.#connection.withRetry("count", () => this.#lister.countActive(upTo));
  }

  /** Removes a session. Its id is never used again. */
  async remove(id: SessionId): Promise<void> {
    await this.#connection.write("remove", () => {
      this.#feed.keep(id);
      this.#known.delete(id);
      this.#remover.remove(id);
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

  /**
   * Returns the sessions of a kind that have changed since a position, and those that were removed.
   *
   * @throws {PhasegateError} `CURSOR_INVALID` when the position is not one of this database.
   */
  async changes(kind: string, since?: string): Promise<Changes> {
    return this.#connection.withRetry("list", () => this.#lister.changes(kind, since));
  }

  /** Returns the size of a session's commits and payloads; undefined if there is none. */
  async size(id: SessionId): Promise<SessionSize | undefined> {
    return this.#connection.withRetry("read", () => sizeOf(this.#connection, this.#names, id));
  }

  /**
   * Returns the number of commits that were written, as the session's row counts them. If the log is shorter, its end was
   * cut off.
   */
  async hint(id: SessionId): Promise<number> {
    const sql = `SELECT version FROM ${this.#names.sessions} WHERE session_id = ?`;
    const row = await this.#connection.withRetry("read", () => this.#connection.prepare(sql).get(id));
    return row === undefined ? 0 : numberIn(row, "version");
  }

  /**
   * Returns free pages to the file system and truncates the write-ahead log. Affects the whole database, whichever
   * session is named.
   */
  async compact(_id: SessionId): Promise<void> {
    await returnFreePages(this.#connection);
  }

  /** Ends all watches, and closes the database unless it belongs to the host. */
  async close(): Promise<void> {
    this.#feed.close();
    this.#groups.flush();
    if (this.#ownsDatabase) this.#connection.close();
  }
}

type Durability = StorageAdapter["capabilities"]["durability"];

/**
 * The lowest `synchronous` setting that survives a power failure, for each journal mode that survives a killed process.
 */
const POWER_FROM: Readonly<Record<string, number>> = { wal: 2, truncate: 2, persist: 2, delete: 3 };

/** Reads the guarantees of the database's settings: a host's database may have any. */
function readCapabilities(connection: Connection, maxCommitBytes: number): StorageAdapter["capabilities"] {
  const main = connection.prepare("SELECT file FROM pragma_database_list WHERE name = 'main'").get() ?? {};
  if (main.file === "" || main.file === null) return { durability: "memory", multiProcess: false, maxCommitBytes };
  const locking = textIn(connection.prepare("PRAGMA locking_mode").get() ?? {}, "locking_mode");
  return { durability: durabilityOf(connection), multiProcess: locking === "normal", maxCommitBytes };
}

function durabilityOf(connection: Connection): Durability {
  const journal = textIn(connection.prepare("PRAGMA journal_mode").get() ?? {}, "journal_mode");
  const synchronous = numberIn(connection.prepare("PRAGMA synchronous").get() ?? {}, "synchronous");
  const enough = POWER_FROM[journal];
  // Without a journal, a process that dies during a transaction leaves half of it.
  if (enough === undefined) return "memory";
  return synchronous >= enough ? "power" : "process";
}

/** Free pages returned in one transaction, during which nobody else can write. */
const PAGES_AT_ONCE = 256;

/** Measures a session's commits and payloads, without indexes. */
function sizeOf(
  connection: Connection,
  { sessions, commits, payloads }: TableNames,
  id: SessionId,
): SessionSize | undefined {
  const row = connection
    .prepare(
      `SELECT count(*) AS commits, sum(octet_length(c.summary) + octet_length(c.body))
        + coalesce((SELECT sum(octet_length(p.body)) FROM ${payloads} p WHERE p.session = s.number), 0) AS bytes
      FROM ${sessions} s JOIN ${commits} c ON c.session = s.number WHERE s.session_id = ? GROUP BY s.number`,
    )
    .get(id);
  return row && { commits: numberIn(row, "commits"), bytes: numberIn(row, "bytes") };
}

/**
 * Returns free pages to the file system in steps and truncates the write-ahead log. A host's database without
 * incremental vacuum keeps its free pages.
 */
async function returnFreePages(connection: Connection): Promise<void> {
  for (let free = await freePages(connection); free > 0; ) {
    await connection.withRetry("compact", () => {
      connection.database.exec(`PRAGMA incremental_vacuum(${PAGES_AT_ONCE})`);
    });
    const left = await freePages(connection);
    if (left >= free) break;
    free = left;
  }
  // A reader may block part of the checkpoint; the next call does the rest.
  await connection.withRetry("compact", () => connection.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get());
}

function freePages(connection: Connection): Promise<number> {
  return connection.withRetry("compact", () =>
    numberIn(connection.prepare("PRAGMA freelist_count").get() ?? {}, "freelist_count"),
  );
}
