import { connect } from "node:net";
import type { McpServer } from "@modelcontextprotocol/server";
import { registerWorkflowTool } from "phasegate/mcp";
import { describe, expect, it, onTestFinished } from "vitest";
import { howOften } from "../support/how-often.js";
import { makeEngine } from "../support/make-engine.js";
import { connectTo, serveMcp, until } from "./http-server.js";

const LIST = { jsonrpc: "2.0", id: 1, method: "tools/list" };
const HEADERS = { "content-type": "application/json", accept: "application/json, text/event-stream" };

async function served(options: Partial<Parameters<typeof serveMcp>[0]> = {}) {
  const { engine } = makeEngine();
  return serveMcp({ register: (server) => registerWorkflowTool(server, engine), ...options });
}

function send(url: string, body: string, headers: Record<string, string> = HEADERS): Promise<Response> {
  return fetch(url, { method: "POST", headers, body });
}

/** A client that works shows that the others did it no harm. */
async function stillServes(url: string) {
  const { ask } = await connectTo(url, "2026");
  expect(await ask({ action: "list_workflows" })).toMatchObject({ status: "success" });
}

/** Returns JSON that is nested so deep. */
function nested(levels: number): string {
  return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"a":${"[".repeat(levels)}${"]".repeat(levels)}}}`;
}

describe("a request over its limits", () => {
  it("is refused, says what to do, and is reported", async () => {
    const { url, errors } = await served({ maxBodyBytes: 5000 });
    const gzip = { ...HEADERS, "content-encoding": "gzip" };
    const cases: readonly (readonly [number, Promise<Response>])[] = [
      [413, send(url, JSON.stringify({ ...LIST, params: { a: "x".repeat(6000) } }))],
      [400, send(url, nested(250))],
      [400, send(url, "{")],
      [400, send(url, "")],
      [400, send(url, "[]")],
      [400, send(url, JSON.stringify(Array.from({ length: 101 }, () => LIST)))],
      [415, send(url, JSON.stringify(LIST), { ...HEADERS, "content-type": "text/plain" })],
      [415, send(url, JSON.stringify(LIST), gzip)],
    ];
    for (const [status, sent] of cases) {
      const response = await sent;
      const body = await response.json();
      expect([response.status, body]).toEqual([
        status,
        { jsonrpc: "2.0", id: null, error: { code: expect.any(Number), message: expect.any(String) } },
      ]);
    }
    expect(errors).toHaveLength(cases.length);
    await stillServes(url);
  });

  it("is refused although it is nested 100,000 deep, or its size is not declared", async () => {
    const { url } = await served({ maxBodyBytes: 1024 * 1024 });
    expect((await send(url, nested(100_000))).status).toBe(400);
    const chunks = new ReadableStream({
      pull: (controller) => controller.enqueue(new TextEncoder().encode(" ".repeat(64 * 1024))),
    });
    const sending = { method: "POST", headers: HEADERS, body: chunks, duplex: "half" };
    expect((await fetch(url, sending)).status).toBe(413);
    await stillServes(url);
  });

  it("is one of too many of an actor at once", async () => {
    let open = () => {};
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    const { engine } = makeEngine();
    const register = async (server: McpServer) => {
      await opened;
      return registerWorkflowTool(server, engine);
    };
    const { url, handler } = await served({ register, maxRequestsPerActor: 2 });
    const waiting = [send(url, JSON.stringify(LIST)), send(url, JSON.stringify(LIST))];
    await until(() => handler.load().requests === 2);
    const refused = await send(url, JSON.stringify(LIST));
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"]);
    open();
    for (const response of await Promise.all(waiting)) expect(await response.text()).toContain("pos_workflow");
    expect(handler.load().requests).toBe(0);
  });

  it("makes no server if it is a notification: any number costs nothing", async () => {
    let registered = 0;
    const { engine } = makeEngine();
    const register = (server: McpServer) => {
      registered += 1;
      return registerWorkflowTool(server, engine);
    };
    const { url } = await served({ register });
    const notification = JSON.stringify({ jsonrpc: "2.0", method: "notifications/progress", params: {} });
    for (let sent = 0; sent < howOften(100, 10_000); sent += 50) {
      const all = await Promise.all(Array.from({ length: 50 }, () => send(url, notification)));
      const others = all.filter(({ status }) => status !== 202);
      expect(await Promise.all(others.map(async (one) => [one.status, await one.text()]))).toEqual([]);
    }
    expect(registered).toBe(0);
    await stillServes(url);
  });

  it("is answered if its path or method is wrong, or its path is long", async () => {
    const { url } = await served();
    expect((await fetch(url.replace("/mcp", "/"))).status).toBe(404);
    expect((await fetch(url)).status).toBe(405);
    expect((await fetch(url, { method: "PUT", body: "{}" })).status).toBe(405);
    expect((await fetch(`${url}?q=${"x".repeat(5000)}`)).status).toBe(405);
  });
});

describe("a client that stops in the middle", () => {
  it("harms no other: it sends half a request, or does not read", async () => {
    const { url } = await served();
    const { port } = new URL(url);
    const head =
      "POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{";
    for (const text of ["", "POST /mcp HT", head]) {
      const socket = connect(Number(port), "127.0.0.1");
      onTestFinished(() => void socket.destroy());
      await new Promise((resolve) => socket.once("connect", resolve));
      if (text !== "") socket.write(text);
    }
    await stillServes(url);
  });
});

describe("a client that is too slow", () => {
  it("sends one byte after another, and is given up; others are served", async () => {
    const { engine } = makeEngine();
    const { url } = await serveMcp({ register: (server) => registerWorkflowTool(server, engine) }, { request: 1200 });
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    let received = "";
    socket.on("data", (chunk) => {
      received += String(chunk);
    });
    // A server that gives up a connection may reset it.
    socket.on("error", () => {});
    const closed = new Promise((resolve) => socket.once("close", resolve));
    const head =
      "POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n";
    socket.write(head);
    const dripping = setInterval(() => socket.writable && socket.write("{"), 50);
    await stillServes(url);
    await closed;
    clearInterval(dripping);
    expect(received).toMatch(/^HTTP\/1\.1 408 /);
  });
});

describe("the end of a server", () => {
  it("lets calls under way end, refuses new ones, and ends event streams", async () => {
    const { engine } = makeEngine();
    let finish = () => {};
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const register = (server: McpServer) => {
      server.registerTool("wait", { description: "Waits" }, async () => {
        await finished;
        return { content: [{ type: "text", text: "done" }] };
      });
      return registerWorkflowTool(server, engine);
    };
    const { url, handler } = await served({ register });
    const { client } = await connectTo(url, "2026");
    const subscription = await client.listen({ resourcesListChanged: true });
    const old = await connectTo(url, "2025");
    const calls = [client.callTool({ name: "wait" }), old.client.callTool({ name: "wait" })];
    await until(() => handler.load().requests >= 2);
    const closing = handler.close(5000);
    await subscription.closed;
    const refused = await send(url, JSON.stringify(LIST));
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"]);
    finish();
    for (const call of calls) expect(await call).toMatchObject({ content: [{ text: "done" }] });
    await closing;
    expect(handler.load()).toEqual({ connections: 0, requests: 0 });
  });

  it("cancels calls that do not end in time", async () => {
    let [begun, cancelled] = [0, 0];
    const register = (server: McpServer) => {
      server.registerTool("hang", { description: "Hangs" }, (ctx) => {
        begun += 1;
        return new Promise((resolve) =>
          ctx.mcpReq.signal.addEventListener("abort", () => {
            cancelled += 1;
            resolve({ content: [] });
          }),
        );
      });
      return undefined;
    };
    const { url, handler } = await served({ register });
    const clients = [await connectTo(url, "2026"), await connectTo(url, "2025")];
    const calls = clients.map(({ client }) => client.callTool({ name: "hang" }).catch((error: unknown) => error));
    await until(() => begun === 2);
    await handler.close(20);
    await until(() => cancelled === 2);
    await Promise.all(clients.map(({ client }) => client.close()));
    for (const call of calls) expect(await call).toBeInstanceOf(Error);
  });
});
