/**
 * What lives longer than one HTTP request: connections of protocol 2025, with their event streams, and the subscription
 * streams of protocol 2026-07-28. Both belong to one actor, and their number is bounded. And how much is under way.
 */
import {
  type JSONRPCMessage,
  type McpServer,
  type ServerEvent,
  type ServerEventBus,
  type Transport,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { type Actor, isSameActor } from "../ports/actor.js";
import { systemClock } from "../ports/clock.js";
import { RecentMap } from "../workflow/cache.js";
import { letProcessEnd } from "./changes.js";
import { SentEvents } from "./sent-events.js";

/** A server for one client, with what a host has registered on it. */
export interface Made {
  readonly server: McpServer;
  /** Sends updates of a resource. Rejects if there is none for this client. */
  subscribe(uri: string): Promise<void>;
  /** Ends what the host has registered, and the connection. Can be called again. */
  end(): Promise<void>;
}

export interface ConnectionLimits {
  readonly all: number;
  readonly perActor: number;
  /** In milliseconds. */
  readonly idleMs: number;
}

/** A connection of protocol 2025, or a subscription stream. */
export interface Connection {
  readonly id: string;
  /** Who opened it: its tools show and do what this actor may. */
  readonly actor: Actor;
  readonly made: Made;
  /** Missing for a subscription stream. */
  readonly transport?: WebStandardStreamableHTTPServerTransport;
  /** Requests that are being answered, and open event streams. */
  using: number;
  /** When it was last used: milliseconds since 1970. */
  usedAt: number;
  /** Tells the client that it ends, as far as the protocol can, and ends it. */
  end(): Promise<void>;
}

/** How many connections that their clients have ended are known by their ids. */
const ENDED_MAX = 10_000;
/** The form of an id that a connection gets. */
const ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/**
 * The protocol from which on a client takes up a stream that has ended without its answer. Clients of older ones do not, or ask
 * again and again for streams that have theirs (SDK 1.23): these get no ids of events.
 */
const TAKEN_UP_SINCE = "2025-11-25";
/** After this time a client takes up a stream that has ended without its answer, in milliseconds. */
const RETRY_MS = 1000;

export class Connections {
  readonly #limits: ConnectionLimits;
  readonly #onError: (error: unknown) => void;
  readonly #open = new Map<string, Connection>();
  /** Those that are being opened. */
  readonly #reserved = new Set<{ readonly actor: string }>();
  /** The ids of those that their clients have ended. */
  readonly #ended = new RecentMap<string, true>(ENDED_MAX);
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(limits: ConnectionLimits, onError: (error: unknown) => void) {
    this.#limits = limits;
    this.#onError = onError;
  }

  get size(): number {
    return this.#open.size;
  }

  /**
   * Returns an actor's connection; undefined if it does not exist, belongs to another actor, or was opened with other roles
   * than the actor has now.
   */
  find(id: string, actor: Actor): Connection | undefined {
    const found = this.#open.get(id);
    return found?.transport !== undefined && isSameActor(found.actor, actor) ? found : undefined;
  }

  /**
   * Checks for an id that a process of this server may have given: to a connection that was unused for too long, or that
   * another process has or had. An id that its client has ended is over.
   */
  mayHaveBeen(id: string): boolean {
    return ID.test(id) && this.#ended.get(id) === undefined;
  }

  /**
   * Reserves room for one more of an actor: returns the function that gives it back, or undefined if there is none. Ends
   * the actor's unused connection that was used longest ago, if need be.
   */
  reserve(actor: string): (() => void) | undefined {
    if (!this.#makeRoom(actor)) return undefined;
    const reservation = { actor };
    this.#reserved.add(reservation);
    return () => this.#reserved.delete(reservation);
  }

  #makeRoom(actor: string): boolean {
    const own = [...this.#open.values()].filter((one) => one.actor.name === actor);
    const reserved = [...this.#reserved].filter((one) => one.actor === actor).length;
    const all = this.#open.size + this.#reserved.size;
    if (own.length + reserved < this.#limits.perActor && all < this.#limits.all) return true;
    const [oldest] = own.filter(({ using }) => using === 0).sort((one, other) => one.usedAt - other.usedAt);
    if (oldest === undefined) return false;
    this.close(oldest.id);
    return true;
  }

  /** Adds a connection of protocol 2025: connects the server to a new transport. */
  async connect(
    id: string,
    actor: Actor,
    made: Made,
    { protocolVersion, keepAliveMs }: { readonly protocolVersion: string; readonly keepAliveMs: number },
  ): Promise<Connection> {
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => id,
      onsessionclosed: () => {
        this.#ended.set(id, true);
        this.close(id);
      },
      keepAliveMs,
      ...(protocolVersion >= TAKEN_UP_SINCE && { eventStore: new SentEvents(), retryInterval: RETRY_MS }),
    });
    transport.onerror = this.#onError;
    await made.server.connect(transport);
    return this.#add({ id, actor, made, transport, using: 0, usedAt: Date.now(), end: () => made.end() });
  }

  /** Adds a subscription stream: what the server sends goes to its bus. */
  async listen(actor: Actor, made: Made, listening: Listening, end: () => Promise<void>): Promise<void> {
    await made.server.connect(listening);
    const id = crypto.randomUUID();
    this.#add({ id, actor, made, using: 1, usedAt: Date.now(), end });
    listening.onEnd = () => this.close(id);
    if (!listening.isOpen) this.close(id);
  }

  #add(connection: Connection): Connection {
    this.#open.set(connection.id, connection);
    if (this.#timer === undefined) {
      this.#timer = setInterval(() => this.#closeUnused(), Math.min(this.#limits.idleMs, 30_000));
      letProcessEnd(this.#timer);
    }
    return connection;
  }

  close(id: string): void {
    const found = this.#open.get(id);
    this.#open.delete(id);
    if (this.#open.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
    found?.end().catch(this.#onError);
  }

  /** Ends the event streams: their clients get nothing more, and come back elsewhere. Calls under way continue. */
  closeStreams(): void {
    for (const [id, { transport }] of this.#open) {
      if (transport === undefined) this.close(id);
      else transport.closeStandaloneSSEStream();
    }
  }

  closeAll(): void {
    for (const id of this.#open.keys()) this.close(id);
  }

  servers(): McpServer[] {
    return [...this.#open.values()].map(({ made }) => made.server);
  }

  #closeUnused(): void {
    const before = Date.now() - this.#limits.idleMs;
    for (const [id, { using, usedAt }] of this.#open) if (using === 0 && usedAt < before) this.close(id);
  }
}

/** Numbers by actor, without those that are 0. */
class Counts extends Map<string, number> {
  add(actor: string, count: number): void {
    const sum = (this.get(actor) ?? 0) + count;
    if (sum > 0) this.set(actor, sum);
    else this.delete(actor);
  }
}

/** The requests that are being answered, and the memory of their bodies, by actor. */
export class Load {
  readonly #running = new Counts();
  readonly #bytes = new Counts();
  #idle: (() => void)[] = [];

  get requests(): number {
    return [...this.#running.values()].reduce((sum, count) => sum + count, 0);
  }

  of(actor: string): number {
    return this.#running.get(actor) ?? 0;
  }

  /** Counts requests as under way. Returns the function that ends this; it can be called again. */
  take(actor: string, requests: number): () => void {
    this.#running.add(actor, requests);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#running.add(actor, -requests);
      if (this.#running.size === 0) for (const wake of this.#idle.splice(0)) wake();
    };
  }

  /** Counts the bytes of one request among those of its actor. `take` returns false if they are more than `max` together. */
  memory(actor: string, max: number): { take(bytes: number): boolean; release(): void } {
    let taken = 0;
    return {
      take: (bytes) => {
        if ((this.#bytes.get(actor) ?? 0) + bytes > max) return false;
        taken += bytes;
        this.#bytes.add(actor, bytes);
        return true;
      },
      release: () => {
        this.#bytes.add(actor, -taken);
        taken = 0;
      },
    };
  }

  /** Resolves when no request is under way, or after that many milliseconds. */
  async untilIdle(graceMs: number): Promise<void> {
    if (this.#running.size === 0 || graceMs <= 0) return;
    await new Promise<void>((resolve) => {
      const stop = systemClock.after(graceMs, resolve);
      this.#idle.push(() => {
        stop();
        resolve();
      });
    });
  }
}

/**
 * Connects a server to one subscription stream of protocol 2026-07-28: the SDK makes the stream and listens on the bus,
 * and what the server sends of changes is published there. It hears only of what its own actor may see.
 */
export class Listening implements Transport, ServerEventBus {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: Transport["onmessage"];
  /** Called when the client or the SDK has ended the stream. */
  onEnd: () => void = () => {};
  #listener: ((event: ServerEvent) => void) | undefined;

  get isOpen(): boolean {
    return this.#listener !== undefined;
  }

  subscribe(listener: (event: ServerEvent) => void): () => void {
    this.#listener = listener;
    return () => {
      this.#listener = undefined;
      this.onEnd();
    };
  }

  publish(event: ServerEvent): void {
    this.#listener?.(event);
  }

  async start(): Promise<void> {}

  async send(message: JSONRPCMessage): Promise<void> {
    if (!("method" in message)) return;
    const uri = message.params?.uri;
    switch (message.method) {
      case "notifications/tools/list_changed":
        return this.publish({ kind: "tools_list_changed" });
      case "notifications/prompts/list_changed":
        return this.publish({ kind: "prompts_list_changed" });
      case "notifications/resources/list_changed":
        return this.publish({ kind: "resources_list_changed" });
      case "notifications/resources/updated":
        return typeof uri === "string" ? this.publish({ kind: "resource_updated", uri }) : undefined;
    }
  }

  async close(): Promise<void> {
    this.onclose?.();
  }
}
