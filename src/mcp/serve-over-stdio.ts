import type { Readable, Writable } from "node:stream";
import type { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { type StdioStop, StdioTransport } from "./stdio-transport.js";

/** How to serve. */
export interface StdioServing {
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
export type StdioEnd = StdioStop | "abandoned";

/** A connection that is being served. */
export interface StdioConnection {
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
