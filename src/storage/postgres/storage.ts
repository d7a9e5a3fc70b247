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
import { Asking, type Connections, withStandby } from "./connections.js";
import { asStorageFailure, NotReplicated } from "./failures.js";
import { SessionLister } from "./list.js";
import { openConnections } from "./open.js";
import { type PostgresSettings, type PostgresStorageOptions, readOptions } from "./options.js";
import { SessionRemover } from "./remove.js";
import { type CommitRow, commitOf, createStatements, decodeText, encodeText, type Statements } from "./rows.js";
import { type PreparedSchema, prepareSchema } from "./schema.js";
import { Channel, CommitFeed, type FeedPosition, readLog, watchCommits } from "./watch.js";
/**
 * Sessions in PostgreSQL 13 or newer, for any number of hosts on one database. A commit is one statement, which succeeds
 * only if the newest commit is still the one that it follows; nothing is locked between statements.
 *
 * While the server can't be reached, calls try again for `retryMs`. An append whose answer was lost is confirmed by a write
 * that finds its hash; where that can't be had it fails with `STORAGE_FAILED` and `outcome: "unknown"`.
 *
 * The server's own vacuum gives room back, so that there is no `compact`.
 */
export class PostgresStorage implements StorageAdapter {
  readonly capabilities: StorageAdapter["capabilities"];
  readonly #connections: Connections;
  readonly #settings: PostgresSettings;
  readonly #statements: Statements;
  readonly #asking: Asking;
  readonly #appender: CommitAppender;
  readonly #lister: SessionLister;
  readonly #remover: SessionRemover;
  readonly #feed: CommitFeed;
  readonly #channel: Channel;
  /** Watches that don't know yet where they begin: what is appended meanwhile must come after it. */
  readonly #beginning = new Set<Promise<unknown>>();

  private constructor(connections: Connections, settings: PostgresSettings, prepared: PreparedSchema) {
    const { schema, maxCommitBytes } = settings;
    const { durability, hasTriggers } = prepared;
    this.capabilities = { durability, multiProcess: true, maxCommitBytes, remote: true };
    this.#connections = connections;
    this.#settings = settings;
    this.#statements = createStatements(schema, settings.preparedStatements);
    this.#asking = new Asking(connections, settings.retryMs);
    this.#appender = new CommitAppender(connections, this.#asking, this.#statements, hasTriggers);
    this.#lister = new SessionLister(this.#asking, schema);
    this.#remover = new SessionRemover(this.#asking, schema);
    this.#feed = new CommitFeed(this.#asking, schema);
    this.#channel = new Channel(connections, this.#statements, schema);
  }

  /**
   * Opens the sessions of a schema, whose tables are made or brought up to date. Throws `STORAGE_FAILED` if the server
   * can't be used, `FORMAT_TOO_NEW` if a newer phasegate made the tables, `INVALID_INPUT` for options that are none, and
   * `INTERNAL` if `pg` is not installed.
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

  async read(id: SessionId): Promise<Commit | undefined> {
    const [row] = await this.#asking.rows<CommitRow>("read", this.#statements.read([id]));
    return row && commitOf(row);
  }

  async append(commit: Commit): Promise<void> {
    checkRowCommit(commit, this.capabilities.maxCommitBytes);
    if (this.#beginning.size > 0) await Promise.all(this.#beginning);
    await this.#appender.append(commit);
    // A client is the host's again after the call: what came later would be in a transaction of the host's.
    if (this.#connections.canReconnect) this.#channel.notify();
    else await this.#channel.now();
  }

  /** Writes the session's row as it is: that is answered once all that was written before it is on the standbys, too. */
  async settle(id: SessionId): Promise<void> {
    await this.#asking.repeatable("settle", async (client) => {
      const { waited } = await withStandby(client, () => client.query(this.#statements.settle([id])));
      if (!waited) throw new NotReplicated();
    });
  }

  log(id: SessionId, options: { after?: number; limit?: number } = {}): AsyncGenerator<Commit> {
    return readLog(this.#asking, this.#statements, id, options);
  }

  async payload(id: SessionId, hash: string): Promise<string | undefined> {
    const rows = await this.#asking.rows<{ body: string }>("read", this.#statements.payload([id, encodeText(hash)]));
    return rows[0] && decodeText(rows[0].body);
  }

  async list(query: SessionQuery): Promise<Page<SessionSummary>> {
    return this.#lister.list(query);
  }

  /** Sessions whose newest summary can't be read: reading one tells why. */
  damaged(): AsyncGenerator<SessionId> {
    return damagedIn((query) => this.#lister.list(query));
  }

  async countActive(upTo: number): Promise<number> {
    // Without a limit where there is none that the server could read.
    const limit = Number.isSafeInteger(upTo) ? upTo : null;
    const [row] = await this.#asking.rows<{ found: number }>("count", this.#statements.countActive([limit]));
    return row?.found ?? 0;
  }

  async remove(id: SessionId): Promise<void> {
    await this.#remover.remove(id);
  }

  /** By notifications, on a connection of its own; each `pollMs` besides, and only so on a `client` of the host's. */
  watch(query: SessionQuery, { signal }: { readonly signal: AbortSignal }): AsyncIterable<Commit> {
    const { schema, pollMs } = this.#settings;
    const asking = new Asking(this.#connections, 0);
    const feed = new CommitFeed(asking, schema);
    const parts = { connections: this.#connections, asking, feed, schema, pollMs };
    return watchCommits(parts, this.#begin(), query, signal);
  }

  async size(id: SessionId): Promise<SessionSize | undefined> {
    type Row = { version: string; bytes: string };
    const [row] = await this.#asking.rows<Row>("measure", this.#statements.size([id]));
    return row && { commits: Number(row.version), bytes: Number(row.bytes) };
  }

  /** Ends the connections that were made here; a pool or a client of the host's stays open. */
  async close(): Promise<void> {
    await this.#channel.close();
    await this.#connections.close();
  }

  #begin(): Promise<FeedPosition> {
    const begun = this.#feed.now();
    const settled = begun.then(ignore, ignore);
    this.#beginning.add(settled);
    void settled.then(() => this.#beginning.delete(settled));
    return begun;
  }
}

function ignore(): void {}
