import { afterAll, describe, expect, it } from "vitest";
import { FileTexts } from "../../src/content/file-plans.js";
import { PhasegateError } from "../../src/errors.js";
import { openApiDocument } from "../../src/http/api.js";
import { ROUTES } from "../../src/http/routes.js";
import type { Login } from "../../src/ports/login.js";
import { MemoryStorage } from "../../src/storage/memory/storage.js";
import type { RoutedCall } from "../../src/tools/routed/requests.js";
import { RoutedFolders } from "../../src/workflow/files/routed-workflow.js";
import { GATED } from "../support/gated-garden.js";
import { DONE, posting, ROUTED, served } from "./call-api.js";

describe("the routes of the specification", () => {
  it("end when the client goes away: the decider is stopped, and the same request continues", async () => {
    const client = new AbortController();
    let stopped = false;
    const { api, send, post, start } = served([
      (_, signal) => {
        signal.addEventListener("abort", () => (stopped = true));
        client.abort();
        return new Promise(() => {});
      },
      "Sow",
    ]);
    const instance_id = await start();
    const body = { instance_id, report: DONE, idempotency_key: "once" };
    const request = new Request("http://localhost/workflows/advance", { ...posting(body), signal: client.signal });
    const answered = await api(request);
    expect([answered.status, await answered.json()]).toMatchObject([
      409,
      { error_code: "CANCELLED", details: { instance_id } },
    ]);
    expect(stopped).toBe(true);
    expect((await send(`/workflows/status?instance_id=${instance_id}`)).body).toMatchObject({ status: "RUNNING" });
    expect((await post("advance", body)).body).toMatchObject({ next_step: { step_name: "Sow" } });
  });

  it("list, start, advance and resume a workflow to its end", async () => {
    const { send, post } = served([
      "Sow",
      { nextStep: "Water", contextUpdates: { rows: 3 }, reasoning: "dry" },
      "FINISH",
    ]);
    expect((await send("/workflows/list")).body).toEqual({ workflows: ["GARDEN"], goals: { GARDEN: "Peas." } });
    const started = await post("start", { workflow_name: "GARDEN", context: { bed: "north" } });
    expect(started).toMatchObject({
      status: 200,
      body: { next_step: { step_name: "Dig", instructions: "Dig a bed." }, current_context: { bed: "north" } },
    });
    const { instance_id } = started.body;
    const sown = await post("advance", { instance_id, report: DONE, context_updates: { depth: 20 } });
    expect(sown.body).toMatchObject({
      instance_id,
      next_step: { step_name: "Sow", instructions: "Sow peas." },
      current_context: { bed: "north", depth: 20 },
      status: "RUNNING",
    });
    const resumed = await post("resume", {
      instance_id,
      assumed_current_step_name: "Dig",
      report: { status: "resuming" },
    });
    expect(resumed.body).toMatchObject({ next_step: { step_name: "Water" }, reasoning: "dry" });
    const end = await post("advance", { instance_id, report: DONE });
    expect(end.body).toMatchObject({
      next_step: { step_name: "FINISH", instructions: "Workflow complete." },
      status: "COMPLETED",
      allowed: [],
    });
    expect(end.body.completed_at).toBeDefined();
  });

  it("show, suspend, retry and cancel an instance, and what has happened", async () => {
    const { send, post, start } = served([new Error("down"), "Sow"]);
    const instance_id = await start();
    expect((await post("suspend", { instance_id, reason: "lunch" })).body).toMatchObject({
      status: "SUSPENDED",
      reason: "lunch",
      allowed: ["resume", "cancel"],
    });
    const comeBack = { instance_id, assumed_current_step_name: "Dig", report: DONE };
    expect((await post("resume", comeBack)).status).toBe(502);
    const failed = await send(`/workflows/status?instance_id=${instance_id}`);
    expect(failed.body).toMatchObject({ status: "FAILED", allowed: ["retry"], next_step: { step_name: "Dig" } });
    expect((await post("retry", { instance_id })).body).toMatchObject({ next_step: { step_name: "Sow" } });
    expect((await post("cancel", { instance_id, reason: "rain" })).body).toMatchObject({
      status: "FAILED",
      reason: "cancelled: rain",
      allowed: [],
    });
    const history = await send(`/workflows/history?instance_id=${instance_id}`);
    expect(history.body).toMatchObject({
      history: [
        { outcome_status: "SUSPENDED" },
        {
          outcome_status: "RESUMING",
          assumed_step_name: "Dig",
          user_report: DONE,
          determined_next_step: "Sow",
        },
        { outcome_status: "RETRIED", determined_next_step: null },
        { outcome_status: "CANCELLED" },
      ],
    });
  });

  it("return a long history in pages that omit nothing", async () => {
    const { send, post, start } = served(Array.from({ length: 5 }, () => "Sow"));
    const instance_id = await start();
    const message = "x".repeat(100_000);
    for (let turn = 0; turn < 5; turn += 1)
      await post("advance", { instance_id, report: { status: `${turn}`, message } });
    const outcomes: unknown[] = [];
    let cursor = "";
    do {
      const { body } = await send(`/workflows/history?instance_id=${instance_id}${cursor}`);
      if (!Array.isArray(body.history)) throw new Error("no history");
      outcomes.push(...body.history.map(({ outcome_status: outcome }) => outcome));
      cursor = body.cursor === undefined ? "" : `&cursor=${encodeURIComponent(String(body.cursor))}`;
    } while (cursor !== "");
    expect(outcomes).toEqual(["0", "1", "2", "3", "4"]);
    const other = await start();
    const { body: page } = await send(`/workflows/history?instance_id=${instance_id}`);
    const borrowed = await send(
      `/workflows/history?instance_id=${other}&cursor=${encodeURIComponent(String(page.cursor))}`,
    );
    expect(borrowed).toMatchObject({ status: 400, body: { error_code: "INVALID_FIELD" } });
  });

  it("return the requirements of a gate, and what a report lacks", async () => {
    const { post } = served(["Sow"], { workflows: GATED });
    const started = await post("start", { workflow_name: "GARDEN" });
    expect(started.body.next_step).toMatchObject({
      report_details: { required: ["depth"], schema: { properties: { depth: { type: "integer" } } } },
    });
    const { instance_id } = started.body;
    expect((await post("advance", { instance_id, report: DONE })).body).toMatchObject({
      next_step: { step_name: "Dig" },
      gate: { passed: false, attempt: 1, max_attempts: 3, problems: [{ field: "depth", problem: "missing" }] },
    });
    const dug = { status: "success", details: { depth: 20 } };
    expect((await post("advance", { instance_id, report: dug })).body).toMatchObject({
      next_step: { step_name: "Sow" },
    });
  });
});

describe("an invalid request", () => {
  it.each([
    ["start", "{", "INVALID_FORMAT", "Request body must be valid JSON."],
    ["start", "[]", "INVALID_FORMAT", "The request must be a JSON object."],
    ["start", {}, "MISSING_FIELD", "Missing required field: workflow_name."],
    ["start", { workflow_name: 7 }, "INVALID_TYPE", "Invalid data type for field: workflow_name."],
    ["start", { workflow_name: "GARDEN", context: [] }, "INVALID_TYPE", "Invalid data type for field: context."],
    [
      "start",
      { workflow_name: "GARDEN", kontext: {} },
      "INVALID_FIELD",
      "Unknown field: kontext. Did you mean context?",
    ],
    ["advance", { report: DONE }, "MISSING_FIELD", "Missing required field: instance_id."],
    ["advance", { instance_id: "a" }, "MISSING_FIELD", "Missing required field: report."],
    ["advance", { instance_id: "a", report: {} }, "MISSING_FIELD", "Missing required field: report.status."],
    ["advance", { instance_id: "a", report: "fine" }, "INVALID_TYPE", "Invalid data type for field: report."],
    ["advance", { instance_id: "../etc", report: DONE }, "INVALID_FIELD", "Invalid value for field: instance_id."],
    [
      "advance",
      { instance_id: "a", report: DONE, context_updates: "x" },
      "INVALID_TYPE",
      "Invalid data type for field: context_updates.",
    ],
    [
      "resume",
      { instance_id: "a", report: DONE },
      "MISSING_FIELD",
      "Missing required field: assumed_current_step_name.",
    ],
  ])("to %s is a 400 with a message: %j", async (path, body, code, message) => {
    const answered = await served().post(path, body);
    expect(answered).toMatchObject({ status: 400, body: { error_code: code, message } });
    expect(answered.body.details).toMatchObject({ remedy: expect.any(String) });
  });

  it("is refused if a key would reach a prototype, instead of being dropped", async () => {
    const { post, start } = served();
    const instance_id = await start();
    const body = `{"instance_id": "${instance_id}", "report": {"status": "success", "__proto__": {"x": 1}}}`;
    expect(await post("advance", body)).toMatchObject({ status: 400, body: { error_code: "INVALID_FIELD" } });
  });

  it("is a 415 without JSON, a 413 above the limit, declared or not, and a 400 if it is not UTF-8", async () => {
    const { send, post } = served([], {}, { maxBodyBytes: 100 });
    const body = JSON.stringify({ workflow_name: "GARDEN" });
    const plain = { method: "POST", body, headers: { "content-type": "text/plain" } };
    expect(await send("/workflows/start", plain)).toMatchObject({ status: 415 });
    const latin = { "content-type": "application/json; charset=latin1" };
    expect(await post("start", body, latin)).toMatchObject({ status: 415 });
    expect(await post("start", { workflow_name: "x".repeat(200) })).toMatchObject({
      status: 413,
      body: { error_code: "PAYLOAD_TOO_LARGE", details: { limit: 100 } },
    });
    expect(await post("start", body, { "content-length": "1000" })).toMatchObject({ status: 413 });
    const bytes = { method: "POST", body: new Uint8Array([123, 255]), headers: { "content-type": "application/json" } };
    expect(await send("/workflows/start", bytes)).toMatchObject({
      status: 400,
      body: { error_code: "INVALID_FORMAT" },
    });
    expect(await send("/workflows/start", { method: "POST" })).toMatchObject({ status: 415 });
    expect(await post("start", body, { "content-type": "application/vnd.garden+json; charset=UTF-8" })).toMatchObject({
      status: 200,
    });
  });

  it("to any route with a body is a 400, a 413 or a 415", async () => {
    const { send, post } = served([], {}, { maxBodyBytes: 100 });
    for (const { method, path, call } of ROUTES) {
      if (method === "GET") continue;
      expect((await post(call, {})).status).toBe(400);
      expect((await post(call, { instance_id: "x".repeat(200) })).status).toBe(413);
      expect((await send(path, { method: "POST", body: "{}" })).status).toBe(415);
    }
  });

  it("may be sent in chunks of one byte, which are not kept", async () => {
    const { api } = served();
    const text = new TextEncoder().encode(JSON.stringify({ workflow_name: "GARDEN" }).padEnd(8192, " "));
    let most = 0;
    let sent = 0;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        most = Math.max(most, process.memoryUsage().arrayBuffers);
        if (sent === text.length) return controller.close();
        // As Node's server passes packets of one byte: each is a view of a large buffer.
        const chunk = new Uint8Array(65_536);
        chunk[0] = text[sent] ?? 0;
        sent += 1;
        controller.enqueue(chunk.subarray(0, 1));
      },
    });
    const headers = { "content-type": "application/json" };
    const sending = { method: "POST", headers, body, duplex: "half" };
    const response = await api(new Request("http://localhost/workflows/start", sending));
    expect({ status: response.status, sent }).toEqual({ status: 200, sent: text.length });
    expect(most).toBeLessThan(text.length * 65_536 * 0.6);
  });

  it("is a 400 if its body breaks off, and not reported to the host", async () => {
    const errors: unknown[] = [];
    const { api, engine } = served();
    engine.on("internalError", ({ error }) => void errors.push(error));
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.error(new Error("aborted")),
    });
    const sending = { method: "POST", headers: { "content-type": "application/json" }, body, duplex: "half" };
    const response = await api(new Request("http://localhost/workflows/start", sending));
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error_code: "INVALID_FORMAT" });
    expect(errors).toEqual([]);
  });

  it("is a 415 if its body is compressed", async () => {
    const { post } = served();
    const packed = await post("start", "\u001f\u008b", { "content-encoding": "gzip" });
    expect(packed).toMatchObject({ status: 415, body: { details: { remedy: expect.stringContaining("as it is") } } });
    const plain = await post("start", { workflow_name: "GARDEN" }, { "content-encoding": "identity" });
    expect(plain.status).toBe(200);
  });

  it("is a 414 on every route if its URL is too long, with any number of query names", async () => {
    const { send, post } = served();
    const query = `?${Array.from({ length: 200_000 }, (_, index) => index.toString(36)).join("&")}`;
    for (const { method, path } of ROUTES) {
      const long = `${path}${query}`;
      const answered = method === "GET" ? await send(long) : await post(long.slice("/workflows/".length), {});
      expect(answered).toMatchObject({ status: 414, body: { error_code: "URI_TOO_LONG" } });
    }
  });

  it.each(["%", "%zz", "%ff", "%c3%28", "%ed%a0%80"])("is a 400 if its query has the value %s", async (value) => {
    const { send } = served();
    for (const name of ["instance_id", "cursor"]) {
      expect(await send(`/workflows/history?${name}=${value}`)).toMatchObject({
        status: 400,
        body: { error_code: "INVALID_FORMAT", message: "The query is not percent-encoded UTF-8." },
      });
    }
  });

  it("is a 404 for an unknown path, and a 405 with the allowed methods for another method", async () => {
    const { send } = served();
    const remedy = expect.stringContaining("/workflows/history, /openapi.json.");
    expect(await send("/workflows")).toMatchObject({
      status: 404,
      body: { error_code: "NOT_FOUND", details: { remedy } },
    });
    const wrong = await send("/workflows/start");
    expect(wrong).toMatchObject({ status: 405, body: { message: "/workflows/start supports POST, OPTIONS." } });
    expect(wrong.headers.get("allow")).toBe("POST, OPTIONS");
    const deleted = await send("/workflows/list", { method: "DELETE" });
    expect(deleted.headers.get("allow")).toBe("GET, HEAD, OPTIONS");
  });

  it("is a 400 with an unknown query name, or a repeated one", async () => {
    const { send } = served();
    expect(await send("/workflows/list?page=2")).toMatchObject({ status: 400, body: { error_code: "INVALID_FIELD" } });
    expect(await send("/workflows/status?instance_id=a&instance_id=b")).toMatchObject({ status: 400 });
    expect(await send("/workflows/status")).toMatchObject({ status: 400, body: { error_code: "MISSING_FIELD" } });
    expect(await send("/workflows/history")).toMatchObject({ status: 400 });
  });
});

describe("an error", () => {
  it("is a 404 for an unknown workflow or instance", async () => {
    const { send, post } = served();
    expect(await post("start", { workflow_name: "GARDN" })).toMatchObject({
      status: 404,
      body: {
        error_code: "DEFINITION_NOT_FOUND",
        message: "Workflow definition 'GARDN' not found or invalid.",
        details: { code: "WORKFLOW_NOT_FOUND", nearest: "GARDEN" },
      },
    });
    const missing = { status: 404, body: { error_code: "INSTANCE_NOT_FOUND", message: /ID nobody not found/ } };
    for (const path of ["status", "history"]) {
      expect((await send(`/workflows/${path}?instance_id=nobody`)).status).toBe(404);
    }
    for (const path of ["advance", "resume", "suspend", "cancel", "retry"]) {
      const report = path === "advance" || path === "resume" ? { report: DONE } : {};
      const assumed = path === "resume" ? { assumed_current_step_name: "Dig" } : {};
      const answered = await post(path, { instance_id: "nobody", ...report, ...assumed });
      expect(answered).toMatchObject({ ...missing, body: { error_code: "INSTANCE_NOT_FOUND" } });
      expect(answered.body.message).toMatch(missing.body.message);
    }
  });

  it("is a 502 if the decider fails, and the report is kept", async () => {
    const { send, post, start } = served([new Error("key AIza-secret"), new Error("x"), "Sow"]);
    const instance_id = await start();
    const answered = await post("advance", { instance_id, report: { status: "success", message: "dug" } });
    expect(answered).toMatchObject({
      status: 502,
      body: {
        error_code: "AI_SERVICE_ERROR",
        message: "Failed to get next step from AI service.",
        details: { code: "DECIDER_FAILED", reason: "unavailable", retryable: true },
      },
    });
    expect(JSON.stringify(answered.body)).not.toContain("secret");
    expect(await post("retry", { instance_id })).toMatchObject({ status: 502 });
    expect((await post("retry", { instance_id })).body).toMatchObject({ next_step: { step_name: "Sow" } });
    const { body } = await send(`/workflows/history?instance_id=${instance_id}`);
    expect(JSON.stringify(body)).toContain("dug");
  });

  it("is a 502 if the decider cannot choose the first step", async () => {
    const { post } = served([new Error("down"), "Dig"], { firstStep: "decider" });
    const refused = await post("start", { workflow_name: "GARDEN" });
    expect(refused).toMatchObject({
      status: 502,
      body: {
        message: "Failed to get initial step from AI service.",
        details: {
          instance_id: expect.any(String),
          remedy: expect.stringContaining("Call retry with this instance_id"),
        },
      },
    });
    const { instance_id } = Object(refused.body.details);
    expect((await post("retry", { instance_id })).body).toMatchObject({ next_step: { step_name: "Dig" } });
  });

  it("is a 409 for a suspended instance, another step, or a state that does not allow the call", async () => {
    const { post, start } = served(["Sow"]);
    const instance_id = await start();
    const other = await post("advance", { instance_id, report: { status: "success", step_id: "Water" } });
    expect(other).toMatchObject({
      status: 409,
      body: { error_code: "STEP_NOT_CURRENT", details: { current_step_name: "Dig" } },
    });
    expect(await post("retry", { instance_id })).toMatchObject({
      status: 409,
      body: { error_code: "INVALID_TRANSITION", details: { allowed: ["advance", "resume", "suspend", "cancel"] } },
    });
    await post("suspend", { instance_id });
    const suspended = await post("advance", { instance_id, report: DONE });
    expect(suspended).toMatchObject({
      status: 409,
      body: {
        error_code: "INVALID_TRANSITION",
        details: { status: "SUSPENDED", remedy: "Possible now: resume, cancel." },
      },
    });
    expect(await post("suspend", { instance_id })).toMatchObject({ status: 409 });
    await post("cancel", { instance_id });
    expect(await post("cancel", { instance_id })).toMatchObject({ status: 409 });
    const comeBack = { instance_id, assumed_current_step_name: "Dig", report: DONE };
    expect((await post("resume", comeBack)).body).toMatchObject({ status: "FAILED" });
  });

  it("is a 409 for the second of two concurrent reports", async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { post, start } = served([() => held.then(() => ({ nextStep: "Sow" }))]);
    const instance_id = await start();
    const first = post("advance", { instance_id, report: { status: "success", message: "one" } });
    await Promise.resolve();
    const second = post("advance", { instance_id, report: { status: "success", message: "two" } });
    setTimeout(release, 20);
    const answers = await Promise.all([first, second]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    expect(answers.find(({ status }) => status === 409)?.body).toMatchObject({ error_code: "CONFLICT" });
  });

  it("is a 503 with Retry-After for too many concurrent calls, and for too many instances", async () => {
    let asked = () => {};
    const asking = new Promise<void>((resolve) => {
      asked = resolve;
    });
    const hangs = () => {
      asked();
      return new Promise(() => {});
    };
    const limits = { maxConcurrent: 1, maxActiveSessions: 1, deciderDeadlineMs: 500 };
    const { send, post, start } = served([hangs], { limits });
    const instance_id = await start();
    const full = await post("start", { workflow_name: "GARDEN" });
    expect(full).toMatchObject({ status: 503, body: { error_code: "SESSION_LIMIT" } });
    const slow = post("advance", { instance_id, report: DONE });
    await asking;
    for (const { method, path, call } of ROUTES) {
      const busy = await (method === "GET"
        ? send(call === "list" ? path : `${path}?instance_id=${instance_id}`)
        : post(call, bodyOf(call, instance_id)));
      expect(busy).toMatchObject({ status: 503, body: { error_code: "BUSY" } });
      expect(busy.headers.get("retry-after")).toBe("1");
    }
    expect(await slow).toMatchObject({ status: 502 });
  });

  it("is a 500 without a path if the folder of workflows is missing", async () => {
    const workflows = new RoutedFolders({ source: new FileTexts({ root: "/nowhere/at/all" }) });
    const { send, post } = served([], { workflows });
    const listed = await send("/workflows/list");
    expect(listed).toMatchObject({
      status: 500,
      body: { error_code: "DEFINITION_SERVICE_ERROR", message: "Failed to retrieve workflow list." },
    });
    const started = await post("start", { workflow_name: "GARDEN" });
    expect(started).toMatchObject({ status: 500, body: { error_code: "DEFINITION_SERVICE_ERROR" } });
    expect(JSON.stringify([listed, started])).not.toContain("nowhere");
  });

  it("is a 500 if a workflow was removed, while its status can still be read", async () => {
    let there = true;
    const { engine } = served();
    const listed = await engine.listWorkflows();
    const source = { list: async () => listed, definition: async () => (there ? ready(listed) : undefined) };
    const { send, post, start } = served(["Sow"], { workflows: source });
    const instance_id = await start();
    there = false;
    expect(await post("advance", { instance_id, report: DONE })).toMatchObject({
      status: 500,
      body: { error_code: "DEFINITION_UNAVAILABLE", message: "Workflow definition 'GARDEN' could not be loaded." },
    });
    const { body } = await send(`/workflows/status?instance_id=${instance_id}`);
    expect(body).toMatchObject({ status: "FAILED", current_step_name: "Dig" });
    expect(body.next_step).toBeUndefined();
  });

  it("is a 500 without its cause if the storage fails, or for an unexpected error", async () => {
    const storage = new MemoryStorage();
    const { send, post, start, engine } = served([], { storage });
    const instance_id = await start();
    const told: string[] = [];
    engine.on("internalError", ({ operation }) => void told.push(operation));
    const fail = (error: unknown) => {
      storage.read = async () => {
        throw error;
      };
    };
    fail(
      new PhasegateError("STORAGE_FAILED", "/var/lib/x is full", {
        remedy: "Free some.",
        details: { operation: "read" },
      }),
    );
    expect(await post("advance", { instance_id, report: DONE })).toMatchObject({
      status: 500,
      body: { error_code: "PERSISTENCE_ERROR", message: "Failed to save workflow state or history." },
    });
    fail(new TypeError("at /home/me/secret.js:1"));
    const calls = { advance: { report: DONE }, resume: { report: DONE, assumed_current_step_name: "Dig" } };
    for (const path of ["advance", "resume", "suspend", "cancel", "retry"] as const) {
      const more = path === "advance" || path === "resume" ? calls[path] : {};
      const answered = await post(path, { instance_id, ...more });
      expect(answered).toMatchObject({ status: 500, body: { error_code: "INTERNAL_ERROR" } });
      expect(JSON.stringify(answered.body)).not.toMatch(/secret|\/var|at \//);
    }
    for (const path of ["status", "history"]) {
      expect((await send(`/workflows/${path}?instance_id=${instance_id}`)).status).toBe(500);
    }
    expect(told.length).toBeGreaterThan(6);
  });
});

describe("an idempotency key", () => {
  it("returns the first answer to a repeated request, in the header or the body", async () => {
    const { post, decider } = served(["Sow", "Water"]);
    const key = { "idempotency-key": "k1" };
    const first = await post("start", { workflow_name: "GARDEN" }, key);
    const again = await post("start", { workflow_name: "GARDEN", idempotency_key: "k1" });
    expect(again.body).toEqual({ ...first.body, replayed: true });
    const { instance_id } = first.body;
    const report = { instance_id, report: DONE };
    const sown = await post("advance", report, { "idempotency-key": "k2" });
    expect((await post("advance", report, { "idempotency-key": "k2" })).body).toEqual({ ...sown.body, replayed: true });
    expect("requests" in decider && decider.requests).toHaveLength(1);
  });

  it("is a 422 with another request, and a 400 if header and body differ", async () => {
    const { post, start } = served(["Sow", "Water"]);
    const instance_id = await start();
    const key = { "idempotency-key": "k" };
    await post("advance", { instance_id, report: DONE }, key);
    const other = await post("advance", { instance_id, report: { status: "failure" } }, key);
    expect(other).toMatchObject({ status: 422, body: { error_code: "IDEMPOTENCY_KEY_REUSED" } });
    const started = await post("start", { workflow_name: "GARDEN", context: { bed: 1 } }, key);
    expect(started.status).toBe(200);
    expect((await post("start", { workflow_name: "GARDEN", context: { bed: 2 } }, key)).status).toBe(422);
    for (const call of ["resume", "suspend", "cancel", "retry"] as const) {
      expect((await post(call, bodyOf(call, instance_id), key)).status).toBe(422);
    }
    const two = await post("advance", { instance_id, report: DONE, idempotency_key: "other" }, key);
    expect(two).toMatchObject({ status: 400, body: { error_code: "INVALID_FIELD" } });
  });
});

describe("the HTTP API of a host", () => {
  it("answers only callers that `authorize` accepts, and nobody if `authorize` fails", async () => {
    const authorize = (request: Request) => {
      const sent = request.headers.get("authorization");
      if (sent === "crash") throw new Error("secret");
      if (sent === "redirect") return new Response("see other", { status: 303 });
      return sent === "Bearer me";
    };
    const { send, post } = served([], {}, { authorize });
    const none = await send("/workflows/list");
    expect(none).toMatchObject({ status: 401, body: { error_code: "UNAUTHORIZED" } });
    expect(none.headers.get("www-authenticate")).toBe("Bearer");
    for (const { method, path } of ROUTES) {
      const answered = method === "GET" ? await send(path) : await post(path.slice("/workflows/".length), {});
      expect(answered.status).toBe(401);
    }
    expect(await send("/workflows/list", { headers: { authorization: "Bearer me" } })).toMatchObject({ status: 200 });
    const crashed = await send("/workflows/list", { headers: { authorization: "crash" } });
    expect(crashed).toMatchObject({ status: 500, body: { error_code: "INTERNAL_ERROR" } });
    expect(JSON.stringify(crashed.body)).not.toContain("secret");
  });

  it("returns the host's own response to a refused caller", async () => {
    const { api } = served([], {}, { authorize: async () => new Response("no", { status: 403 }) });
    expect((await api(new Request("http://localhost/workflows/list"))).status).toBe(403);
  });

  it.each([undefined, null, 0, "", "no", {}])(
    "is let in by authorize with true alone, and not with %j",
    async (answer) => {
      for (const authorize of [() => answer as never, async () => answer as never]) {
        const { send } = served([], {}, { authorize });
        expect((await send("/workflows/list")).status).toBe(401);
      }
    },
  );

  it.each([undefined, null, { name: "ann", roles: "operator" }])(
    "is let in by no login that answers with %j, least of all as the host",
    async (actor) => {
      const { send } = served([], {}, { login: { authenticate: async () => actor as never } });
      expect((await send("/workflows/list")).status).toBe(500);
    },
  );

  it("carries out the calls of a login's actors, each with their own instances", async () => {
    const login: Login = {
      authenticate: async ({ headers }) => {
        const [, name = ""] = /^Bearer (\w+)$/.exec(headers.get("authorization") ?? "") ?? [];
        if (name === "") return Response.json({ error: "invalid_token" }, { status: 401 });
        return { name, roles: [name === "vera" ? "viewer" : "agent"] };
      },
      metadata: ({ url }) => (url.endsWith("/.well-known/x") ? Response.json({ resource: "x" }) : undefined),
    };
    const { send, post, api } = served(["Sow"], {}, { login });
    const as = (name: string) => ({ authorization: `Bearer ${name}` });
    expect((await api(new Request("http://localhost/.well-known/x"))).status).toBe(200);
    const refused = await api(new Request("http://localhost/workflows/list"));
    expect([refused.status, await refused.json()]).toEqual([401, { error: "invalid_token" }]);
    const { body } = await post("start", { workflow_name: "GARDEN" }, as("ann"));
    const instance_id = String(body.instance_id);
    const status = `/workflows/status?instance_id=${instance_id}`;
    expect((await send(status, { headers: as("ann") })).status).toBe(200);
    expect((await send(status, { headers: as("bob") })).status).toBe(404);
    // A viewer sees the instance, and moves nothing.
    expect((await send(status, { headers: as("vera") })).status).toBe(200);
    for (const call of ["start", "advance", "resume", "suspend", "cancel", "retry"] as const) {
      const answered = await post(call, bodyOf(call, instance_id), as("vera"));
      expect(answered, call).toMatchObject({ status: 403, body: { error_code: "NOT_ALLOWED" } });
    }
  });

  it("can be mounted below a path", async () => {
    const { api } = served([], {}, { basePath: "api/v1/" });
    const get = (path: string) => api(new Request(`http://localhost${path}`));
    expect((await get("/api/v1/workflows/list")).status).toBe(200);
    expect((await get("/api/v1/workflows/list/")).status).toBe(200);
    expect((await get("/workflows/list")).status).toBe(404);
    expect((await get("/api/v1x/workflows/list")).status).toBe(404);
    // A mount that does not fit is a fault of the host, which sees it with the first request.
    const remedy = async (path: string) => (await (await get(path)).json()).details.remedy;
    expect(await remedy("/v2/workflows/list")).toMatch(
      /, \/api\/v1\/openapi\.json\. For this one, .* basePath: "\/v2"\.$/,
    );
    expect(await remedy("/workflows/list")).toMatch(/ basePath: ""\.$/);
    expect(await remedy("/api/v1/workflows")).toMatch(/, \/api\/v1\/openapi\.json\.$/);
    const { paths } = JSON.parse(await (await get("/api/v1/openapi.json")).text());
    expect(Object.keys(paths)).toContain("/api/v1/workflows/start");
  });

  it("allows web pages only from the configured origins", async () => {
    const preflight = { method: "OPTIONS", headers: { origin: "https://app.example" } };
    const closed = await served().send("/workflows/start", preflight);
    expect(closed.status).toBe(204);
    expect(closed.headers.get("allow")).toBe("POST, OPTIONS");
    expect([...closed.headers.keys()].filter((name) => name.startsWith("access-control"))).toEqual([]);
    const open = served([], {}, { cors: { origins: ["https://app.example"] }, authorize: () => false });
    const allowed = await open.send("/workflows/start", preflight);
    expect(allowed.headers.get("access-control-allow-origin")).toBe("https://app.example");
    expect(allowed.headers.get("access-control-allow-headers")).toContain("idempotency-key");
    const other = await open.send("/workflows/list", { headers: { origin: "https://evil.example" } });
    expect(other.headers.get("access-control-allow-origin")).toBeNull();
    expect(other.headers.get("vary")).toBe("origin");
    const all = await served([], {}, { cors: { origins: "*" } }).send("/workflows/list");
    expect(all.headers.get("access-control-allow-origin")).toBe("*");
  });

  it("answers HEAD without a body, and forbids caching", async () => {
    const { api } = served();
    const response = await api(new Request("http://localhost/workflows/list", { method: "HEAD" }));
    expect(response.status).toBe(200);
    expect(await response.text()).toBe("");
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(response.headers.get("content-type")).toBe("application/json; charset=utf-8");
  });
});

describe("the OpenAPI document", () => {
  it("is served, and accepts the same requests as the handler", async () => {
    const { send } = served();
    expect((await send("/openapi.json")).body).toEqual(JSON.parse(JSON.stringify(openApiDocument("routed"))));
    expect(Object.keys(ROUTED.document.paths).sort()).toEqual(ROUTES.map(({ path }) => path).sort());
    const request = ROUTED.schemaOf("AdvanceRequest");
    expect(request.safeParse({ instance_id: "a", report: { status: "success", more: 1 } }).success).toBe(true);
    expect(request.safeParse({ instance_id: "a", report: {} }).success).toBe(false);
    expect(request.safeParse({ instance_id: "A B", report: DONE }).success).toBe(false);
    expect(request.safeParse({ instance_id: "a", report: DONE, more: 1 }).success).toBe(false);
  });

  // The tests above compare each answer with the document; this checks that no documented answer is missing.
  afterAll(() => {
    const documented = ROUTES.flatMap(({ method, path, refusals }) =>
      [200, ...refusals].map((status) => `${method} ${path} ${status}`),
    );
    // Two starts cannot conflict, and a resuming client names its own step.
    const rare = ["POST /workflows/start 409", "POST /workflows/resume 409"];
    expect(documented.filter((one) => !ROUTED.seen.has(one) && !rare.includes(one))).toEqual([]);
  });
});

/** Returns a valid request of a call. */
function bodyOf(call: RoutedCall, instance_id: string): object {
  if (call === "start") return { workflow_name: "GARDEN" };
  const report = call === "advance" || call === "resume" ? { report: DONE } : {};
  return { instance_id, ...report, ...(call === "resume" ? { assumed_current_step_name: "Dig" } : {}) };
}

function ready(listings: Awaited<ReturnType<ReturnType<typeof served>["engine"]["listWorkflows"]>>) {
  const [first] = listings;
  return first?.status === "ready" ? first.definition : undefined;
}
