import { MemoryStorage, PhasegateError } from "phasegate";
import { createHttpApi, openApiDocument } from "phasegate/http";
import { describe, expect, it } from "vitest";
import { ACTION_NAMES, type Action, exampleCall, WORKFLOW_READING } from "../../src/tools/phased/actions.js";
import { makeEngine } from "../support/make-engine.js";
import { built } from "../support/workflows.js";
import { posting } from "./call-api.js";
import { ALL, as, login, PHASED, START, served } from "./call-phased.js";

describe("a session over HTTP", () => {
  it("goes from its start to its end, by the next of each answer", async () => {
    const { get, post } = served();
    const listed = await get("list_workflows");
    expect(listed).toMatchObject({ status: 200, body: { status: "success" } });
    const started = await post("start", START);
    expect(started).toMatchObject({ status: 200, body: { status: "success", action: "start" } });
    const session_id = String(started.body.session_id);
    const phase = await get("get_phase", { session_id });
    expect(phase.body).toMatchObject({ phase_content: { phase_number: 1, title: "Build" } });
    const task = await get("get_task", { session_id, phase: "1", task_number: "2" });
    expect(JSON.stringify(task.body)).toContain("# Task 2: Test it");
    const noted = await post("complete_task", { session_id, phase: 1, task_number: 1, note: "written" });
    expect(noted.status).toBe(200);
    const passed = await post("complete_phase", { session_id, phase: 1, evidence: built });
    const opened = { phase_content: { title: "Ship" }, next: { action: "complete_phase", phase: 2 } };
    expect(passed).toMatchObject({ status: 200, body: { checkpoint_passed: true, ...opened } });
    // The next call is sent as it is.
    const { action, ...query } = Object((await get("get_state", { session_id })).body.next);
    expect((await get(action, { action, ...query })).body).toMatchObject({ phase_content: { title: "Ship" } });
    const done = await post("complete_phase", {
      action: "complete_phase",
      session_id,
      phase: 2,
      evidence: { ok: true },
    });
    expect(done.body).toMatchObject({ workflow_complete: true, next: null });
    expect((await get("get_state", { session_id, brief: "true" })).body).toMatchObject({ status: "success" });
    expect((await get("list_sessions", { status: "completed" })).body).toMatchObject({ total: 1 });
    expect((await get("get_metrics")).body).toMatchObject({ metrics: { complete_phase: { count: 2 } } });
    expect((await post("delete_session", { session_id })).status).toBe(200);
    expect((await get("get_session", { session_id })).status).toBe(404);
  });

  it("is told what a gate lacks with 200, as by the tool", async () => {
    const { get, post, start } = served();
    const session_id = await start();
    const refused = await post("complete_phase", { session_id, phase: 1, evidence: { summary: "x" } });
    expect(refused).toMatchObject({
      status: 200,
      body: { status: "error", code: "GATE_FAILED", missing_evidence: ["tests_pass"], attempts_left: 2 },
    });
    expect(refused.body.next).toMatchObject({ action: "complete_phase" });
    expect((await get("get_errors", { session_id })).status).toBe(200);
  });

  it("is moved back and on by the other actions", async () => {
    const { get, post, start } = served();
    const session_id = await start();
    await post("complete_phase", { session_id, phase: 1, evidence: built });
    expect((await post("rollback", { session_id, to_phase: 1 })).status).toBe(200);
    expect((await post("pause", { session_id, checkpoint_note: "lunch" })).status).toBe(200);
    expect(await get("get_phase", { session_id })).toMatchObject({ status: 200 });
    expect((await post("resume", { session_id })).status).toBe(200);
    for (let attempt = 0; attempt < 3; attempt += 1)
      await post("complete_phase", { session_id, phase: 1, evidence: {} });
    expect((await post("retry_phase", { session_id, phase: 1, reset_evidence: true })).status).toBe(200);
    const waiver = { session_id, phase: 1, fields: ["tests_pass"], reason: "the machine is gone" };
    expect((await post("request_waiver", waiver)).status).toBe(200);
    expect((await get("get_history", { session_id })).status).toBe(200);
  });
});

/** Returns the parameters of a call of an action, on a session if it takes one. */
function parametersFor(action: Action, session_id: string): Record<string, unknown> {
  const { action: _, ...call } = exampleCall(action);
  return {
    ...call,
    ...("session_id" in call && { session_id }),
    ...(action === "start" && START),
    ...("evidence" in call && { evidence: built }),
    ...("reason" in call && { reason: "the machine is gone" }),
  };
}

/** Calls an action by its method. */
function calling({ get, post }: Pick<ReturnType<typeof served>, "get" | "post">) {
  return (action: Action, params: Record<string, unknown>, headers: Record<string, string> = {}) => {
    if (!WORKFLOW_READING.has(action)) return post(action, params, headers);
    const query = Object.entries(params).map(([name, value]) => [name, String(value)]);
    return get(action, Object.fromEntries(query), headers);
  };
}

describe("the routes", () => {
  it("are one for each action that the host allows, each an operation of the document", async () => {
    const { api } = served();
    const { paths } = PHASED.document;
    expect(Object.keys(paths)).toEqual(ACTION_NAMES.map((action) => `/sessions/${action}`));
    for (const action of ACTION_NAMES) {
      const method = WORKFLOW_READING.has(action) ? "get" : "post";
      expect(paths[`/sessions/${action}`]?.[method]?.operationId).toBe(action);
    }
    const usual = await createHttpApi(makeEngine().engine)(new Request("http://localhost/openapi.json"));
    expect(await usual.json()).toEqual(JSON.parse(JSON.stringify(openApiDocument("phased"))));
    expect(await (await api(new Request("http://localhost/openapi.json"))).json()).toEqual(
      JSON.parse(JSON.stringify(openApiDocument("phased", ALL))),
    );
    for (const basePath of ["api", "/api", "api/"]) {
      expect(Object.keys(openApiDocument("phased", { basePath }).paths as object)).toContain("/api/sessions/start");
    }
  });

  it("refuse what is unknown, too long, or not for the caller, while the host is busy or fails", async () => {
    const host = served();
    const session_id = await host.start();
    const broken = served({ authorize: () => Promise.reject(new Error("down")) });
    const team = served({ login });
    const theirs = await team.start(as("ann"));
    const storage = new MemoryStorage();
    const busy = served({}, { storage, limits: { maxConcurrent: 1 } });
    storage.read = () => new Promise(() => {});
    void busy.get("get_state", { session_id });
    for (const action of ACTION_NAMES) {
      const params = parametersFor(action, session_id);
      const unknown = await calling(host)(action, { ...params, x: "1" });
      expect(unknown, action).toMatchObject({ status: 400, body: { error_code: "INVALID_INPUT" } });
      const path = `/sessions/${action}?x=${"x".repeat(9000)}`;
      const long = await PHASED.send(host.api, path, WORKFLOW_READING.has(action) ? {} : posting(params));
      expect(long.status, action).toBe(414);
      expect((await calling(broken)(action, params)).status, action).toBe(500);
      // What it counts is in memory.
      const isBusy = action !== "get_metrics";
      expect((await calling(busy)(action, params)).status, action).toBe(isBusy ? 503 : 200);
      const asViewer = await calling(team)(action, parametersFor(action, theirs), as("vera"));
      if (!WORKFLOW_READING.has(action)) expect(asViewer, action).toMatchObject({ status: 403 });
    }
  });

  it("have no deletion unless the host allows it, and only those that it allows", async () => {
    const { engine } = makeEngine();
    const usual = createHttpApi(engine);
    const deleted = await usual(new Request("http://localhost/sessions/delete_session", posting({ session_id: "x" })));
    expect(deleted.status).toBe(404);
    const reading = createHttpApi(engine, { tool: { actions: ["list_workflows"] } });
    const started = await reading(new Request("http://localhost/sessions/start", posting(START)));
    expect([started.status, Object(await started.json()).details.remedy]).toEqual([
      404,
      "The paths are /sessions/list_workflows, /openapi.json.",
    ]);
    expect(() => createHttpApi(engine, { tool: { actions: [] } })).toThrow(PhasegateError);
  });

  it("document their parameters with types, and the header of the key where it counts", () => {
    const { paths } = PHASED.document;
    expect(paths["/sessions/get_state"]?.get?.parameters).toMatchObject([
      { name: "session_id", in: "query", required: true, schema: { type: "string" } },
      { name: "brief", required: false, schema: { type: "boolean" } },
      { name: "phase", schema: { type: "integer" } },
      { name: "cursor" },
      { name: "action", schema: { const: "get_state" } },
    ]);
    expect(paths["/sessions/pause"]?.post?.parameters).toMatchObject([{ name: "Idempotency-Key", in: "header" }]);
    expect(paths["/sessions/delete_session"]?.post?.parameters).toBeUndefined();
    const request = PHASED.schemaOf("CompletePhaseRequest");
    expect(request.safeParse({ session_id: "a", phase: 1, evidence: built }).success).toBe(true);
    for (const wrong of [{}, { evidence: [] }, { phase: "1" }, { more: 1 }, { action: "start" }]) {
      expect(request.safeParse({ session_id: "a", phase: 1, evidence: built, ...wrong }).success).toBe(
        Object.keys(wrong).length === 0,
      );
    }
  });
});
