/** Watches commits. A notification only wakes a watch; what is new is read from the feed. */
import { randomUUID } from "node:crypto";
import { isPhasegateError } from "../../errors.js";
import type { Commit, SessionQuery } from "../../ports/storage-adapter.js";
import { Pause } from "../common/failures.js";
import { matchesQuery } from "../common/session-query.js";
import { type Connections, ignore, type Retrier } from "./connections.js";
import type { CommitFeed, FeedPosition } from "./feed.js";
import type { PgListeningClient } from "./options.js";
import type { Statements } from "./rows.js";

interface WatchParts {
  readonly connections: Connections;
  /** Without retries: the watch repeats by itself. */
  readonly retrier: Retrier;
  readonly feed: CommitFeed;
  readonly schema: string;
  readonly pollMs: number;
}

export async function* watchCommits(
  parts: WatchParts,
  begun: Promise<FeedPosition>,
  query: SessionQuery,
  signal: AbortSignal,
): AsyncGenerator<Commit> {
  const timer = new Pause();
  const wake = () => timer.wake();
  signal.addEventListener("abort", wake);
  let listener: Listener | undefined;
  try {
    let position = await begun;
    if (!signal.aborted) listener = new Listener(parts.connections, parts.schema, wake);
    while (!signal.aborted) {
      for await (const { commits, to } of newCommits(parts, position)) {
        for (const commit of commits) {
          if (!signal.aborted && matchesQuery(commit.summary, query)) yield commit;
          if (signal.aborted) return;
        }
        position = to;
      }
      if (!signal.aborted) await timer.wait(parts.pollMs);
    }
  } finally {
    signal.removeEventListener("abort", wake);
    await listener?.close();
  }
}

/** Yields what is new. If the connection is lost, it ends early, and the next poll continues. */
async function* newCommits({ retrier, feed }: WatchParts, position: FeedPosition): ReturnType<CommitFeed["since"]> {
  try {
    yield* feed.since(position);
  } catch (error) {
    if (!isPhasegateError(error, "STORAGE_FAILED") || !retrier.mayRepeat(error.cause)) throw error;
  }
}

const [ANNOUNCE_MS, FIRST_PAUSE_MS, LONGEST_PAUSE_MS, CLOSE_MS] = [60_000, 100, 5000, 2000];

/** A connection for notifications, replaced when it is lost. It also wakes the watch then, which polls without one. */
class Listener {
  readonly #connections: Connections;
  readonly #schema: string;
  readonly #id = randomUUID();
  readonly #wake: () => void;
  /** Ended by `close` alone: what a lost connection reports must not shorten the pause before the next one. */
  readonly #pause = new Pause();
  #current: { readonly client: PgListeningClient; readonly lost: Pause } | undefined;
  readonly #running: Promise<void>;
  #closed = false;

  constructor(connections: Connections, schema: string, wake: () => void) {
    this.#connections = connections;
    this.#schema = schema;
    this.#wake = wake;
    this.#running = this.#run();
  }

  /** If the server does not answer in time, the connection is cut off. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#pause.wake();
    this.#current?.lost.wake();
    const ended = new Pause();
    this.#running.then(() => ended.wake(), ignore);
    await ended.wait(CLOSE_MS);
    // With a query that waits for its answer, this destroys the socket.
    this.#current?.client.end().catch(ignore);
  }

  async #run(): Promise<void> {
    let pause = FIRST_PAUSE_MS;
    while (!this.#closed) {
      try {
        const client = await this.#connections.listening();
        if (client === undefined) return;
        if (await this.#listen(client)) pause = FIRST_PAUSE_MS;
      } catch {
        // No server can be found now. The watch's own queries report that.
      }
      if (this.#closed) return;
      // Jitter: many listeners that were cut off together must not reconnect together.
      await this.#pause.wait(pause * (0.5 + Math.random()));
      pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
    }
  }

  /** Listens until the connection is lost. Returns true if it was established. */
  async #listen(client: PgListeningClient): Promise<boolean> {
    let [connected, over] = [false, false];
    const lost = new Pause();
    this.#current = { client, lost };
    const end = () => {
      over = true;
      lost.wake();
    };
    client.on("error", end);
    client.on("end", end);
    client.on("notification", this.#wake);
    try {
      await client.connect();
      await client.query({ text: `LISTEN "${channelOf(this.#schema)}"` });
      connected = true;
      while (!over && !this.#closed) {
        await this.#announce(client, `now() + interval '${2 * ANNOUNCE_MS} milliseconds'`);
        this.#wake();
        await lost.wait(ANNOUNCE_MS);
      }
      if (!over) await this.#announce(client, "now()");
    } catch (error) {
      // Retried after a pause, perhaps at another server. Until then the watch polls.
      this.#connections.failed(error);
    }
    await client.end().catch(ignore);
    this.#current = undefined;
    return connected;
  }

  /** Registers the listener: writers notify only if there is one. Also deletes expired rows of others. */
  async #announce(client: PgListeningClient, until: string): Promise<void> {
    const listeners = `"${this.#schema}".listeners`;
    await client.query({
      text: `WITH gone AS (DELETE FROM ${listeners} WHERE until < now() AND listener_id <> $1)
        INSERT INTO ${listeners} VALUES ($1, ${until}) ON CONFLICT (listener_id) DO UPDATE SET until = excluded.until`,
      values: [this.#id],
    });
  }
}

/** Appends within this time share one notification, in milliseconds. */
const GATHER_MS = 10;

function channelOf(schema: string): string {
  return `phasegate_${schema}`;
}

/**
 * Notifies watches soon after an append, but outside of its transaction: the server serializes commits that notify,
 * in the whole cluster. Without listeners nothing is sent; a new listener polls after it has registered. A lost
 * notification only costs time, since watches also poll.
 */
export class Channel {
  readonly #connections: Connections;
  readonly #statements: Statements;
  readonly #name: string;
  #sending: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;

  constructor(connections: Connections, statements: Statements, schema: string) {
    this.#connections = connections;
    this.#statements = statements;
    this.#name = channelOf(schema);
  }

  notify(): void {
    this.#timer ??= setTimeout(() => void this.#sending.then(() => this.now()), GATHER_MS);
    this.#timer.unref();
  }

  now(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const query = this.#statements.wake([this.#name]);
    // Failures are ignored: a watch that was not notified polls.
    this.#sending = this.#connections.use((client) => client.query(query)).then(ignore, ignore);
    return this.#sending;
  }

  async close(): Promise<void> {
    await this.#sending;
    if (this.#timer !== undefined) await this.now();
  }
}
