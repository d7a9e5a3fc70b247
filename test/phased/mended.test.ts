import {
  createEngine,
  defineWorkflow,
  MemoryContent,
  MemoryStorage,
  PhasegateError,
  type StorageAdapter,
} from "phasegate";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { failure } from "../support/failure.js";
import { makeEngine, startTwoPhases } from "../support/make-engine.js";
import { built, twoPhases } from "../support/workflows.js";

const DAY = 24 * 60 * 60 * 1000;

/** A storage of which one method fails like a disk. */
function failing(storage: StorageAdapter, method: "list" | "remove"): StorageAdapter {
  const fail = () =>
    Promise.reject(new PhasegateError("STORAGE_FAILED", "EIO", { remedy: "", details: { operation: method } }));
  return new Proxy(storage, { get: (target, key) => (key === method ? fail : bound(target, key)) });
}

function bound(target: StorageAdapter, key: PropertyKey): unknown {
  const value: unknown = Reflect.get(target, key);
  return typeof value === "function" ? value.bind(target) : value;
}

describe("artifacts by name", () => {
  const shapes = defineWorkflow({
    ...{ type: "shapes", revision: "1", name: "Shapes", description: "Evidence of all kinds" },
    phases: [
      { number: 1, name: "Open", content: "" },
      {
        number: 2,
        name: "Optional",
        content: "",
        gate: { evidence: z.object({ a: z.string(), b: z.string().optional() }) },
      },
      {
        number: 3,
        name: "Made",
        content: "",
        gate: { evidence: z.object({ n: z.string() }).transform(({ n }) => ({ made: n.repeat(100_000) })) },
      },
      {
        number: 4,
        name: "Overridden",
        content: "",
        gate: { evidence: z.object({ c: z.string() }), allowOverride: true },
      },
      { number: 5, name: "Last", content: "" },
    ],
  });

  it("are the schema's outputs or the evidence without the gate's own fields, even after a rollback", async () => {
    const { engine, storage, content } = makeEngine({}, [shapes]);
    const { sessionId } = await engine.start({ workflowType: "shapes", target: "a" });
    await engine.session(sessionId).completePhase(1, { summary: "s", files: [], large: "x".repeat(70_000) });
    expect([...(await engine.session(sessionId).phase()).artifacts]).toEqual([[1, ["summary", "files", "large"]]]);
    await engine.session(sessionId).completePhase(2, { a: "1" });
    await engine.session(sessionId).completePhase(3, { n: "7" });
    await engine.session(sessionId).overrideGate(4, { by: "me", note: "r" });
    const names = [
      [1, ["summary", "files", "large"]],
      [2, ["a"]],
      [3, ["made"]],
    ];
    expect([...(await engine.session(sessionId).phase()).artifacts]).toEqual(names);
    const cold = createEngine({ storage, content });
    expect([...(await cold.session(sessionId).phase()).artifacts]).toEqual(names);
    expect((await cold.session(sessionId).fullState()).artifacts[2]?.artifact).toEqual({ made: "7".repeat(100_000) });
    await engine.session(sessionId).rollback(2);
    expect([...(await engine.session(sessionId).phase()).artifacts]).toEqual(names.slice(0, 1));
    expect([...(await cold.session(sessionId).phase()).artifacts]).toEqual(names.slice(0, 1));
    expect((await engine.session(sessionId).phase(1)).artifacts.size).toBe(0);
  });

  it("include a large output of a schema, stored outside of the log", async () => {
    const { engine, storage } = makeEngine({}, [shapes]);
    const { sessionId } = await engine.start({ workflowType: "shapes", target: "a" });
    await engine.session(sessionId).completePhase(1, {});
    await engine.session(sessionId).completePhase(2, { a: "1" });
    await engine.session(sessionId).completePhase(3, { n: "7" });
    expect((await storage.read(sessionId))?.body.length).toBeLessThan(3000);
    expect(await engine.session(sessionId).audit()).toMatchObject({ intact: true, versions: 4 });
  });
});

describe("an audit", () => {
  it("detects a payload that was forged or removed", async () => {
    for (const forged of ['{"summary":"forged"}', undefined]) {
      const storage = new MemoryStorage();
      const { engine } = makeEngine({ storage, hashKey: "k" });
      const sessionId = await startTwoPhases(engine);
      await engine.session(sessionId).completePhase(1, { ...built, summary: "x".repeat(70_000) });
      storage.payload = async () => forged;
      expect(await engine.session(sessionId).audit()).toMatchObject({
        intact: false,
        versions: 1,
        reason: expect.stringContaining("payload"),
      });
      expect((await failure(engine.session(sessionId).fullState())).code).toBe("TAMPERED");
      expect(await engine.session(sessionId).options()).toEqual({});
    }
  });
});

describe("getPhase", () => {
  it("returns phases from the start phase on", async () => {
    const late = defineWorkflow({
      ...{ type: "late", revision: "1", name: "Late", description: "Begins at 3", startPhase: 3 },
      phases: [1, 3, 4].map((number) => ({ number, name: `Phase ${number}`, content: "", skippable: true })),
    });
    const { engine } = makeEngine({}, [late]);
    const { sessionId } = await engine.start({ workflowType: "late", target: "a" });
    expect(await failure(engine.session(sessionId).phase(1))).toMatchObject({
      code: "PHASE_OUT_OF_RANGE",
      details: { valid: [3] },
    });
    await engine.session(sessionId).skipPhase(3, { by: "me", note: "r" });
    expect((await engine.session(sessionId).phase(3)).phase.number).toBe(3);
  });
});

describe("start", () => {
  it("names paused, failed and old sessions on the same target, and no others", async () => {
    const { engine, clock } = makeEngine({ limits: { maxActiveSessions: 1000, maxAttempts: 1 } });
    const paused = await startTwoPhases(engine, "src/a.ts");
    await engine.session(paused).pause();
    const failed = await startTwoPhases(engine, "src/a.ts");
    await engine.session(failed).completePhase(1, {});
    for (let index = 0; index < 60; index += 1) await startTwoPhases(engine, `src/b${index}.ts`);
    await startTwoPhases(engine, "src_a.ts");
    clock.advance(1000);
    const { openSessions } = await engine.start({ workflowType: "two_phases", target: "src/a.ts" });
    expect(openSessions.map(({ sessionId }) => sessionId).sort()).toEqual([failed, paused].sort());
  });

  it("starts no session if the list of sessions fails", async () => {
    const storage = new MemoryStorage();
    const { engine } = makeEngine({ storage: failing(storage, "list") });
    expect((await failure(startTwoPhases(engine))).code).toBe("STORAGE_FAILED");
    expect((await storage.list({})).items).toEqual([]);
    expect((await failure(engine.session("no_such_session").state())).code).toBe("SESSION_NOT_FOUND");
  });

  it("finds ids for many sessions of the same second", async () => {
    const { engine } = makeEngine({ limits: { maxActiveSessions: 1000 } });
    const ids = await Promise.all(Array.from({ length: 60 }, () => startTwoPhases(engine)));
    expect(new Set(ids).size).toBe(60);
  });

  it("does not restore a deleted session that its key had started", async () => {
    const request = { workflowType: "two_phases", target: "a", idempotencyKey: "k" };
    for (const half of [true, false]) {
      const storage = new MemoryStorage();
      const { engine } = makeEngine({ storage });
      const { sessionId } = await engine.start(request);
      const deleting = makeEngine({ storage: half ? failing(storage, "remove") : storage }).engine;
      await deleting
        .session(sessionId)
        .delete()
        .catch(() => {});
      const error = await failure(engine.start(request));
      expect(error).toMatchObject({ code: "CONFLICT", remedy: expect.stringContaining("new idempotency key") });
    }
  });
});

describe("deletion", () => {
  it("is finished by the same call, or by a cleanup of any age, after an interruption", async () => {
    for (const finish of ["delete", "cleanup"] as const) {
      const storage = new MemoryStorage();
      const { engine } = makeEngine({ storage });
      const sessionId = await startTwoPhases(engine);
      await failure(
        makeEngine({ storage: failing(storage, "remove") })
          .engine.session(sessionId)
          .delete(),
      );
      expect(await storage.read(sessionId)).toBeDefined();
      if (finish === "delete") await engine.session(sessionId).delete();
      else expect((await engine.cleanup()).removed).toEqual([sessionId]);
      expect(await storage.read(sessionId)).toBeUndefined();
    }
  });

  it("removes a session whose log is damaged", async () => {
    const storage = new MemoryStorage();
    const sessionId = await startTwoPhases(makeEngine({ storage }).engine);
    const other = makeEngine({ storage, hashKey: "another key" }).engine;
    expect((await failure(other.session(sessionId).state())).code).toBe("TAMPERED");
    await other.session(sessionId).delete();
    expect(await storage.read(sessionId)).toBeUndefined();
  });

  it("of stale sessions skips those that were changed meanwhile", async () => {
    for (const [status, touch] of [
      [
        "active",
        (engine: ReturnType<typeof makeEngine>["engine"], id: string) => engine.session(id).completePhase(1, built),
      ],
      ["paused", (engine: ReturnType<typeof makeEngine>["engine"], id: string) => engine.session(id).resume()],
    ] as const) {
      const storage = new MemoryStorage();
      const { engine, clock } = makeEngine({ storage });
      const sessionId = await startTwoPhases(engine);
      if (status === "paused") await engine.session(sessionId).pause();
      clock.advance(8 * DAY);
      const list = storage.list.bind(storage);
      storage.list = async (query) => {
        const page = await list(query);
        if (query.status?.includes(status) && page.items.length > 0)
          await touch(makeEngine({ storage, clock }).engine, sessionId).catch(() => {});
        return page;
      };
      expect(await engine.cleanup({ status: [status] })).toEqual({ removed: [] });
      expect((await engine.session(sessionId).state()).version).toBeGreaterThan(1);
    }
  });

  it("of stale sessions is refused with an invalid age", async () => {
    const { engine } = makeEngine();
    for (const olderThan of [Number.NaN, -1, Number.POSITIVE_INFINITY]) {
      expect(await failure(engine.cleanup({ olderThan }))).toMatchObject({
        code: "INVALID_INPUT",
        details: { field: "olderThan" },
      });
    }
  });
});

describe("an engine", () => {
  it("refuses invalid limits", () => {
    for (const maxAttempts of [Number.NaN, 0, -1]) {
      expect(() => makeEngine({ limits: { maxAttempts } })).toThrow("limits.maxAttempts");
    }
    const undefinedLimit: object = { maxAttempts: undefined };
    expect(makeEngine({ limits: undefinedLimit }).engine).toBeDefined();
  });

  it("refuses a session object for another workflow", async () => {
    const other = defineWorkflow({
      ...{ type: "other", revision: "1", name: "Other", description: "Another" },
      phases: [{ number: 1, name: "One", content: "" }],
    });
    const { engine } = makeEngine({}, [twoPhases, other]);
    const sessionId = await startTwoPhases(engine);
    const session = engine.session(other, sessionId);
    for (const call of [session.state(), session.completePhase(1, {}), session.pause()]) {
      expect((await failure(call)).code).toBe("INVALID_INPUT");
    }
    expect((await engine.session(sessionId).state()).version).toBe(1);
  });

  it("calls a listener that was added twice once, and handles thenables that are not promises", async () => {
    const { engine } = makeEngine();
    let heard = 0;
    const listener = () => {
      heard += 1;
    };
    const stops = [engine.on("started", listener), engine.on("started", listener)];
    stops[0]?.();
    const errors: string[] = [];
    engine.on("internalError", ({ operation }) => errors.push(operation));
    // biome-ignore lint/suspicious/noThenProperty: a thenable that rejects is what is tried
    engine.on("started", () => ({ then: (_: unknown, reject: (reason: Error) => void) => reject(new Error("no")) }));
    await startTwoPhases(engine);
    await new Promise((resolve) => setTimeout(resolve, 0));
    expect([heard, errors]).toEqual([1, ["listener of started"]]);
  });

  it("does not change a session if its next text cannot be read", async () => {
    const storage = new MemoryStorage();
    const { engine } = makeEngine({ storage });
    const sessionId = await startTwoPhases(engine);
    await engine.session(sessionId).completePhase(1, built);
    const blind = createEngine({ storage, content: new MemoryContent({ workflows: [] }) });
    expect((await failure(blind.session(sessionId).rollback(1))).code).toBe("CONTENT_UNAVAILABLE");
    await engine.session(sessionId).pause();
    expect((await failure(blind.session(sessionId).resume())).code).toBe("CONTENT_UNAVAILABLE");
    expect((await engine.session(sessionId).state()).head).toMatchObject({ status: "paused", phase: 2 });
  });
});
