import {
  type AgentTool,
  type Progress,
  routedTools,
  searchTools,
  workflowTools,
  workspaceTools,
} from "phasegate/agents";
import { createSearchTool } from "phasegate/rag";
import { describe, expect, it } from "vitest";
import { routed, Script } from "../routed/engine/garden.js";
import { makeAsking } from "../support/approvals.js";
import { endless } from "../support/endless.js";
import { makeEngine } from "../support/make-engine.js";
import { startVerified } from "../support/verified.js";
import { built } from "../support/workflows.js";
import { makeWorkspace } from "../workspace/make-workspace.js";

/** Returns a function that calls one of several tools. */
const calling = (tools: readonly AgentTool[]) => async (name: string, input: unknown, signal?: AbortSignal) => {
  const tool = tools.find((one) => one.name === name);
  if (tool === undefined) throw new Error(`there is no tool ${name}`);
  return tool.call(input, { signal });
};

describe("the tool of phased workflows", () => {
  it("takes a session to its end, and refuses what is ahead", async () => {
    const call = calling(workflowTools(makeEngine().engine));
    const ask = async (input: object) => call("pos_workflow", input);
    const started = await ask({ action: "start", workflow_type: "two_phases", target_file: "src/a.ts" });
    expect(started.isError).toBe(false);
    const { session_id } = started.body;
    const ahead = await ask({ action: "complete_phase", session_id, phase: 2, evidence: {} });
    expect(ahead).toMatchObject({ isError: true, body: { code: "PHASE_LOCKED" } });
    const first = await ask({ action: "complete_phase", session_id, phase: 1, evidence: built });
    expect(first).toMatchObject({ isError: false, body: { checkpoint_passed: true } });
    const last = await ask({ action: "complete_phase", session_id, phase: 2, evidence: {} });
    expect(last).toMatchObject({ isError: false, body: { workflow_complete: true } });
  });

  it("is the actor's, whose sessions others do not see", async () => {
    const { engine } = makeEngine();
    const ann = calling(workflowTools(engine, { actor: { name: "ann" } }));
    const bob = calling(workflowTools(engine.as({ name: "bob" })));
    const { body } = await ann("pos_workflow", { action: "start", workflow_type: "two_phases", target_file: "a" });
    const { session_id } = body;
    expect((await bob("pos_workflow", { action: "get_state", session_id })).body.code).toBe("SESSION_NOT_FOUND");
    expect((await ann("pos_workflow", { action: "get_state", session_id })).isError).toBe(false);
  });

  it("ends the checks of a call that is aborted; nothing is written", async () => {
    const cancel = new AbortController();
    const { seen, verify } = endless(() => cancel.abort());
    const gate = "evidence_schema:\n  url: {type: string, verify: slow}\n";
    const { engine, sessionId } = await startVerified([gate], { verifiers: { slow: { verify } } });
    const call = calling(workflowTools(engine));
    const submit = { action: "complete_phase", session_id: sessionId, phase: 1, evidence: { url: "u" } };
    const answer = await call("pos_workflow", submit, cancel.signal);
    expect(answer).toMatchObject({ isError: true, body: { code: "CANCELLED" } });
    expect(seen).toEqual({ begun: 1, stopped: 1 });
    // A framework may go on after it was aborted.
    expect((await call("pos_workflow", submit, cancel.signal)).body).toMatchObject({ code: "CANCELLED" });
    expect(await engine.session(sessionId).state()).toMatchObject({ version: 1 });
  });

  it("tells the host of the progress of checks", async () => {
    const told: Progress[] = [];
    const gate = "evidence_schema:\n  url: {type: string, verify: quick}\n";
    const verifiers = { quick: { verify: async () => ({ ok: true, message: "fine" }) } };
    const { engine, sessionId } = await startVerified([gate], { verifiers });
    const call = calling(workflowTools(engine, { onProgress: (progress) => told.push(progress) }));
    await call("pos_workflow", { action: "complete_phase", session_id: sessionId, phase: 1, evidence: { url: "u" } });
    expect(told).toEqual([
      { progress: expect.closeTo(0), total: 1, message: '"quick" on "url" runs' },
      {
        progress: 1,
        total: 1,
        message: expect.stringMatching(/^"quick" on "url" passed after .+: 1 of 1 checks have ended$/),
      },
    ]);
  });

  it("tells a call that waits for checks how long they have run, and never of less than the call before", async () => {
    const told: Progress[][] = [];
    let now = 1000;
    const clock = { now: () => Date.UTC(2026, 2, 4), elapsed: () => now };
    let end = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const slow = { verify: () => ended.then(() => ({ ok: true, message: "fine" })) };
    const quick = { verify: async () => ({ ok: true, message: "fine" }) };
    const { engine, sessionId } = await startVerified(["verify: [quick, slow]\n"], {
      clock,
      verifiers: { slow, quick },
    });
    const onProgress = (progress: Progress) => {
      told.at(-1)?.push(progress);
      if (progress.message.includes("run for 60.0 s")) end();
    };
    const call = calling(workflowTools(engine, { onProgress, answerWithinMs: 20 }));
    const answerTo = (input: unknown) => {
      told.push([]);
      return call("pos_workflow", input);
    };
    const submit = { action: "complete_phase", session_id: sessionId, phase: 1, evidence: { done: true } };
    const { body } = await answerTo(submit);
    now += 50_000;
    await answerTo(body.next);
    now += 10_000;
    expect(await answerTo(body.next)).toMatchObject({ isError: false, body: { checkpoint_passed: true } });
    expect(told.slice(1).map((of) => of.map(({ message }) => message))).toEqual([
      ['"slow" has run for 50.0 s: 1 of 2 checks have ended'],
      ['"slow" has run for 60.0 s: 1 of 2 checks have ended', '"slow" passed after 60.0 s: 2 of 2 checks have ended'],
    ]);
    const steps = told.flat().map(({ progress }) => progress);
    expect([...new Set(steps)].sort((one, other) => one - other)).toEqual(steps);
    expect(steps.at(-1)).toBe(2);
  });

  it("says which option is wrong", () => {
    const { engine } = makeEngine();
    // @ts-expect-error there is no such option
    expect(() => workflowTools(engine, { onprogress: () => {} })).toThrow('workflowTools has no option "onprogress"');
    // @ts-expect-error no engine
    expect(() => workflowTools({})).toThrow("engine must be an engine, as createEngine() returns it");
  });
});

describe("the tools of routed workflows", () => {
  it("take an instance to its end, and tell the host that the decider is asked", async () => {
    const told: string[] = [];
    const { engine } = routed(new Script("Sow", "FINISH"));
    const call = calling(routedTools(engine, { onProgress: ({ message }) => told.push(message) }));
    const { body } = await call("start_workflow", { workflow_name: "GARDEN" });
    const { instance_id } = body;
    const wrong = await call("advance_workflow", { instance_id });
    expect(wrong).toMatchObject({ isError: true, body: { error_code: "MISSING_FIELD" } });
    const report = { status: "success" };
    const sow = await call("advance_workflow", { instance_id, report });
    expect(sow).toMatchObject({ isError: false, body: { next_step: { step_name: "Sow" } } });
    const end = await call("advance_workflow", { instance_id, report });
    expect(end).toMatchObject({ isError: false, body: { status: "COMPLETED" } });
    expect(told).toEqual(["the decider is asked for the next step", "the decider is asked for the next step"]);
  });

  it("can be one", () => {
    const names = routedTools(routed(new Script()).engine, { tools: "single" }).map(({ name }) => name);
    expect(names).toEqual(["routed_workflow"]);
    // @ts-expect-error an engine of phased workflows
    expect(() => routedTools(makeEngine().storage)).toThrow("engine must be an engine, as createRoutedEngine()");
  });
});

it("the tools of a workspace work on one connection, and say what is wrong", async () => {
  const { workspace } = await makeWorkspace();
  const call = calling(workspaceTools(workspace.connect()));
  const { body } = await call("create_session", {});
  expect((await call("save_output", { path: `${body.session_id}/a.md`, content: "a" })).isError).toBe(false);
  expect(await call("save_output", { path: "a.md" })).toMatchObject({
    isError: true,
    body: { success: false, remedy: "It takes path, content." },
  });
});

it("a search tool publishes its schema, and answers", async () => {
  const tools = searchTools(createSearchTool({ search: async () => [] }));
  expect(tools).toMatchObject([{ name: "search_standards", inputSchema: { required: ["query"] } }]);
  expect(await calling(tools)("search_standards", { query: "naming" })).toMatchObject({ isError: false });
  expect(await calling(tools)("search_standards", {})).toMatchObject({
    isError: true,
    body: { code: "INVALID_INPUT" },
  });
});

describe("a person who is present", () => {
  it("is asked during the call, and the answer counts if the host allows unsigned ones", async () => {
    const { engine, waiting, signed } = await makeAsking({ allowUnsignedApprovals: true });
    const { sessionId: session_id } = await waiting();
    await engine.session(session_id).approve(await signed(session_id));
    const asked: string[] = [];
    const tools = workflowTools(engine, {
      async askPerson({ sessionId, prompt }) {
        asked.push(`${sessionId}: ${prompt}`);
        return { decision: "approve", by: "cat" };
      },
    });
    const evidence = { tests_pass: true };
    const { body } = await calling(tools)("pos_workflow", { action: "complete_phase", session_id, phase: 2, evidence });
    expect(body).toMatchObject({ checkpoint_passed: true });
    expect(asked).toEqual([`${session_id}: Is the plan good enough to build?`]);
  });
});
