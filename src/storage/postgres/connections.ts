/** Connections to the server. Detects commits that no standby confirmed; retries calls while no server is reached. */
import { setTimeout as delay } from "node:timers/promises";
import { unusablePackage } from "../../ports/optional-package.js";
import { asStorageFailure, isLost, isReadOnly, isRolledBack, NotConnected, NotReplicated } from "./failures.js";
import type { PgClient, PgListeningClient, PgNotice, PgPool, PgPoolClient, PgQuery, PgRow } from "./options.js";

export interface Connections {
  /** Runs the work with a client of its own. Throws `NotConnected` without a connection, and the errors of the work. */
  use<T>(work: (client: PgClient) => Promise<T>): Promise<T>;
  /** True if a lost connection is replaced by a new one. */
  readonly canReconnect: boolean;
  /** The caller connects and ends it. Undefined if none can be made. Throws `NotConnected` while no server is found. */
  listening(): Promise<PgListeningClient | undefined>;
  failed(error: unknown): void;
  close(): Promise<void>;
}

const knownPools = new WeakSet<PgPool>();

export class PoolConnections implements Connections {
  readonly canReconnect = true;
  readonly #pool: PgPool;
  /** The round in which each connection was made. A new round begins when the server refuses to write. */
  readonly #rounds = new WeakMap<PgClient, number>();
  #round = 0;
  #end: (() => Promise<void>) | undefined;

  constructor(pool: PgPool, end?: () => Promise<void>) {
    this.#pool = pool;
    this.#end = end;
    handlePoolErrors(pool);
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

  /** Returns a connection that is not older than the last time the server refused to write. */
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
    // A listening connection is idle as long as nothing happens, so it has no timeouts.
    return new Client(listeningOptions(this.#pool.options));
  }

  /** A server that refuses to write may have been the primary, to which all existing connections lead. */
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
 * Handles the errors of connections that the server ends: they belong to no call, or the call fails by itself, and an
 * unhandled `error` event would end the process. The pool handles those of idle connections only, and a connection can
 * end in the packet that made it ready. So each gets a handler at the earliest event, for its whole life.
 */
function handlePoolErrors(pool: PgPool): void {
  if (knownPools.has(pool)) return;
  knownPools.add(pool);
  pool.on("error", ignore);
  pool.on("acquire", handleClientErrors);
}

/** Copies a pool's options. The pool hides its password from printing, so the copy does too. */
function listeningOptions(options: object): object {
  const copy = { ...options, query_timeout: 0, statement_timeout: 0, keepAlive: true };
  if (!("password" in options)) return copy;
  return Object.defineProperty(copy, "password", { value: options.password, enumerable: false });
}

/** The host's single connection: calls wait for each other. */
export class ClientConnections implements Connections {
  readonly canReconnect = false;
  readonly #client: PgClient;
  #before: Promise<unknown> = Promise.resolve();

  constructor(client: PgClient) {
    this.#client = client;
    handleClientErrors(client);
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

export function ignore(): void {}

/** Loads the package, an optional one. Throws `INTERNAL` if it can't be used. */
export async function loadPg(): Promise<Pick<typeof import("pg"), "Client" | "Pool">> {
  try {
    const loaded = await import("pg");
    // Before 8.15 it had a default export alone.
    return typeof loaded.Pool === "function" ? loaded : loaded.default;
  } catch (error) {
    throw unusablePackage({ name: "pg", versions: "8.11 or later", users: "sessions in PostgreSQL" }, error);
  }
}

/** The server function whose notice tells that no standby was waited for. Notices are localized, its name is not. */
const WAITS_FOR_STANDBY = "SyncRepWaitForLSN";

const knownClients = new WeakSet<PgClient>();
const unreplicated = new WeakSet<PgClient>();

/** An unhandled `error` event would end the process. The next user of the connection gets the failure of its call. */
function handleClientErrors(client: PgClient): void {
  if (knownClients.has(client)) return;
  knownClients.add(client);
  client.on("error", ignore);
  client.on("notice", ({ routine }: PgNotice) => {
    if (routine === WAITS_FOR_STANDBY) unreplicated.add(client);
  });
}

/** `waited` is false if the server did not wait for its standbys: the data may be lost with this server. */
export async function withStandby<T>(client: PgClient, write: () => Promise<T>) {
  unreplicated.delete(client);
  const result = await write();
  return { result, waited: !unreplicated.has(client) };
}

/** Runs a write for which the server must have waited. Throws `NotReplicated`. */
export async function replicated(client: PgClient, write: () => Promise<unknown>): Promise<void> {
  const { waited } = await withStandby(client, write);
  if (!waited) throw new NotReplicated();
}

const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 1000;

/** Runs idempotent work and retries it while the server cannot be reached or rolled it back. */
export class Retrier {
  readonly #connections: Connections;
  readonly #retryMs: number;

  constructor(connections: Connections, retryMs: number) {
    this.#connections = connections;
    this.#retryMs = retryMs;
  }

  async rows<R extends PgRow>(operation: string, query: PgQuery): Promise<R[]> {
    return (await this.repeatable(operation, (client) => client.query<R>(query))).rows;
  }

  async repeatable<T>(operation: string, work: (client: PgClient) => Promise<T>): Promise<T> {
    const backoff = this.backoff();
    for (;;) {
      try {
        return await this.#connections.use(work);
      } catch (error) {
        if (!this.mayRepeat(error) || !(await backoff())) throw asStorageFailure(operation, error);
      }
    }
  }

  /** Returns the wait before each further attempt of a call: false if its time is up. It grows, with jitter. */
  backoff(): () => Promise<boolean> {
    const until = performance.now() + this.#retryMs;
    let longest = FIRST_PAUSE_MS;
    return async () => {
      const pause = longest * (0.5 + Math.random());
      if (performance.now() + pause > until) return false;
      longest = Math.min(longest * 2, LONGEST_PAUSE_MS);
      await delay(pause);
      return true;
    };
  }

  mayRepeat(error: unknown): boolean {
    return isRolledBack(error) || ((isLost(error) || isReadOnly(error)) && this.#connections.canReconnect);
  }
}
