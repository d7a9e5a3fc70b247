import { isIPv4, isIPv6 } from "node:net";
import { PhasegateError } from "../errors.js";
import { wrongParam } from "./define-verifier.js";
/**
 * A server that gates may ask: `example.org` (ports 80 and 443), `example.org:8080`, or with `private: true` one
 * whose address is not of the public internet, such as `localhost:3000`.
 */
export type AllowedHost = string | { readonly host: string; readonly private?: boolean };

/** A URL that may be asked for. */
export interface AllowedUrl {
  readonly url: URL;
  /** The name or address without brackets. */
  readonly hostname: string;
  readonly port: number;
  readonly mayBePrivate: boolean;
}

/** Whether servers are private, by `name:port` as a URL has it. */
export type HostList = ReadonlyMap<string, boolean>;

/** Reads the host's list; throws `INVALID_INPUT` for an entry that is no host. */
export function readHosts(allowed: readonly AllowedHost[]): HostList {
  const list = new Map<string, boolean>();
  for (const entry of allowed) {
    const { host, private: mayBePrivate = false } = typeof entry === "string" ? { host: entry } : entry;
    for (const key of keysOf(host)) list.set(key, mayBePrivate);
  }
  return list;
}

/** Reads a URL; throws `INVALID_INPUT` for one that isn't http(s), holds a password, or names another server. */
export function allowedUrl(verifier: string, text: string, hosts: HostList): AllowedUrl {
  const url = URL.parse(text);
  if (url === null) throw wrongParam(verifier, "url", "it is not a URL");
  const standard = STANDARD_PORTS[url.protocol];
  if (standard === undefined) throw wrongParam(verifier, "url", "only http: and https: are asked");
  if (url.username !== "" || url.password !== "") throw wrongParam(verifier, "url", "it holds a name or a password");
  const port = url.port === "" ? standard : Number(url.port);
  const mayBePrivate = hosts.get(`${url.hostname}:${port}`);
  if (mayBePrivate === undefined) {
    throw wrongParam(
      verifier,
      "url",
      `${url.host} is not on the host's list of servers (phasegate serve: --allow-host)`,
    );
  }
  return { url, hostname: url.hostname.replace(/^\[|\]$/g, ""), port, mayBePrivate };
}

const STANDARD_PORTS: Readonly<Record<string, number>> = { "http:": 80, "https:": 443 };

/** As URL reads them: lower case, punycode, and addresses in their one usual form. */
function keysOf(host: string): string[] {
  const url = URL.parse(`http://${host}/`);
  if (url === null || /[/@?#\\\s*]/.test(host)) {
    throw new PhasegateError("INVALID_INPUT", `'${host}' is no host`, {
      remedy: "List hosts as 'example.org' or 'example.org:8080', one by one.",
      details: { field: "hosts", expected: "a host name or address, with or without a port" },
    });
  }
  // URL leaves http's own port out even if it was written.
  if (/:\d+$/.test(host)) return [`${url.hostname}:${url.port || "80"}`];
  return [`${url.hostname}:80`, `${url.hostname}:443`];
}

/** IPv4 networks that are not the public internet: this machine, private ones, carriers', tests', many receivers. */
const NOT_PUBLIC_4 = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  // Link-local, with the metadata services of clouds.
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/3",
].map(network);

/** IPv6 is public in 2000::/3 only, and not in these: translated, tunnelled and documentation addresses. */
const PUBLIC_6 = network("2000::/3");
const NOT_PUBLIC_6 = ["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"].map(network);
/** IPv4 in the clothes of IPv6. */
const MAPPED = network("::ffff:0:0/96");

interface Network {
  readonly start: bigint;
  readonly bits: bigint;
}

/** Whether an IP address is one of the public internet. What isn't an address isn't public. */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return isPublic4(numberOf4(address));
  // A zone (`%eth0`) belongs to addresses of one link.
  if (!isIPv6(address) || address.includes("%")) return false;
  const value = numberOf6(address);
  if (isIn(value, MAPPED, 128n)) return isPublic4(value & 0xffff_ffffn);
  return isIn(value, PUBLIC_6, 128n) && !NOT_PUBLIC_6.some((net) => isIn(value, net, 128n));
}

function isPublic4(value: bigint): boolean {
  return !NOT_PUBLIC_4.some((net) => isIn(value, net, 32n));
}

function isIn(value: bigint, { start, bits }: Network, width: bigint): boolean {
  return value >> (width - bits) === start >> (width - bits);
}

function network(text: string): Network {
  const [address = "", bits = ""] = text.split("/");
  return { start: isIPv4(address) ? numberOf4(address) : numberOf6(address), bits: BigInt(bits) };
}

function numberOf4(address: string): bigint {
  return address.split(".").reduce((sum, part) => sum * 256n + BigInt(part), 0n);
}

/** Of an address that is known to be one. */
function numberOf6(address: string): bigint {
  const dotted = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(address);
  const [, before = "", quad = ""] = dotted ?? [];
  const low = numberOf4(quad === "" ? "0.0.0.0" : quad);
  const whole = dotted === null ? address : `${before}${(low >> 16n).toString(16)}:${(low & 0xffffn).toString(16)}`;
  const [head = "", tail = ""] = whole.split("::");
  const groups = (part: string) => (part === "" ? [] : part.split(":"));
  const zeros = 8 - groups(head).length - groups(tail).length;
  const all = [...groups(head), ...Array.from({ length: zeros }, () => "0"), ...groups(tail)];
  return all.reduce((sum, group) => sum * 0x1_0000n + BigInt(`0x${group}`), 0n);
}
