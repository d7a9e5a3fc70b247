import { connect, Server, type Socket } from "node:net";
import { pino } from "pino";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { serveHttp as serveInProcess } from "../../src/cli/http-server.js";
import type { StepDecider } from "../../src/ports/step-decider.js";
import { routed, Script } from "../routed/engine/garden.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { writeFiles } from "../support/write-files.js";
import { GARDENS } from "./routed-folders.js";
import { serveHttp } from "./serve-http.js";
import { SMALL } from "./workflow-folders.js";

/** Starts the bin over HTTP, with a workflow. */
async function garden() {
  const root = await temporaryFolder();
  await writeFiles(root, GARDENS);
  return serveHttp({}, "--routed", root, "--decider", "linear");
}

/** Starts the server in this process, with the given time limits for clients. */
async function timed(
  times: Partial<{ headers: number; request: number; drain: number }>,
  decide?: StepDecider["decide"],
) {
  const script = new Script("Sow");
  const decider = decide === undefined ? script : { decide };
  const { engine } = routed(decider);
  const lines: string[] = [];
  const log = pino({ base: null, timestamp: false }, { write: (line) => void lines.push(line) });
  const serving = await serveInProcess({ routed: engine }, 0, log, {
    headers: 5000,
    request: 5000,
    drain: 5000,
    ...times,
  });
  const port = Number(/"url":"http:..127.0.0.1:(\d+)"/.exec(lines.join(""))?.[1]);
  onTestFinished(async () => {
    serving.close();
    await serving.ended;
  });
  return { serving, port, lines };
}

/** Opens a connection, and sends only these bytes. */
async function open(
  port: number,
  text: string,
): Promise<{ socket: Socket; received: () => string; closed: Promise<unknown> }> {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  onTestFinished(() => void socket.destroy());
  let received = "";
  socket.on("data", (chunk) => {
    received += String(chunk);
  });
  // A server that closes the connection may reset it.
  const closed = new Promise((resolve) => socket.on("end", resolve).on("error", resolve).on("close", resolve));
  await new Promise((resolve) => socket.once("connect", resolve));
  if (text !== "") await new Promise((resolve) => socket.write(text, resolve));
  return { socket, received: () => received, closed };
}

it("logs connections that could not be accepted, and continues", async () => {
  const listen = vi.spyOn(Server.prototype, "listen");
  const { port, lines } = await timed({});
  const [server] = listen.mock.instances;
  listen.mockRestore();
  if (!(server instanceof Server)) throw new Error("no server was started");
  for (const code of ["EMFILE", "ENFILE"]) server.emit("error", Object.assign(new Error(`accept ${code}`), { code }));
  expect(lines.slice(1).map((line) => JSON.parse(line).err.message)).toEqual(["accept EMFILE", "accept ENFILE"]);
  expect((await fetch(`http://127.0.0.1:${port}/workflows/list`)).status).toBe(200);
});

const POST = "POST /workflows/start HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
const HALVES = [
  ["nothing", ""],
  ["half a request line", "GET /workf"],
  ["half of the headers", "GET /workflows/list HTTP/1.1\r\nhost: loc"],
  ["half of a body", `${POST}content-length: 100\r\n\r\n{"workflow`],
  ["half of a chunk", `${POST}transfer-encoding: chunked\r\n\r\n20\r\n{"work`],
] as const;

const START = JSON.stringify({ workflow_name: "GARDEN" });
const WHOLE = `${POST}content-length: ${START.length}\r\n\r\n${START}`;

describe("phasegate serve --http", () => {
  it("serves phased workflows, with the limits of their tool", { timeout: 30_000 }, async () => {
    const workflows = await temporaryFolder();
    await writeFiles(workflows, SMALL);
    const { url, end } = await serveHttp({}, "--workflows", workflows, "--actions", "start,complete_phase,get_state");
    const post = async (path: string, body: object) => {
      const headers = { "content-type": "application/json" };
      const response = await fetch(`${url}/sessions/${path}`, { method: "POST", headers, body: JSON.stringify(body) });
      return { status: response.status, body: await response.json() };
    };
    const { body: started } = await post("start", { workflow_type: "small", target_file: "a.ts" });
    const { session_id } = started;
    const refused = await post("complete_phase", { session_id, phase: 1, evidence: {} });
    expect(refused).toMatchObject({ status: 200, body: { checkpoint_passed: false } });
    // A body beyond the default of the API, within the limit of --max-evidence.
    const evidence = { tests_pass: true, log: "x".repeat(2_000_000) };
    expect(await post("complete_phase", { session_id, phase: 1, evidence })).toMatchObject({ status: 200 });
    const state = await (await fetch(`${url}/sessions/get_state?session_id=${session_id}&brief=true`)).json();
    expect(state).toMatchObject({ current_phase: 2 });
    expect((await post("pause", { session_id })).status).toBe(404);
    const { paths } = await (await fetch(`${url}/openapi.json`)).json();
    expect(Object.keys(paths).toSorted()).toEqual([
      "/sessions/complete_phase",
      "/sessions/get_state",
      "/sessions/start",
    ]);
    expect(await end()).toBe(0);
  });

  it("ends on a signal even with partial requests", async () => {
    const { port, end, said } = await garden();
    const halves = await Promise.all(HALVES.map(([, text]) => open(port, text)));
    const kept = await open(port, "GET /workflows/list HTTP/1.1\r\nhost: localhost\r\n\r\n");
    await vi.waitFor(() => expect(kept.received()).toContain("200 OK"));
    expect(await end()).toBe(0);
    await Promise.all([...halves, kept].map(({ closed }) => closed));
    expect(said()).toContain('"reason":"closed"');
  });

  it("answers requests in progress before it ends, and accepts no more on their connections", async () => {
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { serving, port } = await timed({}, async () => {
      await released;
      throw new Error("down");
    });
    const started = await open(port, WHOLE);
    await vi.waitFor(() => expect(started.received()).toContain("instance_id"));
    const id = /"instance_id":"([^"]+)"/.exec(started.received())?.[1];
    const report = JSON.stringify({ instance_id: id, report: { status: "success" } });
    const asked = await open(
      port,
      `${POST.replace("start", "advance")}content-length: ${report.length}\r\n\r\n${report}`,
    );
    const list = await open(port, "GET /workflows/list HTTP/1.1\r\nhost: localhost\r\n\r\n");
    await vi.waitFor(() => expect(list.received()).toContain("200 OK"));
    serving.close();
    release();
    expect(await serving.ended).toBe("closed");
    await asked.closed;
    expect(asked.received()).toContain("502 Bad Gateway");
  });

  it("waits for calls that do not end only up to its limit", async () => {
    const never = new Promise<never>(() => {});
    const { serving, port, lines } = await timed({ drain: 50 }, () => never);
    const started = await open(port, WHOLE);
    await vi.waitFor(() => expect(started.received()).toContain("instance_id"));
    const id = /"instance_id":"([^"]+)"/.exec(started.received())?.[1];
    const report = JSON.stringify({ instance_id: id, report: { status: "success" } });
    const stuck = await open(
      port,
      `${POST.replace("start", "advance")}content-length: ${report.length}\r\n\r\n${report}`,
    );
    const list = await open(port, "GET /workflows/list HTTP/1.1\r\nhost: localhost\r\n\r\n");
    await vi.waitFor(() => expect(list.received()).toContain("200 OK"));
    serving.close();
    expect(await serving.ended).toBe("abandoned");
    await stuck.closed;
    expect(lines.join("")).toContain("some requests were not answered in time");
  });

  it.each(HALVES)("disconnects a client that sends %s", async (_name, text) => {
    const { port } = await timed({ headers: 100, request: 150 });
    const half = await open(port, text);
    await half.closed;
    const body = half.received().split("\r\n\r\n")[1] ?? "";
    if (text === "") expect(half.received()).toMatch(/^(HTTP\/1.1 408 |$)/);
    else expect(JSON.parse(body)).toMatchObject({ error_code: "REQUEST_TIMEOUT" });
    const honest = await open(port, WHOLE);
    await vi.waitFor(() => expect(honest.received()).toContain("200 OK"));
  });

  it.each([
    ["text that is not HTTP", "\u0016\u0003\u0001 hello\r\n\r\n", 400, "INVALID_FORMAT"],
    ["two lengths", `${POST}content-length: 2\r\ncontent-length: 3\r\n\r\n{}`, 400, "INVALID_FORMAT"],
    ["a length and chunks", `${POST}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n`, 400, "INVALID_FORMAT"],
    ["a chunk without a length", `${POST}transfer-encoding: chunked\r\n\r\nzz\r\n`, 400, "INVALID_FORMAT"],
    ["a blank in a header's name", "GET / HTTP/1.1\r\nhost: localhost\r\na b: c\r\n\r\n", 400, "INVALID_FORMAT"],
    ["a request without a host", "GET /workflows/list HTTP/1.1\r\n\r\n", 400, undefined],
    ["a URL of 1 MB", `GET /${"a".repeat(1_000_000)} HTTP/1.1\r\nhost: localhost\r\n\r\n`, 431, "HEADERS_TOO_LARGE"],
    ["a query of 10 kB", `GET /?${"a".repeat(10_000)} HTTP/1.1\r\nhost: localhost\r\n\r\n`, 414, "URI_TOO_LONG"],
    [
      "a header of 1 MB",
      `GET / HTTP/1.1\r\nhost: localhost\r\na: ${"b".repeat(1_000_000)}\r\n\r\n`,
      431,
      "HEADERS_TOO_LARGE",
    ],
    ["TRACE", "TRACE / HTTP/1.1\r\nhost: localhost\r\n\r\n", 405, "METHOD_NOT_ALLOWED"],
    ["CONNECT", "CONNECT localhost:1 HTTP/1.1\r\nhost: localhost\r\n\r\n", 405, "METHOD_NOT_ALLOWED"],
    ["another method", "DELETE /workflows/list HTTP/1.1\r\nhost: localhost\r\n\r\n", 405, "METHOD_NOT_ALLOWED"],
    [
      "a query that cannot be decoded",
      "GET /workflows/status?instance_id=%ff HTTP/1.1\r\nhost: localhost\r\n\r\n",
      400,
      "INVALID_FORMAT",
    ],
    ["a path that cannot be decoded", "GET /workflows/%ff%zz HTTP/1.1\r\nhost: localhost\r\n\r\n", 404, "NOT_FOUND"],
    [
      "another server's address",
      "GET http://evil.example/workflows/list HTTP/1.1\r\nhost: localhost\r\n\r\n",
      404,
      "NOT_FOUND",
    ],
    ["plain text", WHOLE.replace("application/json", "text/plain"), 415, "UNSUPPORTED_MEDIA_TYPE"],
    ["a body that is not JSON", WHOLE.replace("{", "}"), 400, "INVALID_FORMAT"],
  ])("answers %s with an error", async (_name, text, status, code) => {
    const { port, lines } = await timed({});
    const sent = await open(port, text);
    await vi.waitFor(() => expect(sent.received()).toContain("\r\n\r\n"));
    expect(sent.received()).toContain(`HTTP/1.1 ${status} `);
    if (code !== undefined) expect(sent.received()).toContain(`"error_code":"${code}"`);
    expect(lines).toHaveLength(1);
    const honest = await open(port, WHOLE);
    await vi.waitFor(() => expect(honest.received()).toContain("200 OK"));
  });

  it("limits what it reads of a refused body", async () => {
    const { port } = await timed({});
    const { socket, received, closed } = await open(port, `${POST}transfer-encoding: chunked\r\n\r\n`);
    const chunk = `10000\r\n${"x".repeat(65_536)}\r\n`;
    let sent = 0;
    const more = () => {
      while (sent < 100_000_000 && !socket.destroyed && socket.write(chunk)) sent += chunk.length;
      sent += chunk.length;
    };
    socket.on("drain", more);
    more();
    await closed;
    expect(received()).toContain("413 Payload Too Large");
    expect(sent).toBeLessThan(100_000_000);
  });

  it("keeps no resources of clients that disconnect during a call", async () => {
    const seen = { asked: 0, stopped: 0 };
    const { serving, port, lines } = await timed({}, (_, { signal }) => {
      seen.asked += 1;
      signal.addEventListener("abort", () => (seen.stopped += 1));
      return new Promise<never>(() => {});
    });
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
    const ids: string[] = [];
    for (let turn = 0; turn < 5; turn += 1) {
      const started = await open(port, WHOLE);
      await vi.waitFor(() => expect(started.received()).toContain("instance_id"));
      ids.push(/"instance_id":"([^"]+)"/.exec(started.received())?.[1] ?? "");
      started.socket.destroy();
    }
    const before = timers();
    for (const [index, id] of ids.entries()) {
      const report = JSON.stringify({ instance_id: id, report: { status: "success" } });
      const head = `${POST.replace("start", "advance")}content-length: ${report.length}\r\n\r\n`;
      const { socket } = await open(port, head + report);
      await vi.waitFor(() => expect(seen.asked).toBe(index + 1));
      socket.destroy();
    }
    await vi.waitFor(() => expect(seen.stopped).toBe(5));
    // The reports are recorded, even though no client waits for the answers.
    for (const id of ids) {
      await vi.waitFor(async () => {
        const status = await fetch(`http://127.0.0.1:${port}/workflows/status?instance_id=${id}`);
        expect(await status.json()).toMatchObject({ status: "RUNNING", pending: "advance" });
      });
    }
    serving.close();
    expect(await serving.ended).toBe("closed");
    expect(timers()).toBeLessThanOrEqual(before);
    expect(lines.filter((line) => line.includes("connection"))).toEqual([]);
  });

  it("accepts a body in packets of one byte", async () => {
    const { port } = await timed({});
    const { socket, received } = await open(port, `${POST}transfer-encoding: chunked\r\n\r\n`);
    socket.setNoDelay(true);
    for (const byte of START) await new Promise((resolve) => socket.write(`1\r\n${byte}\r\n`, resolve));
    socket.write("0\r\n\r\n");
    await vi.waitFor(() => expect(received()).toContain("200 OK"));
  });
});
