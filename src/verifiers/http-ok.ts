/**
 * The verifier `http_ok`: a server on the host's list answers a GET as expected. A name is looked up once, only addresses
 * that were checked are called, and redirects are not followed.
 */
import { lookup } from "node:dns/promises";
import { once } from "node:events";
import type { ClientRequest, IncomingMessage } from "node:http";
import { BlockList, isIP, isIPv4, isIPv6 } from "node:net";
import * as z from "zod";
import { errnoOf, PhasegateError } from "../errors.js";
import { hasPlaceholder } from "../gate/fill-params.js";
import { defineVerifier, type Outcome, type Project } from "./define-verifier.js";
import { textParam, WrongParam } from "./params.js";
import { outputLines, sha256, shownPath } from "./subject.js";

type HostList = Project["hosts"];

const statusParam = z.int().min(100).max(599);
const params = z.strictObject({
  url: textParam.optional().describe("The URL to get. Default: the value of the evidence field."),
  status: z
    .union([statusParam, z.array(statusParam).min(1)])
    .optional()
    .describe("The expected status, or several. Default: 200 to 299."),
  timeout_ms: z
    .int()
    .min(1)
    .max(60_000)
    .optional()
    .describe("Time limit for the whole request, in milliseconds. Default: 10,000."),
});

const TIMEOUT_MS = 10_000;

export const httpOk = defineVerifier({
  about: "A server that the host allows answers as expected.",
  params,
  check({ url }, { hosts }) {
    if (url !== undefined && !hasPlaceholder(url)) allowedUrl(url, hosts);
  },
  async verify(given, { value, signal, project: { hosts, limits } }) {
    const text = given.url ?? value;
    if (typeof text !== "string") throw new WrongParam("url", "the evidence must be a URL");
    const target = allowedUrl(text, hosts);
    const timeout = AbortSignal.timeout(given.timeout_ms ?? TIMEOUT_MS);
    const ran = `GET ${shownPath(target.url.href)}`;
    try {
      const answer = await ask(target, limits.maxOutputBytes, AbortSignal.any([signal, timeout]));
      return { ...judge(answer, given), ran };
    } catch (error) {
      signal.throwIfAborted();
      return { ok: false, message: `${ran}: ${timeout.aborted ? "no answer in time" : failureOf(error)}`, ran };
    }
  },
});

/**
 * A server that gates may call: `example.org` (ports 80 and 443), `example.org:8080`, or with `private: true` a server
 * whose address is not public, such as `localhost:3000`.
 */
export type AllowedHost = string | { readonly host: string; readonly private?: boolean };

/** Reads the host's list. Throws `WrongParam` for an entry that is not a host name or address. */
export function readHosts(allowed: readonly AllowedHost[]): HostList {
  const list = new Map<string, boolean>();
  for (const entry of allowed) {
    const { host, private: mayBePrivate = false } = typeof entry === "string" ? { host: entry } : entry;
    for (const key of keysOf(host)) list.set(key, mayBePrivate);
  }
  return list;
}

/** The networks of the public internet: IPv6, and IPv4 addresses that are written as IPv6. */
const PUBLIC_6 = subnets(["2000::/3", "::ffff:0:0/96"]);

/**
 * Networks that are not public. `BlockList` also finds IPv4 addresses that are written as IPv6 (`::ffff:10.0.0.1`). The
 * IPv6 networks are for translation, tunnels and documentation.
 */
const NOT_PUBLIC = subnets([
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
  "2001::/23",
  "2001:db8::/32",
  "2002::/16",
  "3fff::/20",
]);

export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !NOT_PUBLIC.check(address, "ipv4");
  // An address with a zone (`%eth0`) is valid on one link only.
  if (!isIPv6(address) || address.includes("%")) return false;
  return PUBLIC_6.check(address, "ipv6") && !NOT_PUBLIC.check(address, "ipv6");
}

function subnets(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = "", bits] = network.split("/");
    list.addSubnet(address, Number(bits), isIPv4(address) ? "ipv4" : "ipv6");
  }
  return list;
}

interface AllowedUrl {
  readonly url: URL;
  /** The name or address without brackets. */
  readonly hostname: string;
  readonly port: number;
  readonly mayBePrivate: boolean;
}

const STANDARD_PORTS: Readonly<Record<string, number>> = { "http:": 80, "https:": 443 };

/** Reads a URL. Throws `WrongParam` if it isn't http(s), contains a password, or its server is not allowed. */
function allowedUrl(text: string, hosts: HostList): AllowedUrl {
  const url = URL.parse(text);
  if (url === null) throw new WrongParam("url", "it is not a URL");
  const standard = STANDARD_PORTS[url.protocol];
  if (standard === undefined) throw new WrongParam("url", "only http: and https: URLs are allowed");
  if (url.username !== "" || url.password !== "") throw new WrongParam("url", "it contains a user name or a password");
  const port = url.port === "" ? standard : Number(url.port);
  const mayBePrivate = hosts.get(`${url.hostname}:${port}`);
  if (mayBePrivate === undefined) {
    throw new WrongParam("url", `${url.host} is not on the host's list of servers (phasegate serve: --allow-host)`);
  }
  return { url, hostname: url.hostname.replace(/^\[|\]$/g, ""), port, mayBePrivate };
}

interface HttpAnswer {
  readonly status: number;
  readonly body: Buffer;
  /** True if the body is longer than what was read. */
  readonly truncated: boolean;
}

/** Maximum number of addresses of one name that are tried. */
const ADDRESSES_MAX = 4;

/** Looks the name up once, checks the addresses, and calls only these. Reads at most `maxBytes` of a body. */
async function ask(target: AllowedUrl, maxBytes: number, signal: AbortSignal): Promise<HttpAnswer> {
  const addresses = await addressesOf(target.hostname, signal);
  if (!target.mayBePrivate && !addresses.every(isPublicAddress)) throw new AddressRefused();
  let failure: unknown = new AddressRefused();
  for (const address of addresses.slice(0, ADDRESSES_MAX)) {
    try {
      return await getFrom(address, target, maxBytes, signal);
    } catch (error) {
      signal.throwIfAborted();
      failure = error;
    }
  }
  throw failure;
}

/** Stops waiting when the signal is aborted. The look-up itself can't be stopped. */
async function addressesOf(hostname: string, signal: AbortSignal): Promise<readonly string[]> {
  if (isIP(hostname) !== 0) return [hostname];
  signal.throwIfAborted();
  const answered = new AbortController();
  const aborted = once(signal, "abort", { signal: answered.signal }).then(() => Promise.reject(signal.reason));
  try {
    const found = await Promise.race([lookup(hostname, { all: true }), aborted]);
    return found.map(({ address }) => address);
  } finally {
    aborted.catch(() => undefined);
    answered.abort();
  }
}

class AddressRefused extends Error {}

/**
 * Sends one GET to an address that was checked, without another look-up of the name. Reads at most `maxBytes` of the
 * body. Rejects if the connection fails, and with the signal's reason.
 */
async function getFrom(
  address: string,
  { url, hostname, port }: AllowedUrl,
  maxBytes: number,
  signal: AbortSignal,
): Promise<HttpAnswer> {
  // Loaded when it is needed: with it comes all of Node's HTTP, which takes an eighth of the time that `serve` starts in.
  const { request: send } = await (url.protocol === "https:" ? import("node:https") : import("node:http"));
  return new Promise((resolve, reject) => {
    const options = {
      host: address,
      port,
      path: `${url.pathname}${url.search}`,
      method: "GET",
      agent: false as const,
      signal,
      headers: { host: url.host, accept: "*/*", "user-agent": "phasegate", connection: "close" },
      // The certificate is checked against the name; an address can't be a server name.
      servername: isIP(hostname) === 0 ? hostname : undefined,
    };
    const request: ClientRequest = send(options);
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

function judge({ status, body, truncated }: HttpAnswer, given: Params): Outcome {
  const expected = given.status === undefined ? undefined : [given.status].flat();
  const ok = expected === undefined ? status >= 200 && status < 300 : expected.includes(status);
  const redirect = status >= 300 && status < 400 ? "; redirects are not followed" : "";
  const message = `the answer is ${status}${redirect}; expected: ${expected?.join(" or ") ?? "200 to 299"}`;
  const output = outputLines(body.toString("utf8"));
  return { ok, message, exit: status, digest: truncated ? undefined : sha256(body), output };
}

/** Returns the reason of a failure, without the addresses of a name. */
function failureOf(error: unknown): string {
  if (error instanceof AddressRefused) return "this name has no public address, and the host allows only public ones";
  return `no answer (${errnoOf(error) ?? "the connection failed"})`;
}

/** Returns the keys of a host as `URL` writes them: lower case, punycode, and addresses in their usual form. */
function keysOf(host: string): string[] {
  const url = URL.parse(`http://${host}/`);
  if (url === null || /[/@?#\\\s*]/.test(host)) {
    throw new PhasegateError("INVALID_INPUT", `'${host}' is not a host name or address`, {
      remedy: "List hosts as 'example.org' or 'example.org:8080', one by one.",
      details: { field: "hosts", expected: "a host name or address, with or without a port" },
    });
  }
  // `URL` omits the default port of http.
  if (/:\d+$/.test(host)) return [`${url.hostname}:${url.port || "80"}`];
  return [`${url.hostname}:80`, `${url.hostname}:443`];
}
