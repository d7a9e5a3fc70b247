import { Alarm } from "./alarm.js";
import { channelOf } from "./channel.js";
import type { Connections } from "./connections.js";
import type { PgListeningClient } from "./pg-types.js";

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5000;

/**
 * A connection of its own that waits for notifications, made anew when it is lost. It only wakes: also when it is
 * connected again, since nobody knows what it has missed. Where none can be made, nothing ever wakes.
 */
export class Listener {
  readonly #connections: Connections;
  readonly #channel: string;
  readonly #wake: () => void;
  readonly #lost = new Alarm();
  readonly #running: Promise<void>;
  #closed = false;

  constructor(connections: Connections, schema: string, wake: () => void) {
    this.#connections = connections;
    this.#channel = channelOf(schema);
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
      const client = await this.#connections.listening();
      if (client === undefined) return;
      if (await this.#listen(client)) pause = FIRST_PAUSE_MS;
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
      await client.query({ text: `LISTEN "${this.#channel}"` });
      connected = true;
      this.#wake();
      while (!over && !this.#closed) await this.#lost.sleep(LONGEST_SLEEP_MS);
    } catch {
      // Tried again after a pause; until then whoever watches looks by itself.
    }
    await client.end().catch(() => undefined);
    return connected;
  }
}

const LONGEST_SLEEP_MS = 2 ** 31 - 1;
