import { defineWorkflow, type EngineOptions, MemoryContent, type Workflow } from "phasegate";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { ACTION_NAMES } from "../../src/tools/phased/actions.js";
import { workflowTool } from "../support/fits-schema.js";
import { idOn, makeEngine } from "../support/make-engine.js";
import { makePlanned } from "../support/planned.js";
import { built, twoPhases } from "../support/workflows.js";

type Answer = Record<string, unknown>;

/** Creates a tool on an engine in memory; `call` fails the test unless the answer has the status. */
function makeTool(
  options: Partial<EngineOptions> = {},
  workflows: readonly Workflow[] = [twoPhases],
  maxTokens = 6000,
) {
  const made = makeEngine(options, workflows);
  const tool = workflowTool(made.engine, { maxTokens, actions: ACTION_NAMES });
  const dispatch = async (input: unknown): Promise<Answer> => {
    const answer = await tool.dispatch(input);
    expect(JSON.stringify(answer).length, "an answer over its budget").toBeLessThanOrEqual(maxTokens * 4);
    const { action, session_id: id, next } = answer;
    const isTwice = id !== undefined && id === Object(next).session_id;
    expect(isTwice && action !== "start", `${action} tells the session's id beside next, too`).toBe(false);
    return answer;
  };
  const call = async (input: Answer): Promise<Answer> => {
    const answer = await dispatch(input);
    expect(answer, JSON.stringify(answer)).toMatchObject({ status: "success", action: input.action });
    return answer;
  };
  const refused = async (input: unknown): Promise<Answer> => {
    const answer = await dispatch(input);
    expect(answer, JSON.stringify(answer)).toMatchObject({ status: "error" });
    return answer;
  };
  const start = async (type = "two_phases", target = "src/a.ts"): Promise<string> =>
    String((await call({ action: "start", workflow_type: type, target_file: target })).session_id);
  return { ...made, tool, dispatch, call, refused, start };
}

const HOUSE = defineWorkflow({
  ...{ type: "house", revision: "1", name: "House", description: "Builds a house" },
  phases: [
    {
      ...{ number: 1, name: "Dig", content: "# Dig" },
      gate: { evidence: z.object({ depth: z.number().refine((depth) => depth > 2, "must be deep enough") }) },
      tasks: [
        {
          name: "dig",
          content:
            "# Task 1: Dig\n\n**Estimated Time:** 5-10 minutes\n\n## Deliverables\n\n- `hole.md`\n- the spoil, next to it\n",
        },
        { name: "look", content: "# Task 2: Look\n\nLook into it.\n" },
      ],
    },
    { number: 2, name: "Build", purpose: "Raise the walls", content: "# Build" },
    { number: 3, name: "Live", content: "# Live" },
  ],
});

describe("the actions", () => {
  it("are all but delete_session, which the host turns on", () => {
    const { engine } = makeEngine();
    expect(ACTION_NAMES.filter((name) => !workflowTool(engine, {}).actions.includes(name))).toEqual(["delete_session"]);
    expect(workflowTool(engine, { actions: ACTION_NAMES }).actions).toContain("delete_session");
  });
});

describe("a tool for an actor", () => {
  it("works on the actor's own sessions, as if there were no others", async () => {
    const { engine, start } = makeTool();
    const foreign = await start();
    const tool = workflowTool(engine, { actor: { name: "ann" } });
    const own = await tool.dispatch({ action: "start", workflow_type: "two_phases", target_file: "src/a.ts" });
    expect(own).toMatchObject({ status: "success" });
    expect(JSON.stringify(own)).not.toContain(foreign);
    expect(await tool.dispatch({ action: "list_sessions" })).toMatchObject({ count: 1, total: 1 });
    const missing = await tool.dispatch({ action: "get_state", session_id: foreign, brief: true });
    expect(missing).toMatchObject({ status: "error", code: "SESSION_NOT_FOUND" });
  });
});

describe("complete_task", () => {
  it("says which tasks are done and which is next, and so does a brief state, for whoever continues", async () => {
    const { call, start } = makeTool();
    const id = await start();
    expect(await call({ action: "get_state", session_id: id, brief: true })).toMatchObject({
      ...{ tasks_done: "none", tasks_left: 2, next_task: 1 },
    });
    const noted = { action: "complete_task", session_id: id, phase: 1, task_number: 1, note: "n".repeat(1500) };
    const next = { action: "complete_task", session_id: id, phase: 1, task_number: 2 };
    expect(await call(noted)).toMatchObject({ tasks_done: "1", tasks_left: 1, next_task: 2, next });
    expect(await call(noted)).toMatchObject({ replayed: true, next });
    const brief = await call({ action: "get_state", session_id: id, brief: true });
    expect(brief).toMatchObject({
      tasks_done: "1",
      next_task: 2,
      last_note: { task: 1, note: expect.stringMatching(/^n+…$/) },
    });
    expect(JSON.stringify(brief).length).toBeLessThanOrEqual(1600);
    expect(await call({ action: "get_state", session_id: id })).toMatchObject({ last_note: { note: noted.note } });
    const phase = await call({ action: "get_phase", session_id: id });
    expect(phase).toMatchObject({ phase_content: { tasks_done: [1] }, next });
    expect(await call({ action: "complete_task", session_id: id, phase: 1, task_number: 2 })).toMatchObject({
      ...{ tasks_done: "1-2", tasks_left: 0, next_task: null, next: { action: "complete_phase", phase: 1 } },
    });
    expect(await call({ action: "get_task", session_id: id, phase: 1, task_number: 1 })).toMatchObject({
      next: { action: "complete_phase" },
    });
  });

  it("is refused like get_task, in the tool's words", async () => {
    const { call, refused, start } = makeTool();
    const id = await start();
    const of = (phase: number, task_number: number) => ({
      action: "complete_task",
      session_id: id,
      phase,
      task_number,
    });
    expect(await refused(of(2, 1))).toMatchObject({ code: "PHASE_LOCKED", current_phase_content: { phase_number: 1 } });
    expect(await refused(of(1, 9))).toMatchObject({ code: "TASK_NOT_FOUND", next: { action: "get_phase" } });
    await call({ action: "pause", session_id: id });
    expect(await refused(of(1, 1))).toMatchObject({ code: "INVALID_TRANSITION", next: { action: "resume" } });
  });
});

describe("every action", () => {
  it("list_workflows names the sessions to go on with, so that one call is enough to begin", async () => {
    const { call, tool, start } = makeTool();
    expect(await call({ action: "list_workflows" })).not.toHaveProperty("unfinished");
    const session_id = await start();
    const one = await call({ action: "list_workflows" });
    expect(one).toMatchObject({
      unfinished: [{ session_id, target_file: "src/a.ts", status: "active", current_phase: 1 }],
      to_continue: { action: "get_state", session_id, brief: true },
      next: { action: "start" },
    });
    for (const target of ["src/b.ts", "src/c.ts", "src/d.ts"]) await start("two_phases", target);
    expect(await call({ action: "list_workflows" })).toMatchObject({
      unfinished: Array(3).fill({ status: "active" }),
      more_unfinished: { action: "list_sessions" },
      to_continue: { session_id: "<one of unfinished>" },
    });
    expect(await call({ action: "list_workflows", workflow_type: "two_phases" })).not.toHaveProperty("unfinished");
    expect(tool.description).toContain("list_workflows, then its to_continue");
  });

  it("list_workflows returns metadata, filtered by category, with a warning for an unknown category", async () => {
    const { call } = makeTool();
    expect(await call({ action: "list_workflows" })).toMatchObject({
      workflows: [
        {
          workflow_type: "two_phases",
          version: "1",
          category: "testing",
          phases: 2,
          estimated_duration: "10 minutes",
        },
      ],
      count: 1,
      next: { action: "start", workflow_type: "two_phases" },
    });
    expect(await call({ action: "list_workflows", category: "testing" })).toMatchObject({ count: 1 });
    const texts = { name: "Other", description: "D", tags: ["small"], prerequisites: ["a plan"] };
    const phases = [{ number: 1, name: "One", content: "# One" }];
    const other = defineWorkflow({ type: "other", revision: "1", ...texts, phases });
    expect(await makeTool({}, [twoPhases, other]).call({ action: "list_workflows" })).toMatchObject({
      workflows: [{ workflow_type: "other" }, { workflow_type: "two_phases" }],
      next: { action: "list_workflows", workflow_type: "<one of the above>" },
    });
    const more = { action: "list_workflows", workflow_type: "other" };
    expect(await makeTool({}, [twoPhases, other]).call(more)).toMatchObject({
      workflows: [{ workflow_type: "other", tags: ["small"], prerequisites: ["a plan"] }],
      count: 1,
      next: { action: "start", workflow_type: "other" },
    });
    const misspelt = await makeTool({}, [twoPhases, other]).call({ ...more, workflow_type: "othre" });
    expect(misspelt).toMatchObject({ count: 2, warning: 'unknown workflow "othre": here are all' });
    const unknown = await call({ action: "list_workflows", category: "cooking" });
    expect(unknown).toMatchObject({ count: 1, warning: expect.stringContaining("testing") });
  });

  it("what a start must have is in the list of one workflow, and in a refused start", async () => {
    const common = {
      revision: "1",
      name: "W",
      description: "D",
      phases: [{ number: 1, name: "One", content: "# One" }],
    };
    const ticket = defineWorkflow({ ...common, type: "ticket", options: z.object({ id: z.string() }) });
    const plain = defineWorkflow({ ...common, type: "plain" });
    const { call, refused } = makeTool({}, [ticket, plain]);
    const start = { action: "start", workflow_type: "ticket", target_file: "src/a.ts" };
    const { next } = await call({ action: "list_workflows", workflow_type: "ticket" });
    const options = { id: "<value: string, required>" };
    expect(next).toEqual({ ...start, target_file: "<path of what to work on, in the project>", options });
    expect(await refused(start)).toMatchObject({ code: "INVALID_INPUT", example: { ...start, options } });
    expect(await refused({ ...start, options })).toMatchObject({ code: "INVALID_INPUT" });
    expect(await call({ ...start, options: { id: "T-1" } })).toMatchObject({ current_phase: 1 });
    const only = makeTool({}, [ticket]);
    const { next: one } = await only.call({ action: "list_workflows" });
    expect(one).toMatchObject({ workflow_type: "ticket", options: { id: expect.any(String) } });
    expect(await only.refused({ ...Object(one), target_file: "src/a.ts" })).toMatchObject({
      ...{
        code: "INVALID_INPUT",
        error: expect.stringMatching(/^the options are refused: options\.id: it is a placeholder/),
      },
      remediation: expect.stringContaining("with a value in place of each placeholder"),
    });
  });

  it("a completed session is nothing to delete: a call that comes too late has no next one", async () => {
    const phases = [{ number: 1, name: "One", content: "# One", tasks: [{ name: "a", content: "# A" }] }];
    const one = defineWorkflow({ type: "one", revision: "1", name: "O", description: "D", phases });
    const { call, refused } = makeTool({}, [one]);
    const { session_id } = await call({ action: "start", workflow_type: "one", target_file: "a" });
    expect(await refused({ action: "resume", session_id })).toMatchObject({
      remediation: expect.not.stringContaining("delete_session"),
    });
    await call({ action: "complete_phase", session_id, phase: 1, evidence: { summary: "all of it" } });
    const late = await refused({ action: "complete_task", session_id, phase: 1, task_number: 1 });
    expect(late).toMatchObject({ remediation: "The session is completed: nothing is left to do in it.", next: null });
  });

  it("start asks for a target unless the workflow declares that it has none", async () => {
    const phases = [{ number: 1, name: "One", content: "# One" }];
    const none = defineWorkflow({ type: "tidy", revision: "1", name: "T", description: "D", target: "none", phases });
    const { call, refused } = makeTool({}, [none]);
    expect(await call({ action: "list_workflows" })).toMatchObject({
      workflows: [{ workflow_type: "tidy", target: "none" }],
      next: { action: "start", workflow_type: "tidy" },
    });
    const other = defineWorkflow({ type: "tidy_3", revision: "1", name: "T", description: "D", phases });
    const both = makeTool({}, [none, other]);
    const startOf = async (workflow_type: string) =>
      (await both.call({ action: "list_workflows", workflow_type })).next;
    expect(await startOf("tidy")).toEqual({ action: "start", workflow_type: "tidy" });
    expect(await startOf("tidy_3")).toMatchObject({ target_file: "<path of what to work on, in the project>" });
    const started = await call({ action: "start", workflow_type: "tidy" });
    expect(started).toMatchObject({ target_file: ".", current_phase: 1 });
    expect(await call({ action: "start", workflow_type: "tidy", target_file: "src" })).toMatchObject({
      target_file: "src",
    });
    const missing = await makeTool().refused({ action: "start", workflow_type: "two_phases" });
    expect(missing).toMatchObject({ code: "INVALID_INPUT", error: expect.stringContaining("the target is missing") });
    expect(await refused({ action: "start" })).toMatchObject({
      error: expect.stringContaining("'workflow_type' is missing"),
      example: { action: "start", target_file: "src/calculator.py" },
    });
  });

  it("start returns the session, its first phase and the next call", async () => {
    const { call, start } = makeTool();
    const answer = await call({
      action: "start",
      workflow_type: "two_phases",
      target_file: "src/a.ts",
      options: { a: 1 },
    });
    expect(answer).toMatchObject({
      session_id: idOn("two_phases_src_a_ts"),
      workflow_type: "two_phases",
      target_file: "src/a.ts",
      current_phase: 1,
      phase_content: {
        phase_number: 1,
        title: "Build",
        description: "Make it work",
        tasks: ["1: write the code", "2: test it"],
        checkpoint: { evidence_schema: { required: ["summary", "tests_pass"] } },
        content: "# Phase 1: Build\n\nMake it work.\n",
      },
      next: { action: "complete_task", session_id: answer.session_id, phase: 1, task_number: 1 },
    });
    await start();
    const second = await call({ action: "start", workflow_type: "two_phases", target_file: "src/a.ts" });
    expect(second.open_sessions).toHaveLength(2);
  });

  it("get_phase and get_task name the next call through all tasks up to the gate", async () => {
    const { call, start } = makeTool();
    const id = await start();
    const phase = await call({ action: "get_phase", session_id: id });
    expect(phase).toMatchObject({ current_phase: 1, total_phases: 2 });
    const said = { sources: expect.any(Array), tokens: expect.any(Number) };
    expect(phase.phase_content).toMatchObject(said);
    const first = await call({ action: "get_task", session_id: id, phase: 1, task_number: 1 });
    expect(first).toMatchObject({
      phase: 1,
      task_number: 1,
      task_content: { title: "Write the code", content: expect.stringContaining("### Step 1: Write") },
    });
    // The text has them.
    for (const key of ["execution_steps", "artifacts_to_produce", "description"]) {
      expect(first.task_content).toEqual(expect.not.objectContaining({ [key]: expect.anything() }));
    }
    expect(first.task_content).toMatchObject(said);
    expect(first.next).toMatchObject({ action: "complete_task", phase: 1, task_number: 1 });
    expect(phase.next).toEqual(first.next);
    const noted = await call({ ...(first.next as Answer), note: "written" });
    const last = await call({ ...(noted.next as Answer), note: undefined });
    expect(last.next).toMatchObject({
      action: "complete_phase",
      phase: 1,
      evidence: { summary: expect.any(String) },
    });
    const copied = await makeTool().refused({ ...(last.next as Answer), evidence: {} });
    expect(copied.code).toBe("SESSION_NOT_FOUND");
  });

  it("complete_phase is refused if it is copied from `next`, or from an example", async () => {
    const { refused, start, call } = makeTool();
    const id = await start();
    for (const task_number of [1, 2]) await call({ action: "complete_task", session_id: id, phase: 1, task_number });
    const task = await call({ action: "get_task", session_id: id, phase: 1, task_number: 2 });
    expect(task.next).toMatchObject({ action: "complete_phase" });
    expect(await refused(task.next)).toMatchObject({ code: "EVIDENCE_UNSAFE" });
    const { example } = await refused({ action: "complete_phase", session_id: id, phase: 1 });
    expect(await refused(example)).toMatchObject({ code: "EVIDENCE_UNSAFE" });
    expect(await call({ action: "get_state", session_id: id, brief: true })).not.toHaveProperty("attempts");
  });

  it("complete_phase returns what is missing, what is wrong and the attempts that are left", async () => {
    const { call, refused, start } = makeTool();
    const id = await start();
    const failed = await refused({
      action: "complete_phase",
      session_id: id,
      phase: 1,
      evidence: { tests_pass: false },
    });
    expect(failed).toMatchObject({
      phase: 1,
      checkpoint_passed: false,
      error_type: "ValidationError",
      code: "GATE_FAILED",
      missing_evidence: ["summary"],
      validation_errors: [expect.stringContaining("summary"), expect.stringContaining("tests_pass")],
      remediation: expect.stringContaining("summary, tests_pass"),
      attempts_left: 2,
      required_format: { required: ["summary", "tests_pass"] },
    });
    const passed = await call({ action: "complete_phase", session_id: id, phase: 1, evidence: built });
    expect(passed).toMatchObject({
      phase_completed: 1,
      checkpoint_passed: true,
      evidence_accepted: ["summary", "tests_pass"],
      next_phase: { phase_number: 2, title: "Ship" },
      phase_content: { artifacts_from_previous_phases: { phase_1: ["summary", "tests_pass"] } },
      next: { action: "complete_phase", session_id: id, phase: 2 },
    });
    const done = await call({ action: "complete_phase", session_id: id, phase: 2, evidence: { shipped: true } });
    expect(done).toMatchObject({ workflow_complete: true, next_phase: null });
  });

  it("complete_phase says of each problem what is wrong, and what the next phase is for", async () => {
    const { call, refused, start } = makeTool({}, [HOUSE]);
    const session_id = await start("house");
    const shallow = { action: "complete_phase", session_id, phase: 1, evidence: { depth: 1 } };
    const message = "'depth': must be deep enough";
    expect(await refused(shallow)).toMatchObject({
      validation_errors: [message],
      problems: [{ field: "depth", problem: "invalid", message, got: "1" }],
    });
    const next = await call({ ...shallow, evidence: { depth: 3 } });
    expect(next).toMatchObject({
      next_phase: { phase_number: 2, title: "Build" },
      phase_content: { description: "Raise the walls" },
    });
    const last = await call({ action: "complete_phase", session_id, phase: 2, evidence: {} });
    expect(last.next_phase).toEqual({ phase_number: 3, title: "Live" });
  });

  it("complete_phase shows the phase that it has opened as get_phase does, and goes on from there", async () => {
    const { call, start } = makeTool({}, [HOUSE]);
    const session_id = await start("house");
    const submit = { action: "complete_phase", session_id, phase: 1, evidence: { depth: 3 }, idempotency_key: "k" };
    const first = await call(submit);
    const phase = await call({ action: "get_phase", session_id });
    expect(first.phase_content).toEqual(phase.phase_content);
    expect(first.phase_content).toMatchObject({ content: "# Build" });
    expect(first.next).toEqual(phase.next);
    // The answer may have been lost.
    expect(await call(submit)).toMatchObject({ replayed: true, phase_content: phase.phase_content, next: phase.next });
    await call({ action: "complete_phase", session_id, phase: 2, evidence: {} });
    const late = await call(submit);
    expect(late).toMatchObject({ replayed: true, next_phase: { phase_number: 2 }, next: { action: "get_phase" } });
    expect(late).not.toHaveProperty("phase_content");
  });

  it.each([
    ["does not fit", "# Build\n\n".padEnd(4000, "Raise the walls. "), undefined],
    ["can't be read", "# Build", new Error("gone")],
  ])("complete_phase leads to get_phase where the phase %s", async (_, text, error) => {
    const house = defineWorkflow({
      ...{ type: "house", revision: "1", name: "House", description: "Builds a house" },
      phases: [
        { number: 1, name: "Dig", content: "# Dig" },
        { number: 2, name: "Build", purpose: "Raise the walls", content: text },
      ],
    });
    const content = new MemoryContent({ workflows: [house] });
    const { call, start } = makeTool({ content }, [], 1000);
    const session_id = await start("house");
    if (error !== undefined) content.text = () => Promise.reject(error);
    const passed = await call({ action: "complete_phase", session_id, phase: 1, evidence: {} });
    expect(passed).toMatchObject({
      checkpoint_passed: true,
      next_phase: { phase_number: 2, title: "Build", description: "Raise the walls" },
      next: { action: "get_phase", session_id },
    });
    expect(passed).not.toHaveProperty("phase_content");
  });

  it("get_task says how long a task takes and what it produces, where its text does", async () => {
    const { call, start } = makeTool({}, [HOUSE]);
    const task = { action: "get_task", session_id: await start("house"), phase: 1 };
    const { task_content: dig } = await call({ ...task, task_number: 1 });
    expect(dig).toMatchObject({
      estimated_duration: "5-10 minutes",
      artifacts_to_produce: ["hole.md", "the spoil, next to it"],
    });
    const { task_content: look } = await call({ ...task, task_number: 2 });
    const silent = { estimated_duration: expect.anything(), artifacts_to_produce: expect.anything() };
    for (const [key, any] of Object.entries(silent)) expect(look).toEqual(expect.not.objectContaining({ [key]: any }));
  });

  it("retry_phase continues a failed session, whose state names it", async () => {
    const { call, refused, start } = makeTool();
    const id = await start();
    const wrong = { action: "complete_phase", session_id: id, phase: 1, evidence: {} };
    for (let attempt = 0; attempt < 2; attempt += 1) await refused(wrong);
    const failed = await refused(wrong);
    expect(failed).toMatchObject({
      session_status: "failed",
      attempts_left: 0,
      next: { action: "retry_phase", phase: 1 },
    });
    expect(await refused(wrong)).toMatchObject({
      code: "INVALID_TRANSITION",
      valid_actions: ["retry_phase", "request_waiver", "delete_session"],
    });
    expect(await call({ action: "get_state", session_id: id, brief: true })).toMatchObject({ next: failed.next });
    expect(await call(failed.next as Answer)).toMatchObject({
      retrying: true,
      evidence_reset: false,
      previous_errors: [expect.any(String), expect.any(String)],
      phase_content: { phase_number: 1 },
    });
  });

  it("get_state returns everything with artifacts, or a brief state within 400 tokens", async () => {
    const { call, start } = makeTool();
    const id = await start("two_phases", `src/${"long-name/".repeat(90)}a.ts`);
    const evidence = { ...built, outputs: ["a.md"], commands_executed: ["npm test"] };
    await call({ action: "complete_phase", session_id: id, phase: 1, evidence });
    expect(await call({ action: "get_state", session_id: id })).toMatchObject({
      workflow_type: "two_phases",
      current_phase: 2,
      total_phases: 2,
      completed_phases: [1],
      artifacts: { phase_1: built },
      session_status: "active",
      created_at: "2026-03-04T05:06:07.000Z",
      last_updated: "2026-03-04T05:06:07.000Z",
      resume_capable: true,
    });
    expect(await call({ action: "get_state", session_id: id, phase: 1 })).toMatchObject({
      current_phase: 2,
      phase: 1,
      completed_at: "2026-03-04T05:06:07.000Z",
      artifact: built,
      next: { action: "get_phase", session_id: id },
    });
    expect(await call({ action: "get_state", session_id: id, phase: 2 })).toMatchObject({ phase: 2, artifact: null });
    const brief = await call({ action: "get_state", session_id: id, brief: true });
    expect(JSON.stringify(brief).length).toBeLessThanOrEqual(1600);
    expect(brief).toMatchObject({ current_phase: 2, title: "Ship", completed_phases: "1", phases: "1 of 2 complete" });
  });

  it("list_sessions and get_session return the sessions", async () => {
    const { call, start, clock } = makeTool();
    const id = await start();
    clock.advance(888_000);
    await call({ action: "complete_phase", session_id: id, phase: 1, evidence: built });
    const paused = await start("two_phases", "b");
    await call({ action: "pause", session_id: paused });
    expect(await call({ action: "list_sessions" })).toMatchObject({
      count: 2,
      total: 2,
      sessions: [{ session_id: paused }, {}],
    });
    expect(await call({ action: "list_sessions", status: "active" })).toMatchObject({
      count: 1,
      sessions: [{ session_id: id, current_phase: 2, total_phases: 2, status: "active", target_file: "src/a.ts" }],
    });
    expect(await call({ action: "list_sessions", status: "failed" })).toMatchObject({ count: 0, sessions: [] });
    expect(await call({ action: "get_session", session_id: id })).toMatchObject({
      session: {
        session_id: id,
        completed_phases: [1],
        status: "active",
        phase_history: [
          { phase: 1, attempt: 1, status: "completed", duration_seconds: 888 },
          { phase: 2, status: "active" },
        ],
        options: {},
      },
    });
    const session = (await call({ action: "get_session", session_id: paused })).session;
    expect(session).toMatchObject({ status: "paused", paused_at: expect.any(String) });
  });

  it("pause, resume, rollback, delete_session, get_errors, get_history and get_metrics return their results", async () => {
    const { call, refused, start, clock } = makeTool();
    const id = await start();
    expect(await call({ action: "pause", session_id: id, checkpoint_note: "review" })).toMatchObject({
      paused: true,
      checkpoint: { phase: 1, timestamp: "2026-03-04T05:06:07.000Z", note: "review" },
      resume_capable: true,
      next: { action: "resume", session_id: id },
    });
    const brief = await call({ action: "get_state", session_id: id, brief: true });
    expect(brief).toMatchObject({ note: "review", next: { action: "resume" } });
    clock.advance(3_600_000);
    const resumed = await call({ action: "resume", session_id: id });
    expect(resumed).toMatchObject({ resumed: true, current_phase: 1, paused_duration_seconds: 3600 });
    await refused({ action: "complete_phase", session_id: id, phase: 1, evidence: {} });
    await call({ action: "complete_phase", session_id: id, phase: 1, evidence: built });
    expect(await call({ action: "rollback", session_id: id, to_phase: 1 })).toMatchObject({
      from_phase: 2,
      to_phase: 1,
      rolled_back: true,
      artifacts_cleared: [1],
      phase_content: { phase_number: 1 },
    });
    const forward = await refused({ action: "rollback", session_id: id, to_phase: 2 });
    expect(forward).toMatchObject({ code: "PHASE_OUT_OF_RANGE", error_type: "ValueError" });
    expect(await call({ action: "get_errors", session_id: id })).toMatchObject({
      errors: [{ phase: 1, error_type: "ValidationError", details: { missing_fields: ["summary", "tests_pass"] } }],
      error_count: 1,
      last_error: "2026-03-04T06:06:07.000Z",
    });
    expect((await call({ action: "get_history", session_id: id })).history).toHaveLength(4);
    expect(await call({ action: "delete_session", session_id: id, reason: "done" })).toMatchObject({
      deleted: true,
      cleanup: { state_file_removed: true, artifacts_preserved: false },
    });
    expect((await call({ action: "get_metrics" })).metrics).toMatchObject({
      complete_phase: { count: 2, errors: 1, mean_ms: expect.any(Number), p50_ms: expect.any(Number) },
      rollback: { count: 2, errors: 1 },
    });
  });
});

describe("refusals", () => {
  it("of a long note name it as it was sent", async () => {
    const { call, refused, start } = makeTool();
    const session_id = await start();
    const checkpoint_note = "x".repeat(2000);
    expect(await refused({ action: "pause", session_id, checkpoint_note: `${checkpoint_note}x` })).toMatchObject({
      error: "'checkpoint_note' is longer than 2000 characters",
      code: "INVALID_INPUT",
    });
    await call({ action: "pause", session_id, checkpoint_note });
  });

  it("of a later phase contain the current phase, the progress and the next call", async () => {
    const { call, refused, start } = makeTool();
    const id = await start();
    const expected = {
      error_type: "StateError",
      code: "PHASE_LOCKED",
      violation_type: "attempted_skip",
      reason: "Currently on Phase 1",
      required_action: "Complete Phase 1 checkpoint first",
      artifacts_available: {},
      current_phase_content: { phase_number: 1, content: expect.stringContaining("Build") },
      progress: { completed: [], current: 1, total: 2 },
      next: { action: "get_phase", session_id: id },
    };
    expect(await refused({ action: "get_phase", session_id: id, phase: 2 })).toMatchObject(expected);
    expect(await refused({ action: "get_task", session_id: id, phase: 2, task_number: 1 })).toMatchObject(expected);
    expect(await refused({ action: "complete_phase", session_id: id, phase: 2, evidence: {} })).toMatchObject(expected);
    await call({ action: "complete_phase", session_id: id, phase: 1, evidence: built });
    const again = await refused({ action: "complete_phase", session_id: id, phase: 1, evidence: built });
    expect(again).toMatchObject({ error_type: "StateError", violation_type: "already_completed", current_phase: 2 });
  });

  it("of a later phase say why, and name the artifacts that there are", async () => {
    const { call, refused, start } = makeTool({}, [HOUSE]);
    const session_id = await start("house");
    const ahead = { action: "get_phase", session_id, phase: 3 };
    expect(await refused(ahead)).toMatchObject({ reason: "Currently on Phase 1", artifacts_available: {} });
    await call({ action: "complete_phase", session_id, phase: 1, evidence: { depth: 3 } });
    const dug = { reason: "Currently on Phase 2", artifacts_available: { phase_1: ["depth"] } };
    expect(await refused(ahead)).toMatchObject(dug);
    expect(await refused({ action: "get_task", session_id, phase: 3, task_number: 1 })).toMatchObject(dug);
  });

  it.each([
    [undefined, /object/],
    [null, /object/],
    ["start", /object/],
    [[], /object/],
    [{}, /'action' is missing/],
    [{ action: 3 }, /Unknown action: 3/],
    [{ action: "__proto__" }, /Unknown action/],
    [{ action: "constructor" }, /Unknown action/],
    [JSON.parse('{"__proto__": {"action": "start"}}'), /'action' is missing|unknown/],
  ])("of %j list the valid actions", async (input, message) => {
    const answer = await makeTool().refused(input);
    expect(answer.error).toMatch(message);
    expect(answer.valid_actions).toEqual(ACTION_NAMES);
  });

  it("of a misspelled action name the right one, with a valid call", async () => {
    expect(await makeTool().refused({ action: "getPhase" })).toMatchObject({
      error: expect.stringContaining("getPhase"),
      error_type: "ValueError",
      remediation: "Did you mean 'get_phase'?",
      example: { action: "get_phase", session_id: expect.any(String) },
    });
  });

  it("of parameters list everything that is missing, unknown or wrong, with a valid call", async () => {
    const { refused } = makeTool();
    expect(await refused({ action: "complete_phase", sesion_id: "x", phase: "1", evidence: "[]" })).toMatchObject({
      error: expect.stringMatching(
        /'session_id' is missing.*did you mean 'session_id'.*'phase' must be a whole number.*'evidence' must be an object/s,
      ),
      error_type: "ValueError",
      code: "INVALID_INPUT",
      remediation: expect.stringContaining("idempotency_key"),
      example: { action: "complete_phase", session_id: expect.any(String), phase: 1, evidence: expect.any(Object) },
    });
    expect((await refused({ action: "get_state", session_id: "x", task_number: 1 })).error).toContain("does not take");
    expect((await refused({ action: "list_sessions", status: "open" })).error).toContain(
      "active, paused, completed, failed",
    );
    expect((await refused({ action: "get_state", session_id: 1, brief: "yes" })).error).toContain("true or false");
    const waiver = { action: "request_waiver", session_id: "x", phase: 1, reason: "no", fields: [7] };
    expect((await refused(waiver)).error).toBe("request_waiver: 'fields' must be a list of strings, got [7]");
  });

  it("name no action that the host has not given", async () => {
    const { engine } = makeEngine({ limits: { maxAttempts: 1 } }, [twoPhases]);
    const tool = workflowTool(engine, { actions: ["start", "complete_phase"] });
    const ask = (input: object) => tool.dispatch(input);
    const { session_id } = await ask({ action: "start", workflow_type: "two_phases", target_file: "a.ts" });
    const words = [
      await ask({ action: "complete_phase", session_id, phase: 1, evidence: {} }),
      await ask({ action: "complete_phase", session_id, phase: 1, evidence: {} }),
      await ask({ action: "complete_phase", session_id: "none", phase: 1, evidence: {} }),
      await ask({ action: "start", workflow_type: "none", target_file: "a.ts" }),
    ].map(({ remediation }) => remediation);
    expect(words).toEqual([
      expect.stringContaining("The session has failed. Ask the person who runs this to retry phase 1 first."),
      expect.stringMatching(/^Ask the person who runs this: agents may not /),
      expect.any(String),
      expect.any(String),
    ]);
    expect(words.slice(2).join()).not.toMatch(/list_/);
  });

  it("do not happen for a parameter that is null", async () => {
    await makeTool().call({ action: "list_workflows", category: null });
  });

  it("of an unknown session or workflow name the nearest one and how to list them", async () => {
    const { refused, start } = makeTool();
    const id = await start();
    const session = await refused({ action: "get_state", session_id: `${id}x` });
    expect(session).toMatchObject({ error_type: "NotFoundError", next: { action: "list_sessions" } });
    expect(session.remediation).toContain(id);
    const workflow = await refused({ action: "start", workflow_type: "two-phases", target_file: "a" });
    expect(workflow).toMatchObject({ error_type: "NotFoundError", next: { action: "list_workflows" } });
    expect(workflow.remediation).toContain("'two_phases'");
  });

  it("contain no path, stack trace or secret of the server", async () => {
    const { refused, start, storage } = makeTool();
    const id = await start();
    storage.read = () => Promise.reject(new Error("ENOENT /home/me/.secrets/db password=hunter2"));
    const answer = JSON.stringify(await refused({ action: "get_phase", session_id: id }));
    expect(answer).toContain("INTERNAL");
    expect(answer).not.toMatch(/home|secret|hunter2|at \w+ \(/);
  });

  it("are returned, never thrown, for any input", async () => {
    const { tool } = makeTool();
    const hostile = {
      get action(): string {
        throw new Error("a getter");
      },
    };
    expect(await tool.dispatch(hostile)).toMatchObject({ status: "error", code: "INTERNAL" });
  });
});

describe("the host's selection of actions", () => {
  it("removes the others from schema, description and dispatch", async () => {
    const { engine } = makeEngine();
    const tool = workflowTool(engine, { name: "gate", actions: ["start", "get_phase", "complete_phase"] });
    expect(JSON.stringify(tool.inputSchema)).not.toContain("rollback");
    expect(tool.description).not.toContain("rollback");
    expect(await tool.dispatch({ action: "rollback", session_id: "x", to_phase: 1 })).toEqual({
      status: "error",
      action: "rollback",
      error: "'rollback' is off on this server",
      error_type: "ValueError",
      code: "INVALID_INPUT",
      remediation: "Ask the person who runs this to do it, or use one of valid_actions.",
      valid_actions: ["start", "get_phase", "complete_phase"],
    });
    expect(tool.name).toBe("gate");
    // Not even as what a misspelled action may mean.
    const usual = workflowTool(engine, {});
    expect(await usual.dispatch({ action: "delete_session", session_id: "x" })).toMatchObject({
      error: "'delete_session' is off on this server",
    });
    expect(await usual.dispatch({ action: "delete_sesion", session_id: "x" })).toMatchObject({
      error: 'Unknown action: "delete_sesion"',
      remediation: "Use one of valid_actions.",
    });
  });
});

describe("the budget", () => {
  const long = Array.from({ length: 900 }, (_, line) => `Line ${line}: "quoted" and \\ and 😀 text.`).join("\n");
  const wordy = defineWorkflow({
    ...{ type: "wordy", revision: "1", name: "Wordy", description: "Long texts and many fields" },
    phases: [
      {
        number: 1,
        name: "Long",
        content: long,
        tasks: [{ name: "long too", content: long.replaceAll("\n", " ") }],
        gate: {
          evidence: z.object(
            Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`field_${index}`, z.string()])),
          ),
        },
      },
      {
        number: 2,
        name: "Wide",
        content: "# Wide",
        gate: {
          evidence: z.object(
            Object.fromEntries(Array.from({ length: 900 }, (_, index) => [`field_${index}`, z.string()])),
          ),
        },
      },
    ],
  });

  it("limits the listing of the tool to 900 tokens", () => {
    const { tool } = makeTool();
    const { name, description, inputSchema, outputSchema } = tool;
    expect(JSON.stringify({ name, description, inputSchema, outputSchema }).length / 4).toBeLessThan(900);
  });

  it("splits long texts into pages that together are the text", async () => {
    const { call } = makeTool({}, [wordy], 2500);
    const started = await call({ action: "start", workflow_type: "wordy", target_file: "a" });
    for (const [first, key] of [
      [started, "phase_content"],
      [await call({ action: "get_task", session_id: started.session_id, phase: 1, task_number: 1 }), "task_content"],
    ] as const) {
      let text = "";
      let pages = 0;
      for (let answer = first; ; answer = await call(answer.next as Answer)) {
        expect(answer, JSON.stringify(answer).slice(0, 300)).toHaveProperty(key);
        text += (answer[key] as { content: string }).content;
        pages += 1;
        if (answer.cursor === undefined) break;
      }
      expect(pages).toBeGreaterThan(2);
      expect(text).toBe(key === "phase_content" ? long : long.replaceAll("\n", " "));
    }
  });

  it("limits a refusal with many problems, and get_errors returns all of them in pages", async () => {
    const { call, refused, start, engine } = makeTool(
      { limits: { maxAttempts: 99, maxAttemptsTotal: 99 } },
      [wordy],
      2500,
    );
    const id = await start("wordy");
    for (let attempt = 0; attempt < 8; attempt += 1) {
      const failed = await refused({ action: "complete_phase", session_id: id, phase: 1, evidence: {} });
      expect(failed).toMatchObject({ more_problems: "35 more: see get_errors" });
    }
    let found = 0;
    for (
      let answer = await call({ action: "get_errors", session_id: id });
      ;
      answer = await call(answer.next as Answer)
    ) {
      found += (answer.errors as unknown[]).length;
      if (answer.cursor === undefined) break;
    }
    expect([found, (await engine.session(id).errors()).length]).toEqual([8, 8]);
  });

  it("splits an answer without another page unit into pages of its JSON", async () => {
    const { call, start } = makeTool({}, [wordy], 2500);
    const id = await start("wordy");
    const evidence = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`field_${index}`, "x".repeat(500)]));
    await call({ action: "complete_phase", session_id: id, phase: 1, evidence });
    for (const action of ["get_state", "get_phase"]) {
      let json = "";
      for (let answer = await call({ action, session_id: id }); ; answer = await call(answer.next as Answer)) {
        json += answer.json_page;
        if (answer.cursor === undefined) break;
      }
      expect(JSON.parse(json)).toMatchObject({ status: "success", action });
    }
  });

  it("refuses invalid cursors, and cursors of another page", async () => {
    const { call, refused } = makeTool({}, [wordy], 2500);
    const started = await call({ action: "start", workflow_type: "wordy", target_file: "a" });
    const { cursor } = started.next as { cursor: string };
    const id = started.session_id;
    for (const wrong of ["nonsense", "", "bnVsbA==", cursor]) {
      const action = wrong === cursor ? "get_errors" : "get_phase";
      expect(await refused({ action, session_id: id, cursor: wrong })).toMatchObject({ code: "CURSOR_INVALID" });
    }
    for (const call of [{ action: "get_state" }, { action: "get_state", phase: 1 }, { action: "get_session" }]) {
      for (const wrong of ["nonsense", "€", "bnVsbA==", cursor]) {
        expect(await refused({ ...call, session_id: id, cursor: wrong })).toMatchObject({ code: "CURSOR_INVALID" });
      }
    }
    const task = { action: "get_task", session_id: id, phase: 1, task_number: 1, cursor };
    expect(await refused(task)).toMatchObject({ code: "CURSOR_INVALID", error: expect.stringContaining("changed") });
  });

  it.each(["list_workflows", "get_document", "get_history"])("splits the answer to %s into pages", async (action) => {
    const about = { revision: "1", description: "Digs. ".repeat(30), documents: { "core/guide.md": long } };
    const content = "Read [the guide](core/guide.md).";
    const phases = [{ number: 1, name: "Dig", content, gate: { evidence: z.object({ depth: z.number() }) } }];
    const many = Array.from({ length: 30 }, (_, index) => {
      return defineWorkflow({ ...about, type: `dig_${index}`, name: `Dig ${index}`, phases });
    });
    const { call, refused, start } = makeTool({ limits: { maxAttempts: 99, maxAttemptsTotal: 99 } }, many, 1500);
    const session_id = await start("dig_7");
    const submit = { action: "complete_phase", session_id, phase: 1, evidence: {} };
    for (let attempt = 0; attempt < 40; attempt += 1) await refused(submit);
    const onSession = action === "list_workflows" ? {} : { session_id };
    const named = action === "get_document" ? { path: "core/guide.md" } : {};
    let [text, items, pages] = ["", 0, 1];
    for (let answer = await call({ action, ...onSession, ...named }); ; answer = await call(answer.next as Answer)) {
      const { workflows, history, document } = answer;
      items += [workflows, history].flatMap((list) => list ?? []).length;
      text += Object(document).content ?? "";
      if (answer.cursor === undefined) break;
      pages += 1;
    }
    expect(pages).toBeGreaterThan(1);
    expect([items, text]).toEqual({ list_workflows: [30, ""], get_document: [0, long], get_history: [41, ""] }[action]);
  });

  it("splits the preview of a sync into pages, and shortens the answer to a sync, which is done once", async () => {
    const planOf = (count: number, more: string) => {
      const tasks = Array.from(
        { length: count },
        (_, at) => `- [ ] **Task 1.${at + 1}**: ${"Dig ".repeat(40)}\n${more}`,
      );
      return `### Phase 1: Garden\n\n${tasks.join("")}\n**Validation Gate**:\n- [ ] All is well\n`;
    };
    const { engine, start, edit } = makePlanned({ plan: planOf(15, "") });
    const session_id = await start(1);
    const { dispatch } = workflowTool(engine, { maxTokens: 1000 });
    edit(() => planOf(45, "  - **Estimated Time**: 1 hour\n"));
    let found = 0;
    let page = await dispatch({ action: "sync_plan", session_id, preview: true });
    for (; ; page = await dispatch(page.next)) {
      expect(page).toMatchObject({ status: "success", preview: true });
      const { added = [], other = [] } = Object(page.changes);
      found += added.length + other.length;
      if (page.cursor === undefined) break;
    }
    expect(found).toBe(45);
    const synced = await dispatch({ action: "sync_plan", session_id });
    expect(synced).toMatchObject({ synced: true, left_out: ["changes"] });
    expect(synced).not.toHaveProperty("json_page");
    // What a preview says beside its page of changes may be too long, too.
    edit((plan) => plan.replaceAll("Dig", "Sow"));
    const renamed = await dispatch({ action: "sync_plan", session_id, preview: true });
    expect(renamed).toMatchObject({ json_page: expect.any(String), next: { preview: true, cursor: renamed.cursor } });
  });

  it("splits a list of many sessions into pages", async () => {
    const { call, start } = makeTool({ limits: { maxActiveSessions: 200 } }, [twoPhases], 1500);
    for (let index = 0; index < 30; index += 1) await start("two_phases", `src/${index}.ts`);
    const seen = new Set<unknown>();
    for (let answer = await call({ action: "list_sessions" }); ; answer = await call(answer.next as Answer)) {
      for (const { session_id } of answer.sessions as { session_id: string }[]) seen.add(session_id);
      if (answer.cursor === undefined) break;
    }
    expect(seen.size).toBe(30);
  });
});
