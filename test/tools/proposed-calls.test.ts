import { type Action, createEngine, defineWorkflow, MemoryContent, MemoryStorage, type PhaseInput } from "phasegate";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { isPlaceholder } from "../../src/gate/evidence.js";
import { workflowTool } from "../support/fits-schema.js";

type Answer = Record<string, unknown>;

/** The tool on a workflow of one phase with this gate and these tasks. */
async function begin(gate: PhaseInput["gate"], more: Partial<PhaseInput> = {}, actions?: readonly Action[]) {
  const phase = { number: 1, name: "One", content: "Do it.", ...(gate === undefined ? {} : { gate }), ...more };
  const workflow = defineWorkflow({
    ...{ type: "w", revision: "1", name: "W", description: "Works", phases: [phase] },
    documents: { "core/a.md": "Of the first task.", "core/b.md": "Of the phase.", "phases/1/c.md": "Of nobody." },
  });
  const content = new MemoryContent({ workflows: [workflow] });
  const engine = createEngine({ storage: new MemoryStorage(), content });
  const tool = workflowTool(engine, actions === undefined ? {} : { actions });
  const call = async (input: unknown): Promise<Answer> => await tool.dispatch(input);
  const { sessionId: session_id } = await engine.start({ workflowType: "w", target: "a" });
  return { engine, call, session_id };
}

const text = { type: "string" } as const;

describe("a proposed call that is copied unchanged", () => {
  it.each<[string, PhaseInput["gate"]]>([
    ["of texts", { fields: { report: text } }],
    ["of anything", { fields: { report: {} } }],
    ["that shows names alone", { fields: { report: text }, reveal: "names" }],
    ["that hides everything", { fields: { report: text }, reveal: "none" }],
    ["of a schema", { evidence: z.object({ report: z.string() }) }],
    ["of a schema that requires nothing", { evidence: z.looseObject({}) }],
    ["that takes any evidence", undefined],
    ["with a rule", { fields: { report: { ...text, validator: "min_length_10", description: "what was found" } } }],
  ])("passes no gate %s, and counts as no attempt", async (_, gate) => {
    const { call, session_id } = await begin(gate);
    const { next } = await call({ action: "get_phase", session_id });
    expect(next).toMatchObject({ action: "complete_phase" });
    const copied = await call(next);
    expect(copied).toMatchObject({ status: "error", code: "EVIDENCE_UNSAFE" });
    expect(copied.error).toMatch(/it is a placeholder of a proposed call, not a value/);
    expect(copied.remediation).toMatch(/^Do the work first/);
    const refused = await call({ action: "complete_phase", session_id, phase: 1, evidence: { report: "" } });
    if (refused.status === "error") expect(await call(refused.next)).toMatchObject({ code: "EVIDENCE_UNSAFE" });
    const state = await call({ action: "get_state", session_id });
    expect(state.attempts).toBe(refused.status === "error" ? 1 : 0);
  });

  it("starts no session, asks for no waiver and notes no task", async () => {
    const { call, session_id } = await begin({ fields: { report: text } }, { tasks: [{ name: "t", content: "T" }] });
    const { next: start } = await call({ action: "list_workflows" });
    expect(await call(start)).toMatchObject({ status: "error", code: "INVALID_INPUT" });
    const refused = await call({ action: "complete_phase", session_id, phase: 1, evidence: {} });
    expect(await call(refused.if_impossible)).toMatchObject({
      code: "INVALID_INPUT",
      error: expect.stringContaining("'reason'"),
    });
    const task = await call({ action: "get_task", session_id, phase: 1, task_number: 1 });
    expect(await call(task.next)).toMatchObject({
      code: "INVALID_INPUT",
      error: expect.stringContaining("'note' is the placeholder"),
    });
    expect(await call({ action: "get_state", session_id, brief: true })).toMatchObject({ tasks_done: "none" });
  });

  it.each(["<html>", "<a href='x'>see</a>", "<ada@example.org>", "a <string>", "<strings>", "<Button/>", "<>"])(
    "is not what %j looks like",
    async (value) => {
      const { call, session_id } = await begin({ fields: { report: text } });
      const answer = await call({ action: "complete_phase", session_id, phase: 1, evidence: { report: value } });
      expect(answer).toMatchObject({ checkpoint_passed: true });
      expect(isPlaceholder(value)).toBe(false);
    },
  );
});

const TASKS = [
  { name: "read", content: "See `core/a.md` first." },
  { name: "write", content: "Write it." },
];

describe("what comes next", () => {
  it("after a task is to note it as done; then comes the next one, and the gate", async () => {
    const { call, session_id } = await begin({ fields: { report: text } }, { tasks: TASKS });
    const first = await call({ action: "get_task", session_id, phase: 1, task_number: 1 });
    const done = { action: "complete_task", session_id, phase: 1, task_number: 1 };
    expect(first.next).toEqual({ ...done, note: expect.stringMatching(/^<once it is done: .*>$/) });
    expect(await call(done)).toMatchObject({ next: { action: "get_task", task_number: 2 } });
    // Read again, it is done already.
    const again = await call({ action: "get_task", session_id, phase: 1, task_number: 1 });
    expect(again.next).toMatchObject({ action: "get_task", task_number: 2 });
    expect(await call({ ...done, task_number: 2, note: "ready" })).toMatchObject({
      next: { action: "complete_phase" },
    });
  });

  it("after a task is the next one, where agents can't note tasks", async () => {
    const actions = ["get_task", "get_document", "complete_phase"] as const;
    const { call, session_id } = await begin({ fields: { report: text } }, { tasks: TASKS }, actions);
    const first = await call({ action: "get_task", session_id, phase: 1, task_number: 1 });
    expect(first.next).toMatchObject({ action: "get_task", task_number: 2 });
    expect(await call({ action: "get_document", session_id, path: "core/a.md" })).toMatchObject({
      next: { action: "get_task", task_number: 2 },
    });
  });

  it("after a document is what its text leads to: a task that is done, a task to read, or the gate", async () => {
    const { call, session_id } = await begin(
      { fields: { report: text } },
      { tasks: TASKS, content: "See `core/b.md`." },
    );
    const following = async (path: string) => (await call({ action: "get_document", session_id, path })).next;
    expect(await following("core/a.md")).toMatchObject({ action: "complete_task", task_number: 1 });
    expect(await following("core/b.md")).toEqual({ action: "get_task", session_id, phase: 1, task_number: 1 });
    expect(await following("phases/1/c.md")).toMatchObject({ action: "get_task", task_number: 1 });
    await call({ action: "complete_task", session_id, phase: 1, task_number: 1 });
    expect(await following("core/a.md")).toMatchObject({ action: "get_task", task_number: 2 });
    await call({ action: "complete_task", session_id, phase: 1, task_number: 2 });
    expect(await following("core/a.md")).toMatchObject({ action: "complete_phase", evidence: { report: "<string>" } });
    await call({ action: "pause", session_id });
    expect(await following("core/a.md")).toMatchObject({ action: "resume" });
  });
});
