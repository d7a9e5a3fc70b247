import { setTimeout as delay } from "node:timers/promises";
import { PhasegateError } from "../../errors.js";
import { asStorageFailure, isLost, isReadOnly, isRolledBack, NotConnected } from "./failures.js";
import type { PgClient, PgListeningClient, PgNotice, PgPool, PgPoolClient, PgQuery, PgRow } from "./options.js";
/** How statements get to the server. */
export interface Connections {
  /**
   * Runs work on a client that nobody else uses meanwhile. Throws `NotConnected` if there is none, and else what the work
   * throws.
   */
  use<T>(work: (client: PgClient) => Promise<T>): Promise<T>;
  /** Whether a lost connection is followed by another one. */
  readonly canReconnect: boolean;
  /**
   * A connection of its own, to be connected and ended by the caller; undefined where none can be made. Throws
   * `NotConnected` while no server can be found to make it to.
   */
  listening(): Promise<PgListeningClient | undefined>;
  /** Is told why a connection that was listening has failed. */
  failed(error: unknown): void;
  /** Lets go of what was made here. */
  close(): Promise<void>;
}

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
  pool.on("error", ignoreError);
  pool.on("acquire", hearClient);
}

/** The pool hides its password from those who print its options, and so from a copy. */
function listeningOptions(options: object): object {
  const copy = { ...options, query_timeout: 0, statement_timeout: 0, keepAlive: true };
  if (!("password" in options)) return copy;
  return Object.defineProperty(copy, "password", { value: options.password, enumerable: false });
}

function ignoreError(): void {}

/** One connection of the host's: whoever needs it waits for the one before. */
export class ClientConnections implements Connections {
  readonly canReconnect = false;
  readonly #client: PgClient;
  #before: Promise<unknown> = Promise.resolve();

  constructor(client: PgClient) {
    this.#client = client;
    hearClient(client);
  }

  use<T>(work: (client: PgClient) => Promise<T>): Promise<T> {
    const result = this.#before.then(() => work(this.#client));
    this.#before = result.catch(ignore);
    return result;
  }

  async listening(): Promise<undefined> {}

  failed(): void {}

  async close(): Promise<void> {
    await this.#before;
  }
}

function ignore(): void {}

/** The module, loaded. */
type PgModule = typeof import("pg");

/** Loads `pg`, which hosts that keep their sessions elsewhere need not have. `INTERNAL` where it is not installed. */
export async function loadPg(load: () => Promise<PgModule> = () => import("pg")): Promise<PgModule> {
  try {
    return await load();
  } catch (error) {
    throw new PhasegateError("INTERNAL", "sessions in PostgreSQL need pg, which can't be loaded", {
      remedy: "Install it beside phasegate: npm install pg@8",
      details: { cause: "pg" },
      cause: error,
    });
  }
}

/**
 * The function of the server's that waits for standbys. A notice out of it says that the wait was ended from outside
 * (`pg_cancel_backend`): the server then reports the commit as done, though no standby may have it. The notice's text is
 * in the server's language, the function's name is not.
 */
const WAITS_FOR_STANDBY = "SyncRepWaitForLSN";

const heardByClient = new WeakSet<PgClient>();
const unreplicated = new WeakSet<PgClient>();

/**
 * Listens to a connection for as long as it lives. An end of it that nobody listens for would end the process; whoever
 * uses the connection next is told by the failure of the call.
 */
function hearClient(client: PgClient): void {
  if (heardByClient.has(client)) return;
  heardByClient.add(client);
  client.on("error", ignoreClientError);
  client.on("notice", ({ routine }: PgNotice) => {
    if (routine === WAITS_FOR_STANDBY) unreplicated.add(client);
  });
}

/**
 * Runs what writes, and tells whether the server has waited for its standbys, as `synchronous_commit` and
 * `synchronous_standby_names` ask it to. Where it has not, what was written stands on this server, and may be lost with it.
 */
export async function withStandby<T>(
  client: PgClient,
  write: () => Promise<T>,
): Promise<{ readonly result: T; readonly waited: boolean }> {
  unreplicated.delete(client);
  const result = await write();
  return { result, waited: !unreplicated.has(client) };
}

function ignoreClientError(): void {}

const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 1000;

/** How long a call may still go on trying. */
class Patience {
  readonly #until: number;
  #pause = FIRST_PAUSE_MS;

  constructor(milliseconds: number) {
    this.#until = performance.now() + milliseconds;
  }

  /** Waits before the next try, longer each time and never the same for two; false if there is no time for one. */
  async another(): Promise<boolean> {
    const pause = this.#pause * (0.5 + Math.random());
    if (performance.now() + pause > this.#until) return false;
    this.#pause = Math.min(this.#pause * 2, LONGEST_PAUSE_MS);
    await delay(pause);
    return true;
  }
}

/** Asks what may be asked twice, and asks again while the server can't be reached or had to roll back. */
export class Asking {
  readonly #connections: Connections;
  readonly #retryMs: number;

  constructor(connections: Connections, retryMs: number) {
    this.#connections = connections;
    this.#retryMs = retryMs;
  }

  /** The rows of a statement that reads. */
  async rows<R extends PgRow>(operation: string, query: PgQuery): Promise<R[]> {
    return (await this.repeatable(operation, (client) => client.query<R>(query))).rows;
  }

  /** Runs work that changes nothing more when it is done twice. Throws `STORAGE_FAILED`. */
  async repeatable<T>(operation: string, work: (client: PgClient) => Promise<T>): Promise<T> {
    const patience = this.patience();
    for (;;) {
      try {
        return await this.#connections.use(work);
      } catch (error) {
        if (!this.mayRepeat(error) || !(await patience.another())) throw asStorageFailure(operation, error);
      }
    }
  }

  /** What a call that decides for itself tries with. */
  patience(): Patience {
    return new Patience(this.#retryMs);
  }

  /** Whether another try can go better, where a second one does no harm. */
  mayRepeat(error: unknown): boolean {
    return isRolledBack(error) || ((isLost(error) || isReadOnly(error)) && this.#connections.canReconnect);
  }
}
