import type { Readable, Writable } from "node:stream";
import {
  isJSONRPCErrorResponse,
  isJSONRPCRequest,
  isJSONRPCResponse,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  type JSONRPCNotification,
  type RequestId,
  type Transport,
} from "@modelcontextprotocol/server";
import { lineTooLong, type ReadMessage, type RpcError, readMessage } from "./read-message.js";
import { createStdioLines, type StdioLine } from "./stdio-lines.js";

/** What a transport reads, and where it writes. */
export interface StdioStreams {
  readonly input: Readable;
  readonly output: Writable;
  /** The longest message, in bytes: a longer one is refused, and dropped. */
  readonly maxMessageBytes: number;
  /** Told of what goes wrong beside the answers. */
  readonly onError: (error: Error) => void;
}

/** Why nothing is read any more: it was stopped here, the client closed its end, or nothing can be written. */
export type StdioStop = "closed" | "input ended" | "broken";

/** As much as the client may leave unread before nothing more is read from it, in bytes. */
const UNREAD_BYTES = 16 * 1024 * 1024;

/**
 * MCP over a pair of streams, in the place of the SDK's own transport, which drops requests under way when its input ends,
 * answers nothing to a line that is no message, takes a tenth of a millisecond for each notification that nobody
 * listens to, and keeps any number of answers for a client that doesn't read them.
 */
export class StdioTransport implements Transport {
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
