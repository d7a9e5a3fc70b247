import { MemoryContent } from "phasegate";
import { describe, expect, it } from "vitest";
import { DONE, routed, Script } from "../routed/engine/garden.js";
import { routedTools, workflowTool } from "../support/fits-schema.js";
import { makeEngine } from "../support/make-engine.js";
import { makePlanned } from "../support/planned.js";

type Answer = Record<string, unknown>;

const METADATA = {
  ...{ workflow_type: "three", name: "Three", description: "Three phases", version: "1.0.0" },
  phases: [1, 2, 3].map((number) => ({ phase_number: number, phase_name: `Phase ${number}` })),
};
const GATE = "evidence_schema:\n  note: { type: string, required: true }\n";
const THREE = {
  "metadata.json": JSON.stringify(METADATA),
  ...Object.fromEntries(
    [1, 2, 3].flatMap((number) => [
      [`phases/${number}/phase.md`, `# Phase ${number}\n`],
      [`phases/${number}/gate-definition.yaml`, GATE],
    ]),
  ),
};

/** Creates a phased session of three phases, each of which accepts any note. */
async function phased() {
  const { engine } = makeEngine({ content: new MemoryContent({ sources: { three: THREE } }) });
  const tool = workflowTool(engine);
  const call = async (input: Answer): Promise<Answer> => tool.dispatch(input);
  const start = { action: "start", workflow_type: "three", target_file: "a.md", idempotency_key: "start" };
  const session_id = String((await call(start)).session_id);
  const pass = (number: number, key?: string, note = "done") =>
    call({
      ...{ action: "complete_phase", session_id, phase: number, evidence: { note } },
      ...(key === undefined ? {} : { idempotency_key: key }),
    });
  return { call, start, session_id, pass };
}

describe("a repeated answer of a phased session", () => {
  it("contains the current state after a rollback, and the next call for it", async () => {
    const { call, session_id, pass } = await phased();
    const first = await pass(1, "one");
    expect(first).toMatchObject({ checkpoint_passed: true, next_phase: { phase_number: 2 } });
    expect(first).not.toHaveProperty("session_now");
    await call({ action: "rollback", session_id, to_phase: 1 });
    expect(await pass(1, "one")).toMatchObject({
      ...{ replayed: true, checkpoint_passed: true, phase_completed: 1 },
      session_now: { current_phase: 1, session_status: "active" },
      next: { action: "get_phase", session_id },
    });
    await call({ action: "pause", session_id });
    expect(await pass(1, "one")).toMatchObject({
      session_now: { current_phase: 1, session_status: "paused" },
      next: { action: "resume", session_id },
    });
  });

  it("asks for no corrected evidence at a gate that was passed since", async () => {
    const { session_id, pass } = await phased();
    const refused = await pass(1, "one", "");
    expect(refused).toMatchObject({ code: "GATE_FAILED", next: { action: "complete_phase" } });
    expect(await pass(1, "one", "")).toMatchObject({
      replayed: true,
      next: refused.next,
      remediation: expect.any(String),
    });
    await pass(1);
    const again = await pass(1, "one", "");
    expect(again).toMatchObject({
      ...{ status: "error", replayed: true, phase: 1 },
      session_now: { current_phase: 2, session_status: "active" },
      next: { action: "get_phase", session_id },
    });
    expect(again).not.toHaveProperty("remediation");
  });

  it("names no next call if the attempts are used up", async () => {
    const { session_id, pass, call } = await phased();
    await pass(1, "one");
    for (let attempt = 0; attempt < 30; attempt += 1) {
      await pass(2, undefined, "");
      await call({ action: "retry_phase", session_id, phase: 2 });
    }
    expect(await pass(1, "one")).toMatchObject({ replayed: true, next: null, blocked: expect.any(String) });
  });

  it("shows the current phase, after a start, a rollback, a resume and a retry", async () => {
    const { call, start, session_id, pass } = await phased();
    await pass(1);
    const here = { current_phase: 2, session_status: "active" };
    expect(await call(start)).toMatchObject({
      ...{ replayed: true, session_id, session_now: here, current_phase: 2, phase_content: { phase_number: 2 } },
      next: { action: "complete_phase", phase: 2 },
    });
    const back = { action: "rollback", session_id, to_phase: 1, idempotency_key: "back" };
    await call(back);
    await pass(1);
    expect(await call(back)).toMatchObject({
      ...{ replayed: true, from_phase: 2, to_phase: 1, session_now: here, phase_content: { phase_number: 2 } },
      next: { action: "get_phase" },
    });
    const rest = { action: "pause", session_id, idempotency_key: "rest" };
    const resume = { action: "resume", session_id, idempotency_key: "resume" };
    await call(rest);
    expect(await call(rest)).toMatchObject({ replayed: true, next: { action: "resume" } });
    await call(resume);
    expect(await call(rest)).toMatchObject({ replayed: true, session_now: here, next: { action: "get_phase" } });
    await pass(2);
    const there = { current_phase: 3, session_status: "active" };
    expect(await call(resume)).toMatchObject({
      replayed: true,
      session_now: there,
      phase_content: { phase_number: 3 },
    });
    for (let attempt = 0; attempt < 3; attempt += 1) await pass(3, undefined, "");
    const retry = { action: "retry_phase", session_id, phase: 3, idempotency_key: "retry" };
    await call(retry);
    await pass(3);
    const over = { session_status: "completed" };
    expect(await call(retry)).toMatchObject({ replayed: true, session_now: over, next: null });
    expect(await call(start)).toMatchObject({ replayed: true, session_now: over });
  });

  it("does not contain an outdated phase after a sync", async () => {
    const { tool, start, edit, pass } = makePlanned();
    const session_id = await start(1);
    edit((text) => text.replace("- [ ] **Task 1.3**", "- [ ] **Task 1.4**: Read them\n- [ ] **Task 1.3**"));
    const sync = { action: "sync_plan", session_id, idempotency_key: "sync" };
    expect(await tool.dispatch(sync)).toMatchObject({ synced: true, current_phase: 1 });
    const all = { tasks_completed: ["1.1", "1.2", "1.3", "1.4"], validation_gate: { 1: true, 2: true } };
    await pass(session_id, 1, all);
    expect(await tool.dispatch(sync)).toMatchObject({
      ...{ synced: true, replayed: true, current_phase: 2, session_now: { current_phase: 2 } },
      next: { action: "get_phase", session_id },
    });
  });
});

describe("a repeated answer of a routed session", () => {
  /** Creates an instance, and its tools as functions. */
  async function garden() {
    const { engine } = routed(new Script("Sow", "Water", "FINISH"));
    const tools = new Map(routedTools(engine).map((tool) => [tool.name, tool]));
    const call = async (name: string, input: Answer): Promise<Answer> =>
      (await tools.get(name)?.dispatch(input))?.body ?? {};
    const { instance_id } = await call("start_workflow", { workflow_name: "GARDEN", idempotency_key: "s" });
    return { call, instance_id };
  }

  it("contains the current step, and the step of the first answer", async () => {
    const { call, instance_id } = await garden();
    const keyed = { instance_id, ...DONE, idempotency_key: "k" };
    const first = await call("advance_workflow", keyed);
    expect(await call("advance_workflow", keyed)).toEqual({ ...first, replayed: true });
    await call("advance_workflow", { instance_id, ...DONE });
    const again = await call("advance_workflow", keyed);
    expect(again).toMatchObject({
      ...{ replayed: true, next_step: { step_name: "Water" }, status: "RUNNING" },
      earlier_answer: { next_step_name: "Sow", status: "RUNNING" },
    });
    const started = await call("start_workflow", { workflow_name: "GARDEN", idempotency_key: "s" });
    expect(started).toMatchObject({ next_step: { step_name: "Water" }, earlier_answer: { next_step_name: "Dig" } });
    await call("advance_workflow", { instance_id, ...DONE });
    const over = await call("advance_workflow", keyed);
    expect(over).toMatchObject({ status: "COMPLETED", next_step: { step_name: "FINISH" }, allowed: [] });
  });

  it("does not show a resumed session as suspended", async () => {
    const { call, instance_id } = await garden();
    const suspend = { instance_id, reason: "lunch", idempotency_key: "k" };
    expect(await call("suspend_workflow", suspend)).toMatchObject({ status: "SUSPENDED" });
    expect(await call("suspend_workflow", suspend)).toMatchObject({ status: "SUSPENDED", replayed: true });
    const report = { status: "resuming" };
    await call("resume_workflow", { instance_id, assumed_current_step_name: "Dig", report });
    expect(await call("suspend_workflow", suspend)).toMatchObject({
      ...{ status: "RUNNING", current_step_name: "Sow", replayed: true },
      next_step: { step_name: "Sow" },
    });
  });
});
