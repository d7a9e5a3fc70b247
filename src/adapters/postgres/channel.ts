import type { Connections } from "./connections.js";
import type { Statements } from "./statements.js";

/** So long appends are gathered into one notification: those who listen are woken, and then read the log. */
const GATHER_MS = 10;

/** Where those who watch a schema are woken. */
export function channelOf(schema: string): string {
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
