import { type AccessRequest, type Actor, byOwner, type Engine, MemoryStorage } from "phasegate";
import { FakeClock } from "phasegate/testing";
import { describe, expect, it } from "vitest";
import { Session } from "../../src/phased/session.js";
import { AlteredStorage } from "../log/altered-storage.js";
import { failure } from "../support/failure.js";
import { impatientClock, makeEngine, startTwoPhases } from "../support/make-engine.js";
import { methodsOf } from "../support/said.js";
import { built } from "../support/workflows.js";

const ANN: Actor = { name: "ann", team: "red" };
const BOB: Actor = { name: "bob" };

/** An engine that Ann and Bob share; Ann has a session. */
async function shared(storage = new MemoryStorage()) {
  const made = makeEngine({ clock: impatientClock(), storage });
  const [ann, bob] = [made.engine.as(ANN), made.engine.as(BOB)];
  return { ...made, ann, bob, id: await startTwoPhases(ann) };
}

/** Every call on one session. */
const CALLS: Record<string, (engine: Engine, id: string) => Promise<unknown>> = {
  phase: (engine, id) => engine.session(id).phase(),
  task: (engine, id) => engine.session(id).task(1, 1),
  document: (engine, id) => engine.session(id).document("guide.md"),
  completeTask: (engine, id) => engine.session(id).completeTask(1, 1),
  startChild: (engine, id) => engine.session(id).startChild(),
  completePhase: (engine, id) => engine.session(id).completePhase(1, built),
  submit: (engine, id) => engine.session(id).submit(1, built, { answerWithinMs: 1000 }),
  submission: (engine, id) => engine.session(id).submission(1, "key", { answerWithinMs: 1000 }),
  approval: (engine, id) => engine.session(id).approval(),
  approve: (engine, id) => engine.session(id).approve({ by: "bob", evidenceHash: "" }),
  deny: (engine, id) => engine.session(id).deny({ by: "bob", evidenceHash: "", note: "no" }),
  requestWaiver: (engine, id) => engine.session(id).requestWaiver(1, { fields: ["summary"], reason: "can't" }),
  waiver: (engine, id) => engine.session(id).waiver(),
  waive: (engine, id) => engine.session(id).waive({ by: "bob", request: "x" }),
  denyWaiver: (engine, id) => engine.session(id).denyWaiver({ by: "bob", request: "x", note: "no" }),
  state: (engine, id) => engine.session(id).state(),
  fullState: (engine, id) => engine.session(id).fullState(),
  artifact: (engine, id) => engine.session(id).artifact(1),
  options: (engine, id) => engine.session(id).options(),
  commits: (engine, id) => engine.session(id).commits(),
  history: (engine, id) => engine.session(id).history(),
  refusals: (engine, id) => engine.session(id).refusals(),
  errors: (engine, id) => engine.session(id).errors(),
  pause: (engine, id) => engine.session(id).pause(),
  resume: (engine, id) => engine.session(id).resume(),
  retryPhase: (engine, id) => engine.session(id).retryPhase(1),
  rollback: (engine, id) => engine.session(id).rollback(1),
  overrideGate: (engine, id) => engine.session(id).overrideGate(1, { by: "bob", note: "x" }),
  skipPhase: (engine, id) => engine.session(id).skipPhase(1, { by: "bob", note: "x" }),
  migrate: (engine, id) => engine.session(id).migrate({ by: "bob" }),
  migration: (engine, id) => engine.session(id).migration(),
  syncPlan: (engine, id) => engine.session(id).syncPlan(),
  assign: (engine, id) => engine.session(id).assign(BOB, { by: "bob" }),
  delete: (engine, id) => engine.session(id).delete(),
  audit: (engine, id) => engine.session(id).audit(),
};

describe("the session of somebody else", () => {
  it("is tried with every method", () => {
    expect(Object.keys(CALLS).sort()).toEqual(methodsOf(Session));
  });

  it.each(Object.entries(CALLS))("%s answers as if there were none", async (_, call) => {
    const { bob, engine, id } = await shared();
    const before = await engine.session(id).commits();
    const missing = `${id.slice(0, -8)}00000000`;
    const [foreign, absent] = [await failure(call(bob, id)), await failure(call(bob, missing))];
    expect(foreign.code).toBe("SESSION_NOT_FOUND");
    expect(foreign.message.replace(id, "ID")).toBe(absent.message.replace(missing, "ID"));
    expect(foreign).toMatchObject({ remedy: absent.remedy, details: { sessionId: id } });
    expect(JSON.stringify(foreign.details)).toBe(JSON.stringify(absent.details).replace(missing, id));
    expect(await engine.session(id).commits()).toEqual(before);
  });

  it("takes no other time than one that there is not", async () => {
    let waited = 0;
    const timers = {
      elapsed: () => 0,
      after: (milliseconds: number, callback: () => void) => {
        waited += milliseconds;
        queueMicrotask(callback);
        return () => {};
      },
    };
    const { engine } = makeEngine({ clock: Object.assign(new FakeClock("2026-03-04T05:06:07.000Z"), timers) });
    const id = await startTwoPhases(engine.as(ANN));
    for (const asked of [id, `${id.slice(0, -8)}00000000`]) {
      waited = 0;
      expect((await failure(engine.as(BOB).session(asked).state())).code).toBe("SESSION_NOT_FOUND");
      expect(waited).toBe(50);
    }
  });

  it("is in no list, no count, no hint, no cursor, and no notification", async () => {
    const { ann, bob, engine, id } = await shared();
    const heard: string[] = [];
    for (const [whose, by] of Object.entries({ ann, bob })) {
      by.on("gatePassed", ({ sessionId, owner }) => heard.push(`${whose}: ${sessionId} of ${owner}`));
    }
    const own = await startTwoPhases(bob, "src/b.ts");
    await ann.session(id).completePhase(1, built);
    expect(heard).toEqual([`ann: ${id} of ann`]);
    for (let index = 0; index < 5; index += 1) await startTwoPhases(ann, `src/${index}.ts`);
    const page = await bob.listSessions({ limit: 1 });
    expect(page.items.map(({ sessionId, owner }) => [sessionId, owner])).toEqual([[own, "bob"]]);
    expect(page).toMatchObject({ total: 1 });
    expect(page.cursor).toBeUndefined();
    expect(await bob.listSessions({ owner: "ann" })).toMatchObject({ items: [] });
    expect((await engine.listSessions()).total).toBe(7);
    expect((await failure(bob.session(`${id}x`).state())).remedy).not.toContain(id);
    expect((await failure(engine.session(`${id}x`).state())).remedy).toContain(id);
    const again = await bob.start({ workflowType: "two_phases", target: "src/a.ts" });
    expect(again.openSessions).toEqual([]);
    expect(Object.keys(bob.metrics())).not.toContain("completePhase");
    expect(engine.metrics().completePhase?.count).toBe(1);
  });

  it("is not watched", async () => {
    const { ann, bob, id } = await shared();
    const seen = bob.watch()[Symbol.asyncIterator]();
    const first = seen.next();
    await ann.session(id).pause();
    const own = await startTwoPhases(bob, "src/b.ts");
    expect((await first).value?.sessionId).toBe(own);
    await seen.return?.();
  });

  it("is not found by the idempotency key that started it", async () => {
    const { ann, bob } = await shared();
    const request = { workflowType: "two_phases", target: "src/c.ts", idempotencyKey: "key" };
    const [first, second] = [await ann.start(request), await bob.start(request)];
    expect(second.replayed).toBe(false);
    expect(second.sessionId).not.toBe(first.sessionId);
    expect(await ann.start(request)).toMatchObject({ sessionId: first.sessionId, replayed: true });
    await ann.session(first.sessionId).pause({ idempotencyKey: "pause" });
    expect((await failure(bob.session(first.sessionId).pause({ idempotencyKey: "pause" }))).code).toBe(
      "SESSION_NOT_FOUND",
    );
  });
});

describe("the owner", () => {
  it("is in the first commit, in lists and in notifications, and moves the session", async () => {
    const { ann, engine, id } = await shared();
    const [commit] = (await engine.session(id).commits()).slice(-1);
    expect(commit?.events[0]).toMatchObject({ type: "started", owner: ANN });
    expect((await engine.listSessions()).items[0]).toMatchObject({ owner: "ann", team: "red" });
    expect(await ann.session(id).completePhase(1, built)).toMatchObject({ passed: true });
    expect(await ann.session(id).audit()).toMatchObject({ intact: true });
  });

  it("is the one that the host names, without an actor", async () => {
    const { engine } = makeEngine({ owner: { name: "me" } });
    await startTwoPhases(engine);
    expect((await engine.listSessions({ owner: "me" })).items).toHaveLength(1);
  });

  it("is another one after the host has handed the session over", async () => {
    const { ann, bob, engine, id } = await shared();
    const heard: object[] = [];
    bob.on("assigned", (notification) => heard.push(notification));
    await engine.session(id).assign(BOB, { by: "the operator", note: "Ann is away" });
    expect(heard).toMatchObject([{ sessionId: id, owner: "bob", by: "the operator" }]);
    expect((await failure(ann.session(id).state())).code).toBe("SESSION_NOT_FOUND");
    expect((await ann.listSessions()).items).toEqual([]);
    expect(await bob.session(id).completePhase(1, built)).toMatchObject({ passed: true });
    const [last] = await engine.session(id).commits({ limit: 1 });
    expect(last?.summary).toMatchObject({ owner: "bob" });
    expect(last?.summary.team).toBeUndefined();
  });

  it("is handed over with a name and a reason of bounded length, and the history says so", async () => {
    const { engine, id } = await shared();
    for (const said of [{ by: "x".repeat(201) }, { by: "otto", note: "x".repeat(2001) }]) {
      expect((await failure(engine.session(id).assign(BOB, said))).code).toBe("INVALID_INPUT");
    }
    await engine.session(id).assign(BOB, { by: "otto" });
    await engine.session(id).assign(ANN, { by: "otto", note: "she is back" });
    await engine.session(id).completePhase(1, {});
    const notes = (await engine.session(id).history()).flatMap((attempt) => attempt.notes ?? []);
    expect(notes.map(({ event, by, note }) => [event, by, note])).toEqual([
      ["assigned", "otto", "to bob"],
      ["assigned", "otto", "to ann: she is back"],
    ]);
  });

  it.each(["", " ann", "a\tb", "a\u200bb", "x".repeat(201)])("is not called %j", async (name) => {
    const { engine, id } = await shared();
    expect(() => engine.as({ name })).toThrow(expect.objectContaining({ code: "INVALID_INPUT" }));
    expect(() => engine.as({ name: "ann", team: name })).toThrow(expect.objectContaining({ code: "INVALID_INPUT" }));
    expect((await failure(engine.session(id).assign({ name }, { by: "host" }))).code).toBe("INVALID_INPUT");
  });
});

describe("an actor", () => {
  it("who starts with one key several times at once gets one session", async () => {
    const { ann } = await shared();
    const request = { workflowType: "two_phases", target: "src/k.ts", idempotencyKey: "same" };
    const started = await Promise.all([1, 2, 3].map(() => ann.start(request)));
    expect(new Set(started.map(({ sessionId }) => sessionId)).size).toBe(1);
  });

  it("who has started a session that was handed over is told so when the key is used again", async () => {
    const { engine, ann } = await shared();
    const request = { workflowType: "two_phases", target: "src/k.ts", idempotencyKey: "same" };
    const { sessionId } = await ann.start(request);
    await engine.session(sessionId).assign(BOB, { by: "otto" });
    const { code, message } = await failure(ann.start(request));
    expect([code, message]).toEqual(["CONFLICT", expect.stringContaining("is not yours any more, or was deleted")]);
  });

  it("speaks for the host only as an operator", async () => {
    const { engine } = makeEngine({ limits: { maxAttempts: 1, maxAttemptsTotal: 1 } });
    const ann = engine.as(ANN);
    const id = await startTwoPhases(ann);
    await ann.session(id).completePhase(1, {});
    expect((await failure(ann.session(id).retryPhase(1))).code).toBe("ATTEMPTS_EXHAUSTED");
    for (const speak of [
      () => ann.session(id).retryPhase(1, { as: "host" }),
      () => ann.session(id).rollback(1, { as: "host" }),
      () => ann.session(id).syncPlan({ as: "host" }),
    ]) {
      expect((await failure(speak())).code).toBe("NOT_ALLOWED");
    }
    await engine
      .as({ name: "otto", roles: ["operator"] })
      .session(id)
      .retryPhase(1);
    expect((await engine.session(id).commits()).flatMap(({ events }) => events)).toContainEqual(
      expect.objectContaining({ type: "retried", by: "host" }),
    );
  });

  it("speaks for the host where the host's own rule says so of the session", async () => {
    const { engine } = makeEngine({ limits: { maxAttempts: 1, maxAttemptsTotal: 1 } });
    const id = await startTwoPhases(engine.as(ANN));
    await engine.session(id).completePhase(1, {});
    const lead = engine.as({ name: "lea", team: "red" }, ({ session, actor }) => session?.team === actor.team);
    await lead.session(id).retryPhase(1, { as: "host" });
    await lead
      .session(id)
      .rollback(1, { as: "host" })
      .catch((error: unknown) => {
        expect(error).toMatchObject({ code: "PHASE_OUT_OF_RANGE" });
      });
    const other = engine.as({ name: "bea", team: "blue" }, ({ session, action }) => action !== "operate" && !!session);
    expect((await failure(other.session(id).retryPhase(1, { as: "host" }))).code).toBe("NOT_ALLOWED");
  });

  it("deletes no damaged session unless they may operate on all: whose it is can't be known", async () => {
    const storage = new AlteredStorage();
    const { ann, bob, engine, id } = await shared(storage);
    storage.edit(1, { body: "edited" });
    for (const actor of [ann, bob]) await expect(actor.session(id).delete()).rejects.toThrow();
    expect(await storage.read(id)).toBeDefined();
    await engine
      .as({ name: "otto", roles: ["operator"] })
      .session(id)
      .delete();
    expect(await storage.read(id)).toBeUndefined();
  });

  it("who asks for the sessions of another gets none, and no page to go on with", async () => {
    const { ann, bob } = await shared();
    for (const target of ["src/b.ts", "src/c.ts", "src/d.ts"]) await startTwoPhases(ann, target);
    expect(await ann.listSessions({ owner: "bob", limit: 1 })).toEqual({ items: [], total: 0 });
    expect(await bob.listSessions({ owner: "ann" })).toEqual({ items: [], total: 0 });
    expect(await ann.listSessions({ owner: "ann", limit: 1 })).toMatchObject({ total: 4 });
  });

  it("counts no damaged sessions: whose they are is not known", async () => {
    const { ann, bob, storage } = await shared();
    await startTwoPhases(ann, "src/b.ts");
    const damaged = await startTwoPhases(bob, "src/c.ts");
    const { list } = storage;
    storage.list = async (query) => {
      const { items, ...page } = await list.call(storage, query);
      return { ...page, items: items.filter(({ sessionId }) => sessionId !== damaged), damaged: [damaged] };
    };
    const { total, broken } = await ann.listSessions({ limit: 1 });
    expect([total, broken]).toEqual([2, undefined]);
  });

  it("who is a viewer sees all sessions, and moves none", async () => {
    const { engine, id } = await shared();
    const viewer = engine.as({ name: "vera", roles: ["viewer"] });
    expect((await viewer.listSessions()).items).toHaveLength(1);
    expect((await viewer.session(id).state()).head.owner).toEqual(ANN);
    for (const name of ["completePhase", "pause", "approve", "skipPhase", "assign", "delete"]) {
      expect((await failure(CALLS[name]?.(viewer, id) ?? Promise.resolve())).code, name).toBe("NOT_ALLOWED");
    }
    expect((await failure(startTwoPhases(viewer))).code).toBe("NOT_ALLOWED");
    expect((await failure(viewer.cleanup())).code).toBe("NOT_ALLOWED");
    expect(await viewer.statistics()).toMatchObject({ sessions: expect.anything() });
  });

  it("who is an agent gets no statistics of all sessions, and cleans nothing up", async () => {
    const { bob } = await shared();
    expect((await failure(bob.statistics())).code).toBe("NOT_ALLOWED");
    expect((await failure(bob.cleanup())).code).toBe("NOT_ALLOWED");
  });

  it("who is an operator does what the host does", async () => {
    const { engine, id } = await shared();
    const operator = engine.as({ name: "otto", roles: ["operator"] });
    await operator.session(id).assign(BOB, { by: "otto" });
    await operator.session(id).delete();
    expect((await engine.listSessions()).items).toEqual([]);
  });

  it("does what the host's own rule allows", async () => {
    const { engine, ann, id } = await shared();
    const asked: AccessRequest[] = [];
    const team = engine.as({ name: "rudi", team: "red" }, (request) => {
      asked.push(request);
      const { actor, session } = request;
      return byOwner(request) || (session?.team !== undefined && session.team === actor.team);
    });
    expect(await team.session(id).completePhase(1, built)).toMatchObject({ passed: true });
    expect(asked).toContainEqual({
      ...{ actor: { name: "rudi", team: "red" }, action: "work", operation: "completePhase" },
      session: expect.objectContaining({ sessionId: id, owner: "ann", team: "red", kind: "phased" }),
    });
    // Pages of those that the rule lets through, whose cursors name no other session.
    const others: string[] = [];
    for (let index = 0; index < 4; index += 1) {
      others.push(await startTwoPhases(engine.as(BOB), `src/${index}.ts`));
      await startTwoPhases(ann, `src/red-${index}.ts`);
    }
    const found: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await team.listSessions({ limit: 2, ...(cursor === undefined ? {} : { cursor }) });
      found.push(...page.items.map(({ target }) => target));
      cursor = page.cursor;
      for (const other of others) expect(atob(cursor ?? "")).not.toContain(other);
    } while (cursor !== undefined);
    expect(found.sort()).toEqual(["src/a.ts", "src/red-0.ts", "src/red-1.ts", "src/red-2.ts", "src/red-3.ts"]);
  });

  it("shares the limit of calls at the same time, and has figures of its own", async () => {
    const { engine } = makeEngine({ limits: { maxConcurrent: 1 } });
    const [ann, bob] = [engine.as(ANN), engine.as(BOB)];
    const both = await Promise.allSettled([ann.listWorkflows(), bob.listWorkflows()]);
    expect(both.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
    expect(bob.metrics()).toMatchObject({ listWorkflows: { busy: 1, count: 0 } });
    expect(engine.metrics()).toMatchObject({ listWorkflows: { busy: 1, count: 1 } });
  });

  it("does not close the storage that others use", async () => {
    const { engine, ann } = await shared();
    let closed = 0;
    const host = makeEngine({
      storage: Object.assign(makeEngine().storage, {
        close: async () => {
          closed += 1;
        },
      }),
    });
    await host.engine.as(ANN).close();
    expect(closed).toBe(0);
    await host.engine.close();
    expect(closed).toBe(1);
    await ann.close();
    expect((await engine.listSessions()).items).toHaveLength(1);
  });
});
