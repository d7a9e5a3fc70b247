import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import * as z from "zod";
import { hasPlaceholder } from "../../gate/placeholders.js";
import type { Verifier, VerifyResult } from "../../ports/verifier.js";
import { codeOf } from "../../walls/wall-refusals.js";
import { type AllowedUrl, allowedUrl, type HostList } from "./allowed-hosts.js";
import { defineVerifier } from "./define-verifier.js";
import { getFrom, type HttpAnswer } from "./http-get.js";
import { textParam, wrongParam } from "./parse-params.js";
import { isPublicAddress } from "./public-address.js";
import { outputLines, shownPath } from "./shown-text.js";
import { sha256 } from "./subject.js";

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
export interface HttpHost {
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
