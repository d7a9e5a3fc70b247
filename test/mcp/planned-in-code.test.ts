import { createEngine, defineWorkflow, MemoryContent, MemoryPlans, MemoryStorage } from "phasegate";
import { describe, expect, it } from "vitest";
import { PLAN, PLAN_PATH, tickedIn } from "../support/planned.js";
import { type Answer, connectInMemory } from "./connect-in-memory.js";

/** Returns a workflow in code with a gate of fields, and phases from a plan after it. */
function carryOut(rule = "evidence.clear == evidence.read", revision = "1") {
  return defineWorkflow({
    ...{ type: "carry_out", revision, name: "Carry out", description: "Does what a plan says" },
    phases: [
      {
        ...{ number: 0, name: "Review", content: "# Review" },
        gate: {
          fields: {
            read: { type: "integer", validator: ["greater_than_0", "few"] },
            clear: { type: "integer" },
          },
          validators: { few: { rule: "value < 100", errorMessage: "a plan this long is never done" } },
          crossFieldValidation: [rule],
        },
      },
    ],
    dynamic: {
      templates: { phase: "# Phase [PHASE_NUMBER]: [PHASE_NAME]\n", task: () => "# Task [TASK_ID]: [TASK_NAME]\n" },
      enforceDependencies: true,
    },
  });
}

async function serve(workflows = [carryOut()]) {
  const plans = new MemoryPlans({ [PLAN_PATH]: PLAN });
  const content = new MemoryContent({ workflows });
  const engine = createEngine({ storage: new MemoryStorage(), content, plans });
  const { ask } = await connectInMemory(engine);
  const start = () => ask({ action: "start", workflow_type: "carry_out", target_file: "specs/one" });
  return { ask, start, plans, engine };
}

describe("a workflow in code whose phases come from a plan in memory", () => {
  it("runs from its first gate to its last tick", async () => {
    const { ask, start, plans } = await serve();
    expect(await ask({ action: "list_workflows" })).toMatchObject({ workflows: [{ plan_option: "spec_path" }] });
    const started = await start();
    const { session_id } = started;
    expect(started).toMatchObject({ current_phase: 0, total_phases: 3, plan: { path: PLAN_PATH } });
    const submit = (phase: number, evidence: Answer) => ask({ action: "complete_phase", session_id, phase, evidence });
    expect(await submit(0, { read: 200, clear: 1 })).toMatchObject({
      code: "GATE_FAILED",
      validation_errors: [expect.stringContaining("never done"), expect.stringContaining("evidence.clear ==")],
    });
    expect(await submit(0, { read: 5, clear: 5 })).toMatchObject({ next_phase: { phase_number: 1, title: "Parse" } });
    expect(await ask({ action: "get_phase", session_id })).toMatchObject({
      phase_content: { content: "# Phase 1: Parse\n" },
    });
    expect(await ask({ action: "get_task", session_id, phase: 1, task_number: 1 })).toMatchObject({
      task_content: { content: "# Task 1.1: Write the lexer\n" },
    });
    expect(await ask({ action: "get_task", session_id, phase: 1, task_number: 2 })).toMatchObject({
      code: "TASK_LOCKED",
    });
    await submit(1, { tasks_completed: ["1.1", "1.2", "1.3"], validation_gate: { 1: true, 2: true } });
    expect(tickedIn(plans.get(PLAN_PATH) ?? "")).toHaveLength(5);
    plans.set(PLAN_PATH, plans.get(PLAN_PATH)?.replace("Write the colours", "Write all colours"));
    expect(await ask({ action: "sync_plan", session_id, preview: true })).toMatchObject({
      status: "success",
      needs_host: expect.any(String),
    });
    const last = await submit(2, { tasks_completed: ["2.1", "2.2"], validation_gate: { 1: true } });
    expect(last).toMatchObject({ workflow_complete: true });
    expect(await ask({ action: "rollback", session_id, to_phase: 1 })).toMatchObject({ status: "error" });
  });

  it("can't be started if a rule of a gate can't run, and a session can't be migrated to it", async () => {
    const broken = await serve([carryOut("evidence.claer == evidence.read")]);
    expect(await broken.start()).toMatchObject({
      ...{ status: "error", code: "DEFINITION_INVALID" },
      error: expect.stringMatching(/phase 0: .*there is no evidence\.claer/),
    });
    expect(await broken.ask({ action: "list_sessions" })).toMatchObject({ sessions: [] });
    const storage = new MemoryStorage();
    const plans = new MemoryPlans({ [PLAN_PATH]: PLAN });
    const engineOn = (...workflows: ReturnType<typeof carryOut>[]) =>
      createEngine({ storage, content: new MemoryContent({ workflows }), plans });
    const { sessionId } = await engineOn(carryOut()).start({ workflowType: "carry_out", target: "specs/one" });
    const newer = engineOn(carryOut(), carryOut("evidence.read == 'x'", "2"));
    await expect(newer.session(sessionId).migrate({ by: "ann" })).rejects.toMatchObject({ code: "DEFINITION_INVALID" });
    const sound = engineOn(carryOut(), carryOut(undefined, "2"));
    expect(await sound.session(sessionId).migrate({ by: "ann" })).toMatchObject({ structure: { revision: "2" } });
  });
});
