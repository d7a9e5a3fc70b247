import { PassThrough } from "node:stream";
import { McpServer } from "@modelcontextprotocol/server";
import { describe, expect, it, vi } from "vitest";
import * as z from "zod";
import { serveOverStdio } from "../../src/mcp/serve-over-stdio.js";

const INITIALIZE = {
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } },
};
const INITIALIZED = { method: "notifications/initialized" };

/** A server with one slow tool, on streams of the test's own. */
function serveSlowTool({ drainMs = 5000, maxMessageBytes = 1_000_000 } = {}) {
  const input = new PassThrough();
  const output = new PassThrough();
  const errors: string[] = [];
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const factory = () => {
    const server = new McpServer({ name: "slow", version: "1" });
    server.registerTool("wait", { inputSchema: z.object({}) }, async () => {
      await released;
      return { content: [{ type: "text", text: "waited" }] };
    });
    return server;
  };
  const onError = (error: Error) => void errors.push(error.message);
  const connection = serveOverStdio(factory, { input, output, drainMs, maxMessageBytes, onError });
  let written = "";
  output.on("data", (chunk) => {
    written += String(chunk);
  });
  const send = (...messages: object[]) => {
    for (const message of messages) input.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  };
  const answers = () =>
    written
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line));
  return { input, connection, errors, release, send, answers };
}

const wait = (id: number) => ({ id, method: "tools/call", params: { name: "wait", arguments: {} } });

describe("serving over stdio", () => {
  it("answers what was asked before the client closed its end", async () => {
    const { input, connection, release, send, answers } = serveSlowTool();
    send(INITIALIZE, INITIALIZED, wait(2));
    input.end();
    setTimeout(release, 30);
    expect(await connection.ended).toBe("input ended");
    expect(answers()).toMatchObject([{ id: 1 }, { id: 2, result: { content: [{ text: "waited" }] } }]);
  });

  it("answers what was asked before it was closed, and reads no more", async () => {
    const { connection, release, send, answers } = serveSlowTool();
    send(INITIALIZE, INITIALIZED, wait(2));
    await vi.waitFor(() => expect(answers()).toHaveLength(1));
    connection.close();
    send(wait(3));
    setTimeout(release, 30);
    expect(await connection.ended).toBe("closed");
    expect(answers().map(({ id }) => id)).toEqual([1, 2]);
  });

  it("waits neither for cancelled calls nor for ever", async () => {
    const cancelled = serveSlowTool();
    cancelled.send(INITIALIZE, INITIALIZED, wait(2));
    cancelled.send({ method: "notifications/cancelled", params: { requestId: 2 } });
    cancelled.input.end();
    expect(await cancelled.connection.ended).toBe("input ended");
    expect(cancelled.errors).toEqual([]);
    const stuck = serveSlowTool({ drainMs: 30 });
    stuck.send(INITIALIZE, INITIALIZED, wait(2));
    stuck.input.end();
    expect(await stuck.connection.ended).toBe("input ended");
    expect(stuck.errors).toEqual(["some requests took too long to be answered"]);
  });

  it("ends when a message is too long, and says so", async () => {
    const { connection, errors, send } = serveSlowTool({ maxMessageBytes: 1000 });
    send({ id: 1, method: "initialize", params: { filler: "x".repeat(2000) } });
    expect(await connection.ended).toBe("broken");
    expect(errors).toHaveLength(1);
  });

  it("ends at once where nobody has said anything", async () => {
    const { input, connection } = serveSlowTool();
    input.destroy();
    expect(await connection.ended).toBe("input ended");
  });
});
