import { unusable } from "./pg-failure.js";

/** What a server must be for a connection to it to be used, as libpq names it. */
export type WantedRole = "any" | "read-write" | "read-only" | "primary" | "standby";

/** The servers of an address, each as an address of its own, and the roles that are looked for, the best first. */
export interface HostList {
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
