import type { EngineNotifications } from "phasegate";
import { describe, expect, it } from "vitest";
import { failure } from "../support/failure.js";
import { workflowTool } from "../support/fits-schema.js";
import { makeEngine, startTwoPhases } from "../support/make-engine.js";
import { makePlanned } from "../support/planned.js";
import { built, twoPhases } from "../support/workflows.js";

function makeHost(storage?: ReturnType<typeof makeEngine>["storage"]) {
  const made = makeEngine(storage === undefined ? {} : { storage });
  const told: EngineNotifications["stepRefused"][] = [];
  made.engine.on("stepRefused", (refusal) => told.push(refusal));
  return { ...made, told };
}

describe("an attempt to skip ahead", () => {
  it("is notified, counted, and kept in the log, for any engine", async () => {
    const { engine, storage, told } = makeHost();
    const sessionId = await startTwoPhases(engine);
    const { version } = await engine.session(sessionId).state();
    const session = engine.session(twoPhases, sessionId);
    await failure(session.completePhase(2, {}));
    await failure(engine.session(sessionId).phase(2));
    await failure(engine.session(sessionId).task(2, 1));
    expect(told).toMatchObject([
      { sessionId, phase: 1, operation: "completePhase", code: "PHASE_LOCKED", requested: 2 },
      { operation: "getPhase", message: "phase 2 is locked: the session is in phase 1" },
      { operation: "getTask" },
    ]);
    expect(engine.metrics()).toMatchObject({
      completePhase: { count: 1, errors: 1, refused: 1 },
      getPhase: { refused: 1 },
      getState: { refused: 0 },
    });
    const other = makeEngine({ storage }).engine;
    const at = "2026-03-04T05:06:07.000Z";
    expect(await other.session(sessionId).refusals()).toEqual([
      { phase: 1, operation: "completePhase", code: "PHASE_LOCKED", requested: 2, at },
      { phase: 1, operation: "getPhase", code: "PHASE_LOCKED", requested: 2, at },
      { phase: 1, operation: "getTask", code: "PHASE_LOCKED", requested: 2, at },
    ]);
    expect(await other.session(sessionId).state()).toMatchObject({ version: version + 3, head: { attempts: 0 } });
    expect(await other.session(sessionId).audit()).toMatchObject({ intact: true });
  });

  it("is kept once for each visit to a phase, while every call is notified and counted", async () => {
    const { engine, told } = makeHost();
    const sessionId = await startTwoPhases(engine);
    for (let call = 0; call < 20; call += 1) await failure(engine.session(sessionId).phase(2));
    expect(told).toHaveLength(20);
    expect(engine.metrics().getPhase).toMatchObject({ refused: 20 });
    expect(await engine.session(sessionId).refusals()).toHaveLength(1);
    await engine.session(sessionId).completePhase(1, built);
    await engine.session(sessionId).rollback(1);
    await failure(engine.session(sessionId).phase(2));
    expect(await engine.session(sessionId).refusals()).toHaveLength(2);
  });

  it("adds at most ten commits to the log for each visit to a phase", async () => {
    const tasks = Array.from({ length: 30 }, (_, index) => `- [ ] **Task 1.${index + 1}**: Do ${index}\n`).join("");
    const open = Array.from({ length: 30 }, (_, index) => {
      return `- [ ] **Task 1.${index + 31}**: Then ${index}\n  - **Dependencies**: Task 1.1\n`;
    }).join("");
    const plan = `### Phase 1: A\n\n${tasks}${open}`;
    const { engine, start } = makePlanned({ plan, config: { enforce_dependencies: true } });
    const sessionId = await start(1);
    const { version } = await engine.session(sessionId).state();
    for (let task = 31; task <= 60; task += 1) await failure(engine.session(sessionId).task(1, task));
    const refusals = await engine.session(sessionId).refusals();
    expect(refusals).toHaveLength(10);
    expect(refusals[0]).toMatchObject({ code: "TASK_LOCKED", requested: 1, task: 31 });
    expect(await engine.session(sessionId).state()).toMatchObject({ version: version + 10 });
  });

  it("includes evidence for a phase before the current one, but not reading one", async () => {
    const { engine, told } = makeHost();
    const sessionId = await startTwoPhases(engine);
    await engine.session(sessionId).completePhase(1, built);
    await engine.session(sessionId).phase(1);
    await failure(engine.session(sessionId).completePhase(1, built));
    await failure(engine.session(sessionId).retryPhase(1));
    await failure(engine.session(sessionId).phase(9));
    expect(told).toMatchObject([{ code: "PHASE_ALREADY_COMPLETED", requested: 1, phase: 2 }]);
  });

  it("does not change a pause, and is refused even if it can't be recorded", async () => {
    const { engine, storage } = makeHost();
    const sessionId = await startTwoPhases(engine);
    await engine.session(sessionId).pause({ note: "later" });
    await failure(engine.session(sessionId).phase(2));
    expect(await engine.session(sessionId).state()).toMatchObject({ status: "paused", head: { note: "later" } });
    const errors: unknown[] = [];
    engine.on("internalError", (error) => errors.push(error));
    await engine.session(sessionId).resume();
    storage.append = () => Promise.reject(new Error("disk full"));
    expect(await failure(engine.session(sessionId).task(2, 1))).toMatchObject({ code: "PHASE_LOCKED" });
    expect(errors).toMatchObject([{ operation: "record refusal" }]);
  });

  it("is shown by get_errors and get_metrics, in order with the failures at gates", async () => {
    const { engine, clock } = makeHost();
    const tool = workflowTool(engine);
    const session_id = await startTwoPhases(engine);
    const failed = { action: "complete_phase", session_id, phase: 1, evidence: {} };
    await tool.dispatch(failed);
    clock.advance(1000);
    await tool.dispatch({ action: "get_phase", session_id, phase: 2 });
    clock.advance(1000);
    await tool.dispatch(failed);
    expect(await tool.dispatch({ action: "get_errors", session_id })).toMatchObject({
      error_count: 3,
      errors: [
        { phase: 1, attempt: 1 },
        {
          ...{ phase: 1, error_type: "StateError", code: "PHASE_LOCKED", timestamp: "2026-03-04T05:06:08.000Z" },
          ...{ message: "get_phase of phase 2 was refused in phase 1", remediation: "Work on phase 1" },
        },
        { attempt: 2 },
      ],
    });
    expect(await tool.dispatch({ action: "get_metrics" })).toMatchObject({
      metrics: { get_phase: { errors: 1, refused: 1 }, complete_phase: { errors: 2, refused: 0 } },
    });
  });
});
