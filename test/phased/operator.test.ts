import fc from "fast-check";
import { MemoryStorage } from "phasegate";
import type { Commit } from "phasegate/storage";
import { describe, expect, it } from "vitest";
import { hashEvidence } from "../../src/approval/message.js";
import { failure } from "../support/failure.js";
import { howOften } from "../support/how-often.js";
import { makeEngine, startTwoPhases } from "../support/make-engine.js";
import { built } from "../support/workflows.js";

const SAID = { by: "ann", note: "the disk was full" } as const;

/** Creates an engine with a session whose attempts in a row are used up. */
async function failed(limits = {}) {
  const made = makeEngine({ limits: { maxAttempts: 1, ...limits } });
  const id = await startTwoPhases(made.engine);
  await made.engine.session(id).completePhase(1, { summary: "no" });
  return { ...made, id };
}

describe("who asks on behalf of the host", () => {
  it("is in the history, with the note", async () => {
    const { engine, id } = await failed();
    await engine.session(id).retryPhase(1, { ...SAID });
    await engine.session(id).pause(SAID);
    await engine.session(id).resume({ by: "bob" });
    await engine.session(id).pause();
    const [, attempt] = await engine.session(id).history();
    expect(attempt?.notes).toMatchObject([
      { event: "retried", by: "ann", note: "the disk was full" },
      { event: "paused", by: "ann", note: "the disk was full" },
      { event: "resumed", by: "bob" },
    ]);
  });

  it("is recorded with a deletion, also by a cleanup", async () => {
    const { engine, storage, clock, id } = await failed();
    const bodies: string[] = [];
    const append = storage.append.bind(storage);
    storage.append = (commit: Commit) => {
      bodies.push(commit.body);
      return append(commit);
    };
    const other = await startTwoPhases(engine, "b");
    await engine.session(id).delete({ note: "not needed", by: "ann" });
    expect(bodies.at(-1)).toContain('"events":[{"type":"deleted","reason":"not needed","operator":"ann"}]');
    clock.advance(1000);
    expect(await engine.cleanup({ olderThan: 0, preview: true })).toEqual({ removed: [other] });
    expect((await engine.session(other).state()).status).toBe("active");
    expect(await engine.cleanup({ olderThan: 0, by: "ann", note: "old" })).toEqual({ removed: [other] });
    expect(bodies.at(-1)).toContain('"events":[{"type":"deleted","reason":"old","operator":"ann"}]');
  });

  it("must be short, and a text", async () => {
    const { engine, id } = await failed();
    const long = { by: "x".repeat(201) };
    for (const call of [engine.session(id).retryPhase(1, { ...long }), engine.session(id).delete(long)]) {
      expect(await failure(call)).toMatchObject({ code: "INVALID_INPUT", details: { field: "by" } });
    }
    const note = await failure(engine.session(id).retryPhase(1, { note: "x".repeat(2001) }));
    expect(note).toMatchObject({ code: "INVALID_INPUT", details: { field: "note" } });
    for (const move of ["skipPhase", "overrideGate"] as const) {
      const by = await failure(engine.session(id)[move](1, { by: "x".repeat(201), note: "known" }));
      expect(by).toMatchObject({ code: "INVALID_INPUT", details: { field: "by" } });
      const note = await failure(engine.session(id)[move](1, { by: "ann", note: "x".repeat(2001) }));
      expect(note).toMatchObject({ code: "INVALID_INPUT", details: { field: "note" } });
    }
    const wrong: { by: string } = JSON.parse('{"by": 5}');
    expect(await failure(engine.session(id).retryPhase(1, { ...wrong }))).toMatchObject({ code: "INVALID_INPUT" });
    expect((await engine.session(id).state()).status).toBe("failed");
  });
});

describe("the limit of active sessions", () => {
  /** Creates a paused session, a failed one and a full engine. */
  async function full() {
    const { engine } = makeEngine({ limits: { maxActiveSessions: 1, maxAttempts: 1 } });
    const paused = await startTwoPhases(engine, "paused");
    await engine.session(paused).pause();
    const lost = await startTwoPhases(engine, "lost");
    await engine.session(lost).completePhase(1, {});
    const active = await startTwoPhases(engine, "active");
    return { engine, paused, lost, active };
  }

  it("holds for every session that becomes active again", async () => {
    const { engine, paused, lost, active } = await full();
    const calls = [
      () => engine.session(paused).resume(),
      () => engine.session(lost).retryPhase(1),
      () => engine.session(lost).skipPhase(1, { by: "ann", note: "known" }),
      () => engine.session(lost).overrideGate(1, { by: "ann", note: "known" }),
    ];
    for (const call of calls) expect(await failure(call())).toMatchObject({ code: "SESSION_LIMIT" });
    await engine.session(active).pause();
    expect(await engine.session(paused).resume({ idempotencyKey: "k" })).toMatchObject({ replayed: false });
    // A repeated call makes nothing active.
    expect(await engine.session(paused).resume({ idempotencyKey: "k" })).toMatchObject({ replayed: true });
    expect(await failure(engine.session(active).resume())).toMatchObject({ code: "SESSION_LIMIT" });
  });

  it("holds for a rollback of a failed session, not for one of an active session", async () => {
    const { engine } = makeEngine({ limits: { maxActiveSessions: 1, maxAttempts: 1 } });
    const id = await startTwoPhases(engine);
    await engine.session(id).completePhase(1, built);
    expect(await engine.session(id).rollback(1)).toMatchObject({ to: 1 });
    await engine.session(id).completePhase(1, built);
    await engine.session(id).pause();
    await startTwoPhases(engine, "b");
    // What the state forbids is reported first.
    expect(await failure(engine.session(id).rollback(1))).toMatchObject({ code: "INVALID_TRANSITION" });
    expect(await failure(engine.session(id).pause())).toMatchObject({ code: "INVALID_TRANSITION" });
  });

  it("is not looked at for an answer to a waiver, an assignment or a deletion, which make nothing active", async () => {
    const storage = new MemoryStorage();
    const count = storage.countActive.bind(storage);
    let counted = 0;
    storage.countActive = (upTo) => {
      counted += 1;
      return count(upTo);
    };
    const { engine } = makeEngine({ storage, limits: { maxActiveSessions: 3 } });
    const id = await startTwoPhases(engine);
    const session = engine.session(id);
    const first = await session.requestWaiver(1, { fields: ["tests_pass"], reason: "no runner" });
    await session.pause();
    counted = 0;
    await session.denyWaiver({ by: "ann", request: first.request, note: "find one" });
    expect(counted).toBe(0);
    await session.resume();
    expect(counted).toBe(1);
    const second = await session.requestWaiver(1, { fields: ["tests_pass"], reason: "there is no runner" });
    await session.pause();
    await session.waive({ by: "ann", request: second.request });
    await session.assign({ name: "eve" }, { by: "ann" });
    await session.delete();
    expect(counted).toBe(1);
  });

  it("names the limit to the host, which is told of each refusal", async () => {
    const { engine, paused } = await full();
    const told: unknown[] = [];
    engine.on("internalError", ({ operation, error }) => told.push([operation, error]));
    const error = await failure(engine.session(paused).resume());
    expect(error.remedy).toContain("limits.maxActiveSessions");
    expect(told).toEqual([["resume", error]]);
  });
});

describe("engine.history with evidence", () => {
  it("has what was submitted, with the hash that approvals name", async () => {
    const { engine } = makeEngine();
    const id = await startTwoPhases(engine);
    await engine.session(id).completePhase(1, { summary: "no" });
    const large = { ...built, log: "x".repeat(70_000) };
    await engine.session(id).completePhase(1, large);
    const history = await engine.session(id).history({ evidence: true });
    expect(history.map(({ evidence }) => evidence)).toEqual([{ summary: "no" }, large, undefined]);
    expect(history.map(({ evidenceHash }) => evidenceHash?.length)).toEqual([64, 64, undefined]);
    for (const attempt of await engine.session(id).history()) expect(attempt).not.toHaveProperty("evidence");
    for (const attempt of await engine.session(id).history()) expect(attempt).not.toHaveProperty("submitted");
  });
});

describe("every history with evidence", () => {
  it("has each submission once, in order, with its own hash", async () => {
    const evidence = fc.record({ summary: fc.string(), tests_pass: fc.boolean() }, { requiredKeys: [] });
    await fc.assert(
      fc.asyncProperty(fc.array(evidence, { maxLength: 8 }), async (submissions) => {
        const { engine } = makeEngine({ limits: { maxAttempts: 100, maxAttemptsTotal: 100 } });
        const id = await startTwoPhases(engine);
        const given: unknown[] = [];
        for (const submission of submissions) {
          const { head } = await engine.session(id).state();
          if (head.status !== "active") break;
          given.push(submission);
          await engine.session(id).completePhase(head.phase, submission);
        }
        const closed = (await engine.session(id).history({ evidence: true })).filter(
          ({ status }) => status !== "active",
        );
        expect(closed.map((attempt) => attempt.evidence)).toEqual(given);
        expect(closed.map((attempt) => attempt.evidenceHash)).toEqual(given.map(hashEvidence));
      }),
      { numRuns: howOften(30, 300) },
    );
  });
});

describe("a list", () => {
  it("says what sessions wait for", async () => {
    const { engine, id } = await failed({ maxAttemptsTotal: 2 });
    const waits = async () => (await engine.listSessions()).items.map(({ waitsFor }) => waitsFor);
    expect(await waits()).toEqual([undefined]);
    await engine.session(id).requestWaiver(1, { fields: ["tests_pass"], reason: "no runner" });
    expect(await waits()).toEqual([["waiver"]]);
    await engine.session(id).retryPhase(1, { as: "agent" });
    await engine.session(id).completePhase(1, {});
    expect(await waits()).toEqual([["waiver", "host"]]);
    await engine.session(id).retryPhase(1);
    expect(await waits()).toEqual([["waiver"]]);
  });

  it("says in which phase sessions are, and how often its gate has refused", async () => {
    const { engine } = makeEngine();
    const id = await startTwoPhases(engine);
    const now = async () =>
      (await engine.listSessions()).items.map(({ phaseName, refused }) => ({ phaseName, refused }));
    const { phases } = (await engine.session(id).state()).structure;
    expect(await now()).toEqual([{ phaseName: phases[0]?.name }]);
    await engine.session(id).completePhase(1, {});
    expect(await now()).toEqual([{ phaseName: phases[0]?.name, refused: { attempts: 1, limit: 3 } }]);
    await engine.session(id).completePhase(1, { summary: "added it", tests_pass: true });
    expect(await now()).toEqual([{ phaseName: phases[1]?.name }]);
  });

  it("has the number of all matches, on a storage that does not know it, too", async () => {
    const storage = new MemoryStorage();
    const list = storage.list.bind(storage);
    storage.list = async (query) => {
      const { total: _, ...page } = await list(query);
      return page;
    };
    const { engine } = makeEngine({ storage, limits: { maxActiveSessions: 2000 } });
    for (const name of "abc") await startTwoPhases(engine, name);
    const first = await engine.listSessions({ limit: 2 });
    expect([first.items.length, first.total]).toEqual([2, 3]);
    const second = await engine.listSessions({
      limit: 2,
      ...(first.cursor === undefined ? {} : { cursor: first.cursor }),
    });
    expect([second.items.length, second.total]).toEqual([1, 3]);
    expect((await engine.listSessions({ status: ["failed"] })).total).toBe(0);
    for (let index = 0; index < 1200; index += 1) await startTwoPhases(engine, `more/${index}`);
    const large = await engine.listSessions();
    expect([large.items.length, large.total]).toEqual([50, 1203]);
    const { total } = await engine.listSessions(large.cursor === undefined ? {} : { cursor: large.cursor });
    expect(total).toBeUndefined();
    const many = makeEngine({ storage: Object.assign(storage, { list: async () => ({ items: [], cursor: "x" }) }) });
    expect(await many.engine.listSessions()).not.toHaveProperty("total");
  });
});
