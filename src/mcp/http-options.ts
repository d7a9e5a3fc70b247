/** The options of an MCP endpoint over HTTP, and what a host registers on its servers. */
import type { Implementation, McpServer } from "@modelcontextprotocol/server";
import type { Actor } from "../ports/actor.js";
import { type Login, loginCheck } from "../ports/login.js";
import {
  callable,
  check,
  checkOptions,
  flag,
  fromOne,
  having,
  type OptionChecks,
  optionally,
  text,
} from "../workflow/host-options.js";
import type { HttpCall } from "./http-request.js";

/** Something that was registered on a server, and ends with it. */
export interface Registration {
  /** Ends it. */
  dispose(): void;
  /** Sends updates of a resource, as if the client had subscribed. Rejects if there is no such resource. */
  subscribe?(uri: string): Promise<void>;
  /** Ends the updates of a resource. */
  unsubscribe?(uri: string): void;
}

/** Whom a server is made for. */
export interface ServedClient {
  /** Who calls. */
  readonly actor: Actor;
  /** True if the server answers one request: what a tool remembers for the client must then be kept elsewhere. */
  readonly forOneRequest: boolean;
}

/** Options of an HTTP handler. */
export interface McpHttpOptions {
  /**
   * Registers the tools on a server that is made for one client, or for one request, of one actor. What it returns is
   * disposed of with the server.
   */
  register(
    server: McpServer,
    context: ServedClient,
  ): Registered | readonly Registered[] | Promise<Registered | readonly Registered[]>;
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
  /**
   * Gives clients of protocol 2025 a connection with memory in this process. Default true. Set it to false where the
   * next request may reach another process: then nobody can be asked or told things during a call of theirs.
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
export type Registered = Registration | undefined;

const CHECKS: OptionChecks<McpHttpOptions> = {
  register: callable,
  login: optionally(loginCheck),
  quota: optionally(callable),
  path: optionally(text),
  serverInfo: optionally(having("{ name, version }")),
  stateful: optionally(flag),
  maxBodyBytes: optionally(fromOne),
  maxRequestsPerActor: optionally(fromOne),
  maxConnections: optionally(fromOne),
  maxConnectionsPerActor: optionally(fromOne),
  idleMs: optionally(fromOne),
  keepAliveMs: optionally(check("a number of 0 or more", (value) => value === 0 || fromOne.accepts(value))),
  onCall: optionally(callable),
  onAnswer: optionally(callable),
  onError: optionally(callable),
};

/** Checks the options. Throws `INVALID_INPUT`. */
export function checkHttpOptions(options: McpHttpOptions): void {
  checkOptions("createMcpHttpHandler", options, CHECKS);
}
