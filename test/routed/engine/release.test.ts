import type { Commit } from "phasegate/storage";
import { describe, expect, it } from "vitest";
import { GATED } from "../../support/gated-garden.js";
import { DONE, routed, Script } from "./garden.js";

const ANN = { operator: "ann", note: "the model is back" } as const;
const EMPTY = { report: { status: "success" } } as const;

describe("release", () => {
  it("lets a suspended instance run again, at its step and without a decider", async () => {
    const decider = new Script("Sow");
    const { engine } = routed(decider);
    const { instanceId: id } = await engine.start({ workflow: "GARDEN" });
    await engine.suspend(id, { reason: "rain", operator: "ann" });
    expect(await engine.release(id, { from: "SUSPENDED", ...ANN })).toMatchObject({
      status: "RUNNING",
      currentStep: "Dig",
    });
    expect(decider.requests).toEqual([]);
    expect(await engine.history(id)).toMatchObject([
      { outcomeStatus: "SUSPENDED", by: "ann", reason: "rain" },
      { outcomeStatus: "RESUMED", by: "ann", reason: "the model is back" },
    ]);
    expect((await engine.advance(id, DONE)).nextStep.name).toBe("Sow");
  });

  it("lets a failed instance run again, whose report the next call has decided", async () => {
    const { engine } = routed(new Script(new Error("no"), "Water"));
    const { instanceId: id } = await engine.start({ workflow: "GARDEN" });
    await expect(engine.advance(id, DONE)).rejects.toMatchObject({ code: "DECIDER_FAILED" });
    const told: unknown[] = [];
    engine.on("retried", ({ instanceId }) => told.push(instanceId));
    expect(await engine.release(id, { operator: "ann", idempotencyKey: "k" })).toMatchObject({
      status: "RUNNING",
      pending: { operation: "advance" },
    });
    expect(told).toEqual([id]);
    expect(await engine.release(id, { operator: "ann", idempotencyKey: "k" })).toMatchObject({ replayed: true });
    expect((await engine.advance(id, DONE)).nextStep.name).toBe("Water");
  });

  it("grants attempts that a client can't get any more", async () => {
    const limits = { maxAttempts: 1, maxAttemptsTotal: 1 };
    const { engine } = routed(new Script("Sow"), { workflows: GATED, limits });
    const { instanceId: id } = await engine.start({ workflow: "GARDEN" });
    await engine.advance(id, EMPTY);
    expect((await engine.listInstances()).items).toMatchObject([{ status: "failed", waitsFor: ["host"] }]);
    await expect(engine.retry(id)).rejects.toMatchObject({
      code: "INVALID_TRANSITION",
      remedy: expect.stringContaining("phasegate retry"),
    });
    await engine.release(id, { from: "FAILED", ...ANN });
    expect((await engine.listInstances()).items[0]).not.toHaveProperty("waitsFor");
    const dug = { report: { status: "success", details: { depth: 20 } } };
    expect((await engine.advance(id, dug)).nextStep.name).toBe("Sow");
  });

  it("is refused in another status, without a name, and above the limit", async () => {
    const { engine } = routed(new Script(), { limits: { maxActiveSessions: 1 } });
    const { instanceId: id } = await engine.start({ workflow: "GARDEN" });
    for (const from of ["FAILED", "SUSPENDED"] as const) {
      await expect(engine.release(id, { from, ...ANN })).rejects.toMatchObject({ code: "INVALID_TRANSITION" });
    }
    await expect(engine.release(id, { operator: " " })).rejects.toMatchObject({ details: { field: "operator" } });
    const long = { operator: "x".repeat(201) };
    await expect(engine.suspend(id, long)).rejects.toMatchObject({ code: "INVALID_INPUT" });
    await engine.suspend(id);
    await expect(engine.release(id, { from: "FAILED", ...ANN })).rejects.toMatchObject({ code: "INVALID_TRANSITION" });
    await engine.start({ workflow: "GARDEN" });
    await expect(engine.release(id, ANN)).rejects.toMatchObject({ code: "SESSION_LIMIT" });
    const back = { assumedStep: "Dig", report: { status: "resuming" } };
    await expect(engine.resume(id, back)).rejects.toMatchObject({ code: "SESSION_LIMIT" });
    expect(await engine.status(id)).toMatchObject({ status: "SUSPENDED" });
  });

  it("records who deletes", async () => {
    const { engine, storage } = routed(new Script());
    const { instanceId: id } = await engine.start({ workflow: "GARDEN" });
    const bodies: string[] = [];
    const append = storage.append.bind(storage);
    storage.append = (commit: Commit) => {
      bodies.push(commit.body);
      return append(commit);
    };
    await engine.delete(id, { operator: "ann", reason: "a test" });
    expect(bodies[0]).toContain('"events":[{"type":"deleted","reason":"a test","operator":"ann"}]');
  });
});
