import { createEngine, createWorkflowTool, MemoryContent } from "phasegate";
import { FileStorage } from "phasegate/fs";
import { describe, expect, it } from "vitest";
import type { AttemptList, StatisticsView } from "../../src/read/model.js";
import { makeHouse } from "../inspector/house.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { makeAsking } from "../support/approvals.js";
import { failure } from "../support/failure.js";
import { makeEngine, startTwoPhases } from "../support/make-engine.js";
import { built, twoPhases } from "../support/workflows.js";

async function started() {
  const made = makeEngine();
  const sessionId = await startTwoPhases(made.engine);
  return { ...made, session: made.engine.session(sessionId) };
}

describe("what a host notes on a submission", () => {
  it("is in the history of failed and passed attempts, as the log has it", async () => {
    const folder = await temporaryFolder();
    const content = new MemoryContent({ workflows: [twoPhases] });
    const engine = createEngine({ storage: await FileStorage.open(folder), content });
    const { sessionId } = await engine.start({ workflowType: "two_phases", target: "a" });
    await engine.session(sessionId).completePhase(1, {}, { noted: { cost: 0.25, model: "small" } });
    await engine.session(sessionId).completePhase(1, built, { noted: { cost: 1 } });
    await engine.session(sessionId).completePhase(2, {});
    await engine.close();
    const later = createEngine({ storage: await FileStorage.open(folder), content });
    const noted = (await later.session(sessionId).history()).map((attempt) => attempt.noted);
    expect(noted).toEqual([{ cost: 0.25, model: "small" }, { cost: 1 }, undefined]);
    await later.close();
  });

  it("stays with a submission that a person approves or denies", async () => {
    const { engine, start, signed } = await makeAsking();
    const sessionId = await start();
    const session = engine.session(sessionId);
    const submit = (cost: number) => session.completePhase(1, { tests_pass: true, cost }, { noted: { cost } });
    await submit(3);
    await session.deny({ ...(await signed(sessionId, { decision: "deny", note: "no" })), note: "no" });
    await submit(4);
    await session.approve(await signed(sessionId));
    const history = await session.history();
    expect(history.map(({ status, noted }) => [status, noted])).toEqual([
      ["failed", { cost: 3 }],
      ["completed", { cost: 4 }],
      ["active", undefined],
    ]);
  });

  it("is no evidence, and changes neither the verdict nor the answer to a repeated call", async () => {
    const { session } = await started();
    const key = { idempotencyKey: "once" };
    const first = await session.completePhase(1, built, { ...key, noted: { cost: 1 } });
    const again = await session.completePhase(1, built, { ...key, noted: { cost: 2 } });
    expect([first.passed, again]).toEqual([true, { ...first, replayed: true }]);
    const [attempt] = await session.history({ evidence: true });
    expect(attempt).toMatchObject({ evidence: built, noted: { cost: 1 } });
  });

  it("is copied when it arrives", async () => {
    const { session } = await started();
    const noted = { cost: 1 };
    const submitted = session.completePhase(1, built, { noted });
    noted.cost = 2;
    await submitted;
    expect((await session.history())[0]?.noted).toEqual({ cost: 1 });
  });

  it("has names and values within limits", async () => {
    const { session } = await started();
    const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`n${at}`, at]));
    const wrong: unknown[] = [
      ...[null, 5, "cost", [1], { cost: null }, { cost: { usd: 1 } }, { cost: Number.NaN }, { cost: 1e16 }],
      ...[{ "": 1 }, { "a b": 1 }, { _a: 1 }, { [`a${"b".repeat(40)}`]: 1 }, { model: "x".repeat(201) }, many(21)],
    ];
    for (const noted of wrong) {
      const refused = await failure(session.completePhase(1, {}, { noted } as object));
      expect([refused.code, refused.details], JSON.stringify(noted)).toEqual([
        "INVALID_INPUT",
        { field: "noted", expected: expect.stringContaining("up to 20 numbers") },
      ]);
    }
    expect(await session.history()).toMatchObject([{ attempt: 1, status: "active" }]);
    const most = { ...many(18), [`a${"b".repeat(39)}`]: -1e15, model: "x".repeat(200) };
    await session.completePhase(1, {}, { noted: most });
    expect((await session.history())[0]?.noted).toEqual(most);
  });

  it("is summed up by phase: over all submissions, with the median of the sessions", async () => {
    const { engine } = makeEngine();
    const costs = [[1, 2], [10], [4]];
    for (const [at, given] of costs.entries()) {
      const session = engine.session(await startTwoPhases(engine, `src/${at}.ts`));
      for (const cost of given) await session.completePhase(1, {}, { noted: { cost, model: "small" } });
      await session.completePhase(1, built, { noted: { tokens: 5 } });
    }
    const statistics = await engine.statistics();
    const [first, second] = statistics.workflows[0]?.phases ?? [];
    expect(first?.noted).toEqual([
      { name: "cost", sum: 17, median: 4 },
      { name: "tokens", sum: 15, median: 5 },
    ]);
    expect(second?.noted).toBeUndefined();
    // A cursor in JSON continues the sums.
    const cursor = JSON.parse(JSON.stringify(statistics.cursor));
    const session = engine.session(await startTwoPhases(engine, "src/more.ts"));
    await session.completePhase(1, {}, { noted: { cost: 0.5 } });
    const more = (await engine.statistics({ cursor })).workflows[0]?.phases[0]?.noted;
    expect(more?.[0]).toEqual({ name: "cost", sum: 17.5, median: 3 });
  });

  it("comes with a call of the tool from its host, and never from the agent", async () => {
    const { engine, session } = await started();
    const tool = createWorkflowTool(engine);
    const call = { action: "complete_phase", session_id: session.id, phase: 1, evidence: built };
    const refused = await tool.dispatch({ ...call, noted: { cost: 0 } });
    expect(refused).toMatchObject({ status: "error", error: expect.stringContaining("noted") });
    await tool.dispatch(call, { noted: { cost: 2 } });
    expect((await session.history())[0]?.noted).toEqual({ cost: 2 });
  });

  it("reaches the inspector's page", async () => {
    const { engine, get } = await makeHouse();
    const { sessionId } = await engine.start({ workflowType: "two_phases", target: "a" });
    await engine.session(sessionId).completePhase(1, {}, { noted: { cost: 2, model: "small" } });
    const { items } = await get<AttemptList>(`sessions/${sessionId}/attempts`);
    expect(items.map(({ noted }) => noted)).toEqual([undefined, { cost: 2, model: "small" }]);
    const { workflows } = await get<StatisticsView>("statistics");
    expect(workflows[0]?.phases[0]?.noted).toEqual([{ name: "cost", sum: 2, median: 2 }]);
  });
});
