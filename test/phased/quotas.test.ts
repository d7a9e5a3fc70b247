import { type Actor, createWorkflowTool, MemoryContent, MemoryStorage } from "phasegate";
import { createQuotas } from "phasegate/login";
import type { Verifier } from "phasegate/verify";
import { describe, expect, it } from "vitest";
import { routed, Script } from "../routed/engine/garden.js";
import { failure } from "../support/failure.js";
import { makeEngine, startTwoPhases } from "../support/make-engine.js";
import { submitTo } from "../support/submit.js";
import { gatedFiles } from "../support/verified.js";

const ANN: Actor = { name: "ann" };
const BOB: Actor = { name: "bob" };

/** A gate with so many checks of a verifier that waits. */
const waiting = (checks: number) => `checkpoint: {strict: true}
evidence_schema:
  summary: {type: string, required: true, description: "what was done"}
verify:
${Array.from({ length: checks }, (_, index) => `  - {verifier: wait, name: c${index}}`).join("\n")}
`;

/** An engine whose gate runs `checks` verifiers, each until `end` is called. */
function waitingEngine(checks: number, verifiersAtOnce: number) {
  let running = 0;
  let most = 0;
  const ends: (() => void)[] = [];
  const wait: Verifier = {
    async verify() {
      running += 1;
      most = Math.max(most, running);
      await new Promise<void>((resolve) => ends.push(resolve));
      running -= 1;
      return { ok: true, message: "done" };
    },
  };
  const content = new MemoryContent({ sources: { slow: gatedFiles("slow", [waiting(checks)]) } });
  const { engine } = makeEngine({ content, verifiers: { wait }, quotas: createQuotas({ verifiersAtOnce }) });
  const end = () => {
    for (const one of ends.splice(0)) one();
  };
  return { engine, ends, end, most: () => most };
}

const COMPLETE = { phase: 1, evidence: { summary: "done" } };

describe("the quota of sessions", () => {
  it("refuses one more than an actor may have, and says what to do; others and the host go on", async () => {
    const { engine } = makeEngine({ quotas: createQuotas({ sessions: 2 }) });
    const told: unknown[] = [];
    engine.on("internalError", (problem) => told.push(problem));
    const [ann, bob] = [engine.as(ANN), engine.as(BOB)];
    await startTwoPhases(ann, "a.ts");
    const second = await startTwoPhases(ann, "b.ts");
    // A paused session is not ended.
    await ann.session(second).pause();
    const error = await failure(startTwoPhases(ann, "c.ts"));
    expect(error).toMatchObject({ code: "SESSION_LIMIT", details: { limit: 2, actor: "ann" } });
    const tool = createWorkflowTool(engine, { actor: ANN });
    expect(await tool.dispatch({ action: "start", workflow_type: "two_phases", target_file: "c.ts" })).toMatchObject({
      code: "SESSION_LIMIT",
      error: "you have 2 sessions, which is as many as you may have",
      remediation: "Complete one of them first. Use list_sessions.",
      next: { action: "list_sessions" },
    });
    await startTwoPhases(bob, "c.ts");
    for (const target of ["d.ts", "e.ts", "f.ts"]) await startTwoPhases(engine, target);
    expect(told).toEqual([]);
  });

  it("lets a repeated start have its answer, and has room again when a session ends", async () => {
    const { engine } = makeEngine({ quotas: createQuotas({ sessions: 1 }) });
    const ann = engine.as(ANN);
    const start = { workflowType: "two_phases", target: "a.ts", idempotencyKey: "once" };
    const { sessionId } = await ann.start(start);
    expect(await ann.start(start)).toMatchObject({ sessionId, replayed: true });
    expect(await failure(ann.start({ ...start, idempotencyKey: "twice" }))).toMatchObject({ code: "SESSION_LIMIT" });
    await engine.session(sessionId).delete();
    await startTwoPhases(ann, "b.ts");
  });

  it("counts more sessions than one page has", async () => {
    const { engine } = makeEngine({
      quotas: createQuotas({ sessions: 150 }),
      limits: { maxActiveSessions: Number.POSITIVE_INFINITY },
    });
    const ann = engine.as(ANN);
    for (let count = 0; count < 150; count += 1) await startTwoPhases(ann, `f${count}.ts`);
    expect(await failure(startTwoPhases(ann, "more.ts"))).toMatchObject({ code: "SESSION_LIMIT" });
  });
});

describe("the quota of sessions of routed workflows", () => {
  it("counts instances, too", async () => {
    const storage = new MemoryStorage();
    const quotas = createQuotas({ sessions: 2 });
    const { engine } = routed(new Script(), { storage, quotas });
    const ann = engine.as(ANN);
    const { engine: phased } = makeEngine({ storage, quotas });
    await startTwoPhases(phased.as(ANN));
    const { sessionId } = await ann.start({ workflow: "GARDEN", idempotencyKey: "once" });
    expect(await failure(ann.start({ workflow: "GARDEN" }))).toMatchObject({ code: "SESSION_LIMIT" });
    expect(await failure(startTwoPhases(phased.as(ANN), "b.ts"))).toMatchObject({ code: "SESSION_LIMIT" });
    expect(await ann.start({ workflow: "GARDEN", idempotencyKey: "once" })).toMatchObject({ sessionId });
    await engine.as(BOB).start({ workflow: "GARDEN" });
    await ann.session(sessionId).cancel();
    await ann.start({ workflow: "GARDEN" });
  });
});

describe("the quota of verifiers at once", () => {
  it("turns a gate away while all places are taken, without an attempt, and frees them at the end", async () => {
    const { engine, ends, end } = waitingEngine(1, 1);
    const [ann, bob] = [engine.as(ANN), engine.as(BOB)];
    const start = async (by: typeof ann, target: string) =>
      (await by.start({ workflowType: "slow", target })).sessionId;
    const [one, two, other] = [await start(ann, "a.ts"), await start(ann, "b.ts"), await start(bob, "c.ts")];
    const first = submitTo(ann.session(one), COMPLETE);
    await expect.poll(() => ends.length).toBe(1);
    expect(await failure(submitTo(ann.session(two), COMPLETE))).toMatchObject({
      code: "BUSY",
      remedy: "Nothing was done: send the same call again in 2 s.",
      details: { running: 1, limit: 1, actor: "ann" },
    });
    expect(await ann.session(two).commits()).toHaveLength(1);
    const others = submitTo(bob.session(other), COMPLETE);
    await expect.poll(() => ends.length).toBe(2);
    end();
    expect(await first).toMatchObject({ passed: true });
    expect(await others).toMatchObject({ passed: true });
    const again = submitTo(ann.session(two), COMPLETE);
    await expect.poll(() => ends.length).toBe(1);
    end();
    expect(await again).toMatchObject({ passed: true });
  });

  it("lets a gate with more checks than places run them one after the other", async () => {
    const { engine, ends, end, most } = waitingEngine(4, 2);
    const ann = engine.as(ANN);
    const { sessionId } = await ann.start({ workflowType: "slow", target: "a.ts" });
    const completing = submitTo(ann.session(sessionId), COMPLETE);
    for (let round = 0; round < 2; round += 1) {
      await expect.poll(() => ends.length).toBe(2);
      end();
    }
    expect(await completing).toMatchObject({ passed: true });
    expect(most()).toBe(2);
  });

  it("frees its places when the caller ends the call", async () => {
    const { engine, ends, end } = waitingEngine(1, 1);
    const ann = engine.as(ANN);
    const { sessionId } = await ann.start({ workflowType: "slow", target: "a.ts" });
    const abort = new AbortController();
    const completing = failure(submitTo(ann.session(sessionId), { ...COMPLETE, signal: abort.signal }));
    await expect.poll(() => ends.length).toBe(1);
    abort.abort();
    expect(await completing).toMatchObject({ code: "CANCELLED" });
    end();
    const again = submitTo(ann.session(sessionId), COMPLETE);
    await expect.poll(() => ends.length).toBe(1);
    end();
    expect(await again).toMatchObject({ passed: true });
  });
});
