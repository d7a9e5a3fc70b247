import type { Connections } from "./connections.js";
import type { HostList, WantedRole } from "./host-list.js";
import { isExhausted, isLost, isReadOnly, NotConnected, WrongRole } from "./pg-failure.js";
import type { PgClient, PgListeningClient } from "./pg-types.js";
import type { PoolConnections } from "./pool-connections.js";

/** Makes a pool for one server; connections to it are used only while the server has that role. */
export type OpenPool = (url: string, role: WantedRole) => PoolConnections;

/**
 * Connections to one of several servers: the first of the address that can be reached and has the role that is wanted. Once
 * a connection is lost, or the server refuses to write, the servers are looked through again, from the first one on: after
 * a failover the next try of a call goes to whoever is the primary then.
 */
export class HostConnections implements Connections {
  readonly canReconnect = true;
  readonly #list: HostList;
  readonly #open: OpenPool;
  readonly #closing = new Set<Promise<void>>();
  #current: PoolConnections | undefined;
  #finding: Promise<void> | undefined;
  #isClosed = false;

  constructor(list: HostList, open: OpenPool) {
    this.#list = list;
    this.#open = open;
  }

  async use<T>(work: (client: PgClient) => Promise<T>): Promise<T> {
    const current = await this.#find();
    // What it was may have been left while this call waited for its turn: its pool takes nobody any more.
    if (current !== this.#current) return this.use(work);
    try {
      return await current.use(work);
    } catch (error) {
      this.#leave(current, error);
      throw error;
    }
  }

  async listening(): Promise<PgListeningClient | undefined> {
    return (await this.#find()).listening();
  }

  /** A connection for notifications that failed has failed at the server that was found last. */
  failed(error: unknown): void {
    if (this.#current !== undefined) this.#leave(this.#current, error);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#finding?.catch(ignore);
    await Promise.all([this.#current?.close(), ...this.#closing]);
  }

  async #find(): Promise<PoolConnections> {
    for (;;) {
      if (this.#current !== undefined) return this.#current;
      this.#finding ??= this.#search().finally(() => {
        this.#finding = undefined;
      });
      await this.#finding;
    }
  }

  async #search(): Promise<void> {
    let failure: unknown;
    for (const role of this.#list.roles) {
      for (const url of this.#list.urls) {
        if (this.#isClosed) throw new NotConnected(new Error("the storage was closed"));
        const pool = this.#open(url, role);
        try {
          await pool.use(async () => {});
          this.#current = pool;
          return;
        } catch (error) {
          await pool.close();
          // As libpq has it: a server that refuses the user, or has no such database, is the end of the search.
          if (!isLost(error)) throw error;
          // That one can be reached and has another role says more than that others can't be reached.
          if (!isWrongRole(failure)) failure = error;
        }
      }
    }
    throw failure;
  }

  #leave(pool: PoolConnections, error: unknown): void {
    if (this.#current !== pool || isExhausted(error) || !(isLost(error) || isReadOnly(error))) return;
    this.#current = undefined;
    // Calls that are still under way on it end as they do.
    const closing = pool.close().catch(ignore);
    this.#closing.add(closing);
    void closing.then(() => this.#closing.delete(closing));
  }
}

function isWrongRole(error: unknown): boolean {
  return error instanceof NotConnected && error.cause instanceof WrongRole;
}

function ignore(): void {}
