/**
 * Serves many clients over MCP's Streamable HTTP: a handler from `Request` to `Response`, for any runtime. Requests of
 * protocol 2026-07-28 are each answered by a server of their own. Clients of protocol 2025 get a connection, so that they
 * can be asked and told things; without one, their requests are answered in the same way. connections.ts has what lives
 * longer than a request; http-request.ts reads requests within their limits, and has the refusals.
 */
import {
  createMcpHandler,
  type Implementation,
  isInitializeRequest,
  isLegacyRequest,
  McpServer,
  type ServerOptions,
} from "@modelcontextprotocol/server";
import type { Actor } from "../ports/actor.js";
import { pause, systemClock } from "../ports/clock.js";
import { askLogin, isResponse, type Login, loginCheck } from "../ports/login.js";
import { checkRequest } from "../runtime/fetch.js";
import {
  callable,
  checkOptions,
  flag,
  fromOne,
  fromZero,
  having,
  type OptionChecks,
  optionally,
  text,
} from "../workflow/host-options.js";
import { shown } from "../workflow/names.js";
import type { Registration } from "./changes.js";
import { type Connection, Connections, Listening, Load, type Made } from "./connections.js";
import { BODY_BYTES, describeCalls, type HttpCall, type ReadBody, readBody, refusal, sent } from "./http-request.js";
import { isEventId } from "./sent-events.js";

/** Whom a server is made for. */
export interface ServedClient {
  /** Who calls. */
  readonly actor: Actor;
  /** True if the server answers one request: what a tool remembers for the client must then be kept elsewhere. */
  readonly forOneRequest: boolean;
  /**
   * The id of the client's connection of protocol 2025. A request of a connection that this process does not have, or no
   * longer, is answered alone and has it, too: as the client has sent it, so it says nothing about who calls.
   */
  readonly connectionId?: string | undefined;
}

/** Options of an HTTP handler. */
export interface McpHttpOptions {
  /**
   * Registers the tools on a server that is made for one client, or for one request, of one actor. The registrations
   * that it returns are disposed of with the server.
   */
  register(server: McpServer, context: ServedClient): Registered | Promise<Registered>;
  /** Tells who calls. Default: everybody is the operator `local`; then let nobody else reach the handler. */
  readonly login?: Login;
  /**
   * Counts a request of an actor with so many bytes, and returns its refusal if the actor may not make it now, as
   * `quotaResponse` of `phasegate/login` makes it. The refusal is sent after a second. Default: no quota.
   */
  readonly quota?: (actor: string, bytes: number) => Response | undefined;
  /** The path of the endpoint. Default `/mcp`; other paths answer 404. */
  readonly path?: string;
  /** The name and version that clients are told. Default: `phasegate`, version 0. */
  readonly serverInfo?: Implementation;
  /** Options of the SDK for each server, such as `instructions`. */
  readonly serverOptions?: ServerOptions;
  /**
   * Gives clients of protocol 2025 a connection with memory in this process. Default true. Their requests are also answered
   * by a process that does not have the connection, but for those that need it, and without asking or telling them things.
   * Set it to false where that is the rule, such as behind a balancer: then no client waits for what does not come.
   */
  readonly stateful?: boolean;
  /** Maximum size of a request body, in bytes. Default 32 MiB. */
  readonly maxBodyBytes?: number;
  /** Maximum number of requests of one actor that are answered at once. Default 64. */
  readonly maxRequestsPerActor?: number;
  /** Maximum number of connections and subscription streams. Default 2,000. */
  readonly maxConnections?: number;
  /** The same for one actor. The actor's unused ones make room. Default 100; without a login, `maxConnections`. */
  readonly maxConnectionsPerActor?: number;
  /** How long a connection of protocol 2025 is kept without a request or an open stream, in milliseconds. Default 30 min. */
  readonly idleMs?: number;
  /** The interval of signs of life on event streams, in milliseconds; 0 for none. Default 15,000. */
  readonly keepAliveMs?: number;
  /** Called after each request that was answered. Must not throw. */
  readonly onCall?: (call: HttpCall) => void;
  /** Called with bytes of answers to an actor, as they are sent. Must not throw. */
  readonly onAnswer?: (actor: string, bytes: number) => void;
  /** Called with errors that no client is told of, and with what was refused. Must not throw. */
  readonly onError?: (error: unknown) => void;
}

/** What `register` may return. */
type Registered = Registration | undefined | readonly (Registration | undefined)[];

const CHECKS: OptionChecks<McpHttpOptions> = {
  register: callable,
  login: optionally(loginCheck),
  quota: optionally(callable),
  path: optionally(text),
  serverInfo: optionally(having("{ name, version }")),
  serverOptions: optionally(having("options of the SDK's McpServer")),
  stateful: optionally(flag),
  maxBodyBytes: optionally(fromOne),
  maxRequestsPerActor: optionally(fromOne),
  maxConnections: optionally(fromOne),
  maxConnectionsPerActor: optionally(fromOne),
  idleMs: optionally(fromOne),
  keepAliveMs: optionally(fromZero),
  onCall: optionally(callable),
  onAnswer: optionally(callable),
  onError: optionally(callable),
};

/** An HTTP handler. */
export interface McpHttpHandler {
  /** Answers a request. Never rejects; throws `INVALID_INPUT` for what is no `Request`. */
  readonly fetch: (request: Request) => Promise<Response>;
  /** Tells all connected clients that a list has changed. */
  readonly notify: {
    /** The tools have changed. */
    toolsChanged(): void;
    /** The prompts have changed. */
    promptsChanged(): void;
    /** The resources have changed. */
    resourcesChanged(): void;
  };
  /** The numbers of connections, and of requests that are being answered. */
  readonly load: () => { readonly connections: number; readonly requests: number };
  /**
   * Ends: refuses new requests, ends the event streams, and gives requests under way that many milliseconds (default 0).
   * Then it cancels them. Resolves when all have ended.
   */
  readonly close: (graceMs?: number) => Promise<void>;
}

/** The actor of all requests without a login. */
const LOCAL: Actor = { name: "local", roles: ["operator"] };
/** How many bodies of the largest size one actor's requests may have in memory together. */
const BODIES_AT_ONCE = 2;
const LISTEN = "subscriptions/listen";
/**
 * How long a refusal for a quota is held back, in milliseconds. Meanwhile it counts as one of the actor's requests: a client that
 * asks again and again without waiting gets few answers, and takes little time from the others.
 */
const HELD_MS = 1000;
const SESSION_NOT_FOUND = -32001;

/**
 * Creates a handler that serves MCP over Streamable HTTP, for Node, Hono, Bun, Deno and edge runtimes alike. Check the
 * `Host` and `Origin` of requests before it: it does not know the names that it is reached by.
 * @throws {PhasegateError} `INVALID_INPUT` when an option is unknown, missing or invalid.
 */
export function createMcpHttpHandler(options: McpHttpOptions): McpHttpHandler {
  checkOptions("createMcpHttpHandler", options, CHECKS);
  return new Endpoint(options);
}

function withoutSlash(path: string): string {
  return path.endsWith("/") ? path.slice(0, -1) : path;
}

interface Asked {
  readonly request: Request;
  readonly actor: Actor;
  /** Missing for requests without a body. */
  readonly read: Extract<ReadBody, { ok: true }> | undefined;
  /** What is done when the response is complete, or the client has gone. */
  readonly after: (() => void)[];
}

/** A request that is answered with a server of its own. */
interface Alone {
  readonly isListening: boolean;
  /** The connection that its client believes to have. */
  readonly connectionId: string | undefined;
}

class Endpoint implements McpHttpHandler {
  readonly #options: McpHttpOptions;
  readonly #connections: Connections;
  readonly #keepAliveMs: number;
  readonly #load = new Load();
  /** Cancels the requests without a connection that are being answered. */
  readonly #cancels = new Set<() => Promise<unknown>>();
  #isClosing = false;

  constructor(options: McpHttpOptions) {
    this.#options = options;
    const { maxConnections: all = 2000, idleMs = 30 * 60_000, keepAliveMs = 15_000 } = options;
    const { maxConnectionsPerActor: perActor = options.login === undefined ? all : 100 } = options;
    this.#connections = new Connections({ all, perActor, idleMs }, this.#report);
    this.#keepAliveMs = keepAliveMs;
  }

  readonly fetch = (request: Request): Promise<Response> => {
    checkRequest("createMcpHttpHandler", request);
    return this.#answer(request).catch((error: unknown) => {
      this.#report(error);
      return refusal(500, "internal error: try again, and tell the person who runs this server if it fails again");
    });
  };

  readonly notify = {
    toolsChanged: () => this.#tell((server) => server.sendToolListChanged()),
    promptsChanged: () => this.#tell((server) => server.sendPromptListChanged()),
    resourcesChanged: () => this.#tell((server) => server.sendResourceListChanged()),
  };

  readonly load = () => ({ connections: this.#connections.size, requests: this.#load.requests });

  readonly close = async (graceMs = 0): Promise<void> => {
    this.#isClosing = true;
    this.#connections.closeStreams();
    await this.#load.untilIdle(graceMs);
    const cancelled = [...this.#cancels].map((cancel) => cancel());
    this.#connections.closeAll();
    await Promise.all(cancelled);
  };

  #tell(send: (server: McpServer) => void): void {
    for (const server of this.#connections.servers()) if (server.isConnected()) send(server);
  }

  readonly #report = (error: unknown): void => this.#options.onError?.(error);

  async #answer(request: Request): Promise<Response> {
    const { login, path = "/mcp", maxBodyBytes: maxBytes, maxRequestsPerActor = 64 } = this.#options;
    const { onCall, onAnswer } = this.#options;
    const document = login?.metadata?.(request);
    if (document !== undefined) return document;
    const { pathname } = new URL(request.url);
    if (withoutSlash(pathname) !== withoutSlash(path)) {
      return refusal(
        404,
        `there is nothing at ${shown(pathname)}: use ${path}, which createMcpHttpHandler({ path }) sets`,
      );
    }
    const actor = login === undefined ? LOCAL : await askLogin(login, request);
    if (isResponse(actor)) return actor;
    const busy = () => {
      this.#report(new Error(`${actor.name} has ${maxRequestsPerActor} requests under way`));
      return refusal(503, `you have ${maxRequestsPerActor} requests under way: wait for one to end`);
    };
    if (this.#load.of(actor.name) >= maxRequestsPerActor) return busy();
    const begun = systemClock.elapsed();
    const release = this.#load.take(actor.name, 1);
    const memory = this.#load.memory(actor.name, BODIES_AT_ONCE * (maxBytes ?? BODY_BYTES));
    const after = [release, memory.release];
    const done = () => {
      for (const call of after) call();
    };
    try {
      const limits = { maxBytes, maxMessages: maxRequestsPerActor, take: memory.take };
      const read = request.method === "POST" ? await readBody(request, limits) : undefined;
      if (read?.ok === false) {
        this.#report(new Error(`${actor.name}: ${read.reason}`));
        done();
        return read.response;
      }
      // A batch is as many calls as it has requests.
      const more = (read?.requests ?? 0) - 1;
      if (more > 0) {
        if (this.#load.of(actor.name) + more > maxRequestsPerActor) {
          done();
          return busy();
        }
        after.push(this.#load.take(actor.name, more));
      }
      const refused = read && this.#overQuota(actor.name, read);
      if (refused !== undefined) {
        await pause(systemClock, HELD_MS, request.signal);
        done();
        return refused;
      }
      const response = await this.#route({ request, actor, read, after });
      const { status } = response;
      for (const call of describeCalls(read?.value)) {
        after.push(() => onCall?.({ actor: actor.name, ...call, status, milliseconds: systemClock.elapsed() - begun }));
      }
      // A stream without an end of its own is no request under way.
      if (request.method === "GET" || read?.method === LISTEN) release();
      const count = (bytes: number) => onAnswer?.(actor.name, bytes);
      return await sent(response, { done, count, report: this.#report });
    } catch (error) {
      done();
      throw error;
    }
  }

  async #route(asked: Asked): Promise<Response> {
    const { request, actor, read } = asked;
    const { stateful = true } = this.#options;
    const legacy = await isLegacyRequest(request, read?.value);
    const id = legacy && stateful ? request.headers.get("mcp-session-id") : null;
    const connection = id === null ? undefined : this.#connections.find(id, actor);
    const isAnswer = read?.requests === 0;
    if (this.#isClosing && !(isAnswer && connection !== undefined) && request.method !== "DELETE") {
      return refusal(503, "the server is ending: come back");
    }
    // A client that begins again may still send the id of its former connection.
    const message = read?.value;
    if (legacy && stateful && isInitializeRequest(message)) return this.#connect(asked, message.params.protocolVersion);
    if (connection !== undefined) return this.#use(connection, asked);
    // An event stream has no body, and neither has the end of a connection.
    const isAnswerable = read?.needsConnection === false && this.#connections.mayHaveBeen(id ?? "");
    if (id !== null && !isAnswerable) {
      return refusal(404, "session not found: initialize again", SESSION_NOT_FOUND);
    }
    // It belongs to no connection, so nothing waits for this answer.
    if (isAnswer) return new Response(null, { status: 202 });
    return this.#exchange(asked, { isListening: !legacy && read?.method === LISTEN, connectionId: id ?? undefined });
  }

  /** Opens a connection of protocol 2025. */
  async #connect(asked: Asked, protocolVersion: string): Promise<Response> {
    const { actor } = asked;
    const release = this.#connections.reserve(actor.name);
    if (release === undefined) return this.#full(actor);
    const id = crypto.randomUUID();
    let connection: Connection;
    try {
      const made = await this.#make({ actor, forOneRequest: false, connectionId: id });
      const told = { protocolVersion, keepAliveMs: this.#keepAliveMs };
      connection = await this.#connections.connect(id, actor, made, told);
    } finally {
      release();
    }
    const response = await this.#use(connection, asked);
    if (!response.ok) this.#connections.close(id);
    return response;
  }

  #full(actor: Actor): Response {
    this.#report(new Error(`${actor.name} can't open more connections`));
    return refusal(503, "too many connections: close one, or come back");
  }

  async #use(connection: Connection, { request, read, after }: Asked): Promise<Response> {
    const { transport } = connection;
    if (transport === undefined) throw new Error("a subscription stream takes no requests");
    const lastEventId = request.headers.get("last-event-id");
    if (lastEventId !== null && !isEventId(lastEventId)) {
      return refusal(400, "this server gives no such event ids: ask for the stream without Last-Event-ID");
    }
    connection.using += 1;
    after.push(() => {
      connection.using -= 1;
      connection.usedAt = Date.now();
    });
    return transport.handleRequest(request, read && { parsedBody: read.value });
  }

  /** Answers one request with a server of its own. */
  async #exchange({ request, actor, read, after }: Asked, { isListening, connectionId }: Alone): Promise<Response> {
    const release = isListening ? this.#connections.reserve(actor.name) : () => {};
    if (release === undefined) return this.#full(actor);
    after.push(release);
    const made: Made[] = [];
    const listening = new Listening();
    const make = async () => {
      const one = await this.#make({ actor, forOneRequest: !isListening, connectionId });
      made.push(one);
      return one.server;
    };
    const handler = createMcpHandler(make, { bus: listening, keepAliveMs: this.#keepAliveMs, onerror: this.#report });
    const cancel = async () => {
      await handler.close();
      for (const one of made) await one.end();
    };
    this.#cancels.add(cancel);
    const end = () => {
      this.#cancels.delete(cancel);
      cancel().catch(this.#report);
    };
    const response = await handler.fetch(request, read && { parsedBody: read.value });
    const [listener] = made;
    if (!listening.isOpen || listener === undefined) {
      after.push(end);
      return response;
    }
    this.#cancels.delete(cancel);
    await this.#connections.listen(actor, listener, listening, cancel);
    release();
    for (const uri of read?.subscriptions ?? []) {
      // A resource that does not exist for this actor has no updates.
      await listener.subscribe(uri).catch(this.#report);
    }
    return response;
  }

  async #make(client: ServedClient): Promise<Made> {
    const { serverInfo = { name: "phasegate", version: "0" }, serverOptions, register } = this.#options;
    const server = new McpServer(serverInfo, serverOptions);
    const registered = [await register(server, client)].flat().filter((one) => one !== undefined);
    let isOver = false;
    return {
      server,
      async subscribe(uri) {
        await Promise.any(registered.map(async (one) => one.subscribe?.(uri) ?? Promise.reject(new Error(uri))));
      },
      async end() {
        if (isOver) return;
        isOver = true;
        for (const one of registered) one.dispose();
        await server.close();
      },
    };
  }

  /** Counts a request, or those of a batch. Returns the refusal if the actor may not make so many. */
  #overQuota(actor: string, { requests, bytes }: Pick<NonNullable<Asked["read"]>, "requests" | "bytes">) {
    for (let counted = 0; counted < requests; counted += 1) {
      const refused = this.#options.quota?.(actor, counted === 0 ? bytes : 0);
      if (refused !== undefined) return refused;
    }
    return undefined;
  }
}
