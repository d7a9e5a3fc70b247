import { randomUUID } from "node:crypto";
import { Alarm } from "./alarm.js";
import { channelOf } from "./channel.js";
import type { Connections } from "./connections.js";
import type { PgListeningClient } from "./pg-types.js";

const ANNOUNCE_MS = 60_000;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5000;

/**
 * A connection of its own that waits for notifications, made anew when it is lost. It only wakes: also when it is
 * connected again, since nobody knows what it has missed. Where none can be made, nothing ever wakes.
 */
export class Listener {
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
