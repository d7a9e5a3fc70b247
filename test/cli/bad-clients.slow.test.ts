import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { howOften } from "../support/how-often.js";
import { writeFiles } from "../support/write-files.js";
import { BIN } from "./bin.js";
import { GARDENS } from "./routed-folders.js";
import { SMALL } from "./workflow-folders.js";

type Message = Record<string, unknown>;

const roots: string[] = [];
afterAll(async () => {
  for (const root of roots) await rm(root, { recursive: true, force: true });
});

const INITIALIZE = {
  id: "initialize",
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } },
};
const line = (message: Message) => `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`;
const called = (id: number, input: unknown) =>
  line({ id, method: "tools/call", params: { name: "pos_workflow", arguments: input } });
const nested = (levels: number) => `${"[".repeat(levels)}${"]".repeat(levels)}`;
const PARSE = { id: null, error: { code: -32700 } };
const INVALID = { id: null, error: { code: -32600 } };

/** The input of a client, and a part of the answers to it, if any. */
const OVER_STDIO: readonly [name: string, sent: string | Buffer, answer?: Message][] = [
  ["text that is not JSON", "hello\n", PARSE],
  ["half a message", '{"jsonrpc":"2.0","id":1,"method"\n', PARSE],
  ["ten thousand blank lines", "\n".repeat(10_000)],
  ["bytes that are not UTF-8", Buffer.from([0x22, 0xff, 0xfe, 0x22, 0x0a]), PARSE],
  ["NUL bytes", Buffer.alloc(1000, "\0\n"), PARSE],
  ["a byte order mark", `\ufeff${line({ id: 1, method: "ping" })}`, { id: 1, result: {} }],
  ["lines that end as on Windows", line({ id: 2, method: "ping" }).replace("\n", "\r\n"), { id: 2, result: {} }],
  ["a batch", `[${line({ id: 3, method: "ping" }).trim()}]\n`, INVALID],
  ["an empty batch", "[]\n", INVALID],
  ["a number", "1\n", INVALID],
  ["JSON of 10,000 levels", `${nested(10_000)}\n`, INVALID],
  ["half of JSON of a million levels", `${"[".repeat(1_000_000)}\n`, PARSE],
  ["a message of 64 MiB", `${"x".repeat(64 * 1024 * 1024)}\n`, INVALID],
  ["another version of JSON-RPC", '{"jsonrpc":"1.0","id":4,"method":"ping"}\n', { id: 4, error: { code: -32600 } }],
  ["an id that is null", line({ id: null, method: "ping" }), INVALID],
  ["an id that is an object", line({ id: { a: 1 }, method: "ping" }), INVALID],
  ["a method that is a number", line({ id: 5, method: 5 }), { id: 5, error: { code: -32600 } }],
  ["params that are a list", line({ id: 6, method: "ping", params: [] }), { id: 6, error: { code: -32600 } }],
  ["params._meta that is a text", line({ id: 7, method: "ping", params: { _meta: "x" } }), { id: 7, error: {} }],
  ["an unknown method", line({ id: 8, method: "nothing" }), { id: 8, error: { code: -32601 } }],
  ["a method of 1 MB", line({ id: 9, method: "x".repeat(1_000_000) }), { id: 9, error: { code: -32601 } }],
  ["an id of 1 MB", line({ id: "x".repeat(1_000_000), method: "nothing" }), { error: { code: -32601 } }],
  ["a request with a key too many", line({ id: 10, method: "ping", more: 1 }), { id: 10, error: { code: -32600 } }],
  ["one id twice", line({ id: 11, method: "ping" }).repeat(2), { id: 11, result: {} }],
  ["a thousand requests at once", line({ id: 12, method: "ping" }).repeat(1000), { id: 12, result: {} }],
  ["an unknown tool", line({ id: 13, method: "tools/call", params: { name: "x" } }), { id: 13, error: {} }],
  ["a tool without a name", line({ id: 14, method: "tools/call", params: {} }), { id: 14, error: {} }],
  ["a call without arguments", called(15, undefined), { id: 15 }],
  ["arguments that are a list", called(16, []), { id: 16 }],
  ["arguments without an action", called(17, {}), { id: 17, result: { isError: true } }],
  [
    "a prototype in the arguments",
    '{"jsonrpc":"2.0","id":18,"method":"tools/call","params":{"name":"pos_workflow","arguments":{"__proto__":{"action":"list_workflows"}}}}\n',
    { id: 18, result: { isError: true } },
  ],
  [
    "arguments of 10,000 levels",
    called(19, { action: "start", workflow_type: "small", target_file: "a", options: { deep: "deep" } }).replace(
      '"deep":"deep"',
      `"deep":${nested(10_000)}`,
    ),
    { id: 19, result: { isError: true } },
  ],
  ["a second handshake", line({ ...INITIALIZE, id: 20 }), { id: 20 }],
  ["an unknown resource", line({ id: 21, method: "resources/read", params: { uri: "%" } }), { id: 21, error: {} }],
  ["a resource without an address", line({ id: 22, method: "resources/read" }), { id: 22, error: {} }],
  ["an unknown prompt", line({ id: 23, method: "prompts/get", params: { name: "x" } }), { id: 23, error: {} }],
  ["a broken cancellation", line({ method: "notifications/cancelled", params: { requestId: [] } })],
  ["a cancelled request", `${called(24, { action: "list_workflows" })}${cancel(24)}`],
  ["a hundred thousand notifications", line({ method: "notifications/x" }).repeat(100_000)],
  ["a hundred thousand cancellations", cancel(99).repeat(100_000)],
  ["ten thousand handshakes that end", line({ method: "notifications/initialized" }).repeat(10_000)],
  ["ten thousand answers to nothing", line({ id: 99, result: {} }).repeat(10_000)],
  ["an error about nothing", line({ id: null, error: { code: 1, message: "no" } })],
  ["an invalid answer", line({ id: 99, result: 1, error: 2 })],
];

function cancel(requestId: number): string {
  return line({ method: "notifications/cancelled", params: { requestId } });
}

describe("over stdio, a server answers valid requests after", () => {
  let server: Awaited<ReturnType<typeof serveStdio>>;
  let asked = 0;
  beforeAll(async () => {
    server = await serveStdio();
    server.send(line(INITIALIZE) + line({ method: "notifications/initialized" }));
    await server.answered({ id: "initialize", result: {} });
  });
  afterAll(() => server.kill());

  async function honest(): Promise<void> {
    asked += 1;
    server.send(line({ id: `honest ${asked}`, method: "tools/call", params: LIST }));
    await server.answered({ id: `honest ${asked}`, result: { structuredContent: { status: "success" } } });
  }

  it.each(OVER_STDIO)("%s", async (_name, sent, answer) => {
    server.send(sent);
    if (answer !== undefined) await server.answered(answer);
    await honest();
    server.forget();
  });

  it("a message in packets of one byte", async () => {
    for (const byte of line({ id: 30, method: "ping" })) {
      server.send(byte);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await server.answered({ id: 30, result: {} });
    await honest();
  });

  it("half a line; it then ends on a signal", async () => {
    await honest();
    server.send('{"jsonrpc":"2.0","id":31,"meth');
    expect(await server.end("SIGTERM")).toEqual({ code: 0, signal: null });
    expect(server.log()).not.toContain("MaxListeners");
  });
});

const LIST = { name: "pos_workflow", arguments: { action: "list_workflows" } };

const HEAD = "HTTP/1.1\r\nhost: localhost\r\n";
const POST = `POST /workflows/start ${HEAD}content-type: application/json\r\n`;
const posted = (body: string) => `${POST}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

/** The input of a client, and the status of the answer; none if the server waits for more. */
const OVER_HTTP: readonly [name: string, sent: string, status?: number][] = [
  ["text that is not HTTP", "hello\r\n\r\n", 400],
  ["a connection without any data", ""],
  ["half of the headers", "GET /workflows/list HTTP/1.1\r\nhost:"],
  ["half of a body", `${POST}content-length: 100\r\n\r\n{`],
  ["a body of 2 MiB", posted("x".repeat(2 * 1024 * 1024)), 413],
  ["a declared body of 1 TB", `${POST}content-length: 1000000000000\r\n\r\n`, 413],
  ["a length that is not a number", `${POST}content-length: ten\r\n\r\n`, 400],
  ["a chunk without a length", `${POST}transfer-encoding: chunked\r\n\r\nzz\r\n`, 400],
  ["a body that is not JSON", posted("{"), 400],
  ["a body that is a list", posted("[]"), 400],
  ["JSON of 10,000 levels", posted(nested(10_000)), 400],
  ["a context of 10,000 levels", posted(`{"workflow_name":"GARDEN","context":{"a":${nested(10_000)}}}`), 400],
  ["a report of 10,000 levels", posted(`{"workflow_name":"GARDEN","report":${nested(10_000)}}`), 400],
  ["unknown fields", posted('{"x":1}'), 400],
  ["a prototype", posted('{"workflow_name":"GARDEN","context":{"__proto__":{"a":1}}}'), 400],
  ["another content type", posted("{}").replace("application/json", "text/html"), 415],
  ["a request without a content type", posted("{}").replace("content-type: application/json\r\n", ""), 415],
  ["another character set", posted("{}").replace("json", "json; charset=utf-16"), 415],
  ["a compressed body", posted("{}").replace("\r\n\r\n", "\r\ncontent-encoding: br\r\n\r\n"), 415],
  ["another method", `PUT /workflows/start ${HEAD}\r\n`, 405],
  ["an unknown method", `BREW / ${HEAD}\r\n`, 400],
  ["an unknown path", `GET /../../etc/passwd ${HEAD}\r\n`, 404],
  ["a query of 1 MB", `GET /workflows/list?a=${"b".repeat(1_000_000)} ${HEAD}\r\n`, 431],
  ["a query of 12 kB", `GET /workflows/list?a=${"b".repeat(12_000)} ${HEAD}\r\n`, 414],
  ["a query that cannot be decoded", `GET /workflows/status?instance_id=%E0%A4%A ${HEAD}\r\n`, 400],
  ["ten thousand headers", `GET / ${HEAD}${"a: b\r\n".repeat(10_000)}\r\n`, 431],
  ["another host's name", "GET /workflows/list HTTP/1.1\r\nhost: evil.example\r\n\r\n", 403],
  ["an upgrade", `GET /workflows/list ${HEAD}connection: upgrade\r\nupgrade: websocket\r\n\r\n`, 200],
  ["a GET with a body", `GET /workflows/list ${HEAD}content-length: 2\r\n\r\n{}`, 200],
  ["a hundred requests at once", `GET /workflows/list ${HEAD}\r\n`.repeat(100), 200],
];

describe("over HTTP, a server answers valid requests after", () => {
  let server: Awaited<ReturnType<typeof serveBin>>;
  let url = "";
  beforeAll(async () => {
    server = await serveBin("--http", "0", "--decider", "linear");
    await vi.waitFor(() => expect(server.log()).toContain('"url"'), { timeout: 20_000 });
    url = /"url":"([^"]+)"/.exec(server.log())?.[1] ?? "";
  });
  afterAll(() => server.kill());

  it.each(OVER_HTTP)("%s", async (_name, sent, status) => {
    const socket = connect({ port: Number(new URL(url).port), host: "127.0.0.1" });
    let received = "";
    socket.on("data", (chunk) => {
      received += String(chunk);
    });
    // The server may close the connection while the client still sends.
    socket.on("error", () => {});
    socket.write(sent);
    if (status !== undefined) {
      await vi.waitUntil(() => received.includes("\r\n\r\n"), { timeout: 20_000, interval: 2 });
      expect(received.slice(0, 40)).toContain(`HTTP/1.1 ${status} `);
      if (status !== 200) expect(received).toContain('"error_code"');
    }
    const listed = await fetch(`${url}/workflows/list`);
    expect(await listed.json()).toMatchObject({ workflows: ["GARDEN"] });
    // The connection is kept open, which the server must tolerate.
    expect(server.log()).not.toContain('"level":"error"');
    expect(server.log()).not.toContain("internalError");
  });

  it("all of these, and ends on a signal with the connections still open", async () => {
    expect(await server.end("SIGTERM")).toEqual({ code: 0, signal: null });
  });
});

describe("over stdio, a server ends", () => {
  // serve-in-process.test.ts does the same by the test's clock.
  const reason = howOften(" (in npm run test:long: it waits ten seconds)", "");
  it.skipIf(reason !== "")(`on a signal even if its client reads no answer${reason}`, async () => {
    const server = await serveStdio();
    server.send(line(INITIALIZE));
    await server.answered({ id: "initialize" });
    server.leaveUnread();
    for (let id = 0; id < 500; id += 1) server.send(line({ id, method: "tools/list" }));
    await vi.waitFor(() => expect(server.child.stdout.readableLength).toBeGreaterThan(0), { timeout: 20_000 });
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(await server.end("SIGTERM")).toEqual({ code: 0, signal: null });
  });

  it("when its client disconnects without a message", async () => {
    const server = await serveStdio();
    server.send(line(INITIALIZE));
    await server.answered({ id: "initialize" });
    server.child.stdout.destroy();
    server.send(line({ id: 1, method: "tools/list" }));
    expect(await server.end()).toEqual({ code: 3, signal: null });
  });
});

/** Starts the bin with a workflow of each kind. The tests stop it themselves. */
async function serveBin(...flags: string[]) {
  // Not the folder of a single test, as a server is used by several.
  const root = await mkdtemp(join(tmpdir(), "phasegate-"));
  roots.push(root);
  const [phased, routed] = [join(root, "phased"), join(root, "routed")];
  await writeFiles(phased, SMALL);
  const { "GARDEN/index.md": index = "", ...steps } = GARDENS;
  await writeFiles(routed, { "GARDEN/index.md": index, ...pick(steps, "GARDEN/") });
  const what = flags.includes("--http") ? ["--routed", routed] : ["--workflows", phased];
  const child = spawn(process.execPath, [BIN, "serve", ...what, "--state", join(root, "state"), ...flags]);
  const ended = new Promise<{ code: number | null; signal: string | null }>((resolve) => {
    child.on("exit", (code, signal) => resolve({ code, signal }));
  });
  let log = "";
  child.stderr.on("data", (chunk) => {
    log += String(chunk);
  });
  // The server may end while the client still sends.
  child.stdin.on("error", () => {});
  return {
    child,
    log: () => log,
    kill: async () => {
      child.kill("SIGKILL");
      await ended;
    },
    end: (signal?: NodeJS.Signals) => {
      if (signal !== undefined) child.kill(signal);
      return ended;
    },
  };
}

function pick(files: Readonly<Record<string, string>>, folder: string): Record<string, string> {
  return Object.fromEntries(Object.entries(files).filter(([path]) => path.startsWith(folder)));
}

async function serveStdio() {
  const server = await serveBin("--poll", "0", "--log-level", "error");
  let answers: Message[] = [];
  let rest = "";
  const read = (chunk: Buffer) => {
    const lines = `${rest}${String(chunk)}`.split("\n");
    rest = lines.pop() ?? "";
    answers.push(...lines.map((text): Message => JSON.parse(text)));
  };
  server.child.stdout.on("data", read);
  return {
    ...server,
    send: (sent: string | Buffer) => void server.child.stdin.write(sent),
    answered: async (answer: Message) => {
      await vi.waitUntil(() => answers.some((one) => matches(one, answer)), { timeout: 20_000, interval: 2 });
    },
    forget: () => {
      answers = [];
    },
    leaveUnread: () => void server.child.stdout.off("data", read).pause(),
  };
}

/** Returns true if an answer contains everything of another one. */
function matches(found: unknown, wanted: unknown): boolean {
  if (typeof wanted !== "object" || wanted === null) return found === wanted;
  if (typeof found !== "object" || found === null) return false;
  return Object.entries(wanted).every(([key, value]) => matches(Reflect.get(found, key), value));
}
