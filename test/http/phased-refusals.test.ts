import { defineWorkflow, MemoryStorage } from "phasegate";
import { createHttpApi } from "phasegate/http";
import { pino } from "pino";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import * as z from "zod";
import { listen } from "../../src/cli/http-server.js";
import { ACTION_NAMES, exampleCall, WORKFLOW_READING } from "../../src/tools/phased/actions.js";
import { makePlanned, PLAN_PATH } from "../support/planned.js";
import { built } from "../support/workflows.js";
import { posting } from "./call-api.js";
import { as, login, PHASED, START, served } from "./call-phased.js";

const COMMAND = { "content-type": "application/json" };

describe("the query of a reading action", () => {
  it("is read by the types of its parameters", async () => {
    const { get, start } = served();
    const session_id = await start();
    expect((await get("get_phase", { session_id, phase: "1" })).status).toBe(200);
    expect((await get("get_state", { session_id, brief: "true" })).status).toBe(200);
    expect((await get("get_state", { session_id, brief: "false" })).status).toBe(200);
  });

  it.each([
    ["get_phase", { phase: "x" }, `'phase' must be a whole number, got "x"`],
    ["get_phase", { phase: "1.5" }, `'phase' must be a whole number, got "1.5"`],
    ["get_phase", { phase: "" }, `'phase' must be a whole number, got ""`],
    ["get_phase", { phase: "9".repeat(20) }, `'phase' must be a whole number, got "99999999999999999999"`],
    ["get_state", { brief: "yes" }, `'brief' must be true or false, got "yes"`],
    ["get_phase", { fase: "1" }, '"fase" is unknown'],
    ["get_task", { phase: "1" }, "'task_number' is missing"],
    ["get_phase", { action: "delete_session" }, `'action' must be get_phase, got "delete_session"`],
  ])("of %s is a 400 that names the field: %j", async (action, query, message) => {
    const { get, start } = served();
    const answered = await get(action, { session_id: await start(), ...query });
    expect(answered).toMatchObject({
      status: 400,
      body: { error_code: "INVALID_INPUT", details: { remedy: expect.any(String) } },
    });
    expect(answered.body.message).toContain(message);
  });

  it("is a 400 if a name is there twice, or if it is not encoded", async () => {
    const { api } = served();
    for (const query of ["session_id=a&session_id=b", "session_id=%ff"]) {
      const answered = await PHASED.send(api, `/sessions/get_state?${query}`);
      expect(answered).toMatchObject({ status: 400, body: { error_code: "INVALID_INPUT" } });
    }
  });
});

describe("the body of a changing action", () => {
  it("is refused if it is too large, not JSON, broken, compressed, or no object", async () => {
    const { api, post } = served({ maxBodyBytes: 200 });
    for (const action of ACTION_NAMES.filter((name) => !WORKFLOW_READING.has(name))) {
      const path = `/sessions/${action}`;
      expect(await post(action, { session_id: "x".repeat(200) })).toMatchObject({
        status: 413,
        body: { error_code: "PAYLOAD_TOO_LARGE", details: { limit: 200 } },
      });
      expect((await PHASED.send(api, path, { method: "POST", body: "{}" })).status).toBe(415);
      expect((await post(action, "{}", { "content-encoding": "gzip" })).status).toBe(415);
      for (const body of ["{", "[]", "null", '"x"']) {
        const answered = await post(action, body);
        expect(answered, body).toMatchObject({ status: 400, body: { error_code: "INVALID_INPUT" } });
      }
      const cut = new ReadableStream<Uint8Array>({ pull: (controller) => controller.error(new Error("cut")) });
      const sending = { method: "POST", headers: COMMAND, body: cut, duplex: "half" };
      expect((await PHASED.send(api, path, sending)).status).toBe(400);
    }
  });

  it("keeps keys that would reach a prototype, for the engine to refuse", async () => {
    const { post, start } = served();
    const body = `{"session_id": "${await start()}", "phase": 1, "evidence": {"__proto__": {"x": 1}}}`;
    expect(await post("complete_phase", body)).toMatchObject({ status: 400, body: { error_code: "EVIDENCE_UNSAFE" } });
  });

  it("may be another action's only at that action's path", async () => {
    const { post, start } = served();
    const session_id = await start();
    const answered = await post("pause", { action: "delete_session", session_id });
    expect(answered).toMatchObject({ status: 400, body: { error_code: "INVALID_INPUT" } });
    expect((await post("pause", { action: "pause", session_id })).status).toBe(200);
  });
});

describe("a refusal of the engine", () => {
  it("has its code, its remedy, and what the tool adds", async () => {
    const { get, post, start } = served();
    const session_id = await start();
    const ahead = await get("get_phase", { session_id, phase: "2" });
    expect(ahead).toMatchObject({
      status: 409,
      body: {
        error_code: "PHASE_LOCKED",
        details: {
          remedy: expect.any(String),
          violation_type: "attempted_skip",
          current_phase_content: { title: "Build" },
          next: { action: "get_phase", session_id },
        },
      },
    });
    expect(Object.keys(ahead.body)).toEqual(["error_code", "message", "details"]);
    const about = { 404: "WORKFLOW_NOT_FOUND", 400: "INVALID_INPUT" };
    expect(await post("start", { workflow_type: "two_phase", target_file: "a" })).toMatchObject({
      status: 404,
      body: { error_code: about[404], details: { next: { action: "list_workflows" } } },
    });
    const unknown = await post("pause", { session_id, note: "x" });
    expect(unknown).toMatchObject({ status: 400, body: { error_code: about[400], details: { example: {} } } });
  });

  it("is a 404 for each action about a session that there is not", async () => {
    const { get, post } = served();
    for (const action of ACTION_NAMES) {
      const { action: _, ...call } = exampleCall(action);
      if (!("session_id" in call)) continue;
      const given = { ...call, session_id: "nobody", ...(action === "request_waiver" ? { reason: "I can't" } : {}) };
      const query = Object.fromEntries(Object.entries(given).map(([name, value]) => [name, String(value)]));
      const answered = WORKFLOW_READING.has(action)
        ? await get(action, query)
        : await post(action, action === "complete_phase" ? { ...given, evidence: built } : given);
      expect(answered, action).toMatchObject({
        status: 404,
        // The remedy names a route, and no call of a tool.
        body: { error_code: "SESSION_NOT_FOUND", details: { remedy: expect.stringMatching(/ Use list_sessions\.$/) } },
      });
    }
  });

  it("has the status of its kind", async () => {
    const { get, post, start } = served({}, { limits: { maxAttemptsTotal: 1, maxEvidenceBytes: 100 } });
    const session_id = await start();
    const expectCode = async (answered: ReturnType<typeof post>, status: number, error_code: string) =>
      expect(await answered).toMatchObject({ status, body: { error_code } });
    await expectCode(get("get_phase", { session_id, phase: "9" }), 404, "PHASE_OUT_OF_RANGE");
    await expectCode(get("get_task", { session_id, phase: "1", task_number: "9" }), 404, "TASK_NOT_FOUND");
    await expectCode(get("list_sessions", { cursor: "x" }), 400, "CURSOR_INVALID");
    await expectCode(post("start", { ...START, target_file: "../a" }), 400, "PATH_REFUSED");
    const large = { summary: "x".repeat(200), tests_pass: true };
    await expectCode(post("complete_phase", { session_id, phase: 1, evidence: large }), 413, "EVIDENCE_TOO_LARGE");
    await expectCode(post("resume", { session_id }), 409, "INVALID_TRANSITION");
    await expectCode(post("sync_plan", { session_id }), 403, "NOT_ALLOWED");
    expect((await post("complete_phase", { session_id, phase: 1, evidence: {} })).status).toBe(200);
    await expectCode(post("retry_phase", { session_id, phase: 1 }), 409, "ATTEMPTS_EXHAUSTED");
    const other = await start();
    await post("complete_phase", { session_id: other, phase: 1, evidence: built });
    const again = { session_id: other, phase: 1, evidence: built };
    await expectCode(post("complete_phase", again), 409, "PHASE_ALREADY_COMPLETED");
  });

  it("about a plan names the plan, and the tasks that are ready", async () => {
    const { engine, memory, start } = makePlanned({ config: { enforce_dependencies: true } });
    const api = createHttpApi(engine);
    const send = (path: string, init?: RequestInit) => PHASED.send(api, path, init);
    const begin = posting({ workflow_type: "spec", target_file: "specs/two" });
    expect(await send("/sessions/start", begin)).toMatchObject({
      status: 422,
      body: {
        error_code: "PLAN_PARSE",
        message: expect.stringContaining("plan"),
        details: { source_path: expect.any(String) },
      },
    });
    const session_id = await start(1);
    const task = `/sessions/get_task?session_id=${session_id}&phase=1&task_number=2`;
    expect(await send(task)).toMatchObject({
      status: 409,
      body: { error_code: "TASK_LOCKED", details: { ready_tasks: [1, 3], next: { action: "get_task" } } },
    });
    memory.set(PLAN_PATH, "");
    expect((await send("/sessions/sync_plan", posting({ session_id }))).status).toBe(422);
    // The session keeps the plan that it was started on.
    expect((await send(`/sessions/get_phase?session_id=${session_id}`)).status).toBe(200);
  });

  it("is a 503 with Retry-After while the host is busy or full", async () => {
    const full = served({}, { limits: { maxActiveSessions: 1 } });
    await full.start();
    const refused = await full.post("start", START);
    expect(refused).toMatchObject({ status: 503, body: { error_code: "SESSION_LIMIT" } });
    expect(refused.headers.get("retry-after")).toBe("1");
  });

  it("of a failing storage or an unexpected error is a 500 without its cause", async () => {
    const storage = new MemoryStorage();
    const { get, start } = served({}, { storage });
    const session_id = await start();
    storage.read = async () => {
      throw new TypeError("at /home/me/secret.js:1");
    };
    const answered = await get("get_state", { session_id });
    expect(answered).toMatchObject({ status: 500, body: { error_code: "INTERNAL" } });
    expect(JSON.stringify(answered.body)).not.toContain("secret");
    const crash = served({
      authorize: () => {
        throw new Error("secret");
      },
    });
    const crashed = await crash.get("list_workflows");
    expect(crashed).toMatchObject({ status: 500, body: { error_code: "INTERNAL" } });
    expect(JSON.stringify(crashed.body)).not.toContain("secret");
  });
});

describe("HTTP's own rules", () => {
  it("hold for phased sessions too: unknown paths, methods, HEAD, long URLs, preflights", async () => {
    const { api, get } = served({ cors: { origins: ["https://app.example"] }, authorize: () => true });
    const send = (path: string, init: RequestInit = {}) => PHASED.send(api, path, init);
    expect(await send("/sessions")).toMatchObject({ status: 404, body: { error_code: "NOT_FOUND" } });
    const wrong = await send("/sessions/start");
    expect([wrong.status, wrong.headers.get("allow")]).toEqual([405, "POST, OPTIONS"]);
    expect((await get("list_workflows", { category: "x".repeat(9000) })).status).toBe(414);
    const head = await api(new Request("http://localhost/sessions/list_workflows", { method: "HEAD" }));
    expect([head.status, await head.text()]).toEqual([200, ""]);
    expect(head.headers.get("cache-control")).toBe("no-store");
    const origin = { origin: "https://app.example" };
    const preflight = await send("/sessions/start", { method: "OPTIONS", headers: origin });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get("access-control-allow-origin")).toBe("https://app.example");
    expect(preflight.headers.get("access-control-allow-methods")).toBe("POST, OPTIONS");
  });

  it("refuse who is not authorized on every route", async () => {
    const { get, post } = served({ authorize: () => false });
    for (const action of ACTION_NAMES) {
      const answered = WORKFLOW_READING.has(action) ? await get(action) : await post(action, {});
      expect(answered).toMatchObject({ status: 401, body: { error_code: "UNAUTHORIZED" } });
    }
  });

  it("repeat the first answer to an idempotency key in the header, and refuse another request with it", async () => {
    const { post, start } = served();
    const key = { "idempotency-key": "k1" };
    const first = await post("start", START, key);
    const again = await post("start", START, key);
    expect(again.body).toMatchObject({ session_id: first.body.session_id, replayed: true });
    const { session_id } = first.body;
    const paused = { "idempotency-key": "k2" };
    expect((await post("pause", { session_id }, paused)).status).toBe(200);
    const other = await post("resume", { session_id }, paused);
    expect(other).toMatchObject({ status: 422, body: { error_code: "IDEMPOTENCY_KEY_REUSED" } });
    const two = await post("start", { ...START, idempotency_key: "k2" }, key);
    expect(two).toMatchObject({ status: 400, body: { error_code: "INVALID_INPUT" } });
    // What can't keep a key does not take one.
    const deleted = await post("delete_session", { session_id: await start() }, key);
    expect(deleted).toMatchObject({ status: 400, body: { error_code: "INVALID_INPUT" } });
  });
});

describe("a login", () => {
  it("gives each actor their own sessions, and answers for those who may not come in", async () => {
    const { api, get, post, start } = served({ login });
    expect((await api(new Request("http://localhost/.well-known/x"))).status).toBe(200);
    const refused = await api(new Request("http://localhost/sessions/list_sessions"));
    expect([refused.status, await refused.json()]).toEqual([401, { error: "invalid_token" }]);
    const session_id = await start(as("ann"));
    expect((await get("get_state", { session_id }, as("ann"))).status).toBe(200);
    const [theirs, missing] = [
      await get("get_state", { session_id }, as("bob")),
      await get("get_state", { session_id: "nobody" }, as("bob")),
    ];
    expect([theirs.status, missing.status]).toEqual([404, 404]);
    expect(JSON.stringify(theirs.body).replaceAll(session_id, "nobody")).toBe(JSON.stringify(missing.body));
    expect((await get("list_sessions", {}, as("bob"))).body).toMatchObject({ total: 0 });
    expect((await post("complete_phase", { session_id, phase: 1, evidence: built }, as("bob"))).status).toBe(404);
    // A viewer sees all sessions, and moves none.
    expect((await get("get_state", { session_id }, as("vera"))).status).toBe(200);
    const moved = await post("pause", { session_id }, as("vera"));
    expect(moved).toMatchObject({ status: 403, body: { error_code: "NOT_ALLOWED" } });
    expect((await post("start", START, as("vera"))).status).toBe(403);
    // What an actor's calls took is counted for them alone.
    expect((await get("get_metrics", {}, as("ann"))).body).toMatchObject({ metrics: { get_state: { count: 1 } } });
    expect(Object((await get("get_metrics", {}, as("bob"))).body.metrics)).not.toHaveProperty("start");
  });

  it("forgets the counts of whoever has not called for the longest time", async () => {
    const { get } = served({ login });
    const counted = async (name: string) => Object((await get("get_metrics", {}, as(name))).body.metrics);
    await get("list_workflows", {}, as("ann"));
    await get("list_workflows", {}, as("bob"));
    for (let nth = 2; nth <= 1000; nth += 1) {
      await get("get_metrics", {}, as(`agent${nth}`));
      if (nth === 500) expect(await counted("ann")).toHaveProperty("list_workflows");
    }
    expect(await counted("ann")).toHaveProperty("list_workflows");
    expect(await counted("bob")).not.toHaveProperty("list_workflows");
  });

  it("comes after `authorize`, and follows the host's own rule", async () => {
    const authenticate = vi.fn(login.authenticate);
    const closed = served({ authorize: () => false, login: { authenticate } });
    expect((await closed.get("list_sessions", {}, as("ann"))).status).toBe(401);
    expect(authenticate).not.toHaveBeenCalled();
    const open = served({ login, tool: { authorize: () => true } });
    const session_id = await open.start(as("ann"));
    expect((await open.get("get_state", { session_id }, as("bob"))).status).toBe(200);
  });
});

describe("a call whose client has gone", () => {
  /** A workflow whose gate waits for a check that ends with its signal alone. */
  function slowGate(http: Parameters<typeof served>[0] = {}) {
    const workflow = defineWorkflow({
      ...{ type: "checked", revision: "1", name: "Checked", description: "A slow check" },
      phases: [
        {
          ...{ number: 1, name: "One", content: "# One" },
          gate: { evidence: z.object({ summary: z.string() }), verify: [{ verifier: "slow" }] },
        },
      ],
    });
    let begun = () => {};
    const checking = new Promise<void>((resolve) => (begun = resolve));
    const slow = {
      verify: (_: unknown, { signal }: { signal: AbortSignal }) =>
        new Promise<never>((_resolve, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason));
          begun();
        }),
    };
    return { ...served(http, { verifiers: { slow } }, [workflow]), checking };
  }
  const STARTED = { workflow_type: "checked", target_file: "a" };
  const evidence = { summary: "done" };

  it("ends with nothing written", async () => {
    const { api, get, post, checking } = slowGate();
    const session_id = String((await post("start", STARTED)).body.session_id);
    const client = new AbortController();
    const call = posting({ session_id, phase: 1, evidence });
    const answering = api(new Request("http://localhost/sessions/complete_phase", { ...call, signal: client.signal }));
    await checking;
    client.abort();
    const answered = await answering;
    expect([answered.status, Object(await answered.json()).error_code]).toEqual([409, "CANCELLED"]);
    expect(Object((await get("get_errors", { session_id })).body).errors).toEqual([]);
  });

  it("goes on if the client was told that its checks run", async () => {
    const { get, post, engine } = slowGate({ tool: { answerWithinMs: 20 } });
    onTestFinished(() => engine.close());
    const session_id = String((await post("start", STARTED)).body.session_id);
    const { status, body } = await post("complete_phase", { session_id, phase: 1, evidence });
    expect([status, body.status]).toEqual([200, "verifying"]);
    expect((await post("complete_phase", body.next)).body).toMatchObject({ status: "verifying", next: body.next });
    const other = await post("complete_phase", { session_id, phase: 1, evidence: { summary: "other" } });
    expect(other).toMatchObject({ status: 409, body: { error_code: "INVALID_TRANSITION" } });
    expect((await get("get_state", { session_id })).body).toMatchObject({ verifying: { phase: 1 }, next: body.next });
  });

  it("ends over a real connection, which is closed", async () => {
    const { api, engine, checking } = slowGate();
    const times = { headers: 1000, request: 5000, drain: 1000 };
    const serving = await listen(api, "--http", 0, pino({ level: "silent" }), times);
    onTestFinished(async () => {
      serving.close();
      await serving.ended;
    });
    const call = (action: string, body: object, signal?: AbortSignal) =>
      fetch(`${serving.url}/sessions/${action}`, { ...posting(body), ...(signal && { signal }) });
    const { session_id } = await (await call("start", STARTED)).json();
    const refused = new Promise((resolve) => engine.on("refused", ({ code }) => resolve(code)));
    const client = new AbortController();
    const answering = call("complete_phase", { session_id, phase: 1, evidence }, client.signal);
    await checking;
    client.abort();
    await expect(answering).rejects.toThrow();
    expect(await refused).toBe("CANCELLED");
    const listed = await (await fetch(`${serving.url}/sessions/list_sessions`)).json();
    expect(listed).toMatchObject({ status: "success", total: 1 });
    expect(await engine.session(session_id).state()).toMatchObject({ status: "active" });
  });
});
