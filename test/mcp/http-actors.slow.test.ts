import { connect } from "node:net";
import type { McpServer } from "@modelcontextprotocol/server";
import { PhasegateError } from "phasegate";
import { registerWorkflowTool, registerWorkspaceTools } from "phasegate/mcp";
import { describe, expect, it } from "vitest";
import type { Actor } from "../../src/ports/actor.js";
import { makeEngine } from "../support/make-engine.js";
import { built } from "../support/workflows.js";
import { makeWorkspace } from "../workspace/make-workspace.js";
import { type Answer, answerOf, readResource } from "./connect-in-memory.js";
import { connectTo, GENERATIONS, type Generation, serveMcp, until } from "./http-server.js";

const START = { action: "start", workflow_type: "two_phases", target_file: "src/a.ts" };
const INITIALIZE = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "c", version: "1" } };
const CHALLENGE = { status: 401, headers: { "www-authenticate": "Bearer" } };

/** A login whose tokens are the names of the actors ann and bob. */
const login = {
  authenticate: async ({ headers }: Request): Promise<Actor | Response> => {
    const name = /^Bearer (ann|bob)$/.exec(headers.get("authorization") ?? "")?.[1];
    return name === undefined ? new Response(null, CHALLENGE) : { name };
  },
};

/** Serves an engine to ann and bob, each with their own sessions. */
async function serveTeam(options: Partial<Parameters<typeof serveMcp>[0]> = {}) {
  const made = makeEngine();
  const register = (server: McpServer, { actor }: { readonly actor: Actor }) =>
    registerWorkflowTool(server, made.engine.as(actor));
  return { ...made, ...(await serveMcp({ register, login, ...options })) };
}

/** Opens a connection of protocol 2025 by hand. Returns the response. */
function initialize(url: string, token: string): Promise<Response> {
  return post(url, token, { jsonrpc: "2.0", id: 1, method: "initialize", params: INITIALIZE });
}

function post(url: string, token: string, body: object, more: Record<string, string> = {}): Promise<Response> {
  const headers = {
    ...{ authorization: `Bearer ${token}`, "content-type": "application/json" },
    ...{ accept: "application/json, text/event-stream", ...more },
  };
  return fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
}

/** Makes a request that the client keeps apart from its own errors. */
async function refusalOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    (value) => JSON.stringify(value),
    (error: unknown) => String(error),
  );
}

describe.each(GENERATIONS)("two actors of one server, with clients of protocol %s", (generation: Generation) => {
  it("see nothing of each other's sessions", async () => {
    const { url } = await serveTeam();
    const ann = await connectTo(url, generation, { token: "ann" });
    const updated: string[] = [];
    const bob = await connectTo(url, generation, {
      token: "bob",
      prepare: (made) =>
        made.setNotificationHandler("notifications/resources/updated", ({ params }) => void updated.push(params.uri)),
    });
    const { session_id: id } = await ann.ask(START);
    expect(await bob.ask({ action: "list_sessions" })).toMatchObject({ sessions: [] });
    for (const action of ["get_phase", "get_state", "get_session", "get_history", "pause"]) {
      expect(await bob.ask({ action, session_id: id })).toMatchObject({ status: "error", code: "SESSION_NOT_FOUND" });
    }
    const uri = `phasegate://session/${String(id)}`;
    expect((await bob.client.listResources()).resources.map((one) => one.uri)).not.toContain(uri);
    expect((await ann.client.listResources()).resources.map((one) => one.uri)).toContain(uri);
    expect(await refusalOf(readResource(bob.client, uri))).toMatch(/not found/i);
    const ref = { type: "ref/resource", uri: "phasegate://session/{id}" } as const;
    const proposed = await bob.client.complete({ ref, argument: { name: "id", value: "" } });
    expect(proposed.completion.values).toEqual([]);
    // What does not exist has no updates, and a subscription does not tell that it exists.
    if (generation === "2025") expect(await refusalOf(bob.client.subscribeResource({ uri }))).toMatch(/not found/i);
    else await bob.client.listen({ resourceSubscriptions: [uri] });
    const { session_id: own } = await bob.ask(START);
    const ownUri = `phasegate://session/${String(own)}`;
    if (generation === "2025") await bob.client.subscribeResource({ uri: ownUri });
    else await bob.client.listen({ resourceSubscriptions: [ownUri] });
    await ann.ask({ action: "complete_phase", session_id: id, phase: 1, evidence: built });
    await bob.ask({ action: "complete_phase", session_id: own, phase: 1, evidence: built });
    await until(() => updated.length > 0);
    expect(updated).toEqual([ownUri]);
  });
});

it("two actors of one workspace find, list, read, continue and end their own sessions alone", async () => {
  const { workspace } = await makeWorkspace({ storage: makeEngine().storage });
  const register = (server: McpServer, { actor }: { readonly actor: Actor }) =>
    void registerWorkspaceTools(server, workspace.as(actor));
  const { url } = await serveMcp({ register, login });
  const agentOf = async (token: string) => {
    const { client } = await connectTo(url, "2025", { token });
    return async (name: string, input: Answer = {}) => answerOf(await client.callTool({ name, arguments: input }));
  };
  const [ann, bob] = [await agentOf("ann"), await agentOf("bob")];
  const { session_id: id } = await ann("create_session", { workflow: "intake" });
  const path = `${String(id)}/report.md`;
  await ann("save_output", { path, content: "of ann" });
  expect(await bob("list_files", { path: "{output-root}" })).toMatchObject({ entries: [] });
  for (const [tool, input] of [
    ["create_session", { session_id: id, reopen: true }],
    ["read_file", { path }],
    ["list_files", { path: `{output-root}/${String(id)}` }],
    ["complete_session", { session_id: id }],
  ] as const) {
    expect(await bob(tool, input)).toMatchObject({ success: false, error: `there is no session "${String(id)}"` });
  }
  const { session_id: own } = await bob("create_session");
  expect(await bob("list_files", { path: "{output-root}" })).toMatchObject({ entries: [`${String(own)}/`] });
  // A later connection of the owner goes on with it.
  const later = await agentOf("ann");
  const reopened = await later("create_session", { session_id: id, reopen: true });
  expect(reopened).toMatchObject({ opened: "reopened", outputs: ["report.md"] });
  expect(await later("complete_session")).toMatchObject({ success: true });
});

it("a session that is handed over is a change of the new owner's list, and of nobody else's", async () => {
  const { url, engine } = await serveTeam();
  const told: string[] = [];
  const listening = (token: string) => ({
    token,
    prepare: (made: Parameters<NonNullable<NonNullable<Parameters<typeof connectTo>[2]>["prepare"]>>[0]) =>
      made.setNotificationHandler("notifications/resources/list_changed", () => void told.push(token)),
  });
  const ann = await connectTo(url, "2025", listening("ann"));
  await connectTo(url, "2025", listening("bob"));
  const { session_id } = await ann.ask(START);
  await until(() => told.length > 0);
  await engine.session(String(session_id)).assign({ name: "bob" }, { by: "host" });
  await until(() => told.length > 1);
  expect(told).toEqual(["ann", "bob"]);
});

describe("the login of an HTTP endpoint", () => {
  it("is asked before anything else, and its refusal is sent", async () => {
    const { url, calls } = await serveTeam();
    const refused = await initialize(url, "nobody");
    expect([refused.status, refused.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
    expect(calls).toEqual([]);
  });

  it("answers with its documents without a token", async () => {
    const metadata = ({ url }: Request) => (url.endsWith("/doc") ? Response.json({ resource: "r" }) : undefined);
    const { url } = await serveTeam({ login: { ...login, metadata } });
    expect(await (await fetch(url.replace("/mcp", "/doc"))).json()).toEqual({ resource: "r" });
    expect((await fetch(url.replace("/mcp", "/other"))).status).toBe(404);
  });

  it("is failing closed: an error of it is reported, and answered without its text", async () => {
    const authenticate = () => Promise.reject(new Error("secret path"));
    const { url, errors } = await serveTeam({ login: { authenticate } });
    const failed = await initialize(url, "ann");
    expect([failed.status, await failed.text()]).toEqual([500, expect.not.stringContaining("secret")]);
    expect(String(errors[0])).toContain("secret path");
  });

  it("keeps a connection for the actor who opened it: others who send its id act as themselves", async () => {
    const { url, engine } = await serveTeam();
    const { sessionId } = await engine.as({ name: "ann" }).start({ workflowType: "two_phases", target: "a" });
    const opened = await initialize(url, "ann");
    await opened.text();
    const id = opened.headers.get("mcp-session-id") ?? "";
    expect(id).toMatch(/^[0-9a-f-]{36}$/);
    const list = { jsonrpc: "2.0", id: 2, method: "tools/list" };
    const header = { "mcp-session-id": id };
    const read = {
      ...{ jsonrpc: "2.0", id: 3, method: "resources/read" },
      params: { uri: `phasegate://session/${sessionId}` },
    };
    expect(await (await post(url, "bob", read, header)).text()).toContain("not found");
    expect(await (await post(url, "ann", read, header)).text()).toContain("two_phases");
    const bobs = { ...header, authorization: "Bearer bob", accept: "text/event-stream" };
    for (const method of ["GET", "DELETE"]) expect((await fetch(url, { method, headers: bobs })).status).toBe(404);
    expect(await (await post(url, "ann", list, header)).text()).toContain("pos_workflow");
    expect((await fetch(url, { method: "DELETE", headers: { ...header, authorization: "Bearer ann" } })).status).toBe(
      200,
    );
    expect((await post(url, "ann", list, header)).status).toBe(404);
  });

  it("keeps a connection for the roles that it was opened with: with others a request has those of its caller", async () => {
    let roles: NonNullable<Actor["roles"]> = ["operator"];
    const { url, engine } = await serveTeam({ login: { authenticate: async () => ({ name: "ann", roles }) } });
    const { sessionId } = await engine.as({ name: "bob" }).start({ workflowType: "two_phases", target: "b" });
    const opened = await initialize(url, "ann");
    await opened.text();
    const header = { "mcp-session-id": opened.headers.get("mcp-session-id") ?? "" };
    const uri = `phasegate://session/${sessionId}`;
    const ask = async (method: string) =>
      (await post(url, "ann", { jsonrpc: "2.0", id: 2, method, params: { uri } }, header)).text();
    expect(await ask("resources/read")).toContain("two_phases");
    roles = ["agent"];
    expect(await ask("resources/read")).toContain("not found");
    expect(await ask("resources/subscribe")).toContain("initialize again");
    expect((await initialize(url, "ann")).status).toBe(200);
  });

  it("refuses what a quota refuses, before it is carried out, and tells the bytes of answers", async () => {
    const quota = (actor: string, bytes: number) =>
      actor === "ann" && bytes > 0 ? new Response(null, { status: 429, headers: { "retry-after": "7" } }) : undefined;
    const bytes = new Map<string, number>();
    const onAnswer = (actor: string, more: number) => void bytes.set(actor, (bytes.get(actor) ?? 0) + more);
    const { url, calls } = await serveTeam({ quota, onAnswer });
    const begun = performance.now();
    const refused = await initialize(url, "ann");
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "7"]);
    // Who does not wait is slowed down.
    expect(performance.now() - begun).toBeGreaterThan(900);
    const opened = await initialize(url, "bob");
    expect(opened.status).toBe(200);
    expect(calls).toHaveLength(1);
    expect([...bytes]).toEqual([["bob", (await opened.text()).length]]);
  });
});

describe("a quota", () => {
  it("keeps one who goes on asking at few answers, and forgets who has gone", async () => {
    const quota = (actor: string) => (actor === "ann" ? new Response(null, { status: 429 }) : undefined);
    const { url, handler } = await serveTeam({ quota });
    let answers = 0;
    const end = performance.now() + 1800;
    const ask = async () => {
      while (performance.now() < end) {
        await (await initialize(url, "ann")).text();
        answers += 1;
      }
    };
    await Promise.all(Array.from({ length: 20 }, ask));
    expect(answers).toBeLessThanOrEqual(40);
    const gone = new AbortController();
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: INITIALIZE });
    const headers = { "content-type": "application/json", authorization: "Bearer ann" };
    const leaving = fetch(url, { method: "POST", signal: gone.signal, headers, body });
    await expect.poll(() => handler.load().requests).toBe(1);
    gone.abort();
    await expect(leaving).rejects.toThrow();
    await expect.poll(() => handler.load().requests).toBe(0);
  });
});

describe("connections", () => {
  it("are bounded for each actor, whose unused ones make room; the others keep theirs", async () => {
    const { url, handler } = await serveTeam({ maxConnectionsPerActor: 3 });
    const bob = await initialize(url, "bob");
    const flood = await Promise.all(Array.from({ length: 40 }, () => initialize(url, "ann")));
    await Promise.all(flood.map((one) => one.text()));
    const statuses = new Set(flood.map(({ status }) => status));
    expect([...statuses].every((status) => status === 200 || status === 503)).toBe(true);
    expect(handler.load().connections).toBeLessThanOrEqual(4);
    const header = { "mcp-session-id": bob.headers.get("mcp-session-id") ?? "" };
    expect((await post(url, "bob", { jsonrpc: "2.0", id: 2, method: "tools/list" }, header)).status).toBe(200);
  });

  it("are bounded in all: an actor without one is told to come back", async () => {
    const { url } = await serveTeam({ maxConnections: 2 });
    await (await initialize(url, "ann")).text();
    await (await initialize(url, "ann")).text();
    const refused = await initialize(url, "bob");
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"]);
    // Ann has unused ones, of which the oldest makes room.
    expect((await initialize(url, "ann")).status).toBe(200);
  });

  it("end when nobody has used them for a time", async () => {
    const { url, handler } = await serveTeam({ idleMs: 40 });
    const opened = await initialize(url, "ann");
    await opened.text();
    expect(handler.load().connections).toBe(1);
    await until(() => handler.load().connections === 0);
    const header = { "mcp-session-id": opened.headers.get("mcp-session-id") ?? "" };
    const list = await post(url, "ann", { jsonrpc: "2.0", id: 2, method: "tools/list" }, header);
    expect([list.status, await list.text()]).toEqual([200, expect.stringContaining("pos_workflow")]);
    expect(handler.load().connections).toBe(0);
  });

  it("tell a client at once that its event stream is open, and let it go as soon as it has gone", async () => {
    const { url } = await serveTeam();
    const opened = await initialize(url, "ann");
    await opened.text();
    const headers = {
      ...{ authorization: "Bearer ann", accept: "text/event-stream" },
      "mcp-session-id": opened.headers.get("mcp-session-id") ?? "",
    };
    // Long before the next sign of life.
    const listen = async () => {
      const gone = new AbortController();
      const signal = AbortSignal.any([gone.signal, AbortSignal.timeout(3000)]);
      const { status } = await fetch(url, { headers, signal });
      return { status, leave: () => gone.abort() };
    };
    const first = await listen();
    expect(first.status).toBe(200);
    expect((await listen()).status).toBe(409);
    first.leave();
    let again = await listen();
    for (let tries = 0; again.status === 409 && tries < 100; tries += 1) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      again = await listen();
    }
    expect(again.status).toBe(200);
    again.leave();
  });

  it("are free again when a client goes away before its event stream is open", async () => {
    let asked = 0;
    const authenticate = async (): Promise<Actor> => {
      asked += 1;
      if (asked > 1) await new Promise((resolve) => setTimeout(resolve, 100));
      return { name: "ann" };
    };
    const { url, handler } = await serveTeam({ login: { authenticate }, idleMs: 200 });
    const opened = await initialize(url, "ann");
    await opened.text();
    const { port, pathname } = new URL(url);
    const socket = connect(Number(port), "127.0.0.1");
    const id = `Mcp-Session-Id: ${opened.headers.get("mcp-session-id")}`;
    socket.write(`GET ${pathname} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n${id}\r\n\r\n`);
    await until(() => asked === 2);
    socket.destroy();
    await until(() => handler.load().connections === 0);
  });

  it("are not opened without memory: each request is answered on its own", async () => {
    const { url, handler } = await serveTeam({ stateful: false });
    const { ask } = await connectTo(url, "2025", { token: "ann" });
    const { session_id } = await ask(START);
    expect(await ask({ action: "get_state", session_id })).toMatchObject({ status: "success" });
    expect(handler.load().connections).toBe(0);
  });

  it("dispose of what was registered, with each request and each connection", async () => {
    const { engine } = makeEngine();
    let [registered, disposed] = [0, 0];
    const register = (server: McpServer) => {
      registered += 1;
      const { dispose } = registerWorkflowTool(server, engine);
      const disposing = () => {
        dispose();
        disposed += 1;
      };
      return { dispose: disposing };
    };
    const { url, handler } = await serveMcp({ register });
    const one = await connectTo(url, "2025");
    await one.client.listTools();
    const other = await connectTo(url, "2026");
    await other.client.listTools();
    const subscription = await other.client.listen({ resourcesListChanged: true });
    await until(() => handler.load().connections === 2);
    await subscription.close();
    await one.transport.terminateSession();
    await until(() => handler.load().connections === 0 && disposed === registered);
    expect(registered).toBeGreaterThan(2);
  });

  it("tell their clients of changed lists", async () => {
    const { url, handler } = await serveTeam();
    const told: string[] = [];
    for (const generation of GENERATIONS) {
      const { client } = await connectTo(url, generation, {
        token: "ann",
        prepare: (made) =>
          made.setNotificationHandler("notifications/tools/list_changed", () => void told.push(generation)),
      });
      if (generation === "2026") await client.listen({ toolsListChanged: true });
    }
    // The stream of a client of protocol 2025 is opened after it is connected.
    await until(() => {
      if (told.length < 2) handler.notify.toolsChanged();
      return new Set(told).size === 2;
    });
  });
});

it("an error of the host's registration is answered without its text", async () => {
  const register = () => {
    throw new PhasegateError("INVALID_INPUT", "secret", { remedy: "None.", details: {} });
  };
  const { url, errors } = await serveMcp({ register });
  const failed = await initialize(url, "ann");
  expect([failed.status, await failed.text()]).toEqual([500, expect.not.stringContaining("secret")]);
  expect(errors).toHaveLength(1);
});
