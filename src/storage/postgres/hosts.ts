/** Reads addresses with several hosts as libpq does, and finds the server with the wanted role after each failover. */
import { type Connections, ignore, type PoolConnections } from "./connections.js";
import { isExhausted, isLost, isReadOnly, NotConnected, unusable, WrongRole } from "./failures.js";
import type { PgClient, PgListeningClient } from "./options.js";

export type WantedRole = "any" | "read-write" | "read-only" | "primary" | "standby";

/** The servers of an address, each with its own URL, and the wanted roles, the best first. */
interface HostList {
  readonly urls: readonly [string, ...string[]];
  readonly roles: readonly WantedRole[];
}

const ROLES: Readonly<Record<string, readonly WantedRole[]>> = {
  any: ["any"],
  "read-write": ["read-write"],
  "read-only": ["read-only"],
  primary: ["primary"],
  standby: ["standby"],
  "prefer-standby": ["standby", "any"],
};

const ADDRESS =
  /^(?<scheme>postgres(?:ql)?:\/\/)(?<user>[^/?#]*@)?(?<hosts>[^/?#@]*)(?<path>(?:\/[^?#]*)?)(?:\?(?<query>[^#]*))?$/;
const EXAMPLE =
  "Give it as postgres://user:password@host:5432/database, or with several hosts as …@host1,host2:5433/….";

/**
 * Reads an address as libpq does: with several hosts (`a:5432,b:5433`, or `?host=a,b&port=5432,5433`) and with
 * `target_session_attrs`, which `pg` does not support. Returns undefined if it has neither, so that `pg` can read it.
 * Throws `STORAGE_FAILED` without the address in its text, since that may contain a password.
 */
export function readHostList(address: unknown): HostList | undefined {
  const parts = typeof address === "string" ? ADDRESS.exec(address)?.groups : undefined;
  if (typeof address !== "string" || parts === undefined) throw unusable("the url is not one of PostgreSQL's", EXAMPLE);
  const { scheme = "", user = "", hosts = "", path = "", query = "" } = parts;
  const parameters = new URLSearchParams(query);
  const wanted = parameters.get("target_session_attrs");
  const [named, ports] = [parameters.get("host"), parameters.get("port")];
  const isList = (named ?? hosts).includes(",");
  if (!isList && wanted === null) {
    checkUrl(address);
    return undefined;
  }
  const roles = Object.hasOwn(ROLES, wanted ?? "any") ? ROLES[wanted ?? "any"] : undefined;
  if (roles === undefined) {
    throw unusable(
      "its target_session_attrs is unknown",
      `Give one of ${Object.keys(ROLES).join(", ")}, or leave it out.`,
    );
  }
  for (const own of ["target_session_attrs", ...(named === null ? [] : ["host", "port"])]) parameters.delete(own);
  const places = named === null ? hosts.split(",") : placesIn(named, ports);
  if (isList && places.some((place) => place === "" || place.startsWith(":"))) {
    throw unusable("a host in the url is empty", "Take away the comma, or name a host.");
  }
  const urls = places.map((place) => checkUrl(`${scheme}${user}${place}${path}?${parameters}`));
  const [first = "", ...rest] = urls;
  return { urls: [first, ...rest], roles };
}

/** Returns the hosts of the `host` parameter with their ports, as in a URL. A single port applies to all. */
function placesIn(hosts: string, ports: string | null): string[] {
  const names = hosts.split(",");
  const numbers = ports?.split(",") ?? [];
  if (numbers.length > 1 && numbers.length !== names.length) {
    throw unusable(
      `the url has ${names.length} hosts and ${numbers.length} ports`,
      "Give one port for all, or one for each.",
    );
  }
  return names.map((name, index) => {
    const host = name.includes(":") ? `[${name}]` : encodeURIComponent(name);
    const port = numbers.length > 1 ? numbers[index] : numbers[0];
    return port === undefined ? host : `${host}:${port}`;
  });
}

/** Checks a URL. The driver's own message may contain the URL and its password. */
function checkUrl(url: string): string {
  if (URL.canParse(url)) return url;
  throw unusable("the url is not one of PostgreSQL's", EXAMPLE);
}

/** Makes a pool for one server, whose connections are used only while the server has this role. */
type OpenPool = (url: string, role: WantedRole) => PoolConnections;

/** Connects to the first server with the wanted role, and searches again after a lost connection or a refused write. */
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
    // The pool may have been abandoned while this call waited, and is closed then.
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

  /** A failed listening connection counts as a failure of the current server. */
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
          // As in libpq, a server that refuses the user or lacks the database ends the search.
          if (!isLost(error)) throw error;
          // A server with another role is a more useful error than an unreachable one.
          if (!isWrongRole(failure)) failure = error;
        }
      }
    }
    throw failure;
  }

  #leave(pool: PoolConnections, error: unknown): void {
    if (this.#current !== pool || isExhausted(error) || !(isLost(error) || isReadOnly(error))) return;
    this.#current = undefined;
    // Running calls on the pool are not interrupted.
    const closing = pool.close().catch(ignore);
    this.#closing.add(closing);
    void closing.then(() => this.#closing.delete(closing));
  }
}

function isWrongRole(error: unknown): boolean {
  return error instanceof NotConnected && error.cause instanceof WrongRole;
}
