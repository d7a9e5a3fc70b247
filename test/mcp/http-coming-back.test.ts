import { defineWorkflow } from "phasegate";
import { registerWorkflowTool } from "phasegate/mcp";
import { createMcpHttpHandler, type McpHttpHandler } from "phasegate/mcp-http";
import { describe, expect, it } from "vitest";
import { SentEvents } from "../../src/mcp/sent-events.js";
import { makeEngine } from "../support/make-engine.js";
import { built } from "../support/workflows.js";
import { serveMcp, until } from "./http-server.js";
import { connectSdk, type Fetch, SDKS } from "./sdk-clients.js";

const ENDPOINT = "http://127.0.0.1/mcp";
const START = { action: "start", workflow_type: "two_phases", target_file: "src/a.ts" };
const LIST = { jsonrpc: "2.0", id: 2, method: "tools/list" };
const ABOUT = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "c", version: "1" } };
const INITIALIZE = { jsonrpc: "2.0", id: 1, method: "initialize", params: ABOUT };

const JSON_HEADERS = { "content-type": "application/json", accept: "application/json, text/event-stream" };

/** Makes processes that serve one storage. */
function makeProcesses() {
  const { engine, storage } = makeEngine();
  const begin = (stateful = true): McpHttpHandler => {
    const { engine: own } = makeEngine({ storage });
    return createMcpHttpHandler({ register: (server) => registerWorkflowTool(server, own), stateful });
  };
  return { engine, begin };
}

/** Sends requests to whichever handler is there. */
function fetchFrom(current: () => McpHttpHandler): Fetch {
  return (url, init) => current().fetch(new Request(url, init));
}

function post(handler: McpHttpHandler, body: object, id?: string): Promise<Response> {
  const named = id === undefined ? JSON_HEADERS : { ...JSON_HEADERS, "mcp-session-id": id };
  return handler.fetch(new Request(ENDPOINT, { method: "POST", headers: named, body: JSON.stringify(body) }));
}

async function open(handler: McpHttpHandler, id?: string) {
  const response = await post(handler, INITIALIZE, id);
  expect([response.status, await response.text()]).toEqual([200, expect.stringContaining("protocolVersion")]);
  return response.headers.get("mcp-session-id") ?? "";
}

describe.each(SDKS)("a client of %s", (sdk) => {
  it("goes on when its server begins anew, with all that needs no connection", async () => {
    const { begin } = makeProcesses();
    let current = begin();
    const { client, ask } = await connectSdk(sdk, ENDPOINT, { fetch: fetchFrom(() => current) });
    const { session_id } = await ask(START);
    const uri = `phasegate://session/${session_id}`;
    await client.subscribeResource({ uri });
    await current.close();
    current = begin();
    expect(await ask({ action: "complete_phase", session_id, phase: 1, evidence: built })).toMatchObject({
      checkpoint_passed: true,
    });
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["pos_workflow"]);
    expect(JSON.stringify(await client.readResource({ uri }))).toContain("two_phases");
    await client.ping();
    // By this it learns that it has no connection any more.
    await expect(client.subscribeResource({ uri })).rejects.toThrow("initialize again");
    expect(current.load().connections).toBe(0);
  });

  it.each([true, false])(
    "completes a session, each request in the other of two processes; connections: %s",
    async (stateful) => {
      const { begin, engine } = makeProcesses();
      const processes = [begin(stateful), begin(stateful)];
      let requests = 0;
      const next = () => {
        requests += 1;
        const process = processes[requests % 2];
        if (process === undefined) throw new Error("there are two");
        return process;
      };
      const { client, ask } = await connectSdk(sdk, ENDPOINT, { fetch: fetchFrom(next) });
      await client.listTools();
      const { session_id } = await ask(START);
      await ask({ action: "complete_phase", session_id, phase: 1, evidence: built });
      await ask({ action: "get_state", session_id });
      const last = await ask({ action: "complete_phase", session_id, phase: 2, evidence: {} });
      expect(last).toMatchObject({ workflow_complete: true });
      expect(await engine.session(String(session_id)).audit()).toMatchObject({ intact: true });
      expect(processes.map((process) => process.load().connections)).toEqual(stateful ? [0, 1] : [0, 0]);
    },
  );
});

describe("an id of a connection", () => {
  it("does not keep a client from beginning again, whatever it is", async () => {
    const { begin } = makeProcesses();
    const handler = begin();
    const first = await open(handler);
    for (const id of [first, crypto.randomUUID(), "an id of another server"]) {
      const id2 = await open(handler, id);
      expect(id2).not.toBe(id);
      expect((await post(handler, LIST, id2)).status).toBe(200);
    }
    expect((await post(handler, LIST, first)).status).toBe(200);
  });

  it("that no process of this server has given, or that its client has ended, is not found", async () => {
    const { begin } = makeProcesses();
    const handler = begin();
    const ended = await open(handler);
    const end = new Request(ENDPOINT, { method: "DELETE", headers: { "mcp-session-id": ended } });
    expect((await handler.fetch(end)).status).toBe(200);
    for (const id of [ended, "an id of another server", `${crypto.randomUUID()}x`, ""]) {
      expect((await post(handler, LIST, id)).status, id).toBe(404);
      expect((await post(handler, { jsonrpc: "2.0", method: "notifications/initialized" }, id)).status, id).toBe(404);
    }
  });

  it("that this process does not have opens no event stream, and takes no subscription and no level", async () => {
    const { begin } = makeProcesses();
    const handler = begin();
    const id = crypto.randomUUID();
    const headers = { accept: "text/event-stream", "mcp-session-id": id };
    expect((await handler.fetch(new Request(ENDPOINT, { headers }))).status).toBe(404);
    const uri = "phasegate://session/a";
    const asked = [
      { ...LIST, method: "resources/subscribe", params: { uri } },
      { ...LIST, method: "resources/unsubscribe", params: { uri } },
      { ...LIST, method: "logging/setLevel", params: { level: "error" } },
      [LIST, { ...LIST, id: 3, method: "resources/subscribe", params: { uri } }],
    ];
    for (const body of asked) {
      const response = await post(handler, body, id);
      expect([response.status, await response.json()]).toEqual([
        404,
        expect.objectContaining({ error: { code: -32001, message: "session not found: initialize again" } }),
      ]);
    }
    expect((await post(handler, { jsonrpc: "2.0", method: "notifications/initialized" }, id)).status).toBe(202);
  });

  it("is ignored by a server without connections", async () => {
    const { begin } = makeProcesses();
    const handler = begin(false);
    expect((await post(handler, LIST, "anything")).status).toBe(200);
    const response = await post(handler, INITIALIZE, "anything");
    expect([response.status, response.headers.get("mcp-session-id")]).toEqual([200, null]);
    const headers = { accept: "text/event-stream", "mcp-session-id": "anything" };
    expect((await handler.fetch(new Request(ENDPOINT, { headers }))).status).toBe(405);
  });
});

/** A workflow whose gate waits until the test lets it go on. */
const slow = defineWorkflow({
  ...{ type: "slow", revision: "1", name: "Slow", description: "Waits" },
  phases: [{ number: 1, name: "One", content: "# One", gate: { fields: {}, verify: [{ verifier: "waits" }] } }],
});

/** Opens a connection by hand. Returns its id. */
async function openOver(url: string, protocolVersion = "2025-11-25"): Promise<string> {
  const body = JSON.stringify({ ...INITIALIZE, params: { ...ABOUT, protocolVersion } });
  const response = await fetch(url, { method: "POST", headers: JSON_HEADERS, body });
  await response.text();
  return response.headers.get("mcp-session-id") ?? "";
}

async function serveWaiting() {
  let go = () => {};
  const gone = new Promise<void>((resolve) => {
    go = resolve;
  });
  let begun = 0;
  const verify = async () => {
    begun += 1;
    await gone;
    return { ok: true, message: "fine" };
  };
  const { engine } = makeEngine({ verifiers: { waits: { verify } } }, [slow]);
  const { sessionId } = await engine.start({ workflowType: "slow", target: "a" });
  const complete = { action: "complete_phase", session_id: sessionId, phase: 1, evidence: {} };
  const served = await serveMcp({ register: (server) => registerWorkflowTool(server, engine) });
  return { ...served, complete, go, begun: () => begun };
}

/** Ends a stream after its first event, as a proxy may. */
function endedAfterOne({ body, status, headers }: Response): Response {
  const reader = body?.getReader();
  let events = 0;
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const part = events === 0 ? await reader?.read() : undefined;
      events += 1;
      if (part?.value !== undefined) return controller.enqueue(part.value);
      await reader?.cancel();
      controller.close();
    },
  });
  return new Response(stream, { status, headers });
}

describe("a stream that breaks before its answer", () => {
  it.each(["@modelcontextprotocol/client", "@modelcontextprotocol/sdk"] as const)(
    "is taken up by a client of %s, whose call is carried out once",
    async (sdk) => {
      const { url, complete, go, begun } = await serveWaiting();
      const resumed: string[] = [];
      const breaking: Fetch = async (target, init) => {
        const last = new Headers(init?.headers).get("last-event-id");
        if (last !== null) resumed.push(last);
        const response = await fetch(target, init);
        return String(init?.body).includes("complete_phase") ? endedAfterOne(response) : response;
      };
      const { ask } = await connectSdk(sdk, url, { fetch: breaking });
      const answer = ask(complete);
      await until(() => resumed.length > 0);
      go();
      expect(await answer).toMatchObject({ workflow_complete: true });
      expect([begun(), resumed]).toEqual([1, [expect.stringMatching(/^\d+_[0-9a-f-]{36}$/)]]);
    },
  );

  it("has each event that the client has missed, once, and those of no other stream", async () => {
    const { url, complete, go, begun } = await serveWaiting();
    const id = await openOver(url);
    const headers = { ...JSON_HEADERS, "mcp-session-id": id, "mcp-protocol-version": "2025-11-25" };
    const broken = new AbortController();
    const call = (number: number, input: object) =>
      JSON.stringify({
        ...{ jsonrpc: "2.0", id: number, method: "tools/call" },
        params: { name: "pos_workflow", arguments: input, _meta: { progressToken: number } },
      });
    const first = await fetch(url, { method: "POST", headers, body: call(7, complete), signal: broken.signal });
    const reader = first.body?.pipeThrough(new TextDecoderStream()).getReader();
    const primed = (await reader?.read())?.value ?? "";
    // The first event has no message: it says which id to come back with, and after which time.
    expect(primed).toMatch(/^id: \d+_[0-9a-f-]{36}\nretry: 1000\ndata: \n\n/);
    const last = /id: (\S+)/.exec(primed)?.[1] ?? "";
    await until(() => begun() === 1);
    broken.abort();
    const other = await fetch(url, { method: "POST", headers, body: call(8, { action: "list_workflows" }) });
    expect(await other.text()).toContain('"id":8');
    const again = () => fetch(url, { headers: { ...headers, "last-event-id": last } });
    // A request that still holds the stream gives it to the next one.
    const held = await again();
    const resumed = await again();
    expect([held.status, resumed.status]).toEqual([200, 200]);
    go();
    const text = await resumed.text();
    expect(text.match(/"id":7/g)).toHaveLength(1);
    expect(text).toContain("notifications/progress");
    expect(text).not.toContain('"id":8');
    expect(await held.text()).not.toContain('"id":7');
    // The answer is kept for those who ask once more.
    expect(await (await again()).text()).toContain('"id":7');
  });

  it("is taken up on its own connection alone, and by no id that is made up", async () => {
    const { url } = await serveWaiting();
    const [one, two] = [await openOver(url), await openOver(url)];
    const list = (id: string) =>
      fetch(url, { method: "POST", headers: { ...JSON_HEADERS, "mcp-session-id": id }, body: JSON.stringify(LIST) });
    const [, last = ""] = /id: (\S+)\ndata/.exec(await (await list(one)).text()) ?? [];
    const [number, stream] = last.split("_");
    const resume = (id: string, given: string) =>
      fetch(url, { headers: { ...JSON_HEADERS, "mcp-session-id": id, "last-event-id": given } });
    const before = `${Number(number) - 1 || 1}_${stream}`;
    expect(await (await resume(two, before)).text()).toBe("");
    for (const given of ["1", "0_a", "x_y", "1_", `1_${"a".repeat(65)}`, "1_a b"]) {
      const refused = await resume(one, given);
      expect([refused.status, await refused.text()], given).toEqual([400, expect.stringContaining("Last-Event-ID")]);
    }
  });
});

it("clients of protocols before 2025-11-25 get no ids of events, for which some would ask again and again", async () => {
  const { url } = await serveWaiting();
  const id = await openOver(url, "2025-06-18");
  const headers = { ...JSON_HEADERS, "mcp-session-id": id, "mcp-protocol-version": "2025-06-18" };
  const listed = await fetch(url, { method: "POST", headers, body: JSON.stringify(LIST) });
  expect(await listed.text()).toMatch(/^event: message\ndata: \{[^\n]+\}\n\n$/);
});

it("the events that are kept of a connection are bounded", async () => {
  const events = new SentEvents();
  const message = (text: string) => ({ jsonrpc: "2.0" as const, method: "a", params: { text } });
  const first = await events.storeEvent("a", message("first"));
  const ids: string[] = [];
  for (let number = 0; number < 1000; number += 1) ids.push(await events.storeEvent("a", message(String(number))));
  await events.storeEvent("a", message("x".repeat(200_000)));
  const last = await events.storeEvent("b", message("last"));
  const after = async (id: string) => {
    const sent: string[] = [];
    await events.replayEventsAfter(id, { send: async (event) => void sent.push(event) });
    return sent;
  };
  const kept = await after(first);
  expect(kept.length).toBeGreaterThan(50);
  expect(kept.length).toBeLessThan(130);
  expect(kept).toEqual(ids.slice(-kept.length));
  expect(await after(ids.at(-1) ?? "")).toEqual([]);
  // The stream goes on, whether or not its events are kept.
  expect(await events.replayEventsAfter(last, { send: async () => {} })).toBe("b");
  expect(await events.replayEventsAfter("9_c", { send: async () => {} })).toBe("c");
});
