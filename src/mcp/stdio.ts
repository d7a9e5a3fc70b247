import type { Readable, Writable } from "node:stream";
import {
  INVALID_REQUEST,
  isJSONRPCErrorResponse,
  isJSONRPCRequest,
  isJSONRPCResponse,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  type JSONRPCNotification,
  type JSONRPCRequest,
  type McpServer,
  PARSE_ERROR,
  type RequestId,
  type Transport,
} from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { isJsonObject, type JsonObject } from "../workflow/json.js";

/** How to serve. */
interface StdioServing {
  readonly input: Readable;
  readonly output: Writable;
  /** The longest message, in bytes: one over it is refused. */
  readonly maxMessageBytes: number;
  /** How long requests under way may take once the end has come. */
  readonly drainMs: number;
  /** Told of what goes wrong beside the answers. */
  readonly onError: (error: Error) => void;
}

/** Why a connection ended; `abandoned` if some requests took too long to be answered. */
type StdioEnd = StdioStop | "abandoned";

/** A connection that is being served. */
interface StdioConnection {
  /** Resolves when the connection has ended, with every answer written unless it was abandoned; never rejects. */
  readonly ended: Promise<StdioEnd>;
  /** Reads no more, answers what was read, and ends the connection. */
  close(): void;
}

/** Serves one client over a pair of streams. The factory may be called more than once; one server stays. */
export function serveOverStdio(factory: () => McpServer, serving: StdioServing): StdioConnection {
  const { drainMs, onError, ...streams } = serving;
  const transport = new StdioTransport({ ...streams, onError });
  const handle = serveStdio(factory, { transport, onerror: onError });
  const ended = transport.stopped.then(async (reason): Promise<StdioEnd> => {
    const answered = await transport.idle(drainMs);
    if (!answered) {
      onError(new Error("some requests took too long to be answered"));
      // First the transport: what the SDK still wants to say would wait for a client that may not read.
      await transport.close();
    }
    await handle.close();
    if (transport.isBroken) return "broken";
    return answered ? reason : "abandoned";
  });
  return { ended, close: () => transport.stop() };
}

/** What a transport reads, and where it writes. */
interface StdioStreams {
  readonly input: Readable;
  readonly output: Writable;
  /** The longest message, in bytes: a longer one is refused, and dropped. */
  readonly maxMessageBytes: number;
  /** Told of what goes wrong beside the answers. */
  readonly onError: (error: Error) => void;
}

/** Why nothing is read any more: it was stopped here, the client closed its end, or nothing can be written. */
type StdioStop = "closed" | "input ended" | "broken";

/** As much as the client may leave unread before nothing more is read from it, in bytes. */
const UNREAD_BYTES = 16 * 1024 * 1024;

/**
 * MCP over a pair of streams, in the place of the SDK's own transport, which drops requests under way when its input ends,
 * answers nothing to a line that is no message, takes a tenth of a millisecond for each notification that nobody
 * listens to, and keeps any number of answers for a client that doesn't read them.
 */
class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: Transport["onmessage"];
  /** Resolves when nothing is read any more. */
  readonly stopped: Promise<StdioStop>;
  readonly #streams: StdioStreams;
  readonly #lines: (chunk: Uint8Array) => StdioLine[];
  /** Requests of the client that have no answer yet. */
  readonly #open = new Set<RequestId>();
  /** Subscriptions of the client, which stay open as long as the connection does. */
  readonly #listening = new Set<RequestId>();
  /** Requests of ours that the client hasn't answered yet. */
  readonly #asked = new Set<RequestId>();
  readonly #waiting: (() => void)[] = [];
  #stop: (reason: StdioStop) => void = () => {};
  #reading = false;
  #closed = false;
  /** Until the client reads on: set while it leaves too much unread. */
  #drained: Promise<void> | undefined;
  #release: () => void = () => {};
  #initialized = false;
  #isBroken = false;

  constructor(streams: StdioStreams) {
    this.#streams = streams;
    this.#lines = createStdioLines(streams.maxMessageBytes);
    this.stopped = new Promise((resolve) => {
      this.#stop = resolve;
    });
  }

  async start(): Promise<void> {
    const { input, output } = this.#streams;
    this.#reading = true;
    input.on("data", this.#read).on("end", this.#ended).on("close", this.#ended).on("error", this.#failed);
    output.on("error", this.#broken).on("close", this.#gone);
    // These have told it before anybody listened.
    if (output.destroyed) this.#gone();
    if (input.readableEnded || input.destroyed) this.#ended();
  }

  /** Resolves when it is written, or, where the client leaves much unread, when it reads on or the connection closes. */
  async send(message: JSONRPCMessage): Promise<void> {
    if (isJSONRPCRequest(message)) this.#asked.add(message.id);
    else if ("method" in message) this.#taken(message);
    try {
      this.#write(message);
      await this.#drained;
    } finally {
      const answer = isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message);
      if (answer && message.id !== undefined) this.#settle(message.id);
    }
  }

  /** Reads no more; what was read is still answered. */
  stop(reason: StdioStop = "closed"): void {
    if (this.#reading) {
      this.#reading = false;
      const { input } = this.#streams;
      input.off("data", this.#read).off("end", this.#ended).off("close", this.#ended);
      input.pause();
    }
    this.#stop(reason);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.stop();
    this.#closed = true;
    // The listeners for errors stay: one that comes later, of a stream that we let go of, is nobody's.
    this.#open.clear();
    this.#release();
    this.#wake();
    this.onclose?.();
  }

  /** Whether nothing can be written any more. */
  get isBroken(): boolean {
    return this.#isBroken;
  }

  /** Resolves when every request has its answer, or after so many milliseconds: false if it took longer. */
  async idle(withinMs: number): Promise<boolean> {
    if (this.#isIdle()) return true;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<boolean>((resolve) => {
      timer = setTimeout(resolve, withinMs, false);
    });
    const answered = new Promise<boolean>((resolve) => this.#waiting.push(() => resolve(true)));
    const outcome = await Promise.race([answered, late]);
    clearTimeout(timer);
    return outcome;
  }

  readonly #read = (chunk: Uint8Array): void => {
    for (const line of this.#lines(chunk)) {
      if (!this.#reading) return;
      this.#received(line === "too long" ? this.#tooLong() : readMessage(line));
    }
  };

  readonly #ended = (): void => this.stop("input ended");

  readonly #failed = (error: Error): void => this.#report(error);

  readonly #broken = (error: Error): void => {
    if (this.#closed) return;
    this.#report(error);
    this.#isBroken = true;
    this.stop("broken");
    void this.close();
  };

  readonly #gone = (): void => this.#broken(new Error("the output was closed"));

  #tooLong(): ReadMessage {
    const { maxMessageBytes } = this.#streams;
    this.#report(new Error(`a message of the client's has more than ${maxMessageBytes} bytes`));
    return { kind: "refused", answer: lineTooLong(maxMessageBytes) };
  }

  #received(read: ReadMessage): void {
    switch (read.kind) {
      case "request":
        (read.message.method === "subscriptions/listen" ? this.#listening : this.#open).add(read.message.id);
        this.onmessage?.(read.message);
        return;
      case "notification":
        if (this.#isHeard(read.message)) this.onmessage?.(read.message);
        return;
      case "response":
        this.#answered(read.id, read.message);
        return;
      case "refused":
        this.#write(read.answer);
        return;
      case "nothing":
    }
  }

  /** Most notifications mean nothing to this server, however many come: only those that do go on to the SDK. */
  #isHeard({ method, params }: JSONRPCNotification): boolean {
    if (method === "notifications/initialized") {
      const isFirst = !this.#initialized;
      this.#initialized = true;
      return isFirst;
    }
    if (method !== "notifications/cancelled") return false;
    const id = params?.requestId;
    if (typeof id !== "string" && typeof id !== "number") return false;
    if (this.#listening.delete(id)) return true;
    if (!this.#open.has(id)) return false;
    // A request that was cancelled gets no answer.
    this.#settle(id);
    return true;
  }

  /** An answer to what wasn't asked, or is waited for no more, means nothing. */
  #answered(id: RequestId, message: object): void {
    if (!this.#asked.delete(id)) return;
    if (isJSONRPCResponse(message)) this.onmessage?.(message);
    else this.#report(new Error("the client has answered a request with what is no JSON-RPC response"));
  }

  /** A request of ours that we cancel is waited for no more. */
  #taken({ method, params }: JSONRPCNotification): void {
    const id = method === "notifications/cancelled" ? params?.requestId : undefined;
    if (typeof id === "string" || typeof id === "number") this.#asked.delete(id);
  }

  #write(message: JSONRPCMessage | RpcError): void {
    if (this.#closed) throw new Error("the connection is closed");
    const { input, output } = this.#streams;
    if (!output.write(`${JSON.stringify(message)}\n`)) this.#drained ??= this.#untilDrained();
    if (this.#reading && output.writableLength > UNREAD_BYTES) input.pause();
  }

  /**
   * Resolves when the client reads on, or the connection is closed. One listener for all that wait: each would have its own
   * otherwise.
   */
  async #untilDrained(): Promise<void> {
    const { input, output } = this.#streams;
    await new Promise<void>((resolve) => {
      this.#release = resolve;
      output.once("drain", resolve);
    });
    this.#drained = undefined;
    if (this.#reading) input.resume();
    if (this.#isIdle()) this.#wake();
  }

  #settle(id: RequestId): void {
    this.#open.delete(id);
    if (this.#isIdle()) this.#wake();
  }

  #isIdle(): boolean {
    return this.#open.size === 0 && this.#drained === undefined;
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }

  #report(error: Error): void {
    this.#streams.onError(error);
  }
}

const LINE_FEED = 10;
const FIRST_BYTES = 4096;

/** A line without its end, or that a line is longer than it may be. */
type StdioLine = Uint8Array | "too long";

/**
 * Makes a function that cuts chunks into lines: it returns those that a chunk ends. Bytes of a line that has no end yet are
 * copied into one buffer, so that a line in chunks of one byte takes no more memory than its length. A line over `maxBytes`
 * is reported once it is over, and the rest of it is dropped.
 */
export function createStdioLines(maxBytes: number): (chunk: Uint8Array) => StdioLine[] {
  let held = new Uint8Array(0);
  let length = 0;
  let dropping = false;

  const hold = (part: Uint8Array) => {
    if (length + part.length > held.length) {
      const larger = new Uint8Array(Math.max(held.length * 2, length + part.length, FIRST_BYTES));
      larger.set(held.subarray(0, length));
      held = larger;
    }
    held.set(part, length);
    length += part.length;
  };
  const release = (): Uint8Array => {
    const line = held.subarray(0, length);
    held = new Uint8Array(0);
    length = 0;
    return line;
  };
  const ended = (part: Uint8Array): StdioLine | undefined => {
    if (dropping) {
      dropping = false;
      return undefined;
    }
    if (length + part.length > maxBytes) {
      release();
      return "too long";
    }
    if (length === 0) return part;
    hold(part);
    return release();
  };

  return (chunk) => {
    const lines: StdioLine[] = [];
    let from = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, from)) {
      const line = ended(chunk.subarray(from, end));
      if (line !== undefined) lines.push(line);
      from = end + 1;
    }
    const rest = chunk.subarray(from);
    if (dropping || rest.length === 0) return lines;
    if (length + rest.length <= maxBytes) hold(rest);
    else {
      release();
      dropping = true;
      lines.push("too long");
    }
    return lines;
  };
}

/** An error as JSON-RPC 2.0 has it; the id is null where the message's own can't be read. */
interface RpcError {
  readonly jsonrpc: "2.0";
  readonly id: RequestId | null;
  readonly error: { readonly code: number; readonly message: string };
}

/** What a line is. Notifications and responses have been looked at no further than it takes to know what they are. */
type ReadMessage =
  | { readonly kind: "request"; readonly message: JSONRPCRequest }
  | { readonly kind: "notification"; readonly message: JSONRPCNotification }
  | { readonly kind: "response"; readonly id: RequestId; readonly message: JsonObject }
  | { readonly kind: "refused"; readonly answer: RpcError }
  /** Blank, or something that JSON-RPC lets nobody answer: a broken notification or response. */
  | { readonly kind: "nothing" };

/**
 * Reads a line. The SDK's transport drops what is no message without an answer, and its checks cost fifty times as much for
 * a notification as parsing it, since they try a notification as each of the other kinds first.
 */
export function readMessage(line: Uint8Array): ReadMessage {
  const text = decoded(line);
  if (text === undefined) return refusedAs(PARSE_ERROR, null, "the line is not UTF-8: send JSON in UTF-8");
  if (text.trim() === "") return { kind: "nothing" };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return refusedAs(PARSE_ERROR, null, `the line is not valid JSON: ${reason}`);
  }
  return messageOf(value);
}

/** What is answered to a line that is too long to be read. */
function lineTooLong(maxBytes: number): RpcError {
  return refusal(
    INVALID_REQUEST,
    null,
    `a message may have ${maxBytes} bytes: send less in one, and leave out long logs`,
  );
}

/** Leaves out a byte order mark at the beginning of a line. */
const DECODER = new TextDecoder("utf-8", { fatal: true });

function decoded(line: Uint8Array): string | undefined {
  try {
    return DECODER.decode(line);
  } catch {
    return undefined;
  }
}

function messageOf(value: unknown): ReadMessage {
  if (Array.isArray(value)) {
    return refusedAs(INVALID_REQUEST, null, "batches are not taken: send each message in a line of its own");
  }
  if (!isJsonObject(value)) return refusedAs(INVALID_REQUEST, null, "a message is a JSON object");
  const { jsonrpc, method, id } = value;
  const known = isId(id) ? id : null;
  if (jsonrpc !== "2.0") return refusedAs(INVALID_REQUEST, known, 'the member "jsonrpc" must be "2.0"');
  if (method === undefined && ("result" in value || "error" in value)) return responseOf(value, known);
  if (typeof method !== "string") return refusedAs(INVALID_REQUEST, known, 'the member "method" must be a string');
  return "id" in value ? requestOf(value, known) : notificationOf(method, value.params);
}

function requestOf(value: JsonObject, id: RequestId | null): ReadMessage {
  if (id === null) return refusedAs(INVALID_REQUEST, null, 'the member "id" must be a string or a whole number');
  const { params } = value;
  if (params !== undefined && !isJsonObject(params)) {
    return refusedAs(INVALID_REQUEST, id, 'the member "params" must be an object');
  }
  if (isJSONRPCRequest(value)) return { kind: "request", message: value };
  const message = 'a request has "jsonrpc", "id", "method" and "params" alone, and "params._meta" as MCP defines it';
  return refusedAs(INVALID_REQUEST, id, message);
}

function notificationOf(method: string, params: unknown): ReadMessage {
  if (params === undefined) return { kind: "notification", message: { jsonrpc: "2.0", method } };
  if (!isJsonObject(params)) return { kind: "nothing" };
  return { kind: "notification", message: { jsonrpc: "2.0", method, params } };
}

function responseOf(value: JsonObject, id: RequestId | null): ReadMessage {
  return id === null ? { kind: "nothing" } : { kind: "response", id, message: value };
}

function isId(value: unknown): value is RequestId {
  return typeof value === "string" || Number.isSafeInteger(value);
}

function refusedAs(code: number, id: RequestId | null, message: string): ReadMessage {
  return { kind: "refused", answer: refusal(code, id, message) };
}

function refusal(code: number, id: RequestId | null, message: string): RpcError {
  return { jsonrpc: "2.0", id, error: { code, message } };
}
