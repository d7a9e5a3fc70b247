import type { Connections } from "./connections.js";
import { hearClient } from "./hear-client.js";
import { loadPg } from "./load-pg.js";
import { isLost, isReadOnly, NotConnected } from "./pg-failure.js";
import type { PgClient, PgListeningClient, PgPool, PgPoolClient } from "./pg-types.js";

const heard = new WeakSet<PgPool>();

/** Connections of a pool: the host's, or one that was made here and is ended here. */
export class PoolConnections implements Connections {
  readonly canReconnect = true;
  readonly #pool: PgPool;
  /** In which round each connection was made; a new one begins when the server refuses to write. */
  readonly #rounds = new WeakMap<PgClient, number>();
  #round = 0;
  #end: (() => Promise<void>) | undefined;

  constructor(pool: PgPool, end?: () => Promise<void>) {
    this.#pool = pool;
    this.#end = end;
    hear(pool);
  }

  async use<T>(work: (client: PgClient) => Promise<T>): Promise<T> {
    const client = await this.#lend();
    let broken = false;
    try {
      return await work(client);
    } catch (error) {
      broken = isLost(error) || isReadOnly(error);
      this.failed(error);
      throw error;
    } finally {
      client.release(broken);
    }
  }

  /** A connection that is not older than the last time that the server refused to write. */
  async #lend(): Promise<PgPoolClient> {
    for (;;) {
      const client = await this.#pool.connect().catch((error: unknown) => {
        throw new NotConnected(error);
      });
      const round = this.#rounds.get(client) ?? this.#round;
      this.#rounds.set(client, round);
      if (round === this.#round) return client;
      client.release(true);
    }
  }

  async listening(): Promise<PgListeningClient | undefined> {
    if (this.#pool.options === undefined) return undefined;
    const { Client } = await loadPg();
    // One that listens is idle for as long as nothing happens.
    return new Client(listeningOptions(this.#pool.options));
  }

  /** A server that refuses to write may have been the primary: all connections that were made until then lead to it. */
  failed(error: unknown): void {
    if (isReadOnly(error)) this.#round += 1;
  }

  async close(): Promise<void> {
    const end = this.#end;
    this.#end = undefined;
    await end?.();
  }
}

/**
 * A connection that the server ends is no failure of anybody's call, or the call's own; unheard, it would end the
 * process. The pool hears those that are idle. One that it lends nobody hears until the lender's promise has come round,
 * and the end can be in the very packet that made it ready: so each is heard from the event before that on, for as long
 * as it lives.
 */
function hear(pool: PgPool): void {
  if (heard.has(pool)) return;
  heard.add(pool);
  pool.on("error", ignore);
  pool.on("acquire", hearClient);
}

/** The pool hides its password from those who print its options, and so from a copy. */
function listeningOptions(options: object): object {
  const copy = { ...options, query_timeout: 0, statement_timeout: 0, keepAlive: true };
  if (!("password" in options)) return copy;
  return Object.defineProperty(copy, "password", { value: options.password, enumerable: false });
}

function ignore(): void {}
