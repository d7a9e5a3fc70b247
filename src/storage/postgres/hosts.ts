import type { Connections, PoolConnections } from "./connections.js";
import { isExhausted, isLost, isReadOnly, NotConnected, unusable, WrongRole } from "./failures.js";
import type { PgClient, PgListeningClient } from "./options.js";
/** What a server must be for a connection to it to be used, as libpq names it. */
export type WantedRole = "any" | "read-write" | "read-only" | "primary" | "standby";

/** The servers of an address, each as an address of its own, and the roles that are looked for, the best first. */
interface HostList {
  readonly urls: readonly [string, ...string[]];
  readonly roles: readonly WantedRole[];
}

/** By the value of `target_session_attrs`. */
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
 * `target_session_attrs`, which `pg` doesn't know. Undefined where it has neither, and `pg` reads it as it is. Throws
 * `STORAGE_FAILED`, whose text holds nothing of the address: it may have a password in it.
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

/** Hosts of the parameter, with their ports, as they stand in front of a path. One port is that of all hosts. */
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

/** What the driver says of a URL that it can't read may hold the URL, and so the password: it is said here, without. */
function checkUrl(url: string): string {
  if (URL.canParse(url)) return url;
  throw unusable("the url is not one of PostgreSQL's", EXAMPLE);
}

/** Makes a pool for one server; connections to it are used only while the server has that role. */
type OpenPool = (url: string, role: WantedRole) => PoolConnections;

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
