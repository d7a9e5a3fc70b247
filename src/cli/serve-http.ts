import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Logger } from "pino";
import { createHttpApi, type HttpApi } from "../http/create-http-api.js";
import type { RoutedEngine } from "../routed/engine/routed-engine.js";
import { CommandFailure, EXIT } from "./exit-codes.js";

const HOST = "127.0.0.1";
/** Names under which only this machine is meant: a page on another name that leads here is turned away. */
const LOCAL = /^(?:127\.0\.0\.1|localhost|\[::1\])(?::\d+)?$/i;
const METHODS_WITHOUT_BODY = new Set(["GET", "HEAD"]);

/** A server on this machine alone. */
export interface HttpServing {
  readonly ended: Promise<"closed">;
  /** Takes no new requests, answers those under way, and ends. */
  close(): void;
}

/** Serves routed workflows on 127.0.0.1. Rejects where the port can't be had. */
export async function serveHttp(engine: RoutedEngine, port: number, log: Logger): Promise<HttpServing> {
  const api = createHttpApi(engine, { authorize: isLocal });
  const server = createServer((incoming, outgoing) => {
    answer(api, incoming, outgoing).catch((err: unknown) => {
      log.warn({ err }, "connection");
      outgoing.destroy();
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", (cause) => reject(notHad(port, cause))).listen(port, HOST, resolve);
  });
  const address = server.address();
  log.info({ url: `http://${HOST}:${isAddress(address) ? address.port : port}` }, "listening");
  const ended = new Promise<"closed">((resolve) => server.once("close", () => resolve("closed")));
  return { ended, close: () => void server.close() };
}

function notHad(port: number, cause: Error): CommandFailure {
  const isTaken = "code" in cause && cause.code === "EADDRINUSE";
  const message = isTaken ? `port ${port} is taken by another process` : `port ${port} can't be had`;
  return new CommandFailure(message, EXIT.environment, "Give another port, or --http 0 for any that is free.", {
    cause,
  });
}

/** What isn't meant for this machine may come from a page whose name was led here. */
function isLocal(request: Request): true | Response {
  if (LOCAL.test(request.headers.get("host") ?? "")) return true;
  const details = { remedy: `Ask http://${HOST}, or http://localhost.` };
  const message = "Only requests to this machine by its own name are answered.";
  return Response.json({ error_code: "UNAUTHORIZED", message, details }, { status: 403 });
}

async function answer(api: HttpApi, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const chunks: AsyncIterator<Uint8Array> = incoming[Symbol.asyncIterator]();
  const response = await api(requestOf(incoming, chunks));
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  outgoing.end(Buffer.from(await response.arrayBuffer()));
  // A client reads its answer once it has sent all: what nobody wants of a body is taken all the same.
  let rest = await chunks.next();
  while (!rest.done) rest = await chunks.next();
}

function requestOf(incoming: IncomingMessage, chunks: AsyncIterator<Uint8Array>): Request {
  const { method = "GET", url = "/", headers } = incoming;
  const sent = new Headers();
  for (const [name, value] of Object.entries(headers)) if (value !== undefined) sent.set(name, String(value));
  // Only the path is the client's: what it may say in place of a path is no other server.
  const target = new URL(url.startsWith("/") ? `http://${HOST}${url}` : `http://${HOST}/`);
  if (METHODS_WITHOUT_BODY.has(method)) return new Request(target, { method, headers: sent });
  // `duplex` is asked for by Node, and unknown to the types of browsers.
  const sending = { method, headers: sent, body: streamOf(chunks), duplex: "half" };
  return new Request(target, sending);
}

function streamOf(chunks: AsyncIterator<Uint8Array>): ReadableStream<Uint8Array> {
  return new ReadableStream({
    pull: async (controller) => {
      const { value, done } = await chunks.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
  });
}

function isAddress(address: AddressInfo | string | null): address is AddressInfo {
  return typeof address === "object" && address !== null;
}
