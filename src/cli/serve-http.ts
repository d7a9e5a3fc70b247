import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Logger } from "pino";
import { createHttpApi, type HttpApi } from "../http/api.js";
import { refused } from "../http/request.js";
import type { RoutedEngine } from "../routed/engine.js";
import type { Refusal } from "../tools/routed/refusals.js";
import { CommandFailure, EXIT } from "./exit-codes.js";

const HOST = "127.0.0.1";
/** Names under which only this machine is meant: a page on another name that leads here is turned away. */
const LOCAL = /^(?:127\.0\.0\.1|localhost|\[::1\])(?::\d+)?$/i;
const METHODS_WITHOUT_BODY = new Set(["GET", "HEAD"]);
/** Methods that `Request` refuses to be made with. */
const UNKNOWN_METHODS = new Set(["CONNECT", "TRACE", "TRACK"]);
/** Connections at once: more than any client needs, and fewer than the files that a process may open. */
const MAX_CONNECTIONS = 512;
/** How much of a body is read and dropped after its request was answered. */
const DROPPED_BYTES = 16 * 1024 * 1024;

/** How long clients may take, in milliseconds. */
export interface HttpTimes {
  /** For the headers of a request; also for a connection on which nothing is sent. */
  readonly headers: number;
  /** For a whole request. */
  readonly request: number;
  /** How long calls under way may take once the server ends. */
  readonly drain: number;
}

/** A server on this machine alone. */
export interface HttpServing {
  /** Resolves when every connection is closed; `abandoned` if calls were still under way. */
  readonly ended: Promise<"closed" | "abandoned">;
  /** Takes no new requests, answers those that were read whole, and ends. */
  close(): void;
}

/** Serves routed workflows on 127.0.0.1. Rejects where the port can't be had. */
export async function serveHttp(
  engine: RoutedEngine,
  port: number,
  log: Logger,
  times: HttpTimes,
): Promise<HttpServing> {
  const api = createHttpApi(engine, { authorize: isLocal });
  const server = createServer({
    headersTimeout: times.headers,
    requestTimeout: times.request,
    connectionsCheckingInterval: Math.min(1000, times.headers),
  });
  server.maxConnections = MAX_CONNECTIONS;
  const connections = new Connections(server, times.drain, log);
  server.on("request", (incoming, outgoing) => {
    connections.answering(incoming, outgoing);
    answer(api, incoming, outgoing).catch((err: unknown) => {
      log.warn({ err }, "connection");
      outgoing.destroy();
    });
  });
  server.on("connect", (_request, socket) => refuse(socket, WRONG_METHOD));
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    // An answer under way would be broken by a second one.
    if (connections.isAnswering(socket)) socket.destroy();
    else refuse(socket, refusalOf(error));
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", (cause) => reject(notHad(port, cause))).listen(port, HOST, resolve);
  });
  const address = server.address();
  log.info({ url: `http://${HOST}:${isAddress(address) ? address.port : port}` }, "listening");
  return { ended: connections.ended, close: () => connections.end() };
}

/** The connections of a server, and which of them have a request that is being answered. */
class Connections {
  readonly ended: Promise<"closed" | "abandoned">;
  readonly #server: Server;
  readonly #drainMs: number;
  readonly #log: Logger;
  /** Of each connection, the answers that are not sent yet. */
  readonly #open = new Map<Duplex, Set<ServerResponse>>();
  #abandoned = false;

  constructor(server: Server, drainMs: number, log: Logger) {
    this.#server = server;
    this.#drainMs = drainMs;
    this.#log = log;
    server.on("connection", (socket: Socket) => {
      this.#open.set(socket, new Set());
      socket.once("close", () => this.#open.delete(socket));
    });
    this.ended = new Promise((resolve) => {
      server.once("close", () => resolve(this.#abandoned ? "abandoned" : "closed"));
    });
  }

  /** Counts a request as one under way until its answer is sent, or its connection is closed. */
  answering({ socket }: IncomingMessage, outgoing: ServerResponse): void {
    const answers = this.#open.get(socket);
    answers?.add(outgoing);
    outgoing.once("close", () => {
      answers?.delete(outgoing);
      if (!this.#server.listening) this.#closeUnused(socket);
    });
  }

  /** Whether an answer is being sent on a connection, or will be to a request that was read whole. */
  isAnswering(socket: Duplex): boolean {
    return [...(this.#open.get(socket) ?? [])].some(({ req, headersSent }) => headersSent || req.complete);
  }

  /**
   * Closes the connections on which nothing was asked, or only a part of a request has come: Node waits for these, and no
   * longer counts their time. The others are closed once they are answered, or after the time for that.
   */
  end(): void {
    this.#server.close();
    for (const socket of this.#open.keys()) this.#closeUnused(socket);
    const timer = setTimeout(() => {
      this.#abandoned = true;
      this.#log.warn({ connections: this.#open.size }, "some requests took too long to be answered");
      this.#server.closeAllConnections();
    }, this.#drainMs);
    this.#server.once("close", () => clearTimeout(timer));
  }

  #closeUnused(socket: Duplex): void {
    if (!this.isAnswering(socket)) socket.destroy();
  }
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
  const response = UNKNOWN_METHODS.has(incoming.method ?? "")
    ? Response.json(WRONG_METHOD.body, { status: WRONG_METHOD.status })
    : await api(requestOf(incoming, chunks));
  // A request that broke off was refused meanwhile, or its client is gone.
  if (!incoming.socket.writable) return;
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  outgoing.end(Buffer.from(await response.arrayBuffer()));
  await dropRest(incoming, chunks);
}

/** A client reads its answer once it has sent all: what nobody wants of a body is read all the same, up to a limit. */
async function dropRest(incoming: IncomingMessage, chunks: AsyncIterator<Uint8Array>): Promise<void> {
  let dropped = 0;
  try {
    for (let rest = await chunks.next(); !rest.done; rest = await chunks.next()) {
      dropped += rest.value.length;
      if (dropped > DROPPED_BYTES) break;
    }
  } catch {
    // The client went away, or sent a broken chunk; its answer was sent, and `clientError` tells it what is broken.
  }
  if (!incoming.complete) incoming.destroy();
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

/** Answers what is no request that can be handed on, and closes the connection. */
function refuse(socket: Duplex, { status, body }: Refusal): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const text = JSON.stringify(body);
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    "content-type: application/json; charset=utf-8",
    `content-length: ${Buffer.byteLength(text)}`,
    "connection: close",
  ];
  // Destroyed once it is sent: what still comes is not read.
  socket.end(`${head.join("\r\n")}\r\n\r\n${text}`, () => socket.destroy());
}

/** What Node's parser has refused. */
function refusalOf({ code }: NodeJS.ErrnoException): Refusal {
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return TOO_SLOW;
  return code === "HPE_HEADER_OVERFLOW" ? LARGE_HEADERS : NO_HTTP;
}

const WRONG_METHOD = refused(405, "METHOD_NOT_ALLOWED", "No path takes this method.", {
  remedy: "The OpenAPI document names every method.",
});
const TOO_SLOW = refused(408, "REQUEST_TIMEOUT", "The request didn't come in time.", {
  remedy: "Send all of it at once.",
});
const LARGE_HEADERS = refused(431, "HEADERS_TOO_LARGE", "The URL and the headers of the request are too large.", {
  remedy: "They may have 16 KiB together: send long values in the body.",
});
const NO_HTTP = refused(400, "INVALID_FORMAT", "The request is not valid HTTP/1.1.", {
  remedy: "Send it with an HTTP client.",
});

function isAddress(address: AddressInfo | string | null): address is AddressInfo {
  return typeof address === "object" && address !== null;
}
