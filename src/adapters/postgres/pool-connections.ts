import type { Connections } from "./connections.js";
import { loadPg } from "./load-pg.js";
import { isLost, NotConnected } from "./pg-failure.js";
import type { PgClient, PgListeningClient, PgPool } from "./pg-types.js";

/** Connections of a pool: the host's, or one that was made here and is ended here. */
export class PoolConnections implements Connections {
  readonly canReconnect = true;
  readonly #pool: PgPool;
  #end: (() => Promise<void>) | undefined;

  constructor(pool: PgPool, end?: () => Promise<void>) {
    this.#pool = pool;
    this.#end = end;
    // An idle connection that the server ends is no failure of anybody's call; unheard, it would end the process.
    pool.on("error", ignore);
  }

  async use<T>(work: (client: PgClient) => Promise<T>): Promise<T> {
    const client = await this.#pool.connect().catch((error: unknown) => {
      throw new NotConnected(error);
    });
    let broken: Error | undefined;
    const note = (error: Error) => {
      broken = error;
    };
    client.on("error", note);
    try {
      return await work(client);
    } catch (error) {
      if (error instanceof Error && isLost(error)) broken ??= error;
      throw error;
    } finally {
      client.off("error", note);
      client.release(broken ?? false);
    }
  }

  async listening(): Promise<PgListeningClient | undefined> {
    if (this.#pool.options === undefined) return undefined;
    const { Client } = await loadPg();
    // One that listens is idle for as long as nothing happens.
    return new Client(listeningOptions(this.#pool.options));
  }

  async close(): Promise<void> {
    const end = this.#end;
    this.#end = undefined;
    await end?.();
    this.#pool.off("error", ignore);
  }
}

/** The pool hides its password from those who print its options, and so from a copy. */
function listeningOptions(options: object): object {
  const copy = { ...options, query_timeout: 0, statement_timeout: 0, keepAlive: true };
  if (!("password" in options)) return copy;
  return Object.defineProperty(copy, "password", { value: options.password, enumerable: false });
}

function ignore(): void {}
