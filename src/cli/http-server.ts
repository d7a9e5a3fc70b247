/**
 * An HTTP server, with limits on time, size and connections. http/api.ts answers the requests of `serve --http`,
 * listen.ts those of `serve --listen`, inspector/inspector.ts those of the inspector. This file is loaded by `import()`:
 * without them, Node's HTTP is not needed.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from "node:http";
import { createServer as createSocketServer, type Socket, type Server as SocketServer } from "node:net";
import type { Duplex } from "node:stream";
import type { Logger } from "pino";
import { errnoOf } from "../errors.js";
import { createHttpApi } from "../http/api.js";
import { toNodeHandler } from "../http/node.js";
import { type HttpRefusal, REFUSALS } from "../http/refusals.js";
import type { Engine } from "../phased/engine.js";
import type { RoutedEngine } from "../routed/engine.js";
import type { WorkflowToolOptions } from "../tools/phased/workflow-tool.js";
import { CommandFailure, EXIT } from "./exit-codes.js";

const HOST = "127.0.0.1";
/** The same machine in IPv6: the name `localhost` may lead to either. */
const HOST_V6 = "::1";
/** How many free ports are tried until one is free in IPv6, too. */
const PORTS_TRIED = 10;
/** Host names of this machine. Other names are refused: a web page may have pointed its own name here (DNS rebinding). */
const LOCAL = /^(?:127\.0\.0\.1|localhost|\[::1\])(?::\d+)?$/i;
/** Maximum number of connections: more than clients on this machine need. */
const MAX_CONNECTIONS = 512;

/** Time limits, in milliseconds. */
export interface HttpTimes {
  /** For the headers of a request, and for a connection on which nothing is sent. Default 10,000. */
  readonly headers?: number;
  /** For a whole request. Default 60,000. */
  readonly request?: number;
  /** For calls under way after the server was told to end. */
  readonly drain: number;
}

/** Answers a request. Its signal aborts when the client has gone. Never rejects. */
type Handler = (request: Request) => Promise<Response>;

export interface HttpServing {
  readonly url: string;
  /** Resolves when every connection is closed; `abandoned` if calls were still under way. */
  readonly ended: Promise<"closed" | "abandoned">;
  /** Accepts no new requests, answers those that were read completely, and ends. */
  close(): void;
}

export type HttpServed =
  | { readonly engine: Engine; readonly tool: WorkflowToolOptions }
  | { readonly routed: RoutedEngine };

/** `maxBodyBytes` is for phased sessions, whose evidence must fit. */
export function serveHttp(
  served: HttpServed,
  port: number,
  log: Logger,
  times: HttpTimes,
  maxBodyBytes?: number,
): Promise<HttpServing> {
  const api =
    "routed" in served
      ? createHttpApi(served.routed, { authorize: isLocal })
      : createHttpApi(served.engine, { tool: served.tool, maxBodyBytes, authorize: isLocal });
  return listen(api, "--http", port, log, times);
}

interface Listening {
  readonly host?: string;
  /**
   * True to be reached as `localhost`, for browsers: passkeys work under names only. The name may lead to `::1`, where another
   * program could take the same port and get what is meant for this server, so it listens there, too.
   */
  readonly isLocalhost?: boolean;
  readonly maxConnections?: number;
}

/** Listens, by default on 127.0.0.1. Rejects if the port is not available; `option` is what it was given by. */
export async function listen(
  handler: Handler,
  option: string,
  port: number,
  log: Logger,
  { headers = 10_000, request = 60_000, drain }: HttpTimes,
  { host = HOST, isLocalhost = false, maxConnections = MAX_CONNECTIONS }: Listening = {},
): Promise<HttpServing> {
  const server = createServer({
    headersTimeout: headers,
    requestTimeout: request,
    connectionsCheckingInterval: Math.min(1000, headers),
  });
  server.maxConnections = maxConnections;
  const connected = (socket: Socket) => server.emit("connection", socket);
  const twin = isLocalhost ? createSocketServer({ noDelay: true }, connected) : undefined;
  if (twin !== undefined) twin.maxConnections = maxConnections;
  const connections = new Connections(server, drain, log);
  const answer = toNodeHandler(handler, { onError: (err) => log.warn({ err }, "connection") });
  server.on("request", (incoming, outgoing) => {
    connections.answering(incoming, outgoing);
    void answer(incoming, outgoing);
  });
  server.on("connect", (_request, socket) => refuse(socket, REFUSALS.noSuchMethod));
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    // A second answer would corrupt the one that is being sent.
    if (connections.isAnswering(socket)) socket.destroy();
    else refuse(socket, refusalOf(error));
  });
  const bound = await bind(server, twin, port, host).catch((cause: unknown) => {
    const message = errnoOf(cause) === "EADDRINUSE" ? `port ${port} is in use` : `port ${port} is not available`;
    const hint = `Give another port, or ${option} 0 for any free one.`;
    throw new CommandFailure(message, EXIT.environment, hint, { cause });
  });
  // From now on these are connections that could not be accepted, for example because too many files are open.
  for (const one of bound.servers) one.on("error", (err) => log.warn({ err }, "connection"));
  const url = `http://${isLocalhost ? "localhost" : host.includes(":") ? `[${host}]` : host}:${bound.port}`;
  log.info({ url }, "listening");
  return { url, ...connections.of(bound.servers) };
}

/** Takes a port, and the same one in IPv6 for the twin. Of free ports, one that is free for both. */
async function bind(
  server: Server,
  twin: SocketServer | undefined,
  port: number,
  host: string,
): Promise<{ readonly port: number; readonly servers: readonly SocketServer[] }> {
  for (let tries = 1; ; tries += 1) {
    const at = await take(server, port, host);
    if (twin === undefined) return { port: at, servers: [server] };
    try {
      await take(twin, at, HOST_V6);
      return { port: at, servers: [server, twin] };
    } catch (error) {
      // Where there is no IPv6, no other program has it either.
      if (WITHOUT_IPV6.has(errnoOf(error) ?? "")) return { port: at, servers: [server] };
      await new Promise<void>((resolve) => server.close(() => resolve()));
      if (port !== 0 || tries === PORTS_TRIED) throw error;
    }
  }
}

const WITHOUT_IPV6: ReadonlySet<string> = new Set(["EADDRNOTAVAIL", "EAFNOSUPPORT"]);

function take(server: SocketServer, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      const address = server.address();
      resolve(typeof address === "object" && address !== null ? address.port : port);
    });
  });
}

/** The connections of a server, with the requests on them that are being answered. */
class Connections {
  readonly #server: Server;
  readonly #drainMs: number;
  readonly #log: Logger;
  /** The answers of each connection that are not sent yet. */
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
  }

  /** Returns how the servers end on which these connections come. Each knows its own alone. */
  of(servers: readonly SocketServer[]): Pick<HttpServing, "ended" | "close"> {
    const closed = servers.map((one) => new Promise<void>((resolve) => one.once("close", resolve)));
    const ended = Promise.all(closed).then(() => (this.#abandoned ? "abandoned" : "closed"));
    return { ended, close: () => this.#end(servers, ended) };
  }

  /** Counts a request as under way until its answer is sent or its connection is closed. */
  answering({ socket }: IncomingMessage, outgoing: ServerResponse): void {
    const answers = this.#open.get(socket);
    answers?.add(outgoing);
    outgoing.once("close", () => {
      answers?.delete(outgoing);
      if (!this.#server.listening) this.#closeUnused(socket);
    });
  }

  /** Checks that a connection has an answer that is being sent, or a request that was read completely. */
  isAnswering(socket: Duplex): boolean {
    return [...(this.#open.get(socket) ?? [])].some(({ req, headersSent }) => headersSent || req.complete);
  }

  /** Closes connections without a complete request: Node would wait for these. The others get time to be answered. */
  #end(servers: readonly SocketServer[], ended: Promise<unknown>): void {
    for (const one of servers) one.close();
    for (const socket of this.#open.keys()) this.#closeUnused(socket);
    const timer = setTimeout(() => {
      this.#abandoned = true;
      this.#log.warn({ connections: this.#open.size }, "some requests were not answered in time");
      this.#server.closeAllConnections();
    }, this.#drainMs);
    ended.then(() => clearTimeout(timer));
  }

  #closeUnused(socket: Duplex): void {
    if (!this.isAnswering(socket)) socket.destroy();
  }
}

/** Refuses requests for other host names, which may come from a web page whose name points here. */
function isLocal(request: Request): true | Response {
  if (LOCAL.test(request.headers.get("host") ?? "")) return true;
  const details = { remedy: `Use http://${HOST} or http://localhost.` };
  const message = "Only requests to 127.0.0.1 or localhost are answered.";
  return Response.json({ error_code: "UNAUTHORIZED", message, details }, { status: 403 });
}

/** How long a client may read the answer to a request that was given up, in milliseconds. */
const LINGER_MS = 500;

/** The connections with such an answer. */
const refused = new WeakSet<Duplex>();

/** Answers a request that cannot be passed to the API, and closes the connection. */
function refuse(socket: Duplex, { status, body }: HttpRefusal): void {
  // The parser reports every further piece of a request that it has given up.
  if (refused.has(socket)) return;
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
  refused.add(socket);
  // A connection that is destroyed with unread data is reset, and the client may lose the answer.
  const linger = () => setTimeout(() => socket.destroy(), LINGER_MS).unref();
  socket.end(`${head.join("\r\n")}\r\n\r\n${text}`, linger);
}

function refusalOf({ code }: NodeJS.ErrnoException): HttpRefusal {
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return REFUSALS.tooSlow;
  return code === "HPE_HEADER_OVERFLOW" ? REFUSALS.largeHeaders : REFUSALS.notHttp;
}
