import { lookup } from "node:dns/promises";
import { type ClientRequest, type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { isIP } from "node:net";
import * as z from "zod";
import { hasPlaceholder } from "../gate/fill-params.js";
import type { Verifier, VerifyResult } from "../ports/verifier.js";
import { codeOf } from "../sandbox/refusals.js";
import { type AllowedUrl, allowedUrl, type HostList, isPublicAddress } from "./allowed-hosts.js";
import { defineVerifier, textParam, wrongParam } from "./define-verifier.js";
import { outputLines, sha256, shownPath } from "./subject.js";

const statusParam = z.int().min(100).max(599);
const params = z.strictObject({
  /** What to ask for; the value of the evidence field without it. */
  url: textParam.optional(),
  /** The status, or those, that are wanted; 200 to 299 without it. */
  status: z.union([statusParam, z.array(statusParam).min(1)]).optional(),
  /** How long it may take on the whole, in milliseconds; 10,000 without it. */
  timeout_ms: z.int().min(1).max(60_000).optional(),
});
type Params = z.infer<typeof params>;

/** What the verifier goes by. */
interface HttpHost {
  readonly hosts: HostList;
  readonly maxBytes: number;
  /** The addresses of a name. */
  readonly resolve?: (hostname: string) => Promise<readonly string[]>;
}

const NAME = "http_ok";
const TIMEOUT_MS = 10_000;
/** More addresses than these of one name aren't tried. */
const ADDRESSES_MAX = 4;

/** Whether a server on the host's list answers a GET as is wanted. */
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

class AddressRefused extends Error {}

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

async function addressesOf(hostname: string): Promise<readonly string[]> {
  return (await lookup(hostname, { all: true })).map(({ address }) => address);
}

/** The system's look-up can't be stopped, only left alone. */
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

/** What a server has answered. */
interface HttpAnswer {
  readonly status: number;
  readonly body: Buffer;
  /** Whether there was more than was read. */
  readonly truncated: boolean;
}

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
