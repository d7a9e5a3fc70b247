import {
  createEngine,
  defineWorkflow,
  MemoryContent,
  MemoryStorage,
  type PhaseInput,
  type WorkflowToolOptions,
} from "phasegate";
import { describe, expect, it, vi } from "vitest";
import * as z from "zod";
import { isPlaceholder } from "../../src/gate/evidence.js";
import { workflowTool } from "../support/fits-schema.js";

type Answer = Record<string, unknown>;

/** The tool on a workflow of one phase with this gate and these tasks. */
async function begin(
  gate: PhaseInput["gate"],
  more: Partial<PhaseInput> = {},
  actions?: WorkflowToolOptions["actions"],
) {
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
      next: refused.if_impossible,
    });
    const task = await call({ action: "get_task", session_id, phase: 1, task_number: 1 });
    expect(await call(task.next)).toMatchObject({
      code: "INVALID_INPUT",
      error: expect.stringContaining("'note' is the placeholder"),
      next: task.next,
    });
    const givenUp = { ...Object(task.next), outcome: "given_up" };
    expect(await call(givenUp)).toMatchObject({ code: "INVALID_INPUT", next: givenUp });
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
    expect(first.next).toEqual({
      ...done,
      note: expect.stringMatching(/^<once it is done, .*outcome given_up, and why>$/),
    });
    expect(await call(done)).toMatchObject({
      task: { task_number: 2, title: "write", content: "Write it." },
      next: { ...done, task_number: 2, note: expect.any(String) },
    });
    // Read again, it is done already.
    const again = await call({ action: "get_task", session_id, phase: 1, task_number: 1 });
    expect(again.next).toMatchObject({ action: "get_task", task_number: 2 });
    expect(await call({ ...done, task_number: 2, note: "ready" })).toMatchObject({
      next: { action: "complete_phase" },
    });
  });

  it("is to read the next task, where it does not fit into the answer or can't be read", async () => {
    const long = { name: "long", content: "word ".repeat(9000) };
    const tasks = [TASKS[0], long].filter((task) => task !== undefined);
    const { call, engine, session_id } = await begin({ fields: { report: text } }, { tasks });
    const done = { action: "complete_task", session_id, phase: 1, task_number: 1 };
    const noted = await call(done);
    expect(noted).not.toHaveProperty("task");
    expect(noted.next).toEqual({ action: "get_task", session_id, phase: 1, task_number: 2 });
    const other = await engine.start({ workflowType: "w", target: "b" });
    const reads = vi.spyOn(Object.getPrototypeOf(engine.session(other.sessionId)), "task");
    reads.mockRejectedValueOnce(new Error("EIO"));
    const phase = await call({ action: "get_phase", session_id: other.sessionId });
    reads.mockRestore();
    expect(phase).not.toHaveProperty("task");
    expect(phase.next).toMatchObject({ action: "get_task", task_number: 1 });
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

  it("after a document is what its text leads to: a task that is done, the next task, or the gate", async () => {
    const { call, session_id } = await begin(
      { fields: { report: text } },
      { tasks: TASKS, content: "See `core/b.md`." },
    );
    const following = async (path: string) => (await call({ action: "get_document", session_id, path })).next;
    expect(await following("core/a.md")).toMatchObject({ action: "complete_task", task_number: 1 });
    const noting = { action: "complete_task", session_id, phase: 1, note: expect.any(String) };
    expect(await following("core/b.md")).toEqual({ ...noting, task_number: 1 });
    expect(await following("phases/1/c.md")).toEqual({ ...noting, task_number: 1 });
    await call({ action: "complete_task", session_id, phase: 1, task_number: 1 });
    expect(await following("core/a.md")).toEqual({ ...noting, task_number: 2 });
    await call({ action: "complete_task", session_id, phase: 1, task_number: 2 });
    expect(await following("core/a.md")).toMatchObject({ action: "complete_phase", evidence: { report: "<text>" } });
    await call({ action: "pause", session_id });
    expect(await following("core/a.md")).toMatchObject({ action: "resume" });
  });
});

describe("what an answer tells", () => {
  it("a start has the whole checkpoint and leads on, unless its text is too long for one answer", async () => {
    const { call } = await begin({ fields: { report: text } });
    const start = { action: "start", workflow_type: "w", target_file: "b" };
    expect(await call(start)).toMatchObject({
      phase_content: { content: "Do it.", checkpoint: { evidence_schema: { required: ["report"] } } },
      next: { action: "complete_phase", evidence: { report: "<text>" } },
    });
    const tasks = await (await begin({ fields: { report: text } }, { tasks: TASKS })).call(start);
    expect(tasks).toMatchObject({
      phase_content: { checkpoint: { evidence_schema: { required: ["report"] } } },
      next: { action: "complete_task", task_number: 1 },
    });
    const long = await (await begin({ fields: { report: text } }, { content: "word ".repeat(9000) })).call(start);
    expect(long).toMatchObject({
      phase_content: { checkpoint: { required_evidence: ["report"], details: "see get_phase" } },
      next: { action: "get_phase", phase: 1, cursor: expect.any(String) },
    });
  });

  it("has the session's id once: in the call to make, but for a start, and where there is none", async () => {
    const { call, session_id } = await begin({ fields: { report: text } }, { tasks: TASKS });
    const asked = ["get_phase", "get_state", "get_history", "pause", "resume"];
    for (const action of asked) {
      const answer = await call({ action, session_id });
      expect(JSON.stringify(answer).split(session_id), action).toHaveLength(2);
      expect(answer.next, action).toMatchObject({ session_id });
    }
    await call({ action: "complete_phase", session_id, phase: 1, evidence: { report: "all done" } });
    expect(await call({ action: "get_state", session_id })).toMatchObject({ session_id, next: null });
  });

  it("has each field of the evidence once, apart from its form in the call to make", async () => {
    const { call, session_id } = await begin({ fields: { report: { ...text, description: "what was found" } } });
    const phase = await call({ action: "get_phase", session_id });
    expect(Object(phase.phase_content).checkpoint).toEqual({ evidence_schema: expect.any(Object) });
    expect(JSON.stringify(phase).split("what was found")).toHaveLength(2);
    const refused = await call({ action: "complete_phase", session_id, phase: 1, evidence: {} });
    expect(refused).not.toHaveProperty("examples");
  });

  it("holds no example of a claim, and a form of everything", async () => {
    const fields = { built: { type: "boolean", example: true }, report: text } as const;
    const claiming = await begin({ fields });
    const phase = await claiming.call({ action: "get_phase", session_id: claiming.session_id });
    expect(JSON.stringify(phase)).not.toContain('"examples":[true]');
    expect(phase).toMatchObject({
      phase_content: { checkpoint: { evidence_schema: { properties: { built: { const: true } } } } },
    });
    expect(Object(phase.next).evidence).toEqual({ built: "<boolean>", report: "<text>" });
    // Nor does the example of a valid call.
    const wrong = await claiming.call({ action: "complete_phase" });
    expect(JSON.stringify(wrong)).not.toContain("true");
    const evidence = z.object({ report: z.string(), inner: z.object({ done: z.boolean() }) });
    const nested = await begin({ evidence, example: { report: "x", inner: { done: true } } });
    expect(await nested.call({ action: "get_phase", session_id: nested.session_id })).toMatchObject({
      next: { evidence: { report: "<text>", inner: { done: "<boolean>" } } },
    });
  });

  it("has the note of a pause as it was written, in short and when the session is resumed, within the budget", async () => {
    const made = await begin({ fields: { report: text } }, { tasks: TASKS });
    const { call, session_id, engine } = made;
    // In JSON each of these characters has two.
    const note = '"'.repeat(2000);
    await call({ action: "complete_task", session_id, phase: 1, task_number: 1, note });
    await call({ action: "pause", session_id, checkpoint_note: note });
    const state = await call({ action: "get_state", session_id, brief: true });
    expect(state).toMatchObject({
      note,
      last_note: { task: 1, note: expect.stringMatching(/^"{499}…$/), whole_note: "get_state without brief" },
    });
    const small = workflowTool(engine, { maxTokens: 1000 });
    const short = await small.dispatch({ action: "get_state", session_id, brief: true });
    expect(JSON.stringify(short).length).toBeLessThan(4000);
    expect(short).toMatchObject({ note: expect.stringMatching(/^"{199}…$/), next: { action: "resume" } });
    expect(await call({ action: "resume", session_id })).toMatchObject({ resumed: true, checkpoint_note: note });
  });

  it("says that a text asks for a tool which the server does not have", async () => {
    const tasks = [{ name: "t", content: "Query search_standards." }, TASKS[1]].filter((task) => task !== undefined);
    const { engine, session_id } = await begin(undefined, { content: "Use search_standards first.", tasks });
    const tool = workflowTool(engine, { absentTools: ["search_standards"] });
    const missing_tools = expect.stringContaining("asks for search_standards, which this server does not have");
    const get = { session_id, phase: 1 };
    expect(await tool.dispatch({ action: "get_phase", ...get })).toMatchObject({ phase_content: { missing_tools } });
    expect(await tool.dispatch({ action: "get_task", ...get, task_number: 1 })).toMatchObject({
      task_content: { missing_tools },
    });
    const other = await tool.dispatch({ action: "get_task", ...get, task_number: 2 });
    expect(Object(other.task_content).missing_tools).toBeUndefined();
    const served = await workflowTool(engine).dispatch({ action: "get_phase", ...get });
    expect(Object(served.phase_content).missing_tools).toBeUndefined();
  });

  it("a completed session has no next call, in any answer", async () => {
    const { call, session_id } = await begin(undefined);
    await call({ action: "complete_phase", session_id, phase: 1, evidence: { summary: "all of it" } });
    for (const action of ["get_state", "get_session", "get_phase", "get_errors", "get_history"]) {
      expect(await call({ action, session_id }), action).toMatchObject({ status: "success", next: null });
    }
  });

  it("a refused request for a waiver ahead has the name that agents know, and a refusal names it as possible", async () => {
    const { call, session_id } = await begin({ fields: { report: text } });
    const retried = await call({ action: "retry_phase", session_id, phase: 1 });
    expect(retried).toMatchObject({ status: "error", valid_actions: expect.arrayContaining(["request_waiver"]) });
    await call({ action: "pause", session_id });
    const asked = await call({ action: "request_waiver", session_id, phase: 1, fields: ["report"], reason: "none" });
    expect(asked).toMatchObject({ status: "error", error: "request_waiver is not possible: the session is paused" });
  });

  it("an option that is nearly one of the workflow's is refused: it would be ignored, and a phase skipped for it", async () => {
    const workflow = defineWorkflow({
      ...{ type: "o", revision: "1", name: "O", description: "Reads options", target: "none" },
      options: z.object({ docs: z.array(z.string()).optional() }),
      phases: [
        { number: 1, name: "Docs", content: "Docs.", skipWhen: "!has(options.docs)" },
        { number: 2, name: "Rest", content: "Rest." },
      ],
    });
    const content = new MemoryContent({ workflows: [workflow] });
    const tool = workflowTool(createEngine({ storage: new MemoryStorage(), content }));
    const start = async (options: Answer) => tool.dispatch({ action: "start", workflow_type: "o", options });
    expect(await start({ doc: ["a"] })).toMatchObject({ error: expect.stringContaining('did you mean "docs"?') });
    expect(await start({ docs: ["a"], doc: 1 })).toMatchObject({ status: "success", current_phase: 1 });
    expect(await start({ colour: "red" })).toMatchObject({ status: "success", current_phase: 2 });
  });
});
