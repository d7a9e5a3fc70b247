/**
 * The verifier `http_ok`: a server on the host's list answers a GET as wanted. Only the addresses that were checked are
 * asked, and no redirect is followed.
 */
import { lookup } from "node:dns/promises";
import { type ClientRequest, type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { isIP, isIPv4, isIPv6 } from "node:net";
import * as z from "zod";
import { PhasegateError } from "../errors.js";
import { hasPlaceholder } from "../gate/fill-params.js";
import type { Verifier, VerifyResult } from "../ports/verifier.js";
import { codeOf } from "../sandbox/refusals.js";
import { defineVerifier, textParam, wrongParam } from "./define-verifier.js";
import { outputLines, sha256, shownPath } from "./subject.js";

/** Whether servers are private, by `name:port` as a URL has it. */
type HostList = ReadonlyMap<string, boolean>;

/** What the verifier goes by. */
interface HttpHost {
  readonly hosts: HostList;
  readonly maxBytes: number;
  /** The addresses of a name. */
  readonly resolve?: (hostname: string) => Promise<readonly string[]>;
}

const NAME = "http_ok";

const statusParam = z.int().min(100).max(599);
const params = z.strictObject({
  /** What to ask for; the value of the evidence field without it. */
  url: textParam.optional(),
  /** The status, or those, that are wanted; 200 to 299 without it. */
  status: z.union([statusParam, z.array(statusParam).min(1)]).optional(),
  /** How long it may take on the whole, in milliseconds; 10,000 without it. */
  timeout_ms: z.int().min(1).max(60_000).optional(),
});

const TIMEOUT_MS = 10_000;

/** Checks whether a server on the host's list answers a GET as is wanted. */
export function httpOk({ hosts, maxBytes, resolve = addressesOf }: HttpHost): Verifier {
  return defineVerifier({
    name: NAME,
    params,
    checkParams({ url }) {
      if (url !== undefined && !hasPlaceholder(url)) allowedUrl(NAME, url, hosts);
    },
    async verify(given, { value }, signal) {
      const text = given.url ?? value;
      if (typeof text !== "string") throw wrongParam(NAME, "url", "the evidence must be a URL, as a text");
      const target = allowedUrl(NAME, text, hosts);
      const timeout = AbortSignal.timeout(given.timeout_ms ?? TIMEOUT_MS);
      const ran = `GET ${shownPath(target.url.href)}`;
      try {
        const answer = await ask(target, { maxBytes, signal: AbortSignal.any([signal, timeout]) }, resolve);
        return { ...judge(answer, given), ran };
      } catch (error) {
        signal.throwIfAborted();
        return { ok: false, message: `${ran}: ${timeout.aborted ? "no answer in time" : failureOf(error)}`, ran };
      }
    },
  });
}

/**
 * A server that gates may ask: `example.org` (ports 80 and 443), `example.org:8080`, or with `private: true` one
 * whose address is not of the public internet, such as `localhost:3000`.
 */
export type AllowedHost = string | { readonly host: string; readonly private?: boolean };

/** Reads the host's list; throws `INVALID_INPUT` for an entry that is no host. */
export function readHosts(allowed: readonly AllowedHost[]): HostList {
  const list = new Map<string, boolean>();
  for (const entry of allowed) {
    const { host, private: mayBePrivate = false } = typeof entry === "string" ? { host: entry } : entry;
    for (const key of keysOf(host)) list.set(key, mayBePrivate);
  }
  return list;
}

/** IPv4 in the clothes of IPv6. */
const MAPPED = network("::ffff:0:0/96");

/** IPv6 is public in 2000::/3 only, and not in these: translated, tunnelled and documentation addresses. */
const PUBLIC_6 = network("2000::/3");
const NOT_PUBLIC_6 = ["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"].map(network);

/** Checks whether an IP address is one of the public internet. What isn't an address isn't public. */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return isPublic4(numberOf4(address));
  // A zone (`%eth0`) belongs to addresses of one link.
  if (!isIPv6(address) || address.includes("%")) return false;
  const value = numberOf6(address);
  if (isIn(value, MAPPED, 128n)) return isPublic4(value & 0xffff_ffffn);
  return isIn(value, PUBLIC_6, 128n) && !NOT_PUBLIC_6.some((net) => isIn(value, net, 128n));
}

async function addressesOf(hostname: string): Promise<readonly string[]> {
  return (await lookup(hostname, { all: true })).map(({ address }) => address);
}

/** A URL that may be asked for. */
interface AllowedUrl {
  readonly url: URL;
  /** The name or address without brackets. */
  readonly hostname: string;
  readonly port: number;
  readonly mayBePrivate: boolean;
}

const STANDARD_PORTS: Readonly<Record<string, number>> = { "http:": 80, "https:": 443 };

/** Reads a URL; throws `INVALID_INPUT` for one that isn't http(s), holds a password, or names another server. */
function allowedUrl(verifier: string, text: string, hosts: HostList): AllowedUrl {
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

/** What a server has answered. */
interface HttpAnswer {
  readonly status: number;
  readonly body: Buffer;
  /** True if there was more than was read. */
  readonly truncated: boolean;
}

/** More addresses than these of one name aren't tried. */
const ADDRESSES_MAX = 4;

/** Looks the name up once, and asks the very addresses that were checked. */
async function ask(
  target: AllowedUrl,
  options: { readonly maxBytes: number; readonly signal: AbortSignal },
  resolve: NonNullable<HttpHost["resolve"]>,
): Promise<HttpAnswer> {
  const { hostname, mayBePrivate } = target;
  const addresses = isIP(hostname) === 0 ? await abortable(resolve(hostname), options.signal) : [hostname];
  if (!mayBePrivate && !addresses.every(isPublicAddress)) throw new AddressRefused();
  let failure: unknown = new AddressRefused();
  for (const address of addresses.slice(0, ADDRESSES_MAX)) {
    try {
      return await getFrom(address, target, options);
    } catch (error) {
      options.signal.throwIfAborted();
      failure = error;
    }
  }
  throw failure;
}

/** Stops waiting when the signal is aborted. The system's look-up itself can't be stopped. */
async function abortable<T>(step: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  let stop = () => {};
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason);
    signal.addEventListener("abort", stop);
  });
  try {
    return await Promise.race([step, aborted]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

class AddressRefused extends Error {}

/**
 * One GET at one address, which was checked before: the name isn't looked up again. No redirect is followed,
 * no connection kept. Reads at most `maxBytes` of the body; rejects with the failure of the connection, and
 * with the signal's reason.
 */
function getFrom(
  address: string,
  { url, hostname, port }: AllowedUrl,
  { maxBytes, signal }: { readonly maxBytes: number; readonly signal: AbortSignal },
): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    const options = {
      host: address,
      port,
      path: `${url.pathname}${url.search}`,
      method: "GET",
      agent: false as const,
      signal,
      headers: { host: url.host, accept: "*/*", "user-agent": "phasegate", connection: "close" },
    };
    // The certificate must be the name's, and an address has none to be asked for by.
    const name = isIP(hostname) === 0 ? { servername: hostname } : {};
    const request: ClientRequest =
      url.protocol === "https:" ? requestHttps({ ...options, ...name }) : requestHttp(options);
    request.on("error", reject);
    request.once("response", (response) => {
      readBody(response, maxBytes)
        .then(resolve, reject)
        .finally(() => request.destroy());
    });
    request.end();
  });
}

async function readBody(response: IncomingMessage, maxBytes: number): Promise<HttpAnswer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response) {
    const data: Buffer = chunk;
    chunks.push(data.subarray(0, maxBytes - bytes));
    bytes += data.length;
    if (bytes > maxBytes) break;
  }
  return { status: response.statusCode ?? 0, body: Buffer.concat(chunks), truncated: bytes > maxBytes };
}

type Params = z.infer<typeof params>;

function judge({ status, body, truncated }: HttpAnswer, given: Params): VerifyResult {
  const wanted = given.status === undefined ? undefined : [given.status].flat();
  const ok = wanted === undefined ? status >= 200 && status < 300 : wanted.includes(status);
  const redirect = status >= 300 && status < 400 ? "; redirects are not followed" : "";
  const message = `it answers with ${status}${redirect}; wanted: ${wanted?.join(" or ") ?? "200 to 299"}`;
  const output = outputLines(body.toString("utf8"));
  return { ok, message, exit: status, ...(truncated ? {} : { digest: sha256(body) }), output };
}

/** In words that don't say where a name leads. */
function failureOf(error: unknown): string {
  if (error instanceof AddressRefused) return "this name leads to no public address, and the host allows no other";
  return `no answer (${codeOf(error) ?? "the connection failed"})`;
}

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

function isPublic4(value: bigint): boolean {
  return !NOT_PUBLIC_4.some((net) => isIn(value, net, 32n));
}

interface Network {
  readonly start: bigint;
  readonly bits: bigint;
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

function isIn(value: bigint, { start, bits }: Network, width: bigint): boolean {
  return value >> (width - bits) === start >> (width - bits);
}
