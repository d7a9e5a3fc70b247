import type { DatabaseSync } from "node:sqlite";
import { PhasegateError } from "../../errors.js";
import type {
  Commit,
  Page,
  SessionQuery,
  SessionSize,
  SessionSummary,
  StorageAdapter,
} from "../../ports/storage-adapter.js";
import type { SessionId } from "../../workflow/names.js";
import { checkCommit, damagedIn } from "../common/session-query.js";
import { CommitWriter, SessionRemover } from "./append.js";
import type { Connection } from "./connection.js";
import { asStorageFailure } from "./failures.js";
import { SessionLister } from "./list.js";
import { openDatabase } from "./open.js";
import { CommitReader, KnownSessions } from "./read.js";
import { numberIn, packPayloads, type TableNames, tableNames, textIn } from "./rows.js";
import { CommitFeed } from "./watch.js";
/** How to open a {@link SqliteStorage}. */
export interface SqliteStorageOptions {
  /** How long a lock of somebody else's is waited for, in milliseconds, before `BUSY` is thrown; 5,000 if not given. */
  readonly busyTimeout?: number;
  /** How often `watch` looks for commits of other connections, in milliseconds; 100 if not given. */
  readonly watchInterval?: number;
  /** The largest commit, in bytes, payloads included; 64 MiB if not given, at most 256 MiB. */
  readonly maxCommitBytes?: number;
  /** What the names of all tables begin with: for a database that has other tables. Nothing if not given. */
  readonly tablePrefix?: string;
  /**
   * Makes the database and its tables, or brings them up to date; on if not given. Off, a database that needs it is
   * refused with `STORAGE_FAILED` and left as it is.
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
 * Sessions in a SQLite database. An acknowledged commit survives a loss of power, and any number of processes may use the
 * database at once; one of them writes at a time, for well under a millisecond on a good disk. Statements run in the
 * thread that calls them.
 *
 * The log is the truth. `workflow_instances` and `workflow_history` are written with it, for people with a SQL prompt; of
 * them nothing is read, but how many rows a session has where its log is audited. The file has mode 0600, folders that are
 * made for it 0700.
 */
export class SqliteStorage implements StorageAdapter {
  readonly capabilities: StorageAdapter["capabilities"];
  readonly #connection: Connection;
  readonly #names: TableNames;
  readonly #isOurs: boolean;
  readonly #known: KnownSessions;
  readonly #reader: CommitReader;
  readonly #writer: CommitWriter;
  readonly #lister: SessionLister;
  readonly #remover: SessionRemover;
  readonly #feed: CommitFeed;

  private constructor(connection: Connection, names: TableNames, limits: Limits, isOurs: boolean) {
    this.capabilities = readCapabilities(connection, limits.maxCommitBytes);
    this.#connection = connection;
    this.#names = names;
    this.#isOurs = isOurs;
    this.#known = new KnownSessions(connection, isOurs);
    this.#reader = new CommitReader(connection, names, this.#known);
    this.#writer = new CommitWriter(connection, names, this.#known);
    this.#lister = new SessionLister(connection, names);
    this.#remover = new SessionRemover(connection, names);
    this.#feed = new CommitFeed(connection, names, limits.watchInterval);
  }

  /**
   * Opens the sessions in a database: one by the name of its file, which is made if it isn't there, or the host's own,
   * open one. Of that nothing is changed but that our tables are in it; `close` leaves it open, and `capabilities` says
   * what its settings promise.
   *
   * Throws `STORAGE_FAILED` if it can't be used, `FORMAT_TOO_NEW` if a newer phasegate made it, `BUSY` if it is locked.
   */
  static async open(database: string | DatabaseSync, options: SqliteStorageOptions = {}): Promise<SqliteStorage> {
    const limits = {
      busyTimeout: numberOf("busyTimeout", options),
      watchInterval: numberOf("watchInterval", options),
      maxCommitBytes: numberOf("maxCommitBytes", options),
    };
    const names = tableNames(options.tablePrefix ?? "");
    const connection = await openDatabase(database, {
      names,
      busyTimeout: limits.busyTimeout,
      migrate: options.migrate ?? true,
    });
    return new SqliteStorage(connection, names, limits, typeof database === "string");
  }

  read(id: SessionId): Promise<Commit | undefined> {
    return this.#connection.patiently("read", () => this.#reader.newest(id));
  }

  async append(given: Commit): Promise<void> {
    checkCommit(given, this.capabilities.maxCommitBytes);
    // What was handed in is stored, whatever the caller does with it while this waits.
    const { payloads = [], ...bare } = given;
    const commit = { ...bare, summary: { ...given.summary } };
    const packed = payloads.length === 0 ? [] : await packPayloads(payloads);
    await this.#connection.patiently("append", () => {
      try {
        const { number, seq } = this.#connection.transaction("append", () => this.#writer.append(commit, packed));
        // In the same turn of the event loop: nothing else has been written since.
        this.#known.set(commit, number, seq);
      } catch (error) {
        this.#known.clear();
        throw error;
      }
    });
    this.#feed.wake();
  }

  /**
   * Brings the write-ahead log to the disk by a commit of its own. What a process wrote that was killed before its sync is
   * read again once the database is next opened, and stands nowhere but in the memory of the system until then.
   */
  async settle(id: SessionId): Promise<void> {
    await this.#connection.write("settle", () => this.#writer.touch(id));
  }

  log(id: SessionId, options: { readonly after?: number; readonly limit?: number } = {}): AsyncGenerator<Commit> {
    return this.#reader.log(id, options.after ?? 0, options.limit ?? Number.POSITIVE_INFINITY);
  }

  async payload(id: SessionId, hash: string): Promise<string | undefined> {
    return this.#reader.payload(id, hash, this.capabilities.maxCommitBytes);
  }

  async list(query: SessionQuery): Promise<Page<SessionSummary>> {
    return this.#connection.patiently("list", () => this.#lister.list(query));
  }

  /** Sessions whose newest summary can't be read: reading one tells why. */
  damaged(): AsyncGenerator<SessionId> {
    return damagedIn((query) => this.list(query));
  }

  async countActive(upTo: number): Promise<number> {
    return this.#connection.patiently("count", () => this.#lister.countActive(upTo));
  }

  async remove(id: SessionId): Promise<void> {
    await this.#connection.write("remove", () => {
      this.#feed.keep(id);
      this.#known.delete(id);
      this.#remover.remove(id);
    });
  }

  /**
   * Commits of any process, each at least once, those of a session in their order. Of a session that another process
   * removes before this one has looked, its tombstone alone is there to be seen.
   */
  watch(query: SessionQuery, { signal }: { readonly signal: AbortSignal }): AsyncIterable<Commit> {
    try {
      return this.#feed.watch(query, signal);
    } catch (error) {
      throw asStorageFailure("watch", error);
    }
  }

  async size(id: SessionId): Promise<SessionSize | undefined> {
    return this.#connection.patiently("read", () => sizeOf(this.#connection, this.#names, id));
  }

  /** The history has a row for every commit after the first: a log whose end was cut off is shorter. */
  async hint(id: SessionId): Promise<number> {
    const { instances, history } = this.#names;
    const sql = `SELECT 1 + (SELECT count(*) FROM ${history} WHERE instance_id = i.instance_id) AS version
      FROM ${instances} i WHERE i.instance_id = ?`;
    const row = await this.#connection.patiently("read", () => this.#connection.prepare(sql).get(id));
    return row === undefined ? 0 : numberIn(row, "version");
  }

  /** Gives free pages back, and brings the write-ahead log into the database: of all sessions, whichever is named. */
  async compact(_id: SessionId): Promise<void> {
    await giveRoomBack(this.#connection);
  }

  /** Ends what is watched, and closes the database unless it is the host's. */
  async close(): Promise<void> {
    this.#feed.close();
    if (this.#isOurs) this.#connection.close();
  }
}

function numberOf(field: keyof typeof LIMITS, options: SqliteStorageOptions): number {
  const { value, min, max } = LIMITS[field];
  const given = options[field] ?? value;
  if (Number.isFinite(given) && given >= min && given <= max) return given;
  throw new PhasegateError("INVALID_INPUT", `${field} is not valid: ${given}`, {
    remedy: `Give a number from ${min} to ${max}, or leave it out for ${value}.`,
    details: { field, expected: `a number from ${min} to ${max}` },
  });
}

type Durability = StorageAdapter["capabilities"]["durability"];

/** From which `synchronous` on a commit survives a loss of power, for each journal that survives a killed process. */
const POWER_FROM: Readonly<Record<string, number>> = { wal: 2, truncate: 2, persist: 2, delete: 3 };

/** What the database, as it is set, promises: a host's own may be set in any way. */
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
  // Without a journal a process that dies in the middle of a transaction leaves half of it.
  if (enough === undefined) return "memory";
  return synchronous >= enough ? "power" : "process";
}

/** So many free pages are given back in one transaction, which nobody can write beside. */
const PAGES_AT_ONCE = 256;

/** How much a session takes: its commits and payloads, without what finds them again. */
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
 * Gives pages that nothing stands in back to the file system, some at a time, and brings the write-ahead log into the
 * database. A database that was not made for it (a host's own) keeps its free pages for what comes.
 */
async function giveRoomBack(connection: Connection): Promise<void> {
  for (let free = await freePages(connection); free > 0; ) {
    await connection.patiently("compact", () => {
      connection.database.exec(`PRAGMA incremental_vacuum(${PAGES_AT_ONCE})`);
    });
    const left = await freePages(connection);
    if (left >= free) break;
    free = left;
  }
  // As far as it can be done now: somebody who reads keeps the rest for the next time.
  await connection.patiently("compact", () => connection.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get());
}

function freePages(connection: Connection): Promise<number> {
  return connection.patiently("compact", () =>
    numberIn(connection.prepare("PRAGMA freelist_count").get() ?? {}, "freelist_count"),
  );
}
