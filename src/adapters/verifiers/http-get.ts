import { type ClientRequest, type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { isIP } from "node:net";
import type { AllowedUrl } from "./allowed-hosts.js";

/** What a server has answered. */
export interface HttpAnswer {
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
export function getFrom(
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
