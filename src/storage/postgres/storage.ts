/**
 * PostgresStorage: sessions in PostgreSQL. This class opens the connections and delegates to one file per operation.
 *
 * Rules of this folder:
 * - options.ts: options and defaults, and the part of `pg` that is used.
 * - open.ts, hosts.ts: which server is used when an address names several.
 * - connections.ts: how connections are shared, and which failures are retried.
 * - schema.ts: migrations, which are never changed once released.
 * - rows.ts: the statements, and how texts are stored.
 * - append.ts: an append whose answer was lost is confirmed by a write.
 * - remove.ts: a removed session's tombstone stays for an hour.
 * - list.ts: each filter uses an index in list order.
 * - watch.ts: a watch position is a transaction snapshot; notifications only wake it.
 * - failures.ts: which SQLSTATEs become which errors, and what counts as a lost connection.
 */
import type {
  Commit,
  Page,
  SessionQuery,
  SessionSize,
  SessionSummary,
  StorageAdapter,
} from "../../ports/storage-adapter.js";
import type { SessionId } from "../../workflow/names.js";
import { damagedIn } from "../common/session-query.js";
import { CommitAppender, checkRowCommit } from "./append.js";
import { type Connections, Retrier, withStandby } from "./connections.js";
import { asStorageFailure, NotReplicated } from "./failures.js";
import { SessionLister } from "./list.js";
import { openConnections } from "./open.js";
import { type PostgresSettings, type PostgresStorageOptions, readOptions } from "./options.js";
import { SessionRemover } from "./remove.js";
import { type CommitRow, commitOf, createStatements, decodeText, encodeText, type Statements } from "./rows.js";
import { type PreparedSchema, prepareSchema } from "./schema.js";
import { Channel, CommitFeed, type FeedPosition, readLog, watchCommits } from "./watch.js";
/**
 * Stores sessions in PostgreSQL 13 or newer, for any number of hosts on one database. A commit is one statement,
 * which succeeds only if the newest commit is the one that it follows; no lock is held between statements.
 *
 * While the server cannot be reached, calls are retried for `retryMs`. An append whose answer was lost is confirmed
 * by a write that finds its hash. If that is not possible, it fails with `STORAGE_FAILED` and `outcome: "unknown"`.
 *
 * There is no `compact`, because the server's own vacuum frees space. Every method throws `PhasegateError`
 * `STORAGE_FAILED` when the server fails.
 */
export class PostgresStorage implements StorageAdapter {
  readonly capabilities: StorageAdapter["capabilities"];
  readonly #connections: Connections;
  readonly #settings: PostgresSettings;
  readonly #statements: Statements;
  readonly #retrier: Retrier;
  readonly #appender: CommitAppender;
  readonly #lister: SessionLister;
  readonly #remover: SessionRemover;
  readonly #feed: CommitFeed;
  readonly #channel: Channel;
  /** Watches whose start position is being read. Appends wait for it, so that they are after that position. */
  readonly #startingWatches = new Set<Promise<unknown>>();

  private constructor(connections: Connections, settings: PostgresSettings, prepared: PreparedSchema) {
    const { schema, maxCommitBytes } = settings;
    const { durability, hasTriggers } = prepared;
    this.capabilities = { durability, multiProcess: true, maxCommitBytes, remote: true };
    this.#connections = connections;
    this.#settings = settings;
    this.#statements = createStatements(schema, settings.preparedStatements);
    this.#retrier = new Retrier(connections, settings.retryMs);
    this.#appender = new CommitAppender(connections, this.#retrier, this.#statements, hasTriggers);
    this.#lister = new SessionLister(this.#retrier, schema);
    this.#remover = new SessionRemover(this.#retrier, schema);
    this.#feed = new CommitFeed(this.#retrier, schema);
    this.#channel = new Channel(connections, this.#statements, schema);
  }

  /**
   * Opens the sessions of a schema and creates or migrates its tables.
   *
   * @throws {PhasegateError} `STORAGE_FAILED` when the server cannot be used.
   * @throws {PhasegateError} `FORMAT_TOO_NEW` when a newer version of phasegate made the tables.
   * @throws {PhasegateError} `INVALID_INPUT` when an option is not valid.
   * @throws {PhasegateError} `INTERNAL` when `pg` is not installed.
   */
  static async open(options: PostgresStorageOptions): Promise<PostgresStorage> {
    const settings = readOptions(options);
    const connections = await openConnections(options, settings);
    try {
      const prepared = await connections.use((client) => prepareSchema(client, settings.schema, settings.migrate));
      return new PostgresStorage(connections, settings, prepared);
    } catch (error) {
      await connections.close();
      throw asStorageFailure("open", error);
    }
  }

  /**
   * Returns the newest commit of a session; undefined if there is none.
   *
   * @throws {PhasegateError} `TAMPERED` when its summary is unreadable.
   */
  async read(id: SessionId): Promise<Commit | undefined> {
    const [row] = await this.#retrier.rows<CommitRow>("read", this.#statements.read([id]));
    return row && commitOf(row);
  }

  /**
   * Appends a commit.
   *
   * @throws {PhasegateError} `CONFLICT` when it does not follow the newest version, or the session was removed.
   * @throws {PhasegateError} `INVALID_INPUT` when the commit is malformed.
   * @throws {PhasegateError} `TOO_LARGE` when it exceeds `maxCommitBytes`.
   */
  async append(commit: Commit): Promise<void> {
    checkRowCommit(commit, this.capabilities.maxCommitBytes);
    if (this.#startingWatches.size > 0) await Promise.all(this.#startingWatches);
    await this.#appender.append(commit);
    // After the call a client belongs to the host again: a later statement could run in a transaction of the host.
    if (this.#connections.canReconnect) this.#channel.notify();
    else await this.#channel.now();
  }

  /**
   * Updates the session's row without a change. The server acknowledges this when everything written before is on the
   * standbys too.
   */
  async makeDurable(id: SessionId): Promise<void> {
    await this.#retrier.repeatable("make durable", async (client) => {
      const { waited } = await withStandby(client, () => client.query(this.#statements.makeDurable([id])));
      if (!waited) throw new NotReplicated();
    });
  }

  /**
   * Yields a session's commits in order, starting after version `after`.
   *
   * @throws {PhasegateError} `TAMPERED` when a commit's summary is unreadable.
   */
  log(id: SessionId, options: { after?: number; limit?: number } = {}): AsyncGenerator<Commit> {
    return readLog(this.#retrier, this.#statements, id, options);
  }

  /** Returns a payload's text; undefined if the session has none with this hash. */
  async payload(id: SessionId, hash: string): Promise<string | undefined> {
    const rows = await this.#retrier.rows<{ body: string }>("read", this.#statements.payload([id, encodeText(hash)]));
    return rows[0] && decodeText(rows[0].body);
  }

  /**
   * Lists sessions, newest first.
   *
   * @throws {PhasegateError} `CURSOR_INVALID` when the cursor is not one of a page.
   * @throws {PhasegateError} `INVALID_INPUT` when the limit is not valid.
   */
  async list(query: SessionQuery): Promise<Page<SessionSummary>> {
    return this.#lister.list(query);
  }

  /** Yields the sessions whose newest summary is unreadable. Reading one reports the damage. */
  damaged(): AsyncGenerator<SessionId> {
    return damagedIn((query) => this.#lister.list(query));
  }

  /** Counts active sessions up to `upTo`. */
  async countActive(upTo: number): Promise<number> {
    // NULL means no limit: the server cannot read Infinity.
    const limit = Number.isSafeInteger(upTo) ? upTo : null;
    const [row] = await this.#retrier.rows<{ found: number }>("count", this.#statements.countActive([limit]));
    return row?.found ?? 0;
  }

  /** Removes a session. Its id is never used again. */
  async remove(id: SessionId): Promise<void> {
    await this.#remover.remove(id);
  }

  /**
   * Yields commits as they are appended: woken by notifications on a separate connection, and polled every `pollMs`.
   * On a `client` of the host it only polls.
   */
  watch(query: SessionQuery, { signal }: { readonly signal: AbortSignal }): AsyncIterable<Commit> {
    const { schema, pollMs } = this.#settings;
    const retrier = new Retrier(this.#connections, 0);
    const feed = new CommitFeed(retrier, schema);
    const parts = { connections: this.#connections, retrier, feed, schema, pollMs };
    return watchCommits(parts, this.#begin(), query, signal);
  }

  /** Returns the size of a session's commits and payloads; undefined if there is none. */
  async size(id: SessionId): Promise<SessionSize | undefined> {
    type Row = { version: string; bytes: string };
    const [row] = await this.#retrier.rows<Row>("measure", this.#statements.size([id]));
    return row && { commits: Number(row.version), bytes: Number(row.bytes) };
  }

  /** Ends the connections that this storage made. A pool or client of the host stays open. */
  async close(): Promise<void> {
    await this.#channel.close();
    await this.#connections.close();
  }

  #begin(): Promise<FeedPosition> {
    const begun = this.#feed.now();
    const settled = begun.then(ignore, ignore);
    this.#startingWatches.add(settled);
    void settled.then(() => this.#startingWatches.delete(settled));
    return begun;
  }
}

function ignore(): void {}
