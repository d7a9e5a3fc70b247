import { randomUUID } from "node:crypto";
import { isPhasegateError } from "../../errors.js";
import type { Commit, SessionQuery } from "../../ports/storage-adapter.js";
import { matchesQuery } from "../common/session-query.js";
import type { Connections } from "./connections.js";
import type { CommitFeed, FeedPosition } from "./feed.js";
import type { Asking } from "./retry.js";
import type { Statements } from "./rows.js";
import type { PgListeningClient } from "./types.js";

/** What `watch` is made of. */
interface WatchParts {
  readonly connections: Connections;
  /** Asks without patience: `watch` has its own. */
  readonly asking: Asking;
  readonly feed: CommitFeed;
  readonly schema: string;
  /** How often to look where nothing wakes. */
  readonly pollMs: number;
}

/** Gives commits from a position on as they come, until the signal aborts. */
export async function* watchCommits(
  parts: WatchParts,
  begun: Promise<FeedPosition>,
  query: SessionQuery,
  signal: AbortSignal,
): AsyncGenerator<Commit> {
  const alarm = new Alarm();
  const wake = () => alarm.ring();
  signal.addEventListener("abort", wake);
  let listener: Listener | undefined;
  try {
    let position = await begun;
    if (!signal.aborted) listener = new Listener(parts.connections, parts.schema, wake);
    while (!signal.aborted) {
      for await (const { commits, to } of look(parts, position)) {
        for (const commit of commits) {
          if (signal.aborted) return;
          if (matchesQuery(commit.summary, query)) yield commit;
        }
        position = to;
      }
      if (!signal.aborted) await alarm.sleep(parts.pollMs);
    }
  } finally {
    signal.removeEventListener("abort", wake);
    await listener?.close();
  }
}

/** What is new; less of it where the connection is lost in the middle. The next look goes on from there. */
async function* look({ asking, feed }: WatchParts, position: FeedPosition): ReturnType<CommitFeed["since"]> {
  try {
    yield* feed.since(position);
  } catch (error) {
    if (!isPhasegateError(error, "STORAGE_FAILED") || !asking.mayRepeat(error.cause)) throw error;
  }
}

const ANNOUNCE_MS = 60_000;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5000;

/**
 * A connection of its own that waits for notifications, made anew when it is lost. It only wakes: also when it is
 * connected again, since nobody knows what it has missed. Where none can be made, nothing ever wakes.
 */
class Listener {
  readonly #connections: Connections;
  readonly #schema: string;
  readonly #id = randomUUID();
  readonly #wake: () => void;
  readonly #lost = new Alarm();
  readonly #running: Promise<void>;
  #closed = false;

  constructor(connections: Connections, schema: string, wake: () => void) {
    this.#connections = connections;
    this.#schema = schema;
    this.#wake = wake;
    this.#running = this.#run();
  }

  /** Ends the connection. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#lost.ring();
    await this.#running;
  }

  async #run(): Promise<void> {
    let pause = FIRST_PAUSE_MS;
    while (!this.#closed) {
      try {
        const client = await this.#connections.listening();
        if (client === undefined) return;
        if (await this.#listen(client)) pause = FIRST_PAUSE_MS;
      } catch {
        // No server can be found now. Whoever watches asks for one by itself, and is told.
      }
      if (this.#closed) return;
      // Many that were cut off at once must not all come back at once.
      await this.#lost.sleep(pause * (0.5 + Math.random()));
      pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
    }
  }

  /** Listens until the connection is lost; whether there was one. */
  async #listen(client: PgListeningClient): Promise<boolean> {
    let [connected, over] = [false, false];
    const end = () => {
      over = true;
      this.#lost.ring();
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
        await this.#lost.sleep(ANNOUNCE_MS);
      }
      if (!over) await this.#announce(client, "now()");
    } catch (error) {
      // Tried again after a pause, by then perhaps at another server; until then whoever watches looks by itself.
      this.#connections.failed(error);
    }
    await client.end().catch(() => undefined);
    return connected;
  }

  /** Who appends notifies only where somebody listens. Rows of those who ended without a word go with the next ones. */
  async #announce(client: PgListeningClient, until: string): Promise<void> {
    const listeners = `"${this.#schema}".listeners`;
    await client.query({
      text: `WITH gone AS (DELETE FROM ${listeners} WHERE until < now() AND listener_id <> $1)
        INSERT INTO ${listeners} VALUES ($1, ${until}) ON CONFLICT (listener_id) DO UPDATE SET until = excluded.until`,
      values: [this.#id],
    });
  }
}

/** So long appends are gathered into one notification: those who listen are woken, and then read the log. */
const GATHER_MS = 10;

/** Where those who watch a schema are woken. */
function channelOf(schema: string): string {
  return `phasegate_${schema}`;
}

/**
 * Wakes those who watch, soon after an append and never as a part of it: at a commit that notifies, the server lets one
 * transaction through at a time, in the whole cluster. Where nobody listens nothing is notified; who begins to listen looks
 * once he has said so. A notification that is lost costs a moment, since who watches also looks by itself.
 */
export class Channel {
  readonly #connections: Connections;
  readonly #statements: Statements;
  readonly #name: string;
  #pending: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #wanted = false;
  #closed = false;

  constructor(connections: Connections, statements: Statements, schema: string) {
    this.#connections = connections;
    this.#statements = statements;
    this.#name = channelOf(schema);
  }

  /** Something was appended. */
  notify(): void {
    this.#wanted = true;
    if (this.#timer !== undefined || this.#pending !== undefined || this.#closed) return;
    this.#timer = setTimeout(() => this.#send(), GATHER_MS);
    this.#timer.unref();
  }

  /** The same at once, for who waits. */
  async now(): Promise<void> {
    this.#send();
    await this.#pending;
  }

  /** Sends what is still to be sent. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#timer !== undefined) this.#send();
    await this.#pending;
    if (this.#wanted) this.#send();
    await this.#pending;
  }

  #send(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#wanted = false;
    const query = this.#statements.wake([this.#name]);
    // Nobody waits for it, and who wasn't woken looks by itself: a failure is told to nobody.
    this.#pending = this.#connections
      .use((client) => client.query(query))
      .then(ignore, ignore)
      .then(() => {
        this.#pending = undefined;
        if (this.#wanted) this.notify();
      });
  }
}

function ignore(): void {}

/** A sleep that can be ended from outside, also before it has begun: what wakes is never missed. */
class Alarm {
  #rung = false;
  #wake: (() => void) | undefined;

  /** Ends the sleep, or the next one. */
  ring(): void {
    this.#rung = true;
    this.#wake?.();
  }

  /** Sleeps for so many milliseconds, or until it rings. */
  async sleep(milliseconds: number): Promise<void> {
    if (!this.#rung) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, milliseconds);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#wake = undefined;
    this.#rung = false;
  }
}
