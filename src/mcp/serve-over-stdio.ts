import type { Readable, Transform, Writable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import type { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { CountingStdioTransport } from "./counting-stdio-transport.js";
import { createStdioLines } from "./stdio-lines.js";

/** How to serve. */
export interface StdioServing {
  readonly input: Readable;
  readonly output: Writable;
  /** The longest message, in bytes: one over it ends the connection. */
  readonly maxMessageBytes: number;
  /** How long requests under way may take once the end has come. */
  readonly drainMs: number;
  /** Told of what goes wrong beside the answers. */
  readonly onError: (error: Error) => void;
}

/** Why a connection ended: it was closed here, the client closed its end, or it broke. */
export type StdioEnd = "closed" | "input ended" | "broken";

/** A connection that is being served. */
export interface StdioConnection {
  /** Resolves when the connection has ended and every answer is written; never rejects. */
  readonly ended: Promise<StdioEnd>;
  /** Reads no more, answers what was read, and ends the connection. */
  close(): void;
}

/** Serves one client over a pair of streams. The factory may be called more than once; one server stays. */
export function serveOverStdio(factory: () => McpServer, serving: StdioServing): StdioConnection {
  const { input, output, maxMessageBytes, drainMs, onError } = serving;
  // A stream between: the SDK drops what is under way as soon as its input ends, so that end is kept from it.
  const messages = createStdioLines(maxMessageBytes);
  const transport = new CountingStdioTransport(messages, output, { maxBufferSize: maxMessageBytes });
  const broken = new Promise<StdioEnd>((resolve) => {
    transport.onclosed = () => resolve("broken");
  });
  const handle = serveStdio(factory, { transport, onerror: onError });
  const { stopped, stop } = passOn(input, messages, onError);
  const answered = stopped.then(async (reason) => {
    await delivered(messages);
    if (!(await transport.idle(drainMs))) onError(new Error("some requests took too long to be answered"));
    return reason;
  });
  const ended = Promise.race([answered, broken]).then(async (reason) => {
    await handle.close();
    return reason;
  });
  return { ended, close: () => stop("closed") };
}

/** Hands the input on until it ends, or is stopped. */
function passOn(input: Readable, messages: Transform, onError: (error: Error) => void) {
  let settle: (reason: StdioEnd) => void = () => {};
  const stopped = new Promise<StdioEnd>((resolve) => {
    settle = resolve;
  });
  const stop = (reason: StdioEnd) => {
    input.unpipe(messages);
    input.pause();
    settle(reason);
  };
  const ended = () => stop("input ended");
  input.on("end", ended).on("close", ended).on("error", onError);
  input.pipe(messages, { end: false });
  return { stopped, stop };
}

/** What was read before the end is still to be handed on. */
async function delivered(messages: Transform): Promise<void> {
  while (!messages.destroyed && messages.readableLength + messages.writableLength > 0) await setImmediate();
}
