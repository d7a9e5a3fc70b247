/**
 * Fetch handlers in servers of Node: `node:http`, and the frameworks on it. Needs nothing of Node's but what it is given, so that
 * hosts without Node can load this module.
 */
import { PhasegateError } from "../errors.js";
import { isRequest } from "../runtime/fetch.js";
import { callable, checkOptions, optionally } from "../workflow/host-options.js";
import { REFUSALS } from "./refusals.js";

/** Answers a request, as the function of `createHttpApi` does, and `fetch` of an inspector or of an MCP handler. */
export type FetchHandler = (request: Request) => Response | Promise<Response>;

/** What is used of an `IncomingMessage` of Node. */
interface Incoming extends AsyncIterable<Uint8Array> {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly headersDistinct?: Readonly<Record<string, readonly string[] | undefined>>;
  readonly readableDidRead: boolean;
  readonly socket: { readonly writable?: boolean; readonly encrypted?: boolean };
  destroy(): unknown;
}

/** What frameworks add to it. */
interface Framed {
  /** The body, where it was read already: by `express.json()`, Fastify or Nest. */
  readonly body?: unknown;
  /** The whole path, where a framework has taken off the part that the handler is mounted at. */
  readonly originalUrl?: string;
  /** `http` or `https`, as the framework knows it from its proxy. */
  readonly protocol?: string;
}

/** What is used of a `ServerResponse` of Node. */
interface Outgoing {
  statusCode: number;
  readonly destroyed: boolean;
  setHeader(name: string, value: number | string | readonly string[]): unknown;
  appendHeader(name: string, value: string): unknown;
  /** The types of HTTP/2 don't have it. */
  flushHeaders?(): void;
  write(chunk: Uint8Array): boolean;
  end(chunk: Uint8Array): unknown;
  end(): unknown;
  once(event: "close" | "drain", listener: () => void): unknown;
  destroy(): unknown;
}

/** A reply of Fastify. */
interface Reply {
  readonly raw: Outgoing;
  hijack(): unknown;
  getHeaders(): Readonly<Record<string, number | string | readonly string[] | undefined>>;
}

/** A request of `node:http`, Express or Nest, or one of Fastify. */
export type NodeRequest = (Incoming & Framed) | (Framed & { readonly raw: Incoming });

/** A response of `node:http`, Express or Nest, or a reply of Fastify. */
export type NodeResponse = Outgoing | Reply;

/** A handler for `createServer`, for `app.use` of Express and Nest, and for routes of Express, Fastify and Nest. */
export type NodeHandler = (
  request: NodeRequest,
  response: NodeResponse,
  next?: (error?: unknown) => void,
) => Promise<void>;

/** Options of {@link toNodeHandler}. */
export interface NodeHandlerOptions {
  /**
   * Is told of an error that the handler itself has thrown, before the connection is closed. Must not throw. Default: the
   * framework's `next` gets it, else the promise rejects. Handlers of phasegate throw only for what is no request.
   */
  readonly onError?: (error: unknown) => void;
}

/** Methods that the `Request` constructor refuses. */
const UNKNOWN_METHODS: ReadonlySet<string> = new Set(["CONNECT", "TRACE", "TRACK"]);
const METHODS_WITHOUT_BODY: ReadonlySet<string> = new Set(["GET", "HEAD"]);
/** The name of a host, with or without a port. Another text could make the URL of another server, or none at all. */
const HOST = /^[\w.:[\]-]+$/;
/** Maximum number of bytes of a body that are read and dropped after its request was answered. */
const DROPPED_BYTES = 16 * 1024 * 1024;

/**
 * Returns a handler for servers of Node from a fetch handler, or from what has one as its `fetch`. In Express, Fastify and Nest
 * it has the whole path, also where it is mounted below one, and the body, also where that was read already. Event streams are
 * sent as they come, and the signal of the request aborts when the client goes away.
 * @throws {PhasegateError} `INVALID_INPUT` when it is given no handler, or an option is unknown or invalid.
 */
export function toNodeHandler(
  handler: FetchHandler | { readonly fetch: FetchHandler },
  options: NodeHandlerOptions = {},
): NodeHandler {
  const fetch = typeof handler === "function" ? handler : handler?.fetch;
  if (typeof fetch !== "function") {
    const remedy = "Give it what createHttpApi, createMcpHttpHandler or createInspector has returned.";
    throw misused("it takes a fetch handler", "handler", "a fetch handler", remedy);
  }
  checkOptions("toNodeHandler", options, { onError: optionally(callable) });
  const { onError } = options;
  return async (request, response, next) => {
    if (isRequest(request)) {
      const remedy =
        "Mount the fetch handler itself where the server passes on a Request, as Hono, Next, Bun and Deno do.";
      throw misused("the handler that it returns is for servers of Node", "request", "a request of Node", remedy);
    }
    try {
      await serve(fetch, request, response);
    } catch (error) {
      if (onError === undefined && next === undefined) throw error;
      if (onError === undefined) return next?.(error);
      onError(error);
      outgoingOf(response).destroy();
    }
  };
}

function misused(what: string, field: string, expected: string, remedy: string): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", `toNodeHandler: ${what}`, { remedy, details: { field, expected } });
}

function outgoingOf(response: NodeResponse): Outgoing {
  return "raw" in response ? response.raw : response;
}

async function serve(fetch: FetchHandler, request: NodeRequest, response: NodeResponse): Promise<void> {
  const incoming = "raw" in request ? request.raw : request;
  const outgoing = outgoingOf(response);
  const chunks = incoming[Symbol.asyncIterator]();
  const gone = new AbortController();
  outgoing.once("close", () => gone.abort());
  const answer = UNKNOWN_METHODS.has(incoming.method ?? "")
    ? Response.json(REFUSALS.noSuchMethod.body, { status: REFUSALS.noSuchMethod.status })
    : await fetch(await requestOf(request, incoming, chunks, gone.signal));
  if ("raw" in response) {
    // Fastify sends nothing of its own from now on; what its plugins have set is sent, such as CORS headers.
    response.hijack();
    for (const [name, value] of Object.entries(response.getHeaders())) {
      if (value !== undefined) outgoing.setHeader(name, value);
    }
  }
  // The request broke off and was refused meanwhile, or the client has disconnected.
  if (outgoing.destroyed || incoming.socket.writable === false) {
    await answer.body?.cancel();
    return;
  }
  for (const [name, value] of answer.headers) {
    if (name === "set-cookie") outgoing.appendHeader(name, value);
    else outgoing.setHeader(name, value);
  }
  outgoing.statusCode = answer.status;
  if (answer.body !== null && answer.headers.get("content-type")?.startsWith("text/event-stream")) {
    await sendStream(answer.body, outgoing);
    return;
  }
  outgoing.end(new Uint8Array(await answer.arrayBuffer()));
  await dropRest(incoming, chunks);
}

async function requestOf(
  { body, originalUrl, protocol }: Framed,
  { method = "GET", url = "/", headers, headersDistinct = {}, readableDidRead, socket }: Incoming,
  chunks: AsyncIterator<Uint8Array>,
  signal: AbortSignal,
): Promise<Request> {
  const sent = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    // HTTP/2 has names such as `:path`.
    if (value !== undefined && !name.startsWith(":")) sent.set(name, String(value));
  }
  // Node keeps the first one of these. Sent twice, they are refused: a proxy before this server may have read the other one.
  for (const name of ["authorization", "host"]) {
    const given = headersDistinct[name] ?? [];
    if (given.length > 1) sent.set(name, given.join(", "));
  }
  if (!sent.has("host") && typeof headers[":authority"] === "string") sent.set("host", headers[":authority"]);
  const host = sent.get("host") ?? "";
  const scheme = (protocol ?? (socket.encrypted === true ? "https" : "http")) === "https" ? "https" : "http";
  const origin = `${scheme}://${HOST.test(host) && URL.canParse(`http://${host}`) ? host : "localhost"}`;
  // Only a path is taken from the client: an absolute URL must not name another server.
  const path = originalUrl ?? url;
  const target = new URL(`${origin}${path.startsWith("/") ? path : "/"}`);
  const init = { method, headers: sent, signal };
  if (METHODS_WITHOUT_BODY.has(method)) return new Request(target, init);
  // Node requires `duplex`, which the types of browsers do not know.
  if (!readableDidRead) return new Request(target, { ...init, body: streamOf(chunks), ...{ duplex: "half" } });
  // It was unpacked, and may have another length when it is written again.
  for (const name of ["content-encoding", "content-length", "transfer-encoding"]) sent.delete(name);
  const bytes = body instanceof Uint8Array ? new Uint8Array(body) : undefined;
  const text = typeof body === "string" ? body : (JSON.stringify(body) ?? "");
  const read = new Request(target, { ...init, body: bytes ?? text });
  // Nobody has kept it. The handler refuses a body that was read, and says so in its own form.
  if (body === undefined) await read.text();
  return read;
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

/** Sends a stream piece by piece. The client ends it by going away, also while it waits for the next piece. */
async function sendStream(body: ReadableStream<Uint8Array>, outgoing: Outgoing): Promise<void> {
  // Now, and not with the first event, which may be long in coming.
  outgoing.flushHeaders?.();
  const reader = body.getReader();
  const destroy = () => outgoing.destroy();
  const closed = new Promise<void>((resolve) => outgoing.once("close", resolve));
  void closed.then(() => reader.cancel()).catch(destroy);
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      if (!outgoing.write(part.value)) await Promise.race([closed, drained(outgoing)]);
    }
    outgoing.end();
  } catch {
    // The stream has failed, which its source reports. The client must not take it for complete.
    destroy();
  }
}

function drained(outgoing: Outgoing): Promise<void> {
  return new Promise((resolve) => outgoing.once("drain", resolve));
}

/** Reads the rest of a body and drops it, up to a limit: a client reads its answer after it has sent everything. */
async function dropRest(incoming: Incoming, chunks: AsyncIterator<Uint8Array>): Promise<void> {
  let dropped = 0;
  try {
    for (let rest = await chunks.next(); !rest.done; rest = await chunks.next()) {
      dropped += rest.value.length;
      if (dropped > DROPPED_BYTES) break;
    }
    if (dropped <= DROPPED_BYTES) return;
  } catch {
    // The client disconnected, or sent a broken chunk, which the server reports.
  }
  incoming.destroy();
}
