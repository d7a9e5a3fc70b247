import { createEngine, type Engine, MemoryContent, MemoryStorage } from "phasegate";
import type { Verifier } from "phasegate/verify";
import { describe, expect, it, vi } from "vitest";
import { failure } from "../support/failure.js";
import { submitTo } from "../support/submit.js";
import { gatedFiles } from "../support/verified.js";

/** A storage in memory that counts its reads. */
class CountingStorage extends MemoryStorage {
  reads = 0;

  override async read(id: Parameters<MemoryStorage["read"]>[0]) {
    this.reads += 1;
    return super.read(id);
  }
}

const OPEN = "evidence_schema: {done: {type: boolean}}\n";
const VERIFIED = `${OPEN}verify: counted\n`;
const ALLOWED = `checkpoint: {strict: true, allow_override: true}\n${OPEN}`;
const DONE = { done: true };

/** Creates two hosts on one storage, each with the session's first version in its cache. */
async function twoHosts(gates: readonly string[]) {
  const storage = new CountingStorage();
  let verified = 0;
  let snapshots = 0;
  const counted: Verifier = {
    verify: async () => {
      verified += 1;
      return { ok: true, message: "counted" };
    },
    snapshot: async () => {
      snapshots += 1;
      return {};
    },
  };
  const host = (): Engine =>
    createEngine({
      storage,
      content: new MemoryContent({ sources: { verified: gatedFiles("verified", gates) } }),
      verifiers: { counted },
    });
  const [here, there] = [host(), host()];
  const { sessionId } = await here.start({ workflowType: "verified", target: "src/a.ts" });
  await there.session(sessionId).state();
  return { storage, here, there, sessionId, timesVerified: () => verified, snapshots: () => snapshots };
}

describe("two hosts on one storage", () => {
  it("complete phases in turn, and a host that continues alone reads nothing", async () => {
    const { storage, here, there, sessionId } = await twoHosts([OPEN, OPEN, OPEN, OPEN]);
    storage.reads = 0;
    expect(await here.session(sessionId).completePhase(1, DONE)).toMatchObject({ passed: true });
    expect(storage.reads).toBe(0);
    expect(await there.session(sessionId).completePhase(2, DONE)).toMatchObject({ passed: true });
    expect(await here.session(sessionId).completePhase(3, DONE)).toMatchObject({ passed: true });
    expect(await here.session(sessionId).completePhase(4, DONE)).toMatchObject({ nextPhase: null });
    expect(await there.session(sessionId).audit()).toMatchObject({ intact: true });
  });

  it("refuse commands by the newest state, not by a cached one", async () => {
    const { here, there, sessionId } = await twoHosts([OPEN, OPEN]);
    await here.session(sessionId).completePhase(1, DONE);
    const again = await failure(there.session(sessionId).completePhase(1, DONE));
    expect(again).toMatchObject({ code: "PHASE_ALREADY_COMPLETED" });
    await here.session(sessionId).pause();
    expect(await failure(there.session(sessionId).completePhase(2, DONE))).toMatchObject({
      code: "INVALID_TRANSITION",
    });
    await here.session(sessionId).resume();
    expect(await there.session(sessionId).completePhase(2, DONE)).toMatchObject({ passed: true });
  });

  it("run no verifier for a phase that the other host has completed", async () => {
    const { here, there, sessionId, timesVerified } = await twoHosts([VERIFIED, OPEN]);
    await here.session(sessionId).completePhase(1, DONE);
    expect(timesVerified()).toBe(1);
    expect(await failure(there.session(sessionId).completePhase(1, DONE))).toMatchObject({
      code: "PHASE_ALREADY_COMPLETED",
    });
    expect(timesVerified()).toBe(1);
  });

  it.each(["overrideGate", "completePhase"] as const)(
    "take no snapshot for a step that the other host has made: %s",
    async (operation) => {
      const { here, there, sessionId, snapshots } = await twoHosts([ALLOWED, VERIFIED, OPEN]);
      await here.session(sessionId).completePhase(1, DONE);
      const taken = snapshots();
      const again = { phase: 1, evidence: DONE };
      const override = { phase: 1, by: "ann", note: "it is done" };
      const { code } = await failure(
        operation === "completePhase"
          ? submitTo(there.session(sessionId), again)
          : there.session(sessionId).overrideGate(override.phase, override),
      );
      expect([code, snapshots() - taken]).toEqual(["PHASE_ALREADY_COMPLETED", 0]);
    },
  );

  it("return the same answer for the same key", async () => {
    const { here, there, sessionId } = await twoHosts([OPEN, OPEN]);
    const request = { phase: 1, evidence: DONE, idempotencyKey: "key-1" };
    const first = await submitTo(here.session(sessionId), request);
    expect(await submitTo(there.session(sessionId), request)).toEqual({
      ...first,
      replayed: true,
    });
    expect(await there.session(sessionId).history()).toMatchObject([{ status: "completed" }, { status: "active" }]);
  });

  it("detect that a session was deleted", async () => {
    const { here, there, sessionId } = await twoHosts([OPEN]);
    await here.session(sessionId).delete();
    const conflicts = vi.fn();
    there.on("conflict", conflicts);
    for (let calls = 0; calls < 3; calls += 1) {
      const { code } = await failure(there.session(sessionId).completePhase(1, DONE));
      expect(code).toBe("SESSION_NOT_FOUND");
    }
    // The second call knows that there is nothing to decide on.
    expect(conflicts).toHaveBeenCalledTimes(1);
  });
});
