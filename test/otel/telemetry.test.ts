import { Client } from "@modelcontextprotocol/client";
import { InMemoryTransport, McpServer } from "@modelcontextprotocol/server";
import { context, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import {
  createEngine,
  defineWorkflow,
  type EngineOptions,
  isPhasegateError,
  MemoryContent,
  MemoryStorage,
} from "phasegate";
import { registerSearchTool, registerWorkspaceTools } from "phasegate/mcp";
import { createTelemetry } from "phasegate/otel";
import { copySessions } from "phasegate/storage";
import { describe, expect, it, vi } from "vitest";
import * as z from "zod";
import { connectInMemory } from "../mcp/connect-in-memory.js";
import { connectRouted } from "../mcp/connect-routed.js";
import { routed, Script } from "../routed/engine/garden.js";
import { askingFiles, makeAsking } from "../support/approvals.js";
import { GATED } from "../support/gated-garden.js";
import { startVerified } from "../support/verified.js";
import { makeWorkspace } from "../workspace/make-workspace.js";
import { tree, watched } from "./watched.js";

const MARKER = "s3cr3t-marker";

const building = defineWorkflow({
  type: "building",
  revision: "1",
  name: "Building",
  description: "Two phases",
  phases: [
    {
      number: 1,
      name: "Plan",
      content: "# Plan",
      gate: { evidence: z.strictObject({ tests_pass: z.literal(true), log: z.record(z.string(), z.number()) }) },
    },
    { number: 2, name: "Build", content: "# Build" },
  ],
});

function makeBuilding(options: Partial<EngineOptions> = {}) {
  const storage = new MemoryStorage();
  const content = new MemoryContent({ workflows: [building] });
  return { storage, engine: createEngine({ storage, content, ...options }) };
}

const GATE = `checkpoint: {strict: true, allow_override: true}
evidence_schema:
  tests_pass: {type: boolean, required: true, description: "all", verify: {verifier: look}}
`;

const look = {
  verify: async ({ value }: { readonly value?: unknown }) => ({ ok: value === true, message: "looked" }),
};

describe("spans", () => {
  it("of a call have its operation below, and in that the gate, its verifier and the storage", async () => {
    const { telemetry, spans } = watched();
    const { engine, sessionId } = await startVerified([GATE], { telemetry, verifiers: { look } });
    const { ask } = await connectInMemory(engine, { telemetry });
    const before = spans().length;
    await ask({ action: "complete_phase", session_id: sessionId, phase: 1, evidence: { tests_pass: true } });
    const made = spans().slice(before);
    expect(tree(made)).toEqual([
      "tools/call pos_workflow",
      "  phasegate completePhase",
      "    storage read",
      "    gate",
      "      verify look",
      "    storage append",
      "  phasegate getState",
      "    storage read",
    ]);
    // One session, so each of them has its id; and a link to the operation that made its first commit.
    for (const { attributes } of made) expect(attributes["phasegate.session.id"]).toBe(sessionId);
    const first = spans().find(({ name }) => name === "phasegate start");
    const operation = made.find(({ name }) => name === "phasegate completePhase");
    expect(operation?.links.map((link) => link.context.spanId)).toEqual([first?.spanContext().spanId]);
    expect(new Set(made.map((span) => span.spanContext().traceId)).size).toBe(1);
    expect(operation?.spanContext().traceId).not.toBe(first?.spanContext().traceId);
  });

  it("of calls follow the conventions of MCP, with the client's span as the parent", async () => {
    const { telemetry, spans, tracerProvider } = watched();
    const { engine } = makeBuilding({ telemetry });
    const { client } = await connectInMemory(engine, { telemetry });
    const traceId = "0af7651916cd43dd8448eb211c80319c";
    const spanId = "b7ad6b7169203331";
    const meta = { traceparent: `00-${traceId}-${spanId}-01`, tracestate: "vendor=1" };
    await client.callTool({ name: "pos_workflow", arguments: { action: "list_workflows" }, _meta: meta });
    const [call] = spans().filter(({ kind }) => kind === SpanKind.SERVER);
    expect(call).toMatchObject({
      name: "tools/call pos_workflow",
      attributes: {
        "mcp.method.name": "tools/call",
        "gen_ai.tool.name": "pos_workflow",
        "gen_ai.operation.name": "execute_tool",
        "phasegate.action": "list_workflows",
        "jsonrpc.request.id": expect.any(String),
      },
      parentSpanContext: { traceId, spanId, isRemote: true },
    });
    expect(call?.spanContext().traceId).toBe(traceId);
    expect(call?.spanContext().traceState?.get("vendor")).toBe("1");
    // The span around it, such as of the HTTP server, is linked.
    const outer = tracerProvider.getTracer("http").startSpan("POST");
    const around = { kind: "call", method: "tools/call", tool: "x", meta } as const;
    await context.with(trace.setSpan(context.active(), outer), () => telemetry.measure(around, async () => 1));
    const linked = spans().at(-1);
    expect(linked?.links.map((link) => link.context.spanId)).toEqual([outer.spanContext().spanId]);
    expect(linked?.parentSpanContext?.spanId).toBe(spanId);
  });

  it.each([
    ["nothing", undefined],
    ["no text", 17],
    ["no traceparent", "hello"],
    ["an id of zeros", `00-${"0".repeat(32)}-b7ad6b7169203331-01`],
    ["the version that is forbidden", "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"],
    ["capitals", "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01"],
    ["a megabyte", `00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01${"x".repeat(1_000_000)}`],
  ])("begin a trace of their own where a client sends %s", async (_, traceparent) => {
    const { telemetry, spans } = watched();
    const call = { kind: "call", method: "tools/call", tool: "x", meta: { traceparent } } as const;
    await telemetry.measure(call, async () => 1);
    expect(spans()[0]?.parentSpanContext).toBeUndefined();
  });

  it("of refused calls have the type of the error, and no text of it", async () => {
    const { telemetry, spans, points } = watched();
    const { engine } = makeBuilding({ telemetry });
    const { ask } = await connectInMemory(engine, { telemetry });
    const { session_id } = await ask({ action: "start", workflow_type: "building", target_file: "a.ts" });
    await ask({ action: "get_phase", session_id, phase: 2 });
    const call = spans().findLast(({ name }) => name.startsWith("tools/call"));
    expect(call).toMatchObject({ status: { code: SpanStatusCode.ERROR }, events: [] });
    expect(call?.attributes).toMatchObject({ "error.type": "tool_error", "phasegate.error.code": "PHASE_LOCKED" });
    const operation = spans().find(({ name }) => name === "phasegate getPhase");
    expect(operation?.attributes).toMatchObject({ "error.type": "PHASE_LOCKED", "phasegate.session.id": session_id });
    const failed = (await points("mcp.server.operation.duration"))?.filter(
      ({ attributes }) => attributes["error.type"],
    );
    expect(failed).toMatchObject([{ attributes: { "phasegate.error.code": "PHASE_LOCKED" }, count: 1 }]);
  });

  it("of a storage that throws a plain error have one code, in the answer and at each operation", async () => {
    const { telemetry, spans, points } = watched();
    const storage = new MemoryStorage();
    storage.read = () => Promise.reject(new TypeError(MARKER));
    const engine = createEngine({ storage, content: new MemoryContent({ workflows: [building] }), telemetry });
    const { ask } = await connectInMemory(engine, { telemetry });
    expect(await ask({ action: "get_phase", session_id: "building_a_20260304_050607" })).toMatchObject({
      code: "INTERNAL",
    });
    const types = spans().flatMap(({ name, attributes }) =>
      "error.type" in attributes ? [[name, attributes["phasegate.error.code"] ?? attributes["error.type"]]] : [],
    );
    expect(types).toEqual([
      ["storage read", "INTERNAL"],
      ["phasegate getPhase", "INTERNAL"],
      ["tools/call pos_workflow", "INTERNAL"],
    ]);
    for (const metric of ["phasegate.storage.duration", "phasegate.operation.duration"]) {
      expect(await points(metric)).toMatchObject([{ attributes: { "error.type": "INTERNAL" } }]);
    }
  });

  it("of calls that name no known action or session have none of the client's words", async () => {
    const { telemetry, spans, collect } = watched();
    const { engine } = makeBuilding({ telemetry });
    const { ask } = await connectInMemory(engine, { telemetry });
    await ask({ action: MARKER, session_id: `${MARKER} ${MARKER}` });
    await ask({ action: "get_phase", session_id: `${MARKER}/../..` });
    expect(JSON.stringify([spans().map(allOf), await collect()])).not.toContain(MARKER);
  });

  it("of work on many sessions have no session's id", async () => {
    const { telemetry, spans } = watched();
    const { engine } = makeBuilding({ telemetry });
    const request = { workflowType: "building", target: "a.ts" };
    await engine.start(request);
    await engine.start(request);
    await engine.listSessions();
    const list = spans().findLast(({ name }) => name === "phasegate listSessions");
    expect(list?.attributes).not.toHaveProperty("phasegate.session.id");
  });

  it("of routed workflows have the decider's with the model and its tokens", async () => {
    const { telemetry, spans, points } = watched();
    const usage = { model: "m-1", inputTokens: 12, outputTokens: 3 };
    const decider = new Script({ nextStep: "Sow", usage });
    const { engine } = routed(decider, { telemetry, workflows: GATED });
    const { ask, start } = await connectRouted(engine, { telemetry });
    const instance_id = await start();
    await ask("advance_workflow", { instance_id, report: { status: "success" } });
    await ask("advance_workflow", { instance_id, report: { status: "success", details: { depth: 3 } } });
    const last = spans().findLast(({ name }) => name === "tools/call advance_workflow");
    const names = tree(spans().filter((span) => span.spanContext().traceId === last?.spanContext().traceId));
    expect(names.filter((name) => !name.includes("storage"))).toEqual([
      "tools/call advance_workflow",
      "  phasegate advance",
      "    gate",
      "    decide",
    ]);
    expect(spans().findLast(({ name }) => name === "decide")?.attributes).toMatchObject({
      "gen_ai.response.model": "m-1",
      "gen_ai.usage.input_tokens": 12,
      "gen_ai.usage.output_tokens": 3,
      "phasegate.session.id": instance_id,
      "phasegate.phase": "Dig",
    });
    const place = { "phasegate.workflow": "GARDEN", "phasegate.phase": "Dig" };
    expect(await points("phasegate.gate.verdicts")).toMatchObject([
      { attributes: { ...place, "phasegate.verdict": "failed" }, value: 1 },
      { attributes: { ...place, "phasegate.verdict": "passed" }, value: 1 },
    ]);
    // The second attempt passed.
    expect(await points("phasegate.gate.attempts")).toMatchObject([{ attributes: place, value: 2, count: 1 }]);
    expect(await points("phasegate.decider.duration")).toMatchObject([{ count: 1 }]);
  });

  it("of a workspace and of a search are those of their tools and operations", async () => {
    const { telemetry, spans, points } = watched();
    const { workspace } = await makeWorkspace({ telemetry, storage: new MemoryStorage() });
    const server = new McpServer({ name: "host", version: "1.0.0" });
    registerWorkspaceTools(server, workspace, { telemetry });
    const search = {
      ...{ name: "search_standards", description: "Searches", inputSchema: z.object({ query: z.string() }) },
      handler: async () => ({ status: "error" as const, code: "INVALID_INPUT" }),
    };
    registerSearchTool(server, search as never, { telemetry });
    const client = new Client({ name: "agent", version: "1.0.0" });
    const [one, other] = InMemoryTransport.createLinkedPair();
    await Promise.all([server.connect(other), client.connect(one)]);
    await client.callTool({ name: "create_session", arguments: { workflow: "intake" } });
    await client.callTool({ name: "read_file", arguments: { path: "{bundle-root}/nothing.md" } });
    await client.callTool({ name: "search_standards", arguments: { query: MARKER } });
    await client.close();
    const names = spans().map(({ name }) => name);
    expect(names).toContain("tools/call create_session");
    expect(names).toContain("tools/call search_standards");
    expect(names.filter((name) => name.startsWith("phasegate ")).length).toBeGreaterThan(1);
    const commits = await points("phasegate.commits");
    expect(commits).toMatchObject([{ attributes: { "phasegate.engine": "recorded" } }]);
    const errors = (await points("mcp.server.operation.duration"))?.filter(
      ({ attributes }) => attributes["error.type"],
    );
    expect(
      errors?.map(({ attributes }) => [attributes["gen_ai.tool.name"], attributes["phasegate.error.code"]]),
    ).toEqual([
      ["read_file", "FILE_NOT_FOUND"],
      ["search_standards", "INVALID_INPUT"],
    ]);
  });
});

describe("evidence", () => {
  const submission = { tests_pass: MARKER, [`key ${MARKER}`]: true, log: { [`deep ${MARKER}`]: MARKER } };

  it.each([
    [false, undefined],
    [true, expect.stringContaining(MARKER)],
  ])("is exported if that is %s, and nowhere but at the gate", async (evidence, shown) => {
    const { telemetry, spans, collect } = watched({ evidence });
    const { engine } = makeBuilding({ telemetry });
    const { ask } = await connectInMemory(engine, { telemetry });
    const { session_id } = await ask({ action: "start", workflow_type: "building", target_file: "a.ts" });
    const phase = { action: "complete_phase", session_id, phase: 1 };
    const refused = await ask({ ...phase, evidence: submission });
    expect(JSON.stringify(refused)).toContain(MARKER);
    await ask({ ...phase, evidence: { tests_pass: true, log: { [MARKER]: 1 } } });
    const gates = spans().filter(({ name }) => name === "gate");
    expect(gates.map(({ attributes }) => attributes["phasegate.evidence"])).toEqual([shown, shown]);
    const others = spans().filter(({ name }) => name !== "gate");
    expect(JSON.stringify([others.map(allOf), await collect()])).not.toContain(MARKER);
    const bare = gates.map(({ attributes: { "phasegate.evidence": _, ...rest } }) => rest);
    expect(JSON.stringify(bare)).not.toContain(MARKER);
  });

  it("is cut where it is long", async () => {
    const { telemetry, spans } = watched({ evidence: true });
    const { engine } = makeBuilding({ telemetry });
    const { sessionId } = await engine.start({ workflowType: "building", target: "a.ts" });
    const log = Object.fromEntries(Array.from({ length: 2000 }, (_, index) => [`line ${index}`, index]));
    await engine.session(sessionId).completePhase(1, { tests_pass: true, log });
    expect(spans().find(({ name }) => name === "gate")?.attributes["phasegate.evidence"]).toHaveLength(4096);
  });
});

describe("metrics", () => {
  it("count verdicts, problems by field, attempts, time in phases, commits and active sessions", async () => {
    const { telemetry, points } = watched();
    const clock = { now: () => Date.UTC(2026, 0, 1) };
    const { engine, storage } = makeBuilding({ telemetry, clock });
    const { sessionId } = await engine.start({ workflowType: "building", target: "a.ts" });
    await engine.session(sessionId).completePhase(1, { tests_pass: false, log: {} });
    clock.now = () => Date.UTC(2026, 0, 1, 0, 2);
    await engine.session(sessionId).completePhase(1, { tests_pass: true, log: {} });
    const place = { "phasegate.workflow": "building", "phasegate.phase": "1" };
    expect(await points("phasegate.gate.verdicts")).toEqual([
      { attributes: { ...place, "phasegate.verdict": "failed" }, value: 1, count: 1 },
      { attributes: { ...place, "phasegate.verdict": "passed" }, value: 1, count: 1 },
    ]);
    expect(await points("phasegate.gate.problems")).toMatchObject([
      { attributes: { ...place, "phasegate.field": "tests_pass" }, value: 1 },
    ]);
    expect(await points("phasegate.gate.attempts")).toEqual([{ attributes: place, value: 2, count: 1 }]);
    expect(await points("phasegate.phase.duration")).toEqual([
      { attributes: { ...place, "phasegate.outcome": "passed" }, value: 120, count: 1 },
    ]);
    expect(await points("phasegate.commits")).toMatchObject([
      { attributes: { "phasegate.engine": "phased" }, value: 3 },
    ]);
    expect(await points("phasegate.sessions.active")).toMatchObject([{ attributes: {}, value: 1 }]);
    await engine.session(sessionId).completePhase(2, {});
    expect(await points("phasegate.sessions.active")).toMatchObject([{ value: 0 }]);
    await engine.close();
    const countActive = vi.spyOn(storage, "countActive");
    await points("phasegate.sessions.active");
    expect(countActive).not.toHaveBeenCalled();
  });

  it("name no key of an agent's evidence", async () => {
    const { telemetry, points } = watched();
    const workflow = defineWorkflow({
      ...{ type: "counts", revision: "1", name: "Counts", description: "Counts of anything" },
      phases: [{ number: 1, name: "Count", content: "# Count", gate: { evidence: z.record(z.string(), z.number()) } }],
    });
    const content = new MemoryContent({ workflows: [workflow] });
    const engine = createEngine({ storage: new MemoryStorage(), content, telemetry });
    const { sessionId } = await engine.start({ workflowType: "counts", target: "a.ts" });
    await engine.session(sessionId).completePhase(1, { "my password": "secret" });
    expect(await points("phasegate.gate.problems")).toMatchObject([{ attributes: { "phasegate.field": "_OTHER" } }]);
  });

  it("measure a person's answer from the question on, also if another process has asked it", async () => {
    const storage = new MemoryStorage();
    const clock = { now: () => Date.UTC(2026, 0, 1) };
    const asking = await makeAsking({ storage, clock });
    const { sessionId } = await asking.waiting();
    const { telemetry, points, spans } = watched();
    clock.now = () => Date.UTC(2026, 0, 1, 3);
    const { approvers } = asking;
    const content = new MemoryContent({ sources: { asking: askingFiles } });
    const other = createEngine({ storage, content, clock, approvers, telemetry });
    await other.session(sessionId).approve(await asking.signed(sessionId));
    await vi.waitFor(async () =>
      expect(await points("phasegate.wait.duration")).toEqual([
        {
          attributes: {
            "phasegate.workflow": "asking",
            "phasegate.phase": "1",
            "phasegate.question": "approval",
            "phasegate.answer": "granted",
          },
          value: 3 * 3600,
          count: 1,
        },
      ]),
    );
    expect(await points("phasegate.phase.duration")).toMatchObject([{ value: 3 * 3600 }]);
    expect(spans().map(({ name }) => name)).toContain("phasegate approve");
  });

  it("count conflicts", async () => {
    const { telemetry, points } = watched();
    const { engine, storage } = makeBuilding({ telemetry });
    const { engine: other } = makeBuilding({ storage });
    const { sessionId } = await engine.start({ workflowType: "building", target: "a.ts" });
    await Promise.all(
      [1, 2, 3, 4].flatMap(() => [
        engine
          .session(sessionId)
          .pause()
          .catch(() => {}),
        other
          .session(sessionId)
          .pause()
          .catch(() => {}),
      ]),
    );
    const conflicts = await points("phasegate.conflicts");
    const appends = (await points("phasegate.storage.duration"))?.find(
      ({ attributes }) => attributes["error.type"] === "CONFLICT",
    );
    expect(conflicts?.[0]?.value).toBeGreaterThan(0);
    expect(appends?.count).toBe(conflicts?.[0]?.value);
  });

  it("have a limited number of values for each label", async () => {
    const { telemetry, points } = watched();
    for (let index = 0; index < 500; index += 1) {
      const gate = {
        kind: "gate",
        sessionId: "s",
        workflowType: "w",
        phase: `step ${index}`,
        attempt: 1,
        evidence: {},
      };
      await telemetry.measure(
        { ...gate, kind: "gate" },
        async () => 1,
        () => ({ problems: [] }),
      );
    }
    const verdicts = await points("phasegate.gate.verdicts");
    expect(verdicts).toHaveLength(201);
    expect(verdicts?.find(({ attributes }) => attributes["phasegate.phase"] === "_OTHER")?.value).toBe(300);
  });

  it("have the storage's streams without the time of their reader", async () => {
    const { telemetry, points, spans } = watched();
    const { engine, storage } = makeBuilding({ telemetry });
    const { sessionId } = await engine.start({ workflowType: "building", target: "a.ts" });
    const measured = telemetry.storage(storage);
    for await (const _ of measured.log(sessionId)) {
      const end = performance.now() + 60;
      while (performance.now() < end);
      break;
    }
    const [log] =
      (await points("phasegate.storage.duration"))?.filter(
        ({ attributes }) => attributes["phasegate.storage.operation"] === "log",
      ) ?? [];
    expect(log).toMatchObject({ count: 1 });
    expect(log?.value).toBeLessThan(0.05);
    expect(spans().at(-1)).toMatchObject({ name: "storage log", attributes: { "phasegate.session.id": sessionId } });
    const target = new MemoryStorage();
    expect(await copySessions(measured, telemetry.storage(target))).toMatchObject({ sessions: 1, refused: [] });
  });
});

describe("a fault of what watches", () => {
  const broken = () => {
    throw new Error("the exporter is broken");
  };

  it("never reaches a call", async () => {
    const span = new Proxy({}, { get: () => broken });
    const instrument = new Proxy({}, { get: () => broken });
    const makers: readonly [string, Parameters<typeof createTelemetry>[0]][] = [
      ["tracer", { tracerProvider: { getTracer: () => ({ startSpan: broken, startActiveSpan: broken }) } }],
      ["span", { tracerProvider: { getTracer: () => ({ startSpan: () => span, startActiveSpan: broken }) as never } }],
      [
        "instruments",
        {
          meterProvider: {
            getMeter: () =>
              ({
                createCounter: () => instrument,
                createHistogram: () => instrument,
                createObservableGauge: () => ({ addCallback: () => {} }),
              }) as never,
          },
        },
      ],
    ];
    for (const [name, options] of makers) {
      const { engine } = makeBuilding({ telemetry: createTelemetry(options) });
      const { sessionId } = await engine.start({ workflowType: "building", target: name });
      const passed = await engine.session(sessionId).completePhase(1, { tests_pass: true, log: {} });
      expect(passed, name).toMatchObject({ passed: true });
      const refused = await engine
        .session(sessionId)
        .phase(9)
        .catch((error: unknown) => error);
      expect(isPhasegateError(refused, "PHASE_OUT_OF_RANGE"), name).toBe(true);
    }
  });

  it("such as a storage that can't be counted leaves out that metric alone", async () => {
    const { telemetry, collect } = watched();
    const { engine, storage } = makeBuilding({ telemetry });
    await engine.start({ workflowType: "building", target: "a.ts" });
    storage.countActive = async () => broken();
    const { metrics, errors } = await collect();
    const names = metrics.map(({ descriptor }) => descriptor.name);
    expect(names).toContain("phasegate.commits");
    expect(names).not.toContain("phasegate.sessions.active");
    expect(errors.map(String)).toEqual([expect.stringContaining("the exporter is broken")]);
  });
});

describe("what is measured", () => {
  it("is there without an SDK, and does what it did", async () => {
    const { engine } = makeBuilding({ telemetry: createTelemetry() });
    const { sessionId } = await engine.start({ workflowType: "building", target: "a.ts" });
    expect(await engine.session(sessionId).state()).toMatchObject({ sessionId });
  });

  it("keeps all members of a frozen storage and of a verifier of a class", async () => {
    const { telemetry } = watched();
    const original = new MemoryStorage();
    const frozen = Object.freeze({
      capabilities: original.capabilities,
      read: original.read.bind(original),
    });
    const storage = telemetry.storage(frozen as never);
    expect(storage.capabilities).toBe(original.capabilities);
    expect(await storage.read("nobody" as never)).toBeUndefined();
    expect(storage.watch).toBeUndefined();
    expect("read" in storage).toBe(true);
    // The same storage under two engines is measured and counted once.
    expect(telemetry.storage(frozen as never)).toBe(storage);
    expect(telemetry.storage(storage)).toBe(storage);
    class Private {
      readonly #answer = { ok: true, message: "fine" };
      readonly verbatim = ["pattern"];
      check() {
        if (!this.#answer.ok) throw new Error();
      }
      async verify() {
        return this.#answer;
      }
    }
    const { one } = telemetry.verifiers({ one: new Private() });
    expect(one?.verbatim).toEqual(["pattern"]);
    expect(one?.snapshot).toBeUndefined();
    one?.check?.({});
    const session = { id: "s", workflowType: "w", target: "", phase: 1 };
    const { signal } = new AbortController();
    expect(await one?.verify({ params: {}, evidence: {}, session }, { signal })).toEqual({ ok: true, message: "fine" });
  });
});

/** All that a span exports. */
function allOf({
  name,
  attributes,
  events,
  links,
  status,
  resource,
}: ReturnType<ReturnType<typeof watched>["spans"]>[number]) {
  return { name, attributes, events, links, status, resource: resource.attributes };
}
