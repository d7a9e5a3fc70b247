import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createWorkflowTool } from "phasegate";
import { describe, expect, it } from "vitest";
import { aGate } from "./a-gate.js";

const GATE = `
evidence_schema:
  tests_pass: {type: boolean, description: the whole suite}
  tests_run: {type: integer, validator: value > 0}
`;
const TRUTH = { tests_pass: true, tests_run: 12 };
const LIE = { tests_pass: true, tests_run: 0 };
const GATE_FILE = "honest_v1/phases/1/gate-definition.yaml";

describe("a session", () => {
  it("takes an honest agent through, gate by gate", async () => {
    const { accepts, claim } = await aGate({ gate: GATE });
    await accepts(TRUTH);
    expect(await claim({ done: true }, 2)).toMatchObject({ status: "success", workflow_complete: true });
  });

  it("refuses to skip ahead, and to read ahead", async () => {
    const { accepts, claim, tool, id } = await aGate({ gate: GATE });
    const skip = await claim({ done: true }, 2);
    expect(skip).toMatchObject({ status: "error", code: "PHASE_LOCKED", violation_type: "attempted_skip" });
    expect(skip).toMatchObject({ error: expect.stringMatching(/[Pp]hase 2 is locked.*phase 1/s) });
    expect(await tool.dispatch({ action: "get_phase", session_id: id, phase: 2 })).toMatchObject({
      code: "PHASE_LOCKED",
    });
    await accepts(TRUTH);
  });

  it("keeps its log short in a flood of refused calls, and counts them", async () => {
    const { accepts, engine, id, claim, tool } = await aGate({ gate: GATE });
    const before = (await engine.session(id).state()).version;
    for (let call = 0; call < 25; call += 1) {
      await claim({ done: true }, 2);
      await tool.dispatch({ action: "get_task", session_id: id, phase: 2, task_number: call });
    }
    const { version } = await engine.session(id).state();
    expect(version - before).toBe(2);
    expect(engine.metrics()).toMatchObject({ completePhase: { refused: 25 }, getTask: { refused: 25 } });
    await accepts(TRUTH);
  });

  it("refuses to complete a phase twice", async () => {
    const { accepts, claim } = await aGate({ gate: GATE });
    await accepts(TRUTH);
    const twice = await claim({ ...TRUTH, tests_run: 99 });
    expect(twice).toMatchObject({ code: "PHASE_ALREADY_COMPLETED", error: expect.stringContaining("hase 1") });
    expect(await claim({ done: true }, 2)).toMatchObject({ workflow_complete: true });
  });

  it("refuses an old idempotency key with other evidence", async () => {
    const { tool, id, phase } = await aGate({ gate: GATE });
    const call = { action: "complete_phase", session_id: id, phase: 1, idempotency_key: "once" };
    expect(await tool.dispatch({ ...call, evidence: LIE })).toMatchObject({ status: "error", code: "GATE_FAILED" });
    const reused = await tool.dispatch({ ...call, evidence: TRUTH });
    expect(reused).toMatchObject({ code: "IDEMPOTENCY_KEY_REUSED", remediation: expect.stringContaining("key") });
    expect(await phase()).toBe(1);
    expect(await tool.dispatch({ ...call, evidence: TRUTH, idempotency_key: "twice" })).toMatchObject({
      checkpoint_passed: true,
    });
  });

  it("refuses evidence of a later phase after a rollback", async () => {
    const { accepts, claim, tool, id } = await aGate({ gate: GATE });
    await accepts(TRUTH);
    expect(await tool.dispatch({ action: "rollback", session_id: id, to_phase: 1 })).toMatchObject({
      status: "success",
    });
    expect(await claim({ done: true }, 2)).toMatchObject({ code: "PHASE_LOCKED" });
    await accepts(TRUTH);
  });

  it("limits the total number of attempts, also after retries", async () => {
    const { claim, tool, id, engine } = await aGate({ gate: GATE, engine: { limits: { maxAttemptsTotal: 6 } } });
    const retry = { action: "retry_phase", session_id: id, phase: 1 };
    for (let failures = 1; failures <= 6; failures += 1) {
      if (failures === 4) await tool.dispatch(retry);
      await claim({ ...LIE, tests_run: -failures });
    }
    expect(await claim(TRUTH)).toMatchObject({ status: "error", session_status: "failed" });
    expect(await tool.dispatch(retry)).toMatchObject({
      code: "ATTEMPTS_EXHAUSTED",
      error: "phase 1 was tried 6 times without passing",
      remediation: expect.stringContaining("host"),
    });
    await engine.session(id).retryPhase(1);
    expect(await claim(TRUTH)).toMatchObject({ checkpoint_passed: true });
  });

  it("keeps its gate when the gate's file is made easier", async () => {
    const { workflows, refuses, accepts, open, id } = await aGate({ gate: GATE });
    await writeFile(join(workflows, GATE_FILE), "evidence_schema:\n  anything: {type: any, required: false}\n");
    await refuses(LIE, /tests_run.*value > 0/);
    const restarted = createWorkflowTool(await open());
    const call = { action: "complete_phase", session_id: id, phase: 1, evidence: LIE };
    expect(await restarted.dispatch(call)).toMatchObject({ code: "GATE_FAILED" });
    await accepts(TRUTH);
  });

  it("keeps its gate when the gate's file is deleted", async () => {
    const { workflows, refuses, accepts } = await aGate({ gate: GATE });
    await rm(join(workflows, GATE_FILE));
    await refuses({}, /'tests_pass' not provided: the whole suite/);
    await refuses(LIE, /tests_run.*value > 0/);
    await accepts(TRUTH);
  });

  it("starts no new session with an unreadable gate", async () => {
    const { workflows, tool, accepts } = await aGate({ gate: GATE });
    await writeFile(join(workflows, GATE_FILE), "evidence_schema: [\n");
    const start = { action: "start", workflow_type: "honest_v1", target_file: "src/b.ts" };
    const refused = await tool.dispatch(start);
    expect(refused).toMatchObject({ code: "DEFINITION_INVALID", error: expect.stringContaining("gate-definition") });
    await writeFile(join(workflows, GATE_FILE), GATE);
    expect(await tool.dispatch(start)).toMatchObject({ status: "success" });
    await accepts(TRUTH);
  });
});
