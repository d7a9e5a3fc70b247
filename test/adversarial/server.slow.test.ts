/** Attempts of bad clients on the HTTP endpoint; an honest client is then served. */
import { once } from "node:events";
import { connect } from "node:net";
import { createQuotas, quotaResponse } from "phasegate/login";
import { registerWorkflowTool } from "phasegate/mcp";
import { describe, expect, it } from "vitest";
import { connectTo, serveMcp, until } from "../mcp/http-server.js";
import { makeEngine } from "../support/make-engine.js";

const HEADERS = { "content-type": "application/json", accept: "application/json, text/event-stream" };
const PING = { jsonrpc: "2.0", id: 1, method: "ping" };

function serve(options: Partial<Parameters<typeof serveMcp>[0]> = {}) {
  const { engine } = makeEngine();
  return serveMcp({ register: (server) => registerWorkflowTool(server, engine), ...options });
}

function send(url: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(url, {
    method: "POST",
    headers: { ...HEADERS, ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}

async function stillServes(url: string) {
  const { ask } = await connectTo(url, "2026");
  expect(await ask({ action: "list_workflows" })).toMatchObject({ status: "success" });
}

/** Sends bytes and returns what comes back, until the server closes or has answered. */
async function raw(url: string, text: string): Promise<string> {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  let said = "";
  socket.on("data", (chunk) => {
    said += String(chunk);
  });
  socket.on("error", () => {});
  await once(socket, "connect");
  socket.write(text);
  await Promise.race([once(socket, "close"), until(() => /\r\n\r\n/.test(said))]);
  socket.destroy();
  return said.split("\r\n")[0] ?? "";
}

/** Serves a tool that answers when it is told to. */
async function serveWaiting(options: Partial<Parameters<typeof serveMcp>[0]>) {
  let go = () => {};
  const told = new Promise<void>((resolve) => {
    go = resolve;
  });
  const made = await serveMcp({
    register: (server) => {
      server.registerTool("wait", {}, async () => {
        await told;
        return { content: [] };
      });
      return undefined;
    },
    ...options,
  });
  return { ...made, go };
}

describe("a batch", () => {
  const waits = (count: number) =>
    Array.from({ length: count }, (_, id) => ({ ...PING, id, method: "tools/call", params: { name: "wait" } }));

  it("counts as many calls as it has requests: for the quota, for the calls at once, and in the log", async () => {
    const quotas = createQuotas({ callsPerMinute: 10 });
    const limited = await serve({
      quota: (actor, bytes) => {
        const answer = quotas.call(actor, bytes);
        return answer.ok ? undefined : quotaResponse(answer);
      },
    });
    const pings = (url: string, count: number) =>
      send(
        url,
        Array.from({ length: count }, (_, id) => ({ ...PING, id })),
      );
    const first = await pings(limited.url, 8);
    expect([first.status, await first.text()]).toEqual([200, expect.any(String)]);
    await until(() => limited.calls.length > 0);
    expect(limited.calls.map(({ requestId }) => requestId)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect((await pings(limited.url, 8)).status).toBe(429);
    const { url, go, handler } = await serveWaiting({ maxRequestsPerActor: 8 });
    const running = send(url, waits(5));
    await until(() => handler.load().requests === 5);
    const tooMany = await send(url, waits(5));
    expect([tooMany.status, tooMany.headers.get("retry-after")]).toEqual([503, "1"]);
    expect((await pings(url, 9)).status).toBe(400);
    expect((await pings(url, 3)).status).toBe(200);
    go();
    expect((await running).status).toBe(200);
  });
});

describe("a body", () => {
  it("of millions of tiny values is refused before it is parsed", async () => {
    const { url } = await serve();
    const bomb = `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":[${"[],".repeat(10_000_000)}1]}}`;
    const before = process.memoryUsage().rss;
    const refused = await send(url, bomb);
    expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining("1000000 values and keys")]);
    // Parsed, it takes a gigabyte.
    expect(process.memoryUsage().rss - before).toBeLessThan(600 * 1024 * 1024);
    await stillServes(url);
  });

  it("of texts with brackets, quotes and backslashes in them is no deep one", async () => {
    const { url } = await serve();
    const text = `${"[{".repeat(300)}\\"\\\\"${",:".repeat(10)}`;
    expect((await send(url, { ...PING, params: { _meta: { text } } })).status).toBe(200);
  });

  it("counts with the others that its actor sends at once: together they have a limit", async () => {
    const { url, go, handler } = await serveWaiting({ maxBodyBytes: 100_000 });
    const large = { ...PING, method: "tools/call", params: { name: "wait", arguments: { a: "x".repeat(80_000) } } };
    const running = [send(url, large), send(url, large)];
    await until(() => handler.load().requests === 2);
    // Both were read: a third one has no room left.
    await new Promise((resolve) => setTimeout(resolve, 100));
    const refused = await send(url, large);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"]);
    expect((await send(url, PING)).status).toBe(200);
    go();
    for (const one of running) expect((await one).status).toBe(200);
    expect((await send(url, large)).status).toBe(200);
  });
});

describe("a request by hand", () => {
  const body = JSON.stringify(PING);
  const head = (first: string, more: readonly string[] = []) =>
    [first, "Host: localhost", `Content-Type: application/json`, `Accept: ${HEADERS.accept}`, ...more, "", ""].join(
      "\r\n",
    );
  const length = `Content-Length: ${body.length}`;

  it.each<[string, string, RegExp]>([
    ["is a plain one", `${head("POST /mcp HTTP/1.1", [length])}${body}`, / 200 /],
    [
      "has a length and chunks",
      `${head("POST /mcp HTTP/1.1", [length, "Transfer-Encoding: chunked"])}0\r\n\r\n`,
      / 400 /,
    ],
    ["has two lengths", `${head("POST /mcp HTTP/1.1", [length, "Content-Length: 5"])}${body}`, / 400 /],
    [
      "has an unknown encoding of its body",
      `${head("POST /mcp HTTP/1.1", ["Transfer-Encoding: chunked, x"])}0\r\n\r\n`,
      / 400 /,
    ],
    ["has a length that is none", `${head("POST /mcp HTTP/1.1", ["Content-Length: +5"])}${body}`, / 400 /],
    ["has chunks of a negative length", `${head("POST /mcp HTTP/1.1", ["Transfer-Encoding: chunked"])}-1\r\n`, / 400 /],
    ["has a folded header", `${head("POST /mcp HTTP/1.1", ["X-A: b", " c", length])}${body}`, / (?:200|400) /],
    [
      "has a blank before a colon",
      `${head("POST /mcp HTTP/1.1", ["Transfer-Encoding : chunked", length])}${body}`,
      / 400 /,
    ],
    ["ends its lines with LF", `POST /mcp HTTP/1.1\nHost: localhost\n${length}\n\n${body}`, / 400 /],
    ["has huge headers", head("GET /mcp HTTP/1.1", [`X-A: ${"x".repeat(20_000)}`]), / 431 /],
    [
      "has ten thousand headers",
      head(
        "GET /mcp HTTP/1.1",
        Array.from({ length: 10_000 }, (_, n) => `X-${n}: a`),
      ),
      / 431 /,
    ],
    ["has no host", `POST /mcp HTTP/1.1\r\n${length}\r\n\r\n${body}`, / 400 /],
    ["is of HTTP/1.0", `${head("POST /mcp HTTP/1.0", [length])}${body}`, / 200 /],
    ["is of HTTP/2.0, which is answered as 1.1", `${head("POST /mcp HTTP/2.0", [length])}${body}`, / 200 /],
    ["is CONNECT", head("CONNECT localhost:1 HTTP/1.1"), / 405 /],
    ["is TRACE", head("TRACE /mcp HTTP/1.1"), / 405 /],
    [
      "asks for an upgrade",
      `${head("POST /mcp HTTP/1.1", [length, "Connection: Upgrade", "Upgrade: h2c"])}${body}`,
      / 200 /,
    ],
    ["is a WebSocket", head("GET /mcp HTTP/1.1", ["Connection: Upgrade", "Upgrade: websocket"]), / 4\d\d /],
    ["climbs out of the path", `${head("POST /mcp/../healthz HTTP/1.1", [length])}${body}`, / 404 /],
    ["climbs with encoded dots", `${head("POST /mcp/%2e%2e/healthz HTTP/1.1", [length])}${body}`, / 404 /],
    ["has an encoded path", `${head("POST /%6dcp HTTP/1.1", [length])}${body}`, / 404 /],
    ["has two slashes", `${head("POST //evil.example/mcp HTTP/1.1", [length])}${body}`, / 404 /],
    ["names another server", `${head("POST http://evil.example/mcp HTTP/1.1", [length])}${body}`, / 404 /],
    ["asks for everything", `${head("OPTIONS * HTTP/1.1")}`, / 404 /],
    ["has a NUL in its path", `${head("POST /mcp\0 HTTP/1.1", [length])}${body}`, / 400 /],
    ["is no HTTP at all", "\x16\x03\x01\x02\0\x01\0", / 400 /],
  ])("%s", async (_, request, expected) => {
    const { url } = await serve();
    expect(await raw(url, request)).toMatch(expected);
    await stillServes(url);
  });
});
