import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, request as send } from "node:http";
import { connect as connectHttp2, createServer as createHttp2 } from "node:http2";
import type { AddressInfo, Server } from "node:net";
import { createEngine, MemoryContent, MemoryStorage } from "phasegate";
import { createHttpApi, type FetchHandler, type NodeRequest, type NodeResponse, toNodeHandler } from "phasegate/http";
import { createInspector } from "phasegate/inspector";
import { registerWorkflowTool } from "phasegate/mcp";
import { createMcpHttpHandler } from "phasegate/mcp-http";
import { describe, expect, it, onTestFinished } from "vitest";
import { twoPhases } from "../support/workflows.js";

const engine = createEngine({ storage: new MemoryStorage(), content: new MemoryContent({ workflows: [twoPhases] }) });
const start = { workflow_type: "two_phases", target_file: "a.md" };

async function listening(server: Server): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => new Promise<void>((resolve) => void server.close(() => resolve())));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Serves what a framework would do with a request. */
const serving = (listener: RequestListener) => listening(createServer({ keepAlive: false }, listener));

const posting = (body: unknown, more: Record<string, string> = {}) => ({
  method: "POST",
  headers: { "content-type": "application/json", connection: "close", ...more },
  body: JSON.stringify(body),
});

/** Reads a body as a parser does, and keeps it where frameworks do. */
async function parse(incoming: IncomingMessage, keep: (text: string) => unknown): Promise<IncomingMessage> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  return Object.assign(incoming, { body: keep(Buffer.concat(chunks).toString()) });
}

/** Echoes what a fetch handler gets. */
const echo: FetchHandler = async (request) =>
  Response.json({ url: request.url, method: request.method, text: await request.text(), ...headersOf(request) });
const headersOf = ({ headers }: Request) => ({ host: headers.get("host"), length: headers.get("content-length") });

describe("a fetch handler in a server of Node", () => {
  it("answers requests with a body that nobody has read", async () => {
    const url = await serving(toNodeHandler(createHttpApi(engine)));
    const answer = await fetch(`${url}/sessions/start`, posting(start));
    expect([answer.status, await answer.json()]).toMatchObject([200, { status: "success" }]);
  });

  it.each([
    ["an object", (text: string) => JSON.parse(text)],
    ["a text", (text: string) => text],
    ["bytes", (text: string) => Buffer.from(text)],
  ])("takes the body that a parser has kept as %s", async (_, keep) => {
    const handle = toNodeHandler(createHttpApi(engine));
    const url = await serving(async (incoming, outgoing) => handle(await parse(incoming, keep), outgoing));
    // A parser unpacks, and leaves the headers as they are.
    const answer = await fetch(`${url}/sessions/start`, posting(start, { "content-encoding": "gzip" }));
    expect([answer.status, await answer.json()]).toMatchObject([200, { status: "success" }]);
  });

  it("does not take the empty object that a parser leaves beside a body that it has not read", async () => {
    const handle = toNodeHandler(createHttpApi(engine));
    const url = await serving((incoming, outgoing) => handle(Object.assign(incoming, { body: {} }), outgoing));
    expect((await fetch(`${url}/sessions/start`, posting(start))).status).toBe(200);
  });

  it("says in the form of each handler that somebody has read the body and not kept it", async () => {
    const inspector = createInspector({ engine, access: { authorize: () => true } });
    const told: unknown[] = [];
    const mcp = createMcpHttpHandler({
      path: "/",
      register: (server) => registerWorkflowTool(server, engine),
      onError: (error) => told.push(error),
    });
    const message = /has read the body before phasegate got the request/;
    const forms = [
      [createHttpApi(engine), "/sessions/start", { message: expect.stringMatching(message) }],
      [inspector, "/api/login", { error: { message: expect.stringMatching(message) } }],
      [mcp, "/", { error: { message: expect.stringMatching(message) } }],
    ] as const;
    for (const [handler, path, body] of forms) {
      const handle = toNodeHandler(handler);
      const url = await serving(async (incoming, outgoing) => handle(await parse(incoming, () => {}), outgoing));
      const answer = await fetch(`${url}${path}`, posting(start, { "x-phasegate": "1" }));
      expect([answer.status, await answer.json()]).toMatchObject([500, body]);
    }
    expect(told).toHaveLength(1);
    // Where a server passes on requests of the fetch standard, too.
    const used = new Request("http://localhost/sessions/start", posting(start));
    await used.json();
    expect((await createHttpApi(engine)(used)).status).toBe(500);
  });

  it("sees the whole path where a framework has taken off a part of it", async () => {
    const handle = toNodeHandler(createHttpApi(engine, { basePath: "/api" }));
    const url = await serving((incoming, outgoing) => {
      const { url = "" } = incoming;
      return handle(Object.assign(incoming, { originalUrl: url, url: url.replace("/api", "") }), outgoing);
    });
    expect((await fetch(`${url}/api/sessions/list_workflows`)).status).toBe(200);
  });

  it.each([
    [{ host: "tools.example.com" }, undefined, "http://tools.example.com/a?b=1"],
    [{ host: "tools.example.com:8443" }, "https", "https://tools.example.com:8443/a?b=1"],
    [{ host: "[::1]:80" }, "http", "http://[::1]/a?b=1"],
    [{ host: "ann:secret@evil.example" }, undefined, "http://localhost/a?b=1"],
    [{ host: "evil.example/x?" }, "javascript", "http://localhost/a?b=1"],
    [{ host: "::" }, undefined, "http://localhost/a?b=1"],
  ])("has the address that the client has used: %j %s", async (headers, protocol, expected) => {
    const handle = toNodeHandler(echo);
    const url = await serving((incoming, outgoing) =>
      handle(protocol === undefined ? incoming : Object.assign(incoming, { protocol }), outgoing),
    );
    expect(JSON.parse(await got(url, "/a?b=1", { headers }))).toMatchObject({ url: expected, host: headers.host });
  });

  it("takes a path alone from the client, and a header that is sent twice as such", async () => {
    const url = await serving(toNodeHandler(echo));
    expect(JSON.parse(await got(url, "http://evil.example/x"))).toMatchObject({ url: `${url}/` });
    const twice = await got(url, "/", { headers: ["host", "a.example", "host", "b.example"] });
    expect(JSON.parse(twice)).toMatchObject({ host: "a.example, b.example", url: "http://localhost/" });
  });

  it("refuses methods that fetch does not know", async () => {
    const url = await serving(toNodeHandler(echo));
    expect(await got(url, "/", { method: "TRACE" })).toContain("METHOD_NOT_ALLOWED");
  });

  it("works on HTTP/2, where the name of the host is no header", async () => {
    const handle = toNodeHandler(echo);
    const url = await listening(createHttp2((incoming, outgoing) => void handle(incoming, outgoing)));
    const session = connectHttp2(url);
    const stream = session.request({ ":path": "/two" });
    let text = "";
    for await (const chunk of stream.setEncoding("utf8")) text += chunk;
    session.close();
    expect(JSON.parse(text)).toMatchObject({ url: `${url}/two`, host: url.slice("http://".length) });
  });

  it("keeps each cookie of an answer, and those that the server has set before", async () => {
    const headers = new Headers([
      ["set-cookie", "b=2; Expires=Thu, 01 Jan 2099 00:00:00 GMT"],
      ["set-cookie", "c=3"],
    ]);
    const handle = toNodeHandler(() => new Response("", { headers }));
    const url = await serving((incoming, outgoing) => handle(incoming, outgoing.appendHeader("set-cookie", "a=1")));
    const cookies = (await fetch(url)).headers.getSetCookie();
    expect(cookies.map((cookie) => cookie.slice(0, 3))).toEqual(["a=1", "b=2", "c=3"]);
  });

  it("passes on requests and replies of Fastify, with the headers that its plugins have set", async () => {
    const handle = toNodeHandler(createHttpApi(engine));
    let hijacked = 0;
    const url = await serving(async (incoming, outgoing) => {
      const raw = await parse(incoming, () => {});
      const reply = {
        raw: outgoing,
        hijack: () => (hijacked += 1),
        getHeaders: () => ({ "x-by": "plugin", "x-no": undefined }),
      };
      await handle({ raw, body: start }, reply);
    });
    const answer = await fetch(`${url}/sessions/start`, posting("elsewhere"));
    expect([answer.status, answer.headers.get("x-by"), hijacked]).toEqual([200, "plugin", 1]);
  });
});

describe("an event stream in a server of Node", () => {
  const events = (source: UnderlyingDefaultSource<Uint8Array>) => () =>
    new Response(new ReadableStream(source), { headers: { "content-type": "text/event-stream" } });

  it("begins before its first event, and ends when the client goes away", async () => {
    let cancel = () => {};
    const cancelled = new Promise<void>((resolve) => (cancel = resolve));
    const handle = toNodeHandler(events({ cancel }));
    const url = await serving((incoming, outgoing) => handle(incoming, outgoing));
    const client = new AbortController();
    const answer = await fetch(url, { signal: client.signal });
    expect(answer.headers.get("content-type")).toBe("text/event-stream");
    client.abort();
    await cancelled;
  });

  it("comes in whole, also to a client that reads slowly", async () => {
    const piece = new Uint8Array(256 * 1024);
    let left = 40;
    const pull = (controller: ReadableStreamDefaultController<Uint8Array>) => {
      if (left === 0) controller.close();
      else controller.enqueue(piece);
      left -= 1;
    };
    const url = await serving(toNodeHandler(events({ pull })));
    const { body } = await fetch(url);
    let bytes = 0;
    for await (const part of body ?? []) bytes += part.length;
    expect(bytes).toBe(40 * piece.length);
  });

  it("that fails is not taken for complete", async () => {
    const pull = () => Promise.reject(new Error("the source has failed"));
    const url = await serving(toNodeHandler(events({ pull })));
    await expect(fetch(url).then((answer) => answer.text())).rejects.toThrow();
  });
});

describe("a handler that fails", () => {
  const failing = () => Promise.reject(new Error("out of order"));

  it("is the framework's to answer", async () => {
    const url = await serving((incoming, outgoing) => {
      void toNodeHandler(failing)(incoming, outgoing, (error) => outgoing.end(String(error)));
    });
    expect(await (await fetch(url)).text()).toBe("Error: out of order");
  });

  it("rejects where there is no framework", async () => {
    const url = await serving((incoming, outgoing) => {
      toNodeHandler(failing)(incoming, outgoing).catch((error) => outgoing.end(`rejected: ${error}`));
    });
    expect(await (await fetch(url)).text()).toBe("rejected: Error: out of order");
  });

  it("is told to onError, and the connection is closed", async () => {
    const told: unknown[] = [];
    const url = await serving(toNodeHandler(failing, { onError: (error) => told.push(error) }));
    await expect(fetch(url)).rejects.toThrow();
    expect(told).toEqual([new Error("out of order")]);
  });
});

describe("a handler in the wrong place", () => {
  const inspector = createInspector({ engine, access: { authorize: () => true } });
  const mcp = createMcpHttpHandler({ register: (server) => registerWorkflowTool(server, engine) });
  const misuse = (call: () => unknown) => {
    try {
      call();
    } catch (error) {
      return error;
    }
    return undefined;
  };

  it.each([
    ["createHttpApi", createHttpApi(engine)],
    ["createInspector", inspector.fetch],
    ["createMcpHttpHandler", mcp.fetch],
  ])("says at once what to do: what %s returns takes no request of Node, and no context of Hono", (name, handler) => {
    for (const given of [{ url: "/", headers: { host: "a" } }, { req: { raw: {} } }, undefined]) {
      expect(misuse(() => handler(given as never))).toMatchObject({
        code: "INVALID_INPUT",
        message: `the handler of ${name} takes a Request, and got something else`,
        remedy: expect.stringContaining("toNodeHandler(handler) of phasegate/http. In Hono, pass on c.req.raw"),
      });
    }
  });

  it("says at once what to do: toNodeHandler takes a handler, and returns one for Node", async () => {
    for (const given of [undefined, null, engine, createInspector]) {
      const isFunction = typeof given === "function";
      expect(misuse(() => toNodeHandler(given as never)) === undefined).toBe(isFunction);
    }
    expect(misuse(() => toNodeHandler(echo, { onerror: () => {} } as never))).toMatchObject({ code: "INVALID_INPUT" });
    const request = new Request("http://localhost/") as unknown as NodeRequest;
    await expect(toNodeHandler(inspector)(request, {} as NodeResponse)).rejects.toMatchObject({
      code: "INVALID_INPUT",
      remedy: expect.stringContaining("Mount the fetch handler itself"),
    });
  });
});

/** Sends what `fetch` does not: any Host, any method. */
async function got(url: string, path: string, init: object = {}): Promise<string> {
  const { hostname, port } = new URL(url);
  const asked = send({ hostname, port, path, agent: false, ...init }).end();
  const [answer] = await once(asked, "response");
  let text = "";
  for await (const chunk of answer.setEncoding("utf8")) text += chunk;
  return text;
}
