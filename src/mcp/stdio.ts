/**
 * Serves one MCP client over a pair of streams. Every request that was read is answered before the connection ends, and a
 * client that does not read its answers is not read from either. stdio-messages.ts reads the messages.
 */
import type { Readable, Writable } from "node:stream";
import {
  isJSONRPCResponse,
  type JSONRPCMessage,
  type JSONRPCNotification,
  type JSONRPCRequest,
  type McpServer,
  type RequestId,
  type Transport,
} from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { subscriptionsIn } from "./http-request.js";
import {
  createStdioLines,
  lineTooLong,
  type ReadMessage,
  type RpcError,
  readMessage,
  type StdioLine,
} from "./stdio-messages.js";

interface StdioServing {
  readonly input: Readable;
  readonly output: Writable;
  /** Maximum size of a message, in bytes: a longer one is refused and dropped. */
  readonly maxMessageBytes: number;
  /** Time for requests under way after reading has stopped, in milliseconds. */
  readonly drainMs: number;
  /** Called with errors that no answer contains. */
  readonly onError: (error: Error) => void;
  /**
   * Called with the resources of all subscriptions of protocol 2026-07-28, whenever the client begins or ends one: the SDK
   * does not pass them on to the server.
   */
  readonly onSubscribe?: (uris: readonly string[]) => void;
}

/** Why nothing more is read: `close` was called, the client closed its end, or nothing can be written. */
type StdioStop = "closed" | "input ended" | "broken";

interface StdioConnection {
  /** Resolves with the reason; `abandoned` if some requests were not answered in time. Never rejects. */
  readonly ended: Promise<StdioStop | "abandoned">;
  /** Stops reading, answers what was read, and ends the connection. */
  close(): void;
}

/** Serves one client over a pair of streams. The factory may be called more than once; the last server is used. */
export function serveOverStdio(factory: () => McpServer, serving: StdioServing): StdioConnection {
  const { drainMs, onError } = serving;
  const transport = new StdioTransport(serving);
  const handle = serveStdio(factory, { transport, onerror: onError });
  const ended = transport.stopped.then(async (reason) => {
    const answered = await transport.idle(drainMs);
    if (!answered) {
      onError(new Error("some requests were not answered in time"));
      // The transport is closed first: messages of the SDK would wait for a client that may not read.
      await transport.close();
    }
    await handle.close();
    if (transport.isBroken) return "broken";
    return answered ? reason : "abandoned";
  });
  return { ended, close: () => transport.stop() };
}

/** Maximum number of bytes that the client may leave unread. Above it, nothing more is read from the client. */
const UNREAD_BYTES = 16 * 1024 * 1024;

/**
 * MCP over a pair of streams. It replaces the SDK's transport, which drops requests under way when its input ends, does not
 * answer lines that are not messages, spends a tenth of a millisecond on each ignored notification, and keeps any number
 * of answers in memory for a client that does not read them.
 */
class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: Transport["onmessage"];
  /** True if nothing can be written any more. */
  isBroken = false;
  readonly stopped: Promise<StdioStop>;
  readonly #streams: StdioServing;
  readonly #lines: (chunk: Uint8Array) => StdioLine[];
  /** Requests of the client without an answer. */
  readonly #open = new Set<RequestId>();
  /** Subscriptions of the client with their resources. They stay open until the client or the connection ends them. */
  readonly #listening = new Map<RequestId, readonly string[]>();
  /** Requests to the client without an answer. */
  readonly #asked = new Set<RequestId>();
  readonly #waiting: (() => void)[] = [];
  #stop: (reason: StdioStop) => void = () => {};
  #reading = false;
  #closed = false;
  /** Resolves when the client reads again; set while it leaves too much unread. */
  #drained: Promise<void> | undefined;
  #release: () => void = () => {};
  #initialized = false;

  constructor(streams: StdioServing) {
    this.#streams = streams;
    this.#lines = createStdioLines(streams.maxMessageBytes);
    this.stopped = new Promise((resolve) => {
      this.#stop = resolve;
    });
  }

  async start(): Promise<void> {
    const { input, output } = this.#streams;
    this.#reading = true;
    input.on("data", this.#read).on("end", this.#ended).on("close", this.#ended).on("error", this.#streams.onError);
    output.on("error", this.#broken).on("close", this.#gone);
    // The streams may have ended before these listeners were added.
    if (output.destroyed) this.#gone();
    if (input.readableEnded || input.destroyed) this.#ended();
  }

  /** Resolves when the message is written. If too much is unread, that is when the client reads again or the connection closes. */
  async send(message: JSONRPCMessage): Promise<void> {
    if ("method" in message && "id" in message) this.#asked.add(message.id);
    else if ("method" in message) this.#forgetCancelled(message);
    try {
      this.#write(message);
      await this.#drained;
    } finally {
      if (!("method" in message) && message.id !== undefined) this.#finish(message.id);
    }
  }

  /** Stops reading. Requests that were read are still answered. */
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
    // The error listeners stay, so that a later error of a stream does not end the process.
    this.#open.clear();
    this.#release();
    this.#wake();
    this.onclose?.();
  }

  /** Resolves with true when every request has its answer, or with false after `withinMs` milliseconds. */
  async idle(withinMs: number): Promise<boolean> {
    if (this.#isIdle()) return true;
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, withinMs, false);
      this.#waiting.push(() => {
        clearTimeout(timer);
        resolve(true);
      });
    });
  }

  readonly #read = (chunk: Uint8Array): void => {
    for (const line of this.#lines(chunk)) {
      if (!this.#reading) return;
      this.#received(line === "too long" ? this.#tooLong() : readMessage(line));
    }
  };

  readonly #ended = (): void => this.stop("input ended");

  readonly #broken = (error: Error): void => {
    if (this.#closed) return;
    this.#streams.onError(error);
    this.isBroken = true;
    this.stop("broken");
    void this.close();
  };

  readonly #gone = (): void => this.#broken(new Error("the output was closed"));

  #tooLong(): ReadMessage {
    const { maxMessageBytes } = this.#streams;
    this.#streams.onError(new Error(`a message of the client has more than ${maxMessageBytes} bytes`));
    return lineTooLong(maxMessageBytes);
  }

  #received(read: ReadMessage): void {
    switch (read.kind) {
      case "request":
        this.#request(read.message);
        return;
      case "notification":
        if (this.#isRelevant(read.message)) this.onmessage?.(read.message);
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

  #request(message: JSONRPCRequest): void {
    const isListening = message.method === "subscriptions/listen";
    if (isListening) this.#listening.set(message.id, subscriptionsIn(message.params));
    else this.#open.add(message.id);
    this.onmessage?.(message);
    if (isListening) this.#tellSubscribed();
  }

  #tellSubscribed(): void {
    this.#streams.onSubscribe?.([...new Set([...this.#listening.values()].flat())]);
  }

  /** Decides whether the SDK gets a notification. Most have no effect on this server, and would only cost time. */
  #isRelevant({ method, params }: JSONRPCNotification): boolean {
    if (method === "notifications/initialized") {
      const isFirst = !this.#initialized;
      this.#initialized = true;
      return isFirst;
    }
    if (method !== "notifications/cancelled") return false;
    const id = params?.requestId;
    if (typeof id !== "string" && typeof id !== "number") return false;
    if (!this.#open.has(id) && !this.#listening.has(id)) return false;
    // A cancelled request gets no answer.
    this.#finish(id);
    return true;
  }

  /** Passes on the answer to an open request, and ignores any other. */
  #answered(id: RequestId, message: object): void {
    if (!this.#asked.delete(id)) return;
    if (isJSONRPCResponse(message)) this.onmessage?.(message);
    else this.#streams.onError(new Error("the client has answered a request with an invalid JSON-RPC response"));
  }

  /** Forgets a request to the client that this server cancels. */
  #forgetCancelled({ method, params }: JSONRPCNotification): void {
    const id = method === "notifications/cancelled" ? params?.requestId : undefined;
    if (typeof id === "string" || typeof id === "number") this.#asked.delete(id);
  }

  #write(message: JSONRPCMessage | RpcError): void {
    if (this.#closed) throw new Error("the connection is closed");
    const { input, output } = this.#streams;
    if (!output.write(`${JSON.stringify(message)}\n`)) this.#drained ??= this.#untilDrained();
    if (this.#reading && output.writableLength > UNREAD_BYTES) input.pause();
  }

  /** Resolves when the client reads again or the connection is closed. All waiters share it: the stream has one listener. */
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

  #finish(id: RequestId): void {
    this.#open.delete(id);
    if (this.#listening.delete(id)) this.#tellSubscribed();
    if (this.#isIdle()) this.#wake();
  }

  #isIdle(): boolean {
    return this.#open.size === 0 && this.#drained === undefined;
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }
}
