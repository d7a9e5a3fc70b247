import type { Commit } from "phasegate/storage";
import { describe, expect, it } from "vitest";
import { GATED } from "../../support/gated-garden.js";
import { DONE, routed, Script } from "./garden.js";

const ANN = { by: "ann", note: "the model is back" } as const;
const EMPTY = { report: { status: "success" } } as const;

describe("release", () => {
  it("lets a suspended instance run again, at its step and without a decider", async () => {
    const decider = new Script("Sow");
    const { engine } = routed(decider);
    const { sessionId: id } = await engine.start({ workflow: "GARDEN" });
    await engine.session(id).suspend({ note: "rain", by: "ann" });
    expect(await engine.session(id).release({ from: "paused", ...ANN })).toMatchObject({
      status: "active",
      currentStep: "Dig",
    });
    expect(decider.requests).toEqual([]);
    expect(await engine.session(id).history()).toMatchObject([
      { outcomeStatus: "SUSPENDED", by: "ann", reason: "rain" },
      { outcomeStatus: "RESUMED", by: "ann", reason: "the model is back" },
    ]);
    expect((await engine.session(id).advance(DONE)).nextStep.name).toBe("Sow");
  });

  it("lets a failed instance run again, whose report the next call has decided", async () => {
    const { engine } = routed(new Script(new Error("no"), "Water"));
    const { sessionId: id } = await engine.start({ workflow: "GARDEN" });
    await expect(engine.session(id).advance(DONE)).rejects.toMatchObject({ code: "DECIDER_FAILED" });
    const told: unknown[] = [];
    engine.on("retried", ({ sessionId }) => told.push(sessionId));
    expect(await engine.session(id).release({ by: "ann", idempotencyKey: "k" })).toMatchObject({
      status: "active",
      pending: { operation: "advance" },
    });
    expect(told).toEqual([id]);
    expect(await engine.session(id).release({ by: "ann", idempotencyKey: "k" })).toMatchObject({
      replayed: true,
    });
    expect((await engine.session(id).advance(DONE)).nextStep.name).toBe("Water");
  });

  it("grants attempts that a client can't get any more", async () => {
    const limits = { maxAttempts: 1, maxAttemptsTotal: 1 };
    const { engine } = routed(new Script("Sow"), { workflows: GATED, limits });
    const { sessionId: id } = await engine.start({ workflow: "GARDEN" });
    await engine.session(id).advance(EMPTY);
    expect((await engine.listSessions()).items).toMatchObject([{ status: "failed", waitsFor: ["host"] }]);
    await expect(engine.session(id).retry()).rejects.toMatchObject({
      code: "INVALID_TRANSITION",
      remedy: expect.stringContaining("phasegate retry"),
    });
    await engine.session(id).release({ from: "failed", ...ANN });
    expect((await engine.listSessions()).items[0]).not.toHaveProperty("waitsFor");
    const dug = { report: { status: "success", details: { depth: 20 } } };
    expect((await engine.session(id).advance(dug)).nextStep.name).toBe("Sow");
  });

  it("is refused in another status, without a name, and above the limit", async () => {
    const { engine } = routed(new Script(), { limits: { maxActiveSessions: 1 } });
    const { sessionId: id } = await engine.start({ workflow: "GARDEN" });
    for (const from of ["failed", "paused"] as const) {
      await expect(engine.session(id).release({ from, ...ANN })).rejects.toMatchObject({ code: "INVALID_TRANSITION" });
    }
    await expect(engine.session(id).release({ by: " " })).rejects.toMatchObject({
      details: { field: "by" },
    });
    const long = { by: "x".repeat(201) };
    await expect(engine.session(id).suspend(long)).rejects.toMatchObject({ code: "INVALID_INPUT" });
    await engine.session(id).suspend();
    await expect(engine.session(id).release({ from: "failed", ...ANN })).rejects.toMatchObject({
      code: "INVALID_TRANSITION",
    });
    await engine.start({ workflow: "GARDEN" });
    await expect(engine.session(id).release(ANN)).rejects.toMatchObject({ code: "SESSION_LIMIT" });
    const back = { assumedStep: "Dig", report: { status: "resuming" } };
    await expect(engine.session(id).resume(back)).rejects.toMatchObject({ code: "SESSION_LIMIT" });
    expect(await engine.session(id).state()).toMatchObject({ status: "paused" });
  });

  it("records who deletes", async () => {
    const { engine, storage } = routed(new Script());
    const { sessionId: id } = await engine.start({ workflow: "GARDEN" });
    const bodies: string[] = [];
    const append = storage.append.bind(storage);
    storage.append = (commit: Commit) => {
      bodies.push(commit.body);
      return append(commit);
    };
    await engine.session(id).delete({ by: "ann", note: "a test" });
    expect(bodies[0]).toContain('"events":[{"type":"deleted","reason":"a test","operator":"ann"}]');
  });
});
