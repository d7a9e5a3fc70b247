import { join } from "node:path";
import {
  createEngine,
  defineWorkflow,
  MemoryContent,
  MemoryStorage,
  parseSessionId,
  type StorageAdapter,
} from "phasegate";
import { signApproval } from "phasegate/approval";
import type { Commit, PhaseStatistics, Statistics, StatisticsCursor } from "phasegate/storage";
import { FakeClock } from "phasegate/testing";
import { describe, expect, it, onTestFinished } from "vitest";
import * as z from "zod";
import { wrapStorage } from "../../src/testing/broken.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { makeAsking } from "../support/approvals.js";
import { failure } from "../support/failure.js";
import { makeEngine, startTwoPhases } from "../support/make-engine.js";
import { DURABLE, openStorage } from "../support/open-storage.js";
import { makePlanned } from "../support/planned.js";
import { newSchema, postgresUrl } from "../support/postgres.js";
import { built, twoPhases } from "../support/workflows.js";

const MINUTE = 60_000;
const host = { by: "ann", note: "known" } as const;

/** Returns the statistics of one phase of the first workflow. */
function phaseOf({ workflows }: Statistics, number: number): PhaseStatistics {
  const found = workflows[0]?.phases.find(({ phase }) => phase === number);
  if (found === undefined) throw new Error(`no statistics of phase ${number}`);
  return found;
}

/** Returns a storage that counts the commits that are read from logs, and one over it that has no `changes`. */
function counting() {
  const inner = new MemoryStorage();
  const read: string[] = [];
  const storage = wrapStorage(inner, {
    async *log(id, options) {
      for await (const commit of inner.log(id, options)) {
        read.push(`${commit.sessionId} ${commit.version}`);
        yield commit;
      }
    },
  });
  return { read, storage, bare: wrapStorage(storage, { changes: undefined }) };
}

describe("statistics", () => {
  it("count sessions by status and phase, attempts, failures by field, and times", async () => {
    const { engine, clock } = makeEngine();
    const [a, b] = [await startTwoPhases(engine, "a"), await startTwoPhases(engine, "b")];
    const failed = await startTwoPhases(engine, "c");
    await startTwoPhases(engine, "d");
    clock.advance(MINUTE);
    await engine.session(a).completePhase(1, { summary: "x", tests_pass: true });
    clock.advance(MINUTE);
    await engine.session(a).completePhase(1, built);
    clock.advance(MINUTE);
    await engine.session(b).overrideGate(1, { ...host });
    await engine.session(a).completePhase(2, {});
    for (const _ of "123") await engine.session(failed).completePhase(1, { summary: "long" });
    const { cursor, ...found } = await engine.statistics();
    expect(found).toEqual({
      sessions: { active: 2, paused: 0, completed: 1, failed: 1 },
      unapproved: 0,
      workflows: [
        {
          workflowType: "two_phases",
          sessions: { active: 2, paused: 0, completed: 1, failed: 1 },
          phases: [
            {
              ...{ phase: 1, name: "Build", sessions: { active: 1, paused: 0, failed: 1 }, completed: 2, skipped: 0 },
              // Two minutes, and three until the override.
              time: { medianSeconds: 120, p90Seconds: 180 },
              ...{ attempts: 5, passed: 1, failed: 4, denied: 0, overridden: 1, refusedSteps: 0 },
              firstAttempts: { made: 2, passed: 0 },
              waivers: { requested: 0, granted: 0, denied: 0 },
              fields: [
                { field: "tests_pass", failed: 3, waived: 0 },
                { field: "summary", failed: 1, waived: 0 },
              ],
            },
            {
              ...{ phase: 2, name: "Ship", sessions: { active: 1, paused: 0, failed: 0 }, completed: 1, skipped: 0 },
              time: { medianSeconds: 60, p90Seconds: 60 },
              ...{ attempts: 1, passed: 1, failed: 0, denied: 0, overridden: 0, refusedSteps: 0 },
              firstAttempts: { made: 1, passed: 1 },
              waivers: { requested: 0, granted: 0, denied: 0 },
              fields: [],
            },
          ],
        },
      ],
    });
    expect(await engine.statistics({ workflowType: "two_phases" })).toMatchObject(found);
    expect(await engine.statistics({ workflowType: "other", cursor })).toMatchObject({
      ...{ sessions: { active: 0, completed: 0 }, workflows: [] },
      // The cursor keeps what other calls may ask for.
      cursor: { sessions: { length: 4 } },
    });
  });

  it("count no pause, no time between a failure and its retry, and no clock that was set back as time spent", async () => {
    const { engine, clock } = makeEngine();
    const id = await startTwoPhases(engine);
    clock.advance(MINUTE);
    await engine.session(id).pause();
    clock.advance(100 * MINUTE);
    await engine.session(id).resume();
    for (const _ of "123") await engine.session(id).completePhase(1, {});
    clock.advance(100 * MINUTE);
    await engine.session(id).retryPhase(1, { as: "host" });
    clock.advance(2 * MINUTE);
    await engine.session(id).completePhase(1, built);
    clock.advance(-5 * MINUTE);
    await engine.session(id).completePhase(2, {});
    const found = await engine.statistics();
    expect(phaseOf(found, 1).time).toEqual({ medianSeconds: 180, p90Seconds: 180 });
    expect(phaseOf(found, 2).time).toEqual({ medianSeconds: 0, p90Seconds: 0 });
  });

  it("sum up all visits to a phase, once it is completed again", async () => {
    const { engine, clock } = makeEngine();
    const id = await startTwoPhases(engine);
    clock.advance(MINUTE);
    await engine.session(id).completePhase(1, built);
    clock.advance(MINUTE);
    await engine.session(id).rollback(1);
    const after = await engine.statistics();
    expect(phaseOf(after, 1)).toMatchObject({ completed: 0, passed: 1, sessions: { active: 1 } });
    expect(phaseOf(after, 1).time).toBeUndefined();
    expect(phaseOf(after, 2)).toMatchObject({ completed: 0, sessions: { active: 0 } });
    clock.advance(MINUTE);
    await engine.session(id).skipPhase(1, { ...host });
    const skipped = await engine.statistics({ cursor: after.cursor });
    expect(phaseOf(skipped, 1)).toMatchObject({ completed: 0, skipped: 1, passed: 1 });
    await engine.session(id).rollback(1);
    await engine.session(id).completePhase(1, built);
    const again = await engine.statistics({ cursor: skipped.cursor });
    expect(phaseOf(again, 1)).toMatchObject({ completed: 1, skipped: 0, passed: 2, time: { medianSeconds: 120 } });
  });

  it("give medians and 90th percentiles that occurred", async () => {
    const { engine, clock } = makeEngine();
    const ids: string[] = [];
    for (let index = 1; index <= 10; index += 1) ids.push(await startTwoPhases(engine, `${index}`));
    for (const id of ids) {
      clock.advance(1500);
      await engine.session(id).completePhase(1, built);
    }
    expect(phaseOf(await engine.statistics(), 1).time).toEqual({ medianSeconds: 7.5, p90Seconds: 13.5 });
  });

  it("count phases that a rule skips, repeated calls once, and a refused step once in a visit", async () => {
    const gate = { evidence: z.object({ ok: z.literal(true) }) };
    const workflow = defineWorkflow({
      ...{ type: "ruled", revision: "1", name: "Ruled", description: "Skips" },
      phases: [1, 2, 3].map((number) => ({
        ...{ number, name: `P${number}`, content: "Do it.", gate },
        ...(number === 2 ? { skipWhen: "!has(options.docs)" } : {}),
      })),
    });
    const { engine } = makeEngine({}, [workflow]);
    const { sessionId } = await engine.start({ workflowType: "ruled", target: "a" });
    for (const _ of "12") {
      await engine.session(sessionId).completePhase(1, { ok: false }, { idempotencyKey: "one" });
      await failure(engine.session(sessionId).completePhase(3, { ok: true }));
    }
    await engine.session(sessionId).completePhase(1, { ok: true });
    const found = await engine.statistics();
    expect(phaseOf(found, 1)).toMatchObject({ attempts: 2, failed: 1, refusedSteps: 1 });
    expect(phaseOf(found, 2)).toMatchObject({ skipped: 1, completed: 0, attempts: 0 });
    expect(phaseOf(found, 3)).toMatchObject({ sessions: { active: 1 } });
  });

  it("name phases as the newest revision does, and group fields of items", async () => {
    const versions = ["Old", "New"].map((name, index) =>
      defineWorkflow({
        ...{ type: "listed", revision: `${index}`, name, description: "Lists" },
        phases: [
          {
            ...{ number: 1, name, content: "Do it." },
            gate: { evidence: z.object({ items: z.array(z.object({ ok: z.literal(true) })) }) },
          },
        ],
      }),
    );
    const storage = new MemoryStorage();
    const clock = new FakeClock("2026-03-04T05:06:07.000Z");
    const engines = versions.map((one) => makeEngine({ storage, clock }, [one]).engine);
    for (const engine of [...engines].reverse()) {
      const { sessionId } = await engine.start({ workflowType: "listed", target: `${clock.now()}` });
      const items = [{ ok: true }, { ok: false }, { ok: "no" }];
      await engine.session(sessionId).completePhase(1, { items });
      clock.advance(-MINUTE);
    }
    const [engine] = engines;
    expect(engine && phaseOf(await engine.statistics(), 1)).toMatchObject({
      ...{ name: "New", failed: 2 },
      fields: [{ field: "items.*.ok", failed: 2, waived: 0 }],
    });
  });

  it("name no phases of plans, which differ from session to session", async () => {
    const { engine, start } = makePlanned();
    await start(1);
    const found = await engine.statistics();
    const names = found.workflows[0]?.phases.map(({ phase, name }) => [phase, name]);
    expect(names).toEqual([
      [0, phaseOf(found, 0).name],
      [1, undefined],
    ]);
    expect(phaseOf(found, 0).name).toBeTypeOf("string");
  });

  it("tell 50 fields of a session's phase apart, whatever agents call them", async () => {
    const gate = { evidence: z.record(z.string(), z.literal(true)) };
    const workflow = defineWorkflow({
      ...{ type: "any", revision: "1", name: "Any", description: "Any fields" },
      phases: [{ number: 1, name: "One", content: "Do it.", gate }],
    });
    const { engine } = makeEngine({ limits: { maxAttempts: 100, maxAttemptsTotal: 1000 } }, [workflow]);
    const { sessionId } = await engine.start({ workflowType: "any", target: "a" });
    for (let index = 0; index < 60; index += 1) {
      const evidence = JSON.parse(`{"hasOwnProperty":0,"toString":0,"${"x".repeat(200)}${index}":0,"f${index}":0}`);
      await engine.session(sessionId).completePhase(1, evidence);
    }
    const { cursor, ...found } = await engine.statistics();
    const { failed, fields } = phaseOf({ ...found, cursor }, 1);
    expect(failed).toBe(60);
    expect(fields).toHaveLength(50);
    expect(fields.every(({ field }) => field.length <= 100)).toBe(true);
    expect(await engine.statistics({ cursor: JSON.parse(JSON.stringify(cursor)) })).toMatchObject(found);
  });

  it("forget deleted sessions, and are of phased sessions only", async () => {
    const { engine, storage } = makeEngine();
    const id = await startTwoPhases(engine);
    await startTwoPhases(engine, "b");
    const { cursor } = await engine.statistics();
    await engine.session(id).delete();
    const found = await engine.statistics({ cursor });
    expect(found.sessions).toEqual({ active: 1, paused: 0, completed: 0, failed: 0 });
    expect(found.cursor).toMatchObject({ sessions: { length: 1 } });
    for await (const commit of storage.log(cursorSession(found.cursor))) {
      const sessionId = parseSessionId("another_kind");
      const summary = { ...commit.summary, sessionId, kind: "routed" };
      await storage.append({ ...commit, sessionId, summary });
    }
    expect((await engine.statistics({ cursor })).sessions.active).toBe(1);
    expect(await engine.statistics()).toMatchObject({ sessions: { active: 1 } });
  });
});

function cursorSession(cursor: StatisticsCursor): Commit["sessionId"] {
  return JSON.parse(JSON.stringify(cursor)).sessions[0].sessionId;
}

describe("the cursor of statistics", () => {
  it.each(["storage", "bare"] as const)("reads each commit once (%s)", async (kind) => {
    const made = counting();
    const { engine } = makeEngine({ storage: made[kind] });
    const ids = [await startTwoPhases(engine, "a"), await startTwoPhases(engine, "b")];
    let cursor: StatisticsCursor | undefined;
    const read: string[][] = [];
    for (let round = 0; round < 3; round += 1) {
      made.read.length = 0;
      ({ cursor } = await engine.statistics(cursor === undefined ? {} : { cursor }));
      read.push([...made.read].sort());
      if (round < 2) await engine.session(ids[0] ?? "").completePhase(1, round === 1 ? built : {});
    }
    const [a, b] = ids;
    expect(read).toEqual([[`${a} 1`, `${b} 1`], [`${a} 2`], [`${a} 3`]]);
  });

  it.each(["MemoryStorage", "FileStorage", "SqliteStorage", "PostgresStorage"] as const)(
    "continues on %s, also in another process",
    async (name) => {
      const folder = await temporaryFolder();
      const memory = new MemoryStorage();
      const places = { ...DURABLE, MemoryStorage: "", PostgresStorage: "" };
      const schema = name === "PostgresStorage" ? await newSchema() : "";
      const open = async (): Promise<StorageAdapter> => {
        if (name === "MemoryStorage") return memory;
        const storage = await openStorage(
          schema === "" ? join(folder, places[name]) : `${await postgresUrl()}#${schema}`,
        );
        onTestFinished(() => storage.close?.());
        return storage;
      };
      const content = new MemoryContent({ workflows: [twoPhases] });
      const [one, other] = [await open(), await open()].map((storage) => createEngine({ storage, content }));
      if (one === undefined || other === undefined) throw new Error("no engines");
      const a = await startTwoPhases(one, "a");
      const b = await startTwoPhases(one, "b");
      await one.session(a).completePhase(1, {});
      const first = await one.statistics();
      expect(phaseOf(first, 1)).toMatchObject({ attempts: 1, sessions: { active: 2 } });
      await one.session(a).completePhase(1, built);
      await one.session(b).delete();
      await startTwoPhases(one, "c");
      const { cursor: _, ...second } = await other.statistics({ cursor: JSON.parse(JSON.stringify(first.cursor)) });
      expect(second).toMatchObject(await one.statistics().then(({ cursor: __, ...rest }) => rest));
      expect(phaseOf({ ...second, cursor: first.cursor }, 1)).toMatchObject({ attempts: 2, sessions: { active: 1 } });
    },
  );

  it("is valid after a call that has failed", async () => {
    const inner = new MemoryStorage();
    let fails = false;
    const storage = wrapStorage(inner, {
      read: async (id) => {
        if (fails) throw new Error("no answer");
        return inner.read(id);
      },
    });
    const { engine } = makeEngine({ storage });
    const a = await startTwoPhases(engine, "a");
    const { cursor } = await engine.statistics();
    await engine.session(a).pause();
    fails = true;
    expect((await failure(engine.statistics({ cursor }))).code).toBe("INTERNAL");
    fails = false;
    expect((await engine.statistics({ cursor })).sessions).toMatchObject({ active: 0, paused: 1 });
  });

  it("leads to no session that was removed while it was read", async () => {
    const inner = await openStorage(join(await temporaryFolder(), "state.db"));
    onTestFinished(() => inner.close?.());
    let removed: Commit["sessionId"] | undefined;
    const storage = wrapStorage(inner, {
      // The tombstone is there, and the commits go when the log is read.
      remove: async (id) => {
        removed = id;
      },
      async *log(id, options) {
        if (removed === id) await inner.remove(id);
        yield* inner.log(id, options);
      },
    });
    const { engine } = makeEngine({ storage });
    const [a] = [await startTwoPhases(engine, "a"), await startTwoPhases(engine, "b")];
    const { cursor } = await engine.statistics();
    await engine.session(a).delete();
    expect(removed).toBe(a);
    // It has read the tombstone, but not what is in the log.
    await engine.statistics({ cursor });
    expect((await engine.statistics({ cursor })).sessions.active).toBe(1);
  });

  it.each(["FileStorage", "PostgresStorage"] as const)("reads no session on %s that has not changed", async (name) => {
    const folder = await temporaryFolder();
    const place = name === "FileStorage" ? join(folder, "state") : `${await postgresUrl()}#${await newSchema()}`;
    const inner = await openStorage(place);
    onTestFinished(() => inner.close?.());
    const read: string[] = [];
    const storage = wrapStorage(inner, {
      read: (id) => {
        read.push(id);
        return inner.read(id);
      },
    });
    const engine = createEngine({ storage, content: new MemoryContent({ workflows: [twoPhases] }) });
    const [a, b] = [await startTwoPhases(engine, "a"), await startTwoPhases(engine, "b")];
    const first = await engine.statistics();
    read.length = 0;
    const same = await engine.statistics({ cursor: first.cursor });
    expect([same.sessions.active, read]).toEqual([2, []]);
    await engine.session(b).pause();
    await engine.session(a).delete();
    read.length = 0;
    const last = await engine.statistics({ cursor: same.cursor });
    expect([last.sessions, [...new Set(read)].sort()]).toEqual([
      { active: 0, paused: 1, completed: 0, failed: 0 },
      [a, b].sort(),
    ]);
  });

  it("of another storage is refused, whether or not the storage knows what has changed", async () => {
    for (const kind of ["storage", "bare"] as const) {
      const [one, other] = [makeEngine({ storage: counting()[kind] }), makeEngine({ storage: counting()[kind] })];
      await startTwoPhases(one.engine, "a");
      await startTwoPhases(other.engine, "b");
      one.clock.advance(1);
      const { cursor } = await one.engine.statistics();
      const error = await failure(other.engine.statistics({ cursor }));
      expect(error).toMatchObject({ code: "CURSOR_INVALID", remedy: expect.stringContaining("Leave it out") });
    }
  });

  it("of the same session with another history, or of a later state, is refused", async () => {
    const same = () => Object.assign(new FakeClock("2026-03-04T05:06:07.000Z"), { newId: () => "the same" });
    const [one, other] = [
      makeEngine({ clock: same(), storage: counting().bare }),
      makeEngine({ clock: same(), storage: counting().bare }),
    ];
    const id = await startTwoPhases(one.engine);
    await one.engine.session(id).pause();
    const later = (await one.engine.statistics()).cursor;
    expect(await startTwoPhases(other.engine)).toBe(id);
    const differs = `belongs to another storage, or to a later state of this one: session ${id} differs`;
    const refused = () => failure(other.engine.statistics({ cursor: later }));
    expect(await refused()).toMatchObject({ code: "CURSOR_INVALID", message: expect.stringContaining(differs) });
    await other.engine.session(id).completePhase(1, {});
    expect((await refused()).message).toContain(differs);
    await other.engine.session(id).completePhase(1, {});
    expect((await refused()).message).toContain(differs);
  });

  it("of a newer version, and what is no cursor, is refused", async () => {
    const { engine } = makeEngine();
    await startTwoPhases(engine);
    const { cursor } = await engine.statistics();
    const refusal = async (wrong: StatisticsCursor) => (await failure(engine.statistics({ cursor: wrong }))).message;
    expect(await refusal({ ...cursor, version: 2 })).toBe(
      "the cursor of the statistics has version 2, and 1 is the newest that is known here",
    );
    for (const wrong of [{ version: 0 }, { version: 1 }, { ...cursor, sessions: [{}] }, { ...cursor, sessions: 1 }]) {
      expect(await refusal(wrong)).toBe("the cursor of the statistics is not as statistics have returned it");
    }
    for (const wrong of [null, "x", 5]) {
      // @ts-expect-error: plain JavaScript may pass anything.
      expect(await refusal(wrong)).toBe("the cursor of the statistics is not as statistics have returned it");
    }
    const position = { ...cursor, position: "x" };
    expect(await refusal(position)).toContain("The position is not one of this storage");
  });

  it("is still valid once all its sessions are deleted", async () => {
    for (const kind of ["storage", "bare"] as const) {
      const { engine, clock } = makeEngine({ storage: counting()[kind] });
      const id = await startTwoPhases(engine);
      const { cursor } = await engine.statistics();
      clock.advance(1);
      await engine.session(id).delete();
      expect((await engine.statistics({ cursor })).sessions.active).toBe(0);
      await startTwoPhases(engine, "b");
      expect((await engine.statistics({ cursor })).sessions.active).toBe(1);
    }
  });

  it("names sessions that can't be read, and counts them when they can be read again", async () => {
    const inner = new MemoryStorage();
    let isDamaged = true;
    const storage = wrapStorage(inner, {
      async *log(id, options) {
        for await (const commit of inner.log(id, options)) {
          yield isDamaged && id.includes("bad") ? { ...commit, body: `${commit.body} ` } : commit;
        }
      },
    });
    const { engine } = makeEngine({ storage });
    await startTwoPhases(engine, "good");
    const sessionId = await startTwoPhases(engine, "bad");
    const first = await engine.statistics();
    expect(first).toMatchObject({ sessions: { active: 1 }, broken: [{ sessionId, code: "TAMPERED" }] });
    expect(await engine.statistics({ cursor: first.cursor })).toMatchObject({ broken: [{ sessionId }] });
    isDamaged = false;
    const mended = await engine.statistics({ cursor: first.cursor });
    expect([mended.sessions.active, mended.broken]).toEqual([2, undefined]);
    isDamaged = true;
    await engine.session(sessionId).pause();
    // What has changed since is damaged; the session counts no more.
    expect(await engine.statistics({ cursor: mended.cursor })).toMatchObject({
      ...{ sessions: { active: 1, paused: 0 }, broken: [{ sessionId, code: "TAMPERED" }] },
    });
  });
});

describe("statistics of a host with approvers", () => {
  it("count no gate that was passed with an approval that it does not accept, also after a rollback", async () => {
    const storage = new MemoryStorage();
    const clock = new FakeClock("2026-03-04T05:06:07.000Z");
    const [mine, forger] = [await makeAsking({ storage, clock }), await makeAsking({ storage, clock })];
    const { sessionId } = await mine.waiting();
    const before = await mine.engine.statistics();
    expect(phaseOf(before, 1)).toMatchObject({ attempts: 0, sessions: { active: 1 } });
    await forger.engine.session(sessionId).approve(await forger.signed(sessionId));
    await forger.submit(sessionId, 2);
    clock.advance(MINUTE);
    const all = await forger.engine.statistics();
    expect([phaseOf(all, 1).passed, all.unapproved, phaseOf(all, 2).sessions.active]).toEqual([1, 0, 1]);
    for (const cursor of [undefined, before.cursor]) {
      const found = await mine.engine.statistics(cursor === undefined ? {} : { cursor });
      expect(found.unapproved).toBe(1);
      expect(phaseOf(found, 1)).toMatchObject({ passed: 0, completed: 0, sessions: { active: 1 } });
      expect(found.workflows[0]?.phases).toHaveLength(1);
    }
    const { cursor } = await mine.engine.statistics({ cursor: before.cursor });
    await mine.engine.session(sessionId).rollback(1);
    await mine.submit(sessionId);
    await mine.engine.session(sessionId).approve(await mine.signed(sessionId));
    for (const request of [{}, { cursor }]) {
      const found = await mine.engine.statistics(request);
      expect([found.unapproved, phaseOf(found, 1).passed, phaseOf(found, 1).completed]).toEqual([0, 1, 1]);
    }
    const other = await failure(forger.engine.statistics({ cursor }));
    expect(other).toMatchObject({ code: "CURSOR_INVALID", message: expect.stringContaining("with other approvers") });
  });

  it("count denials as failed attempts, and no waiver that it does not accept", async () => {
    const storage = new MemoryStorage();
    const [mine, forger] = [await makeAsking({ storage }), await makeAsking({ storage })];
    const { sessionId } = await mine.waiting();
    const note = "too thin";
    await mine.engine.session(sessionId).deny({ ...(await mine.signed(sessionId, { decision: "deny", note })), note });
    const nobody = makeEngine({ storage, content: mine.content });
    const waived = await mine.start();
    const request = { phase: 1, fields: ["tests_pass"], reason: "there are none" };
    const { request: hash } = await nobody.engine.session(waived).requestWaiver(request.phase, request);
    const question = await forger.engine.session(waived).waiver();
    if (question === undefined) throw new Error("nothing waits");
    const { privateKey } = forger.keys.ann;
    const signature = await signApproval(question, { decision: "approve", by: "ann", privateKey });
    await forger.engine.session(waived).waive({ by: "ann", request: hash, signature });
    await forger.engine.session(waived).completePhase(1, {});
    await forger.engine.session(waived).approve(await forger.signed(waived));
    const seen = phaseOf(await forger.engine.statistics(), 1);
    expect(seen).toMatchObject({ attempts: 2, passed: 1, failed: 1, denied: 1, waivers: { requested: 1, granted: 1 } });
    expect(seen.fields).toEqual([
      { field: "", failed: 1, waived: 0 },
      { field: "tests_pass", failed: 0, waived: 1 },
    ]);
    const found = await mine.engine.statistics();
    expect(found.unapproved).toBe(1);
    expect(phaseOf(found, 1)).toMatchObject({ attempts: 1, passed: 0, denied: 1, completed: 0 });
  });
});
