import { defineWorkflow, type EngineNotifications, MemoryStorage } from "phasegate";
import { describe, expect, it } from "vitest";
import { routed, Script } from "../routed/engine/garden.js";
import { failure } from "../support/failure.js";
import { makeEngine, startTwoPhases } from "../support/make-engine.js";
import { built, twoPhases } from "../support/workflows.js";

const DAY = 24 * 60 * 60 * 1000;

describe("reading", () => {
  it("returns the current phase and completed ones, and no others", async () => {
    const { engine } = makeEngine();
    const sessionId = await startTwoPhases(engine);
    expect((await engine.session(sessionId).phase()).phase.number).toBe(1);
    expect((await failure(engine.session(sessionId).phase(2))).code).toBe("PHASE_LOCKED");
    expect((await failure(engine.session(sessionId).task(2, 1))).code).toBe("PHASE_LOCKED");
    expect((await failure(engine.session(sessionId).phase(3))).code).toBe("PHASE_OUT_OF_RANGE");
    await engine.session(sessionId).completePhase(1, built);
    expect((await engine.session(sessionId).phase(1)).artifacts.size).toBe(0);
    const second = await engine.session(sessionId).phase();
    expect([...second.artifacts]).toEqual([[1, ["summary", "tests_pass"]]]);
  });

  it("returns tasks by their numbers", async () => {
    const { engine } = makeEngine();
    const sessionId = await startTwoPhases(engine);
    expect((await engine.session(sessionId).task(1, 2)).task.name).toBe("test it");
    const missing = await failure(engine.session(sessionId).task(1, 3));
    expect(missing).toMatchObject({ code: "TASK_NOT_FOUND", details: { valid: [1, 2] } });
  });

  it("names an argument that it can't read", async () => {
    const { engine } = makeEngine();
    const id = await startTwoPhases(engine);
    const asked = { phase: 1, task: 1 };
    const session = engine.session(id);
    const calls: readonly (readonly [() => Promise<unknown>, string])[] = [
      [() => engine.session(id).task(asked as never, undefined as never), "getTask: phase must be a whole number"],
      [() => engine.session(id).task(1, "1" as never), "getTask: task must be a whole number"],
      [() => engine.session(id).task(1, undefined as never), "getTask: task is missing"],
      [() => engine.session(id).phase(asked as never), "getPhase: phase must be a whole number"],
      [() => session.phase("1" as never), "getPhase: phase must be a whole number"],
      [() => engine.session(id).artifact(asked as never), "artifact: phase must be a whole number"],
      [() => engine.session(id).document({ path: "a.md" } as never), "getDocument: path must be a text"],
    ];
    for (const [call, message] of calls)
      expect(await failure(call())).toMatchObject({ code: "INVALID_INPUT", message });
    expect(await engine.session(id).phase(undefined)).toMatchObject({ currentPhase: 1 });
  });

  it("reports a text that differs from that at the start", async () => {
    let text = "# One, as it was";
    const living = (content: () => string) =>
      defineWorkflow({
        ...{ type: "living", revision: "1", name: "Living", description: "Its text changes" },
        phases: [{ number: 1, name: "One", content }],
      });
    const fixed = defineWorkflow({
      ...{ type: "living", revision: "1", name: "Living", description: "Its text changes" },
      phases: [{ number: 1, name: "One", content: text }],
    });
    const { engine, storage } = makeEngine({}, [fixed]);
    const { sessionId, phase } = await engine.start({ workflowType: "living", target: "a" });
    expect(phase.contentChanged).toBe(false);
    text = "# One, as it is";
    const later = makeEngine({ storage }, [living(() => text)]);
    const changed = await later.engine.session(sessionId).phase();
    expect(changed).toMatchObject({ contentChanged: true, content: { text } });
  });

  it("names no session of another kind", async () => {
    const { engine, storage } = makeEngine();
    const garden = routed(new Script(), { storage, newId: () => "garden_of_peas" }).engine;
    await garden.start({ workflow: "GARDEN" });
    expect((await failure(engine.session("garden_of_pea").state())).details).toEqual({ sessionId: "garden_of_pea" });
  });

  it("knows no session of another kind in the same storage, and accuses nobody of changing it", async () => {
    const { engine, storage } = makeEngine();
    const security: unknown[] = [];
    engine.on("security", (payload) => void security.push(payload));
    const garden = routed(new Script(), { storage, newId: () => "garden_of_peas" }).engine;
    await garden.start({ workflow: "GARDEN" });
    const sessionId = await startTwoPhases(engine);
    expect((await failure(engine.session("garden_of_peas").state())).code).toBe("SESSION_NOT_FOUND");
    expect((await failure(garden.session(sessionId).state())).code).toBe("SESSION_NOT_FOUND");
    expect((await failure(engine.session("garden_of_peas").audit())).code).toBe("SESSION_NOT_FOUND");
    expect((await failure(garden.session(sessionId).audit())).code).toBe("SESSION_NOT_FOUND");
    expect(security).toEqual([]);
  });

  it("names the nearest session if the id is unknown", async () => {
    const { engine } = makeEngine();
    const sessionId = await startTwoPhases(engine);
    const error = await failure(engine.session(`${sessionId}0`).phase());
    expect(error).toMatchObject({ code: "SESSION_NOT_FOUND", details: { nearest: sessionId } });
    expect((await failure(engine.session("../../etc").phase())).code).toBe("INVALID_INPUT");
  });
});

describe("lifecycle", () => {
  it("pauses with a note, and resumes with the duration of the pause", async () => {
    const { engine, clock } = makeEngine();
    const sessionId = await startTwoPhases(engine);
    expect(await engine.session(sessionId).pause({ note: "lunch" })).toMatchObject({ phase: 1, note: "lunch" });
    clock.advance(90_000);
    expect((await engine.session(sessionId).resume()).pausedSeconds).toBe(90);
    expect((await failure(engine.session(sessionId).resume())).code).toBe("INVALID_TRANSITION");
  });

  it("rolls back: later phases must be done again, and their artifacts are removed", async () => {
    const { engine } = makeEngine();
    const sessionId = await startTwoPhases(engine);
    await engine.session(sessionId).completePhase(1, built);
    const back = await engine.session(sessionId).rollback(1, { as: "agent" });
    expect(back).toMatchObject({ from: 2, to: 1, cleared: [1] });
    const state = await engine.session(sessionId).fullState();
    expect([state.completedPhases, state.artifacts]).toEqual([[], []]);
    expect((await engine.session(sessionId).history()).map(({ status }) => status)).toEqual([
      "rolled_back",
      "rolled_back",
      "active",
    ]);
    const forward = await failure(engine.session(sessionId).rollback(2));
    expect(forward).toMatchObject({ code: "PHASE_OUT_OF_RANGE", details: { valid: [] } });
  });

  it("lets the host override and skip if the definition allows it", async () => {
    const { engine } = makeEngine();
    const request = { phase: 1, by: "ops@example.org", note: "known good" };
    const overridden = await startTwoPhases(engine, "a");
    expect(await engine.session(overridden).overrideGate(request.phase, request)).toMatchObject({
      nextPhase: { number: 2 },
    });
    const refused = await failure(engine.session(overridden).overrideGate(2, { ...request }));
    expect(refused.code).toBe("NOT_ALLOWED");
    const skipped = await startTwoPhases(engine, "b");
    await engine.session(skipped).skipPhase(request.phase, request);
    expect(await engine.session(skipped).state()).toMatchObject({ skippedPhases: [1], completedPhases: [] });
    expect((await engine.session(skipped).history())[0]).toMatchObject({ phase: 1, status: "skipped" });
  });

  it("deletes with a tombstone; the session is not found afterwards", async () => {
    const { engine } = makeEngine();
    const sessionId = await startTwoPhases(engine);
    await engine.session(sessionId).delete({ note: "done with it" });
    expect((await failure(engine.session(sessionId).state())).code).toBe("SESSION_NOT_FOUND");
    expect((await failure(engine.session(sessionId).delete())).code).toBe("SESSION_NOT_FOUND");
  });

  it("cleans up by age and status, and finishes interrupted deletions", async () => {
    const storage = new MemoryStorage();
    const { engine, clock } = makeEngine({ storage });
    const old = await startTwoPhases(engine, "old");
    const paused = await startTwoPhases(engine, "paused");
    await engine.session(paused).pause();
    const half = await startTwoPhases(engine, "half");
    const remove = storage.remove.bind(storage);
    storage.remove = () => Promise.reject(new Error("killed"));
    await failure(engine.session(half).delete());
    storage.remove = remove;
    expect((await failure(engine.session(half).state())).code).toBe("SESSION_NOT_FOUND");
    clock.advance(8 * DAY);
    const fresh = await startTwoPhases(engine, "fresh");
    expect([...(await engine.cleanup({ status: ["active"] })).removed].sort()).toEqual([half, old].sort());
    expect((await engine.cleanup({ olderThan: 0 })).removed).toEqual([paused]);
    expect((await engine.listSessions()).items.map(({ sessionId }) => sessionId)).toEqual([fresh]);
  });

  it("is available through a session object, typed or not", async () => {
    const { engine } = makeEngine();
    const session = engine.session(twoPhases, await startTwoPhases(engine));
    expect((await session.phase()).phase.name).toBe("Build");
    expect((await session.phase(1)).phase.name).toBe("Build");
    expect((await session.task(1, 1)).task.name).toBe("write the code");
    await session.pause({ note: "n" });
    await session.resume();
    await engine.session(session.id).completePhase(1, {});
    await session.retryPhase(1);
    expect(await session.completePhase(1, built)).toMatchObject({ passed: true });
    await session.rollback(1);
    expect((await session.errors())[0]?.problems).toHaveLength(2);
    expect((await session.state()).head.phase).toBe(1);
    expect((await session.fullState()).options).toEqual({});
    expect(await session.history()).toHaveLength(4);
    await engine.session(session.id).delete({ note: "done" });
    expect((await failure(session.state())).code).toBe("SESSION_NOT_FOUND");
  });

  it("audits a log, and detects one that was edited", async () => {
    const storage = new MemoryStorage();
    const { engine } = makeEngine({ storage, hashKey: "secret" });
    const sessionId = await startTwoPhases(engine);
    const { version, hash } = await engine.session(sessionId).state();
    expect(await engine.session(sessionId).audit({ version, hash })).toMatchObject({ intact: true, versions: 1 });
    expect((await failure(engine.session("never_was").audit())).code).toBe("SESSION_NOT_FOUND");
    expect(await engine.session("never_was").audit({ version, hash })).toMatchObject({ intact: false, versions: 0 });
    const other = makeEngine({ storage, hashKey: "another" });
    expect(await other.engine.session(sessionId).audit()).toMatchObject({ intact: false });
    expect((await failure(other.engine.session(sessionId).state())).code).toBe("TAMPERED");
  });
});

describe("notifications", () => {
  it("are sent for every event, in order", async () => {
    const { engine } = makeEngine();
    const seen: (keyof EngineNotifications)[] = [];
    const names: (keyof EngineNotifications)[] = [
      ...(["started", "phaseEntered", "gatePassed", "gateFailed", "gateOverridden", "phaseSkipped", "paused"] as const),
      ...(["resumed", "retried", "rolledBack", "migrated", "completed", "failed", "deleted"] as const),
    ];
    for (const name of names) engine.on(name, () => seen.push(name));
    const sessionId = await startTwoPhases(engine);
    await engine.session(sessionId).pause();
    await engine.session(sessionId).resume();
    for (let attempt = 0; attempt < 3; attempt += 1) await engine.session(sessionId).completePhase(1, {});
    await engine.session(sessionId).retryPhase(1);
    await engine.session(sessionId).skipPhase(1, { by: "me", note: "r" });
    await engine.session(sessionId).rollback(1);
    await engine.session(sessionId).overrideGate(1, { by: "me", note: "r" });
    await engine.session(sessionId).migrate({ by: "me" });
    await engine.session(sessionId).completePhase(2, {});
    await engine.session(sessionId).delete();
    expect(seen).toEqual([
      ...[
        "started",
        "phaseEntered",
        "paused",
        "resumed",
        "gateFailed",
        "gateFailed",
        "gateFailed",
        "failed",
        "retried",
      ],
      ...["phaseSkipped", "phaseEntered", "rolledBack", "phaseEntered", "gateOverridden", "phaseEntered", "migrated"],
      ...["gatePassed", "completed", "deleted"],
    ]);
  });

  it("continue if a listener throws or rejects, and report the error", async () => {
    const { engine } = makeEngine();
    const errors: unknown[] = [];
    const seen: EngineNotifications["started"][] = [];
    engine.on("internalError", ({ operation }) => errors.push(operation));
    engine.on("internalError", () => {
      throw new Error("this one too");
    });
    engine.on("started", () => {
      throw new Error("a bad listener");
    });
    engine.on("started", async () => {
      throw new Error("a bad asynchronous listener");
    });
    const stop = engine.on("started", (started) => seen.push(started));
    const sessionId = await startTwoPhases(engine);
    await new Promise((resolve) => setTimeout(resolve, 0));
    expect(seen).toMatchObject([{ sessionId, target: "src/a.ts", phase: 1 }]);
    expect(errors).toEqual(["listener of started", "listener of started"]);
    stop();
    await startTwoPhases(engine, "b");
    expect(seen).toHaveLength(1);
  });
});

describe("engine operations", () => {
  it("are refused with BUSY above the limit", async () => {
    const { engine } = makeEngine({ limits: { maxConcurrent: 2 } });
    const sessionId = await startTwoPhases(engine);
    const outcomes = await Promise.allSettled([1, 2, 3, 4].map(() => engine.session(sessionId).state()));
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected", "rejected"]);
    const [, , third] = outcomes;
    expect(third).toMatchObject({ reason: { code: "BUSY", details: { running: 2, limit: 2 } } });
    expect(engine.metrics().getState).toMatchObject({ count: 2, errors: 0, busy: 2 });
    await engine.session(sessionId).state();
    expect(engine.metrics().getState).toMatchObject({ count: 3, busy: 2 });
  });

  it("are refused with BUSY and counted, also if none has ended", async () => {
    const { engine } = makeEngine({ limits: { maxConcurrent: 1 } });
    const sessionId = await startTwoPhases(engine);
    const running = engine.session(sessionId).phase();
    expect(await failure(engine.session(sessionId).state())).toMatchObject({ code: "BUSY" });
    const none = { count: 0, errors: 0, refused: 0, busy: 1, mean: 0, p50: 0, p95: 0 };
    expect(engine.metrics().getState).toEqual(none);
    await running;
  });

  it("turn errors of adapters into INTERNAL, without the message, and notify the host", async () => {
    const storage = new MemoryStorage();
    const { engine } = makeEngine({ storage });
    const sessionId = await startTwoPhases(engine);
    const causes: unknown[] = [];
    engine.on("internalError", ({ error }) => causes.push(error));
    const broken = new Error("password=hunter2 at /srv/db");
    storage.read = () => Promise.reject(broken);
    const error = await failure(engine.session(sessionId).state());
    expect([error.code, error.cause, causes]).toEqual(["INTERNAL", broken, [broken]]);
    expect(error.message + error.remedy).not.toMatch(/hunter2|srv/);
  });

  it("are counted with their durations; a refused gate counts as an error", async () => {
    const { engine } = makeEngine();
    const sessionId = await startTwoPhases(engine);
    await engine.session(sessionId).completePhase(1, {});
    await engine.session(sessionId).completePhase(1, built);
    await failure(engine.session(sessionId).phase(9));
    const { completePhase, getPhase } = engine.metrics();
    expect(completePhase).toMatchObject({ count: 2, errors: 1 });
    expect(getPhase).toMatchObject({ count: 1, errors: 1 });
    expect(completePhase?.p95).toBeGreaterThanOrEqual(completePhase?.p50 ?? Number.NaN);
    expect(completePhase?.mean).toBeGreaterThan(0);
  });

  it("close the storage with `close`", async () => {
    let closed = 0;
    const close = async () => {
      closed += 1;
    };
    await makeEngine({ storage: Object.assign(new MemoryStorage(), { close }) }).engine.close();
    expect(closed).toBe(1);
  });
});
