import { defineWorkflow, type EngineOptions, type Workflow, type WorkflowToolOptions } from "phasegate";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { workflowTool } from "../support/fits-schema.js";
import { makeEngine } from "../support/make-engine.js";
import { built, twoPhases } from "../support/workflows.js";

type Answer = Record<string, unknown>;
const BUDGET = 24_000;

function makeTool(
  options: Partial<EngineOptions> = {},
  workflows: readonly Workflow[] = [twoPhases],
  toolOptions: WorkflowToolOptions = {},
) {
  const made = makeEngine(options, workflows);
  const tool = workflowTool(made.engine, toolOptions);
  const call = async (input: unknown): Promise<Answer> => {
    const answer = await tool.dispatch(input);
    expect(JSON.stringify(answer).length, "an answer over its budget").toBeLessThanOrEqual(BUDGET);
    return answer;
  };
  const start = async (type = "two_phases", target = "a"): Promise<string> =>
    String((await call({ action: "start", workflow_type: type, target_file: target })).session_id);
  return { ...made, tool, call, start };
}

const fields = (count: number) =>
  z.object(Object.fromEntries(Array.from({ length: count }, (_, i) => [`field_${i}`, z.string()])));
const wide = defineWorkflow({
  ...{ type: "wide", revision: "1", name: "Wide", description: "More fields than an answer can show" },
  phases: [
    { number: 1, name: "Wide", content: "one text", gate: { evidence: fields(2500) } },
    { number: 2, name: "Open", content: "# Open" },
  ],
});
const broad = defineWorkflow({
  ...{ type: "broad", revision: "1", name: "Broad", description: "Few refusals fill an answer" },
  phases: [{ number: 1, name: "Broad", content: "one text", gate: { evidence: fields(200) } }],
});
const open = defineWorkflow({
  ...{ type: "open", revision: "1", name: "Open", description: "Takes anything" },
  phases: [1, 2].map((number) => ({ number, name: `Phase ${number}`, content: "# Open" })),
});

/** Follows `next` through the pages of one action. */
async function follow(call: (input: unknown) => Promise<Answer>, first: Answer): Promise<Answer[]> {
  const answers = [first];
  for (let answer = first; (answer.next as Answer | undefined)?.cursor !== undefined; ) {
    answer = await call(answer.next);
    expect(answer, JSON.stringify(answer).slice(0, 300)).toMatchObject({ status: "success", action: first.action });
    answers.push(answer);
    expect(answers.length, "it comes to an end").toBeLessThan(100);
  }
  return answers;
}

describe("answers to calls that change something", () => {
  it("never repeat the evidence, and stay within their budget", async () => {
    const { call, start } = makeTool({}, [open]);
    const evidence = Object.fromEntries(
      Array.from({ length: 300 }, (_, i) => [`${i}`.padEnd(300, "k"), "x".repeat(10_000)]),
    );
    const answer = await call({ action: "complete_phase", session_id: await start("open"), phase: 1, evidence });
    expect(answer).toMatchObject({ status: "success", checkpoint_passed: true, evidence_accepted_in_all: 300 });
    expect(answer.next).toMatchObject({ action: "get_phase" });
  });

  it("name the fields that do not fit, and the call that returns them", async () => {
    const { call } = makeTool({}, [wide]);
    const started = await call({ action: "start", workflow_type: "wide", target_file: "a" });
    expect(started).toMatchObject({ status: "success", left_out: ["phase_content"], next: { action: "get_phase" } });
    const pages = await follow(call, await call(started.next));
    const whole: Answer = JSON.parse(pages.map(({ json_page }) => json_page).join(""));
    expect(whole).toMatchObject({ phase_content: { content: "one text" }, next: { action: "complete_phase" } });
    expect(await call(whole.next)).toMatchObject({ status: "error", code: "EVIDENCE_UNSAFE" });
  });
});

describe("a cursor", () => {
  it.each(["nope", "文档", "c".repeat(100)])(
    "of workflows leads on, whatever category was asked for: %s",
    async (category) => {
      const many = Array.from({ length: 200 }, (_, index) =>
        defineWorkflow({
          ...{ type: `many_${index}`, revision: "1", name: "Many", description: "d".repeat(200) },
          phases: [{ number: 1, name: "One", content: "text" }],
        }),
      );
      const { call } = makeTool({}, many);
      const first = await call({ action: "list_workflows", category });
      const pages = await follow(call, first);
      expect(pages.length).toBeGreaterThan(1);
      expect(pages.flatMap(({ workflows }) => workflows)).toHaveLength(200);
    },
  );

  it("is refused where it is of another list, or of another session's", async () => {
    const { call, start, engine } = makeTool({ limits: { maxAttempts: 9 } }, [broad]);
    const id = await start("broad");
    for (const evidence of [{ a: 1 }, { b: 1 }, { c: 1 }]) await engine.session(id).completePhase(1, evidence);
    const { cursor, history } = await call({ action: "get_history", session_id: id });
    expect((history as unknown[]).length).toBeOneOf([1, 2]);
    const other = await start("broad");
    const wrong = [
      { action: "get_errors", session_id: id },
      { action: "get_history", session_id: other },
      { action: "list_workflows" },
    ];
    expect(cursor).toBeTypeOf("string");
    for (const params of wrong)
      expect(await call({ ...params, cursor }), params.action).toMatchObject({ code: "CURSOR_INVALID" });
  });
});

describe("pages", () => {
  it("reach everything, even if one item of a list is longer than an answer", async () => {
    const { call, start, engine } = makeTool({ limits: { maxAttempts: 9 } }, [wide]);
    const id = await start("wide");
    for (let attempt = 0; attempt < 3; attempt += 1) {
      await engine.session(id).completePhase(1, { [`field_${attempt}`]: "there" });
    }
    const seen: unknown[] = [];
    let json = "";
    for (const page of await follow(call, await call({ action: "get_errors", session_id: id }))) {
      json += page.json_page ?? JSON.stringify(page);
      if (!isWhole(json)) continue;
      seen.push(...(JSON.parse(json) as { errors: unknown[] }).errors);
      json = "";
    }
    expect(seen).toEqual([{}, {}, {}].map(() => expect.objectContaining({ phase: 1 })));
  });
});

function isWhole(json: string): boolean {
  try {
    JSON.parse(json);
    return true;
  } catch {
    return false;
  }
}

describe("an answer is short, however long the input is", () => {
  it.each([
    ["a session id", { action: "get_state", session_id: "x".repeat(1_000_000) }],
    ["a category", { action: "list_workflows", category: "x".repeat(1_000_000) }],
    ["an action", { action: "x".repeat(1_000_000) }],
    [
      "parameters",
      { action: "get_metrics", ...Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`p${i}`, i])) },
    ],
    ["a target", { action: "start", workflow_type: "two_phases", target_file: "x".repeat(1_000_000) }],
    ["a BigInt", { action: "get_state", session_id: 10n }],
  ])("%s", async (_, input) => {
    const answer = await makeTool().call(input);
    expect(JSON.stringify(answer).length).toBeLessThan(4000);
  });

  it("an answer to a nearly correct call contains the corrected call, with the correct parameters kept", async () => {
    const answer = await makeTool().call({ action: "get_task", session_id: "abc", phase: "1", task_number: 2 });
    expect(answer.example).toEqual({ action: "get_task", session_id: "abc", phase: 1, task_number: 2 });
  });
});

describe("`next` fits the state of the session", () => {
  it("asks for a person, and names no call, when the attempts are used up", async () => {
    const { call, start } = makeTool({ limits: { maxAttempts: 2, maxAttemptsTotal: 2 } });
    const id = await start();
    const wrong = { action: "complete_phase", session_id: id, phase: 1, evidence: {} };
    await call(wrong);
    const last = await call(wrong);
    expect(last).toMatchObject({
      session_status: "failed",
      next: null,
      remediation: expect.stringContaining("Ask the person"),
    });
    expect(await call({ action: "retry_phase", session_id: id, phase: 1 })).toMatchObject({
      code: "ATTEMPTS_EXHAUSTED",
    });
    for (const brief of [true, false]) {
      const state = await call({ action: "get_state", session_id: id, brief });
      expect(state).toMatchObject({ next: null, blocked: expect.stringContaining("used up") });
    }
    expect(await call({ action: "get_phase", session_id: id })).toMatchObject({ next: null });
  });

  it("resumes a paused session, continues after a completed phase, and ends with a completed session", async () => {
    const { call, start } = makeTool();
    const id = await start();
    await call({ action: "pause", session_id: id });
    const resume = { action: "resume", session_id: id };
    expect((await call({ action: "get_phase", session_id: id })).next).toEqual(resume);
    expect((await call({ action: "get_task", session_id: id, phase: 1, task_number: 2 })).next).toEqual(resume);
    expect((await call({ action: "complete_phase", session_id: id, phase: 1, evidence: built })).next).toEqual(resume);
    await call(resume);
    await call({ action: "complete_phase", session_id: id, phase: 1, evidence: built });
    const current = { action: "get_phase", session_id: id };
    expect((await call({ action: "get_task", session_id: id, phase: 1, task_number: 2 })).next).toEqual(current);
    expect((await call({ action: "get_state", session_id: id, brief: true })).next).toEqual(current);
    await call({ action: "complete_phase", session_id: id, phase: 2, evidence: {} });
    expect((await call({ action: "get_phase", session_id: id })).next).toBeNull();
  });

  it("names no action that the host has excluded", async () => {
    const actions = ["start", "get_phase", "complete_phase"] as const;
    const { call, start, tool } = makeTool({}, [twoPhases], { actions });
    expect(tool.description).not.toMatch(/list_|get_state|get_task|retry/);
    const id = await start();
    const answers = [await call({ action: "start", workflow_type: "none", target_file: "a" })];
    for (let attempt = 0; attempt < 4; attempt += 1) {
      answers.push(await call({ action: "complete_phase", session_id: id, phase: 1, evidence: {} }));
    }
    for (const { next, valid_actions: valid = [] } of answers) {
      expect([undefined, ...actions]).toContain((next as Answer | undefined)?.action);
      for (const action of valid as string[]) expect(actions).toContain(action);
    }
    expect(() => makeTool({}, [twoPhases], { actions: [] })).toThrow("at least one action");
    expect(() => workflowTool(makeEngine().engine, { actions: ["nope" as never] })).toThrow("nope");
  });

  it("starts a workflow that matches the filter", async () => {
    const { call } = makeTool({}, [open, twoPhases]);
    expect((await call({ action: "list_workflows", category: "testing" })).next).toMatchObject({
      workflow_type: "two_phases",
    });
  });
});

describe("brief state", () => {
  it("fits 400 tokens for any phase numbers", async () => {
    const gaps = defineWorkflow({
      ...{ type: "gaps", revision: "1", name: "Gaps", description: "Numbers far apart" },
      phases: Array.from({ length: 300 }, (_, index) => ({ number: index * 2, name: `Phase ${index}`, content: "" })),
    });
    const { call, start, engine } = makeTool({}, [gaps]);
    const id = await start("gaps", `src/${"deep/".repeat(50)}a.ts`);
    for (let index = 0; index < 299; index += 1) await engine.session(id).completePhase(index * 2, {});
    const brief = await call({ action: "get_state", session_id: id, brief: true });
    expect(JSON.stringify(brief).length).toBeLessThanOrEqual(1600);
    expect(brief).toMatchObject({
      phases: "299 of 300 complete",
      target_file: expect.stringMatching(/^src\/deep\/.{150,}…$/),
    });
  });
});

describe("a failure outside the engine", () => {
  it("is reported to the host", async () => {
    const { engine, call } = makeTool();
    const told: string[] = [];
    engine.on("internalError", ({ operation }) => told.push(operation));
    const hostile = {
      get action(): string {
        throw new Error("a getter");
      },
    };
    expect(await call(hostile)).toMatchObject({ code: "INTERNAL" });
    expect(told).toEqual(["tool pos_workflow"]);
  });
});
