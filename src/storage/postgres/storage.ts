/**
 * PostgresStorage: sessions in PostgreSQL. This class opens the connections and delegates to one file per operation.
 * This is the entry file of the folder.
 *
 * What is decided where:
 * - options.ts: options and defaults, and the part of `pg` that is used.
 * - hosts.ts: which server is used when an address names several.
 * - connections.ts: how connections are shared, and which failures are retried.
 * - schema.ts: migrations, which are never changed once released.
 * - partitions.ts: the partition of a session's commits; how a table in use is divided.
 * - views.ts: what people find at a SQL prompt.
 * - rows.ts: the statements, and how texts are stored.
 * - write.ts: an append whose answer was lost is confirmed by a write; which commits share a statement, and how many statements
 *   are under way; a removed session's tombstone stays for an hour.
 * - list.ts: which index finds the sessions of a list.
 * - watch.ts: notifications only wake a watch, which polls.
 * - feed.ts: a reader's position is a transaction snapshot; what a dead primary alone has shown does not hide later commits.
 * - failures.ts: which SQLSTATEs become which errors, and what counts as a lost connection.
 */
import type {
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
import { damagedIn } from "../common/session-query.js";
import { ClientConnections, type Connections, loadPg, PoolConnections, Retrier, replicated } from "./connections.js";
import { asStorageFailure, WrongRole } from "./failures.js";
import { CommitFeed, type FeedPosition, readLog } from "./feed.js";
import { HostConnections, readHostList, type WantedRole } from "./hosts.js";
import { listSessions } from "./list.js";
import {
  type PgClient,
  type PostgresPlace,
  type PostgresSettings,
  type PostgresStorageOptions,
  readOptions,
} from "./options.js";
import {
  type CommitRow,
  commitOf,
  createStatements,
  decodeText,
  encodeText,
  Preparation,
  type Statements,
} from "./rows.js";
import { prepareSchema } from "./schema.js";
import { Channel, watchCommits } from "./watch.js";
import { CommitAppender, checkRowCommit, removeSession } from "./write.js";

/**
 * Stores sessions in PostgreSQL 14 or newer, for any number of hosts on one database. A commit is one statement,
 * which succeeds only if the newest commit is the one that it follows; no lock is held between statements.
 *
 * While the server cannot be reached, calls are retried for `retryMs`. An append whose answer was lost is confirmed
 * by a write that finds its hash. If that is not possible, it fails with `STORAGE_FAILED` and `outcome: "unknown"`.
 *
 * There is no `compact`, because the server's own vacuum frees space. Every method throws `PhasegateError`
 * `STORAGE_FAILED` when the server fails. A commit that cannot be read as it was written throws `TAMPERED`.
 */
export class PostgresStorage implements StorageAdapter {
  /** The durability of this storage, its limits, and whether several processes may use it. */
  readonly capabilities: StorageAdapter["capabilities"];
  readonly #connections: Connections;
  readonly #settings: PostgresSettings;
  readonly #preparation: Preparation;
  readonly #statements: Statements;
  readonly #retrier: Retrier;
  readonly #appender: CommitAppender;
  readonly #feed: CommitFeed;
  readonly #channel: Channel;
  /** Watches whose start position is being read. Appends wait for it, so that they are after that position. */
  readonly #startingWatches = new Set<Promise<unknown>>();

  private constructor(connections: Connections, settings: PostgresSettings, durability: "process" | "power") {
    const { schema, maxCommitBytes } = settings;
    this.capabilities = { durability, multiProcess: true, maxCommitBytes };
    this.#connections = connections;
    this.#settings = settings;
    this.#preparation = new Preparation(settings.preparedStatements);
    this.#statements = createStatements(schema, this.#preparation);
    this.#retrier = new Retrier(connections, settings.retryMs);
    this.#appender = new CommitAppender(connections, this.#retrier, this.#statements);
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
      const durability = await connections.use((client) => prepareSchema(client, settings.schema, settings.migrate));
      return new PostgresStorage(connections, settings, durability);
    } catch (error) {
      await connections.close();
      throw asStorageFailure("open", error);
    }
  }

  /** Returns the newest commit of a session; undefined if there is none. */
  async read(id: SessionId): Promise<Commit | undefined> {
    const [row] = await this.#retrier.rows<CommitRow>("read", this.#statements.read([id]));
    return row && commitOf(row);
  }

  /** Appends a commit. */
  async append(commit: Commit): Promise<void> {
    checkRowCommit(commit, this.capabilities.maxCommitBytes);
    if (this.#startingWatches.size > 0) await Promise.all(this.#startingWatches);
    await this.#appender.append(commit);
    this.#preparation.wrote();
    // After the call a client belongs to the host again: a later statement could run in a transaction of the host.
    if (this.#connections.canReconnect) this.#channel.notify();
    else await this.#channel.now();
  }

  /**
   * Updates the session's row without a change. The server acknowledges this when everything written before is on the
   * standbys too.
   */
  async makeDurable(id: SessionId): Promise<void> {
    await this.#retrier.repeatable("make durable", (client) => {
      return replicated(client, () => client.query(this.#statements.makeDurable([id])));
    });
  }

  /** Yields a session's commits in order, starting after version `after`. */
  log(id: SessionId, options: { after?: number; limit?: number } = {}): AsyncGenerator<Commit> {
    return readLog(this.#retrier, this.#statements, id, options);
  }

  /** Returns a payload's text; undefined if the session has none with this hash. */
  async payload(id: SessionId, hash: string): Promise<string | undefined> {
    const rows = await this.#retrier.rows<{ body: string }>("read", this.#statements.payload([id, encodeText(hash)]));
    return rows[0] && decodeText(rows[0].body);
  }

  /** Lists sessions, newest first. */
  async list(query: SessionQuery): Promise<Page<SessionSummary>> {
    return listSessions(this.#retrier, this.#settings.schema, this.#preparation, query);
  }

  /** Yields the sessions whose newest summary is unreadable. Reading one reports the damage. */
  damaged(): AsyncGenerator<SessionId> {
    return damagedIn((query) => this.list(query));
  }

  /** Returns the sessions of a kind that have changed since a position, and those that were removed. */
  async changes(kind: string, since?: string): Promise<Changes> {
    return this.#feed.changes(kind, since);
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
    await removeSession(this.#retrier, this.#settings.schema, id);
  }

  /**
   * Yields commits as they are appended: woken by notifications on a separate connection, and polled every `pollMs`.
   * On a `client` of the host it only polls. Damaged commits are skipped.
   */
  watch(
    query: SessionQuery,
    { signal, onReady }: WatchOptions & { readonly signal: AbortSignal },
  ): AsyncIterable<Commit> {
    const { schema, pollMs } = this.#settings;
    const retrier = new Retrier(this.#connections, 0);
    const feed = new CommitFeed(retrier, schema);
    const parts = { connections: this.#connections, retrier, feed, schema, pollMs };
    const begun = this.#begin();
    // A failure is that of the first commit's call.
    begun.then(() => onReady?.()).catch(() => {});
    return watchCommits(parts, begun, query, signal);
  }

  /** Returns the size of a session's commits and payloads; undefined if there is none. */
  async size(id: SessionId): Promise<SessionSize | undefined> {
    type Row = { version: string; bytes: string };
    const [row] = await this.#retrier.rows<Row>("measure", this.#statements.size([id]));
    return row && { commits: Number(row.version), bytes: Number(row.bytes) };
  }

  /** Ends the connections that this storage made. A pool or client of the host stays open. */
  async close(): Promise<void> {
    await this.#appender.settled();
    await this.#channel.close();
    await this.#connections.close();
  }

  #begin(): Promise<FeedPosition> {
    const begun = this.#feed.now();
    const starting: Promise<unknown> = begun.catch(() => {}).then(() => this.#startingWatches.delete(starting));
    this.#startingWatches.add(starting);
    return begun;
  }
}

/** The longest wait for an answer beyond the statement timeout, in milliseconds. */
const ANSWER_GRACE_MS = 5000;

/** Returns connections to a URL, or with the host's pool or client. Does not connect yet. */
async function openConnections(place: PostgresPlace, settings: PostgresSettings): Promise<Connections> {
  if (place.client !== undefined) return new ClientConnections(place.client);
  if (place.pool !== undefined) return new PoolConnections(place.pool);
  const list = readHostList(place.url);
  const { Pool } = await loadPg();
  const open = (url: string, role: WantedRole) => {
    const pool = new Pool({ ...poolOptions(url, settings), ...(role === "any" ? {} : { verify: verifying(role) }) });
    return new PoolConnections(pool, () => pool.end());
  };
  return list === undefined ? open(place.url, "any") : new HostConnections(list, open);
}

function poolOptions(connectionString: string, settings: PostgresSettings) {
  const { statementTimeoutMs } = settings;
  return {
    connectionString,
    max: settings.maxConnections,
    connectionTimeoutMillis: settings.connectTimeoutMs,
    application_name: "phasegate",
    keepAlive: true,
    // The second timeout is for a server that does not answer at all, as after a network failure.
    ...(statementTimeoutMs === 0
      ? {}
      : { statement_timeout: statementTimeoutMs, query_timeout: statementTimeoutMs + ANSWER_GRACE_MS }),
  };
}

/** Returns the pool's check of a new connection: the server may have become a standby. */
function verifying(role: Exclude<WantedRole, "any">) {
  return (client: PgClient, done: (error?: Error) => void) => {
    const text = "SELECT pg_is_in_recovery() AS standby, current_setting('transaction_read_only') = 'on' AS read_only";
    client.query<{ standby: boolean; read_only: boolean }>({ text }).then(({ rows: [server] }) => {
      const { standby = true, read_only = true } = server ?? {};
      const fits = { "read-write": !read_only, "read-only": read_only, primary: !standby, standby }[role];
      done(fits ? undefined : new WrongRole(role));
    }, done);
  };
}
