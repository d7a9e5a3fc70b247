import { PassThrough } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { McpServer } from "@modelcontextprotocol/server";
import { describe, expect, it, vi } from "vitest";
import * as z from "zod";
import { serveOverStdio } from "../../src/mcp/stdio.js";

const INITIALIZE = {
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } },
};
const INITIALIZED = { method: "notifications/initialized" };

/** Serves one slow tool over streams of the test. */
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
  const subscribed: (readonly string[])[] = [];
  const onSubscribe = (uris: readonly string[]) => void subscribed.push(uris);
  const connection = serveOverStdio(factory, { input, output, drainMs, maxMessageBytes, onError, onSubscribe });
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
  return { input, output, connection, errors, release, send, answers, subscribed };
}

const wait = (id: number) => ({ id, method: "tools/call", params: { name: "wait", arguments: {} } });

describe("serving over stdio", () => {
  it("answers requests that were sent before the client closed its input", async () => {
    const { input, connection, release, send, answers } = serveSlowTool();
    send(INITIALIZE, INITIALIZED, wait(2));
    input.end();
    setTimeout(release, 30);
    expect(await connection.ended).toBe("input ended");
    expect(answers()).toMatchObject([{ id: 1 }, { id: 2, result: { content: [{ text: "waited" }] } }]);
  });

  it("answers requests that were sent before the connection was closed, and reads no later ones", async () => {
    const { connection, release, send, answers } = serveSlowTool();
    send(INITIALIZE, INITIALIZED, wait(2));
    await vi.waitFor(() => expect(answers()).toHaveLength(1));
    connection.close();
    send(wait(3));
    setTimeout(release, 30);
    expect(await connection.ended).toBe("closed");
    expect(answers().map(({ id }) => id)).toEqual([1, 2]);
  });

  it("waits at its end for running calls up to a limit, and not for cancelled ones", async () => {
    const cancelled = serveSlowTool();
    cancelled.send(INITIALIZE, INITIALIZED, wait(2));
    cancelled.send({ method: "notifications/cancelled", params: { requestId: 2 } });
    cancelled.input.end();
    expect(await cancelled.connection.ended).toBe("input ended");
    expect(cancelled.errors).toEqual([]);
    const stuck = serveSlowTool({ drainMs: 30 });
    stuck.send(INITIALIZE, INITIALIZED, wait(2));
    stuck.input.end();
    expect(await stuck.connection.ended).toBe("abandoned");
    expect(stuck.errors).toEqual(["some requests were not answered in time"]);
  });

  it("refuses a message that is too long, reports it, and continues", async () => {
    const { connection, errors, send, input, answers } = serveSlowTool({ maxMessageBytes: 1000 });
    send({ id: 1, method: "initialize", params: { filler: "x".repeat(2000) } });
    input.write("x".repeat(2_000_000));
    input.write("\n");
    send(INITIALIZE);
    await vi.waitFor(() => expect(answers()).toHaveLength(3));
    expect(answers()).toMatchObject([
      { id: null, error: { code: -32600, message: expect.stringContaining("1000 bytes") } },
      { id: null, error: { code: -32600 } },
      { id: 1, result: {} },
    ]);
    expect(errors).toHaveLength(2);
    input.end();
    expect(await connection.ended).toBe("input ended");
  });

  it("ends when its output breaks, and reports it", async () => {
    const { output, connection, errors, send } = serveSlowTool();
    send(INITIALIZE, INITIALIZED, wait(2));
    output.destroy(new Error("EPIPE"));
    expect(await connection.ended).toBe("broken");
    expect(errors).toEqual(["EPIPE"]);
  });

  it("can be closed while a line is incomplete", async () => {
    const { input, connection, send } = serveSlowTool();
    send(INITIALIZE, INITIALIZED);
    input.write('{"jsonrpc":"2.0","id":2,"meth');
    connection.close();
    expect(await connection.ended).toBe("closed");
  });

  it("answers a line that is not a message with an error, and continues", async () => {
    const { input, send, answers } = serveSlowTool();
    send(INITIALIZE, INITIALIZED);
    await vi.waitFor(() => expect(answers()).toHaveLength(1));
    for (const line of ["hello", "[]", '{"jsonrpc":"2.0","id":5,"method":7}', ""]) input.write(`${line}\n`);
    send({ id: 6, method: "ping" });
    await vi.waitFor(() => expect(answers()).toHaveLength(5));
    expect(answers().slice(1)).toMatchObject([
      { id: null, error: { code: -32700 } },
      { id: null, error: { code: -32600 } },
      { id: 5, error: { code: -32600 } },
      { id: 6, result: {} },
    ]);
  });

  it("ignores notifications and responses that it does not expect", async () => {
    const { send, answers, errors, input, connection, release } = serveSlowTool();
    send(INITIALIZE, INITIALIZED, wait(2));
    const nothing = [
      { method: "notifications/unknown" },
      { method: "notifications/initialized" },
      { method: "notifications/roots/list_changed" },
      { method: "notifications/progress", params: { progressToken: 1, progress: 1 } },
      { method: "notifications/cancelled", params: { requestId: 99 } },
      { method: "notifications/cancelled", params: { requestId: {} } },
      { id: 99, result: {} },
      { id: 99, error: { code: 1, message: "no" } },
    ];
    send(...nothing, ...nothing, { id: 3, method: "ping" });
    await vi.waitFor(() => expect(answers().map(({ id }) => id)).toEqual([1, 3]));
    release();
    input.end();
    expect(await connection.ended).toBe("input ended");
    expect(answers()).toHaveLength(3);
    expect(errors).toEqual([]);
  });

  it("stops reading from a client that does not read its answers, and continues once it does", async () => {
    const { input, output, send, answers } = serveSlowTool();
    send(INITIALIZE, INITIALIZED);
    await vi.waitFor(() => expect(answers()).toHaveLength(1));
    output.pause();
    const line = `{"jsonrpc":"2.0","id":"${"x".repeat(60_000)}","method":"nothing"}\n`;
    let sent = 0;
    for (; sent < 500 && !input.isPaused(); sent += 1) {
      input.write(line);
      await setImmediate();
    }
    expect(input.isPaused()).toBe(true);
    expect(output.writableLength + output.readableLength).toBeLessThan(20_000_000);
    expect(output.listenerCount("drain")).toBeLessThan(3);
    output.resume();
    send({ id: 2, method: "ping" });
    await vi.waitFor(() => expect(answers()).toHaveLength(sent + 2), { timeout: 10_000 });
  });

  it("abandons a client that does not read its answers at the end", async () => {
    const { output, connection, send, answers } = serveSlowTool({ drainMs: 50 });
    send(INITIALIZE, INITIALIZED);
    await vi.waitFor(() => expect(answers()).toHaveLength(1));
    output.pause();
    for (let id = 2; id < 50; id += 1) send({ id: `${id}${"x".repeat(10_000)}`, method: "nothing" });
    await vi.waitFor(() => expect(output.writableNeedDrain).toBe(true));
    connection.close();
    expect(await connection.ended).toBe("abandoned");
  });

  it("keeps no timers, listeners or answers of cancelled calls", async () => {
    const { input, output, connection, errors, release, send, answers } = serveSlowTool();
    send(INITIALIZE, INITIALIZED);
    await vi.waitFor(() => expect(answers()).toHaveLength(1));
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
    const before = timers();
    for (let id = 2; id < 200; id += 1) {
      send(wait(id), { method: "notifications/cancelled", params: { requestId: id } });
    }
    send({ id: 200, method: "ping" });
    await vi.waitFor(() => expect(answers()).toHaveLength(2));
    release();
    await setImmediate();
    expect(timers()).toBeLessThanOrEqual(before);
    expect(errors).toEqual([]);
    input.end();
    expect(await connection.ended).toBe("input ended");
    expect(answers().map(({ id }) => id)).toEqual([1, 200]);
    for (const event of ["data", "end", "drain"]) {
      expect(input.listenerCount(event) + (event === "drain" ? output.listenerCount(event) : 0)).toBeLessThan(2);
    }
  });

  it("tells which resources the subscriptions of protocol 2026-07-28 have, as they begin and end", async () => {
    const { input, connection, send, subscribed } = serveSlowTool();
    const listen = (id: number, ...uris: string[]) => ({
      ...{ id, method: "subscriptions/listen" },
      params: {
        _meta: {
          "io.modelcontextprotocol/protocolVersion": "2026-07-28",
          "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
          "io.modelcontextprotocol/clientCapabilities": {},
        },
        notifications: { resourceSubscriptions: uris },
      },
    });
    send(listen(1, "a", "b"), listen(2, "b", "c"));
    await vi.waitFor(() =>
      expect(subscribed).toEqual([
        ["a", "b"],
        ["a", "b", "c"],
      ]),
    );
    send({ method: "notifications/cancelled", params: { requestId: 1 } });
    await vi.waitFor(() => expect(subscribed.slice(2)).toEqual([["b", "c"]]));
    // What is refused, here for its version, is no subscription.
    send({
      id: 3,
      method: "subscriptions/listen",
      params: { _meta: {}, notifications: { resourceSubscriptions: ["d"] } },
    });
    await vi.waitFor(() =>
      expect(subscribed.slice(3)).toEqual([
        ["b", "c", "d"],
        ["b", "c"],
      ]),
    );
    input.end();
    await connection.ended;
  });

  it("ends immediately if its input closes before any message", async () => {
    const { input, connection } = serveSlowTool();
    input.destroy();
    expect(await connection.ended).toBe("input ended");
  });
});
