import { MemoryStorage } from "phasegate";
import { describe, expect, it } from "vitest";
import { failure } from "../../support/failure.js";
import { DEPTH_GATE, gardenWith } from "../../support/gated-garden.js";
import { makeEngine, startTwoPhases } from "../../support/make-engine.js";
import { DONE, routed, Script } from "./garden.js";

const ANN = { name: "ann" };
const BOB = { name: "bob" };

describe("an instance of an actor", () => {
  it("is one, if it is started with one key several times at once", async () => {
    const { engine } = routed(new Script("Dig", "Dig", "Dig"));
    const ann = engine.as(ANN);
    const started = await Promise.all([1, 2].map(() => ann.start({ workflow: "GARDEN", idempotencyKey: "same" })));
    expect(new Set(started.map(({ sessionId }) => sessionId)).size).toBe(1);
  });

  it("keeps what a decider answers while it is handed over, for its new owner alone", async () => {
    let answer = () => {};
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const script = new Script(async () => {
      await answered;
      return "Sow";
    }, "Water");
    const { engine } = routed(script);
    const [ann, bob] = [engine.as(ANN), engine.as(BOB)];
    const { sessionId } = await ann.start({ workflow: "GARDEN" });
    const former = failure(ann.session(sessionId).advance(DONE));
    while (script.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    await engine.session(sessionId).assign(BOB, { by: "otto" });
    const latter = bob.session(sessionId).advance(DONE);
    answer();
    expect((await former).code).toBe("SESSION_NOT_FOUND");
    expect(await latter).toMatchObject({ currentStep: "Sow" });
    expect(script.requests).toHaveLength(1);
    expect(await bob.session(sessionId).state()).toMatchObject({ currentStep: "Sow" });
  });
});

describe("an instance", () => {
  it("that is damaged can be deleted", async () => {
    const storage = new MemoryStorage();
    const { engine } = routed(new Script("Dig"), { storage });
    const { sessionId } = await engine.start({ workflow: "GARDEN" });
    const { read } = storage;
    storage.read = async (id) => {
      const commit = await read.call(storage, id);
      return commit && { ...commit, body: commit.body.replace("Dig", "Dog") };
    };
    const { engine: other } = routed(new Script("Dig"), { storage });
    expect((await failure(other.session(sessionId).state())).code).toBe("TAMPERED");
    await other.session(sessionId).delete();
    expect((await failure(other.session(sessionId).state())).code).toBe("SESSION_NOT_FOUND");
  });

  it("of another kind is not deleted", async () => {
    const { engine: phased, storage } = makeEngine();
    const id = await startTwoPhases(phased);
    const { engine } = routed(new Script("Dig"), { storage });
    await expect(engine.session(id).delete()).rejects.toThrow();
    expect(await phased.session(id).state()).toMatchObject({ sessionId: id });
    const { sessionId } = await engine.start({ workflow: "GARDEN" });
    await expect(phased.session(sessionId).delete()).rejects.toThrow();
    expect(await engine.session(sessionId).state()).toMatchObject({ sessionId });
  });

  it("tells a repeated approval what it is now", async () => {
    const workflows = gardenWith({ ...DEPTH_GATE, approval: { prompt: "Is it deep enough?" } });
    const { engine } = routed(new Script("Sow", "FINISH"), { workflows, allowUnsignedApprovals: true });
    const { sessionId } = await engine.start({ workflow: "GARDEN" });
    await engine.session(sessionId).advance({ report: { status: "success", details: { depth: 30 } } });
    const { evidenceHash = "" } = (await engine.session(sessionId).state()).awaiting ?? {};
    const word = { by: "ann", evidenceHash, idempotencyKey: "once" };
    expect((await engine.session(sessionId).approve(word)).replayed).toBeUndefined();
    const { version, currentStep } = await engine.session(sessionId).resume({
      assumedStep: "Dig",
      report: { status: "success" },
    });
    expect(await engine.session(sessionId).approve(word)).toMatchObject({ replayed: true, version, currentStep });
    const long = await failure(
      engine.session(sessionId).deny({ ...word, note: "x".repeat(5000), idempotencyKey: "two" }),
    );
    expect([long.code, long.message]).toEqual(["INVALID_INPUT", expect.stringContaining("1 to 4,000 characters")]);
  });
});
