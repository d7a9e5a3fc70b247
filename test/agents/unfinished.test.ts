import { createWorkflowTool } from "phasegate";
import { unfinished } from "phasegate/agents";
import { describe, expect, it, onTestFinished } from "vitest";
import { makeAsking } from "../support/approvals.js";
import { endless } from "../support/endless.js";
import { makeEngine, startTwoPhases } from "../support/make-engine.js";
import { startVerified } from "../support/verified.js";
import { built } from "../support/workflows.js";

describe("a session is unfinished", () => {
  it("while its agent can go on, and says the next call", async () => {
    const { engine } = makeEngine();
    const sessionId = await startTwoPhases(engine);
    const next = { action: "get_phase", session_id: sessionId };
    const open = await unfinished(engine, { sessionId });
    expect(open).toStrictEqual({
      sessionId,
      version: 1,
      next,
      message: [
        `The session ${sessionId} of phasegate is not completed.`,
        `Its next call of the tool pos_workflow is ${JSON.stringify(next)}`,
        "If you can't go on, say why, and end your turn.",
      ].join("\n"),
    });
    // The host has not said that the agent works on it.
    expect((await unfinished(engine, { conversation: [sessionId] }))?.message).toContain("If you were not asked to");
    expect((await unfinished(engine, { sessionId }, { tool: "work" }))?.message).toContain("of the tool work is");
    const session = engine.session(sessionId);
    await session.completePhase(1, built);
    expect(await unfinished(engine, { sessionId })).toMatchObject({ version: 2 });
    await session.completePhase(2, {});
    expect(await unfinished(engine, { sessionId })).toBeUndefined();
  });

  it("is told once, until something was done in it", async () => {
    const { engine } = makeEngine();
    const sessionId = await startTwoPhases(engine);
    const told = await unfinished(engine, { sessionId }, { told: undefined });
    expect(told).toBeDefined();
    expect(await unfinished(engine, { sessionId }, { told })).toBeUndefined();
    await engine.session(sessionId).completePhase(1, {});
    expect(await unfinished(engine, { sessionId }, { told })).toMatchObject({ sessionId, version: 2 });
    const other = await startTwoPhases(engine, "src/b.ts");
    expect(await unfinished(engine, { sessionId: other }, { told })).toMatchObject({ sessionId: other, version: 1 });
  });

  it("is told again once its evidence is being verified", async () => {
    const { engine, sessionId } = await startVerified(["verify: [slow]\n"], {
      verifiers: { slow: { verify: endless().verify } },
    });
    onTestFinished(() => engine.close());
    const told = await unfinished(engine, { sessionId });
    const { dispatch } = createWorkflowTool(engine, { answerWithinMs: 20 });
    const submit = { action: "complete_phase", session_id: sessionId, phase: 1, evidence: { done: true } };
    const { next } = await dispatch(submit);
    const again = await unfinished(engine, { sessionId }, { told });
    expect(again).toMatchObject({ version: 1, next });
    expect(await unfinished(engine, { sessionId }, { told: again })).toBeUndefined();
  });

  it("by its target, or by the conversation that names it: of several, the one that has changed last", async () => {
    const { engine, clock } = makeEngine();
    const first = await startTwoPhases(engine, "src/a.ts");
    clock.advance(1000);
    const second = await startTwoPhases(engine, "src/b.ts");
    expect(await unfinished(engine, { target: "src/a.ts" })).toMatchObject({ sessionId: first });
    expect(await unfinished(engine, { target: "src/c.ts" })).toBeUndefined();
    const said = (...ids: string[]) => [{ role: "user", content: [{ text: `worked on ${ids.join()}` }] }];
    expect(await unfinished(engine, { conversation: said(first) })).toMatchObject({ sessionId: first });
    expect(await unfinished(engine, { conversation: said(first, second) })).toMatchObject({ sessionId: second });
    expect(await unfinished(engine, { conversation: "about other things" })).toBeUndefined();
    clock.advance(1000);
    await engine.session(first).completePhase(1, built);
    expect(await unfinished(engine, { conversation: said(first, second) })).toMatchObject({ sessionId: first });
  });

  it("for its own agent alone", async () => {
    const { engine } = makeEngine();
    const [ann, bob] = [engine.as({ name: "ann" }), engine.as({ name: "bob" })];
    const { sessionId } = await ann.start({ workflowType: "two_phases", target: "src/a.ts" });
    expect(await unfinished(ann, { target: "src/a.ts" })).toMatchObject({ sessionId });
    expect(await unfinished(bob, { target: "src/a.ts" })).toBeUndefined();
    await expect(unfinished(bob, { sessionId })).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
  });
});

describe("an agent may end", () => {
  it("if its session is paused, has failed, or waits for a person", async () => {
    const { engine } = makeEngine({ limits: { maxAttempts: 1 } });
    const sessionId = await startTwoPhases(engine);
    const session = engine.session(sessionId);
    await session.pause();
    expect(await unfinished(engine, { sessionId })).toBeUndefined();
    await session.resume();
    expect(await unfinished(engine, { sessionId })).toBeDefined();
    await session.completePhase(1, {});
    expect(await unfinished(engine, { sessionId })).toBeUndefined();
    const asking = await makeAsking();
    const waiting = await asking.start();
    await asking.engine.session(waiting).completePhase(1, { tests_pass: true });
    expect(await unfinished(asking.engine, { sessionId: waiting })).toBeUndefined();
  });

  it("if its attempts are used up, or it waits for a waiver", async () => {
    const { engine } = makeEngine({ limits: { maxAttempts: 10, maxAttemptsTotal: 1 } });
    const sessionId = await startTwoPhases(engine);
    await engine.session(sessionId).completePhase(1, {});
    expect(await engine.session(sessionId).state()).toMatchObject({ status: "failed", exhausted: true });
    expect(await unfinished(engine, { sessionId })).toBeUndefined();
    const other = makeEngine().engine;
    const waits = await startTwoPhases(other);
    await other.session(waits).requestWaiver(1, { fields: ["tests_pass"], reason: "there are no tests" });
    expect(await other.session(waits).state()).toMatchObject({ status: "active", waitsForWaiver: true });
    expect(await unfinished(other, { sessionId: waits })).toBeUndefined();
  });
});

it("what names no session is refused", async () => {
  const { engine } = makeEngine();
  const refused = { code: "INVALID_INPUT" };
  // @ts-expect-error the id must be named as such
  await expect(unfinished(engine, "release_1")).rejects.toMatchObject(refused);
  // @ts-expect-error no session
  await expect(unfinished(engine, {})).rejects.toMatchObject(refused);
  // @ts-expect-error a target that was looked up in vain
  await expect(unfinished(engine, { target: undefined })).rejects.toMatchObject(refused);
  // @ts-expect-error a misspelt option
  await expect(unfinished(engine, { target: "a" }, { tolt: "x" })).rejects.toMatchObject(refused);
  // @ts-expect-error no engine
  await expect(unfinished({}, { target: "a" })).rejects.toMatchObject(refused);
  // @ts-expect-error a misspelt key
  await expect(unfinished(engine, { session_id: "release_1" })).rejects.toMatchObject(refused);
  const circular: object[] = [];
  circular.push({ circular });
  for (const conversation of [circular, { tokens: 1n }, { toJSON: () => undefined }])
    await expect(unfinished(engine, { conversation })).rejects.toMatchObject({
      ...refused,
      message: "unfinished: the conversation can't be read: it is not JSON",
    });
  await expect(unfinished(engine, { sessionId: "release_1" })).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
});
