import type { McpServer } from "@modelcontextprotocol/server";
import { defineWorkflow, type Engine, type EngineOptions, MemoryStorage } from "phasegate";
import { registerWorkflowTool } from "phasegate/mcp";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { endless } from "../support/endless.js";
import { makeEngine } from "../support/make-engine.js";
import { built, twoPhases } from "../support/workflows.js";
import { readResource } from "./connect-in-memory.js";
import { connectTo, GENERATIONS, serveMcp, until } from "./http-server.js";

const START = { action: "start", workflow_type: "two_phases", target_file: "src/a.ts" };

/** A workflow whose gate runs two verifiers. */
const checked = defineWorkflow({
  ...{ type: "checked", revision: "1", name: "Checked", description: "Two checks" },
  phases: [
    {
      ...{ number: 1, name: "One", content: "# One" },
      gate: {
        evidence: z.object({ summary: z.string() }),
        verify: [{ verifier: "quick", field: "summary" }, { verifier: "slow" }],
      },
    },
  ],
});

const quick = { verify: async () => ({ ok: true, message: "fine" }) };

/** Serves an engine to everybody as the same operator. */
function serveEngine(engine: Engine) {
  return serveMcp({ register: (server) => registerWorkflowTool(server, engine) });
}

async function serveChecked(slow: NonNullable<EngineOptions["verifiers"]>[string]) {
  const { engine } = makeEngine({ verifiers: { quick, slow } }, [checked]);
  const { sessionId } = await engine.start({ workflowType: "checked", target: "a" });
  const complete = { action: "complete_phase", session_id: sessionId, phase: 1, evidence: { summary: "done" } };
  return { engine, sessionId, complete, ...(await serveEngine(engine)) };
}

it("a call without a connection ends when its client goes away", async () => {
  const { seen, verify } = endless();
  const { engine, sessionId, url, complete } = await serveChecked({ verify });
  const gone = new AbortController();
  const message = { method: "tools/call", params: { name: "pos_workflow", arguments: complete } };
  const call = fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, ...message }),
    signal: gone.signal,
  }).then((response) => response.text());
  await until(() => seen.begun === 1);
  gone.abort();
  await expect(call).rejects.toThrow();
  await until(() => seen.stopped === 1);
  expect(await engine.session(sessionId).commits()).toHaveLength(1);
});

describe.each(GENERATIONS)("a client of protocol %s over HTTP", (generation) => {
  it("works through a whole session", async () => {
    const { engine } = makeEngine();
    const { url, calls, errors } = await serveEngine(engine);
    const { client, ask } = await connectTo(url, generation);
    expect(client.getNegotiatedProtocolVersion()?.slice(0, 4)).toBe(generation);
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["pos_workflow"]);
    const { session_id } = await ask(START);
    expect(await ask({ action: "complete_phase", session_id, phase: 1, evidence: { summary: "x" } })).toMatchObject({
      checkpoint_passed: false,
    });
    await ask({ action: "complete_phase", session_id, phase: 1, evidence: built });
    const last = await ask({ action: "complete_phase", session_id, phase: 2, evidence: {} });
    expect(last).toMatchObject({ workflow_complete: true });
    expect(await readResource(client, `phasegate://session/${session_id}`)).toMatchObject({ status: "completed" });
    expect(errors).toEqual([]);
    expect(calls).toContainEqual(
      expect.objectContaining({
        ...{ actor: "local", method: "tools/call", tool: "pos_workflow", action: "complete_phase" },
        ...{ sessionId: session_id, status: 200 },
      }),
    );
  });

  it("gets the instructions that the host has given with the options of the SDK", async () => {
    const { engine } = makeEngine();
    const register = (server: McpServer) => registerWorkflowTool(server, engine);
    const { url } = await serveMcp({ register, serverOptions: { instructions: "Begin with list_workflows." } });
    const { client } = await connectTo(url, generation);
    expect(client.getInstructions()).toBe("Begin with list_workflows.");
  });

  it("sees the progress of a gate's checks, each more than the one before", async () => {
    const { url, complete } = await serveChecked(quick);
    const { call } = await connectTo(url, generation);
    const seen: { progress: number; total?: number | undefined; message?: string | undefined }[] = [];
    await call(complete, { onprogress: (progress) => void seen.push(progress) });
    expect(seen).toHaveLength(4);
    expect(seen.at(-1)).toMatchObject({ progress: 2, total: 2 });
    const steps = seen.map(({ progress }) => progress);
    expect([...new Set(steps)].sort((one, other) => one - other)).toEqual(steps);
    expect(seen.map(({ message }) => message).join("\n")).toMatch(/"?quick"? on "?summary"? passed after \d+\.\d s/);
  });

  it("ends a call's verifiers when it cancels it; the log has nothing of it", async () => {
    const { seen, verify } = endless();
    const { engine, sessionId, url, complete } = await serveChecked({ verify });
    const { call } = await connectTo(url, generation);
    const cancel = new AbortController();
    const cancelled = call(complete, { signal: cancel.signal }).catch((error: unknown) => error);
    await until(() => seen.begun === 1);
    cancel.abort();
    expect(await cancelled).toBeInstanceOf(Error);
    await until(() => seen.stopped === 1);
    expect(await engine.session(sessionId).commits()).toHaveLength(1);
    expect(await engine.session(sessionId).audit()).toMatchObject({ intact: true, versions: 1 });
  });

  it("is told of commits by any process to the sessions that it has subscribed to, and of no others", async () => {
    const storage = new MemoryStorage();
    const { engine } = makeEngine({ storage });
    const { engine: other } = makeEngine({ storage });
    const one = await engine.start({ workflowType: "two_phases", target: "a" });
    const two = await engine.start({ workflowType: "two_phases", target: "b" });
    const { url } = await serveEngine(engine);
    const updated: string[] = [];
    const { client } = await connectTo(url, generation, {
      prepare: (made) =>
        made.setNotificationHandler("notifications/resources/updated", ({ params }) => void updated.push(params.uri)),
    });
    const uri = `phasegate://session/${one.sessionId}`;
    if (generation === "2025") await client.subscribeResource({ uri });
    else await client.listen({ resourceSubscriptions: [uri] });
    await other.session(two.sessionId).completePhase(1, built);
    await other.session(one.sessionId).completePhase(1, built);
    await until(() => updated.length > 0);
    expect(updated).toEqual([uri]);
  });

  it("gets completions for workflows and sessions", async () => {
    const { engine } = makeEngine({}, [twoPhases, checked]);
    const { sessionId } = await engine.start({ workflowType: "two_phases", target: "a" });
    const { url } = await serveEngine(engine);
    const { client } = await connectTo(url, generation);
    const complete = async (uri: string, name: string, value: string) =>
      (await client.complete({ ref: { type: "ref/resource", uri }, argument: { name, value } })).completion.values;
    expect(await complete("phasegate://workflow/{type}", "type", "ch")).toEqual(["checked"]);
    expect(await complete("phasegate://session/{id}", "id", sessionId.slice(0, 5))).toEqual([sessionId]);
    expect(await complete("phasegate://session/{id}", "id", "nothing")).toEqual([]);
  });

  it("gets warnings about its session as log messages, at the level that it wishes", async () => {
    const { engine } = makeEngine();
    const { url } = await serveEngine(engine);
    const logged: unknown[] = [];
    const { ask } = await connectTo(url, generation, {
      prepare: (made) => made.setNotificationHandler("notifications/message", ({ params }) => void logged.push(params)),
    });
    const { session_id } = await ask(START);
    await ask({ action: "complete_phase", session_id, phase: 2, evidence: {} });
    const warning = { level: "warning", logger: "phasegate", data: { session_id, message: expect.any(String) } };
    // Of protocol 2026-07-28, a request says which messages its client wants; this one wants none.
    expect(logged).toEqual(generation === "2025" ? [expect.objectContaining(warning)] : []);
  });
});
