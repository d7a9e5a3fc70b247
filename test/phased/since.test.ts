import { createEngine, defineWorkflow, MemoryContent, MemoryStorage, type StorageAdapter } from "phasegate";
import { FileStorage } from "phasegate/fs";
import type { Verifier } from "phasegate/verify";
import { describe, expect, it, onTestFinished } from "vitest";
import * as z from "zod";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { makeProject, startVerified } from "../support/verified.js";

const FIELDS = "evidence_schema: {done: {type: boolean}}\n";
const OPEN = `checkpoint: {strict: true, allow_override: true}\n${FIELDS}`;
const UNCHANGED = `checkpoint: {strict: true, allow_override: true}\n${FIELDS}verify: {verifier: unchanged_since_phase_start, path: t.txt}\n`;
const SINCE_1 = `${FIELDS}verify: {verifier: unchanged_since_phase_start, path: t.txt, since: {phase: 1}}\n`;
const done = { done: true };

/** Starts a session in a project with one file. */
async function begin(gates: readonly string[]) {
  const storage: StorageAdapter = new MemoryStorage();
  const { verifiers, write } = await makeProject();
  await write("t.txt", "first");
  const started = await startVerified(gates, { verifiers, storage });
  const change = (text: string) => write("t.txt", text);
  return { ...started, storage, verifiers, change };
}

describe("a check with `since`", () => {
  it("compares with the end of an earlier phase, two phases later and in a new engine", async () => {
    const { submit, change, storage, content, verifiers, sessionId } = await begin([OPEN, OPEN, SINCE_1]);
    await change("the failing test");
    await submit(done);
    await change("weakened");
    await submit(done, 2);
    const other = createEngine({ storage, content, verifiers });
    const refused = await other.session(sessionId).completePhase(3, done);
    expect(JSON.stringify(refused)).toContain("t.txt was changed since phase 1 was passed");
    expect(refused.verification).toMatchObject([{ output: expect.arrayContaining(["- the failing test"]) }]);
    await change("the failing test");
    expect(await submit(done, 3)).toMatchObject({ passed: true });
  });

  it("keeps its snapshot across a rollback to a phase after it, and takes a new one once the phase is passed again", async () => {
    const { submit, change, engine, sessionId } = await begin([OPEN, OPEN, SINCE_1]);
    await submit(done);
    await submit(done, 2);
    await change("weakened");
    await engine.session(sessionId).rollback(2);
    await submit(done, 2);
    expect(await submit(done, 3)).toMatchObject({ passed: false });
    await engine.session(sessionId).rollback(1);
    await submit(done);
    await submit(done, 2);
    expect(await submit(done, 3)).toMatchObject({ passed: true });
  });

  it.each(["overrideGate", "skipPhase"] as const)(
    "compares with the time of %s, where a phase was left so",
    async (how) => {
      const { verifiers, write } = await makeProject();
      const storage = new MemoryStorage();
      const workflow = defineWorkflow({
        ...{ type: "left", revision: "1", name: "Left", description: "Leaves" },
        phases: [1, 2, 3].map((number) => ({
          ...{ number, name: `Phase ${number}`, content: "Work", skippable: true },
          gate: {
            evidence: z.object({}),
            allowOverride: true,
            verify:
              number === 3
                ? [{ verifier: "unchanged_since_phase_start", params: { path: "t.txt", since: { phase: 1 } } }]
                : [],
          },
        })),
      });
      const engine = createEngine({ storage, content: new MemoryContent({ workflows: [workflow] }), verifiers });
      const { sessionId } = await engine.start({ workflowType: "left", target: "a" });
      await write("t.txt", "left so");
      await engine.session(sessionId)[how](1, { by: "ann", note: "known" });
      await engine.session(sessionId).completePhase(2, {});
      await write("t.txt", "changed");
      expect(await engine.session(sessionId).completePhase(3, {})).toMatchObject({ passed: false });
      await write("t.txt", "left so");
      expect(await engine.session(sessionId).completePhase(3, {})).toMatchObject({ passed: true });
    },
  );

  it("compares with all earlier ends of the phase, so that only new content counts", async () => {
    const gate = `${FIELDS}verify: {verifier: changed_since_phase_start, path: t.txt, since: {phase: 1}}\n`;
    const { submit, change, engine, sessionId } = await begin([OPEN, OPEN, gate]);
    await submit(done);
    await change("second");
    await engine.session(sessionId).rollback(1);
    await submit(done);
    await submit(done, 2);
    expect(await submit(done, 3)).toMatchObject({ passed: false });
    await change("first");
    expect(JSON.stringify(await submit(done, 3))).toContain("no new content since phase 1 was passed");
    await change("third");
    expect(await submit(done, 3)).toMatchObject({ passed: true });
  });

  it("is refused at the start if its `since` is wrong and the content provider did not check it", async () => {
    const { verifiers } = await makeProject();
    const { definition } = defineWorkflow({
      ...{ type: "odd", revision: "1", name: "Odd", description: "Odd" },
      phases: [{ number: 1, name: "One", content: "x", gate: { evidence: z.object({}), verify: [{ verifier: "v" }] } }],
    });
    const check = { verifier: "unchanged_since_phase_start", params: { path: "a", since: { phase: 4 } } };
    const [phase] = definition.structure.phases;
    const gate = { kind: "open", allowOverride: false, ...phase?.gate, verify: [check] };
    const structure = { ...definition.structure, phases: [{ ...phase, gate }] };
    const sources = { odd: {} };
    const content = Object.assign(new MemoryContent({ sources: {} }), {
      definition: async () => ({ ...definition, structure, sources }),
    });
    const engine = createEngine({ storage: new MemoryStorage(), content, verifiers });
    await expect(engine.start({ workflowType: "odd", target: "a" })).rejects.toMatchObject({
      code: "DEFINITION_INVALID",
      message: expect.stringContaining("`since` names phase 4, which does not exist"),
    });
  });

  it("compares with the time of the migration, if the older definition did not ask for a snapshot", async () => {
    const { verifiers, write } = await makeProject();
    const storage = new MemoryStorage();
    const workflow = (revision: string, verify: boolean) =>
      defineWorkflow({
        ...{ type: "moved", revision, name: "Moved", description: "Moves" },
        phases: [1, 2, 3].map((number) => ({
          ...{ number, name: `Phase ${number}`, content: "Work" },
          gate: {
            evidence: z.object({}),
            verify:
              verify && number === 3
                ? [{ verifier: "unchanged_since_phase_start", params: { path: "t.txt", since: { phase: 1 } } }]
                : [],
          },
        })),
      });
    const on = (revision: string, verify: boolean) =>
      createEngine({
        ...{ storage, verifiers },
        content: new MemoryContent({ workflows: [workflow(revision, verify)] }),
      });
    await write("t.txt", "first");
    const { sessionId } = await on("1", false).start({ workflowType: "moved", target: "a" });
    await on("1", false).session(sessionId).completePhase(1, {});
    await write("t.txt", "at the migration");
    const engine = on("2", true);
    await engine.session(sessionId).migrate({ by: "ann" });
    await engine.session(sessionId).completePhase(2, {});
    await write("t.txt", "first");
    expect(await engine.session(sessionId).completePhase(3, {})).toMatchObject({ passed: false });
    await write("t.txt", "at the migration");
    expect(await engine.session(sessionId).completePhase(3, {})).toMatchObject({
      passed: true,
      verification: [{ message: expect.stringContaining("since phase 1 was passed (recorded late, at 20") }],
    });
  });
});

describe("unchanged_since_phase_start without `since`", () => {
  it("compares with the time when the phase before was passed, also after a rollback to its own phase", async () => {
    const { submit, change, engine, sessionId } = await begin([OPEN, UNCHANGED, UNCHANGED, OPEN]);
    await submit(done);
    await submit(done, 2);
    await change("weakened in phase 3");
    await engine.session(sessionId).rollback(2);
    expect(JSON.stringify(await submit(done, 2))).toContain("t.txt was changed since this phase was entered");
    await change("first");
    expect(await submit(done, 2)).toMatchObject({ passed: true });
  });

  it("compares each phase with its own start, if two have the same check", async () => {
    const { submit, change, engine, sessionId } = await begin([OPEN, UNCHANGED, UNCHANGED, OPEN]);
    await submit(done);
    await change("second");
    await engine.session(sessionId).overrideGate(2, { by: "ann", note: "known" });
    expect(await submit(done, 3)).toMatchObject({ passed: true });
    await engine.session(sessionId).rollback(2);
    expect(await submit(done, 2)).toMatchObject({ passed: false });
    await change("first");
    expect(await submit(done, 2)).toMatchObject({ passed: true });
  });

  it("compares the first phase with the start of the session, also after a rollback and a retry", async () => {
    const { submit, change, engine, sessionId } = await begin([UNCHANGED, OPEN]);
    await submit(done);
    await change("second");
    await engine.session(sessionId).rollback(1);
    expect(await submit(done)).toMatchObject({ passed: false });
    await engine.session(sessionId).retryPhase(1, { as: "agent" });
    expect(await submit(done)).toMatchObject({ passed: false });
    await change("first");
    expect(await submit(done)).toMatchObject({ passed: true });
  });
});

/** A verifier that passes if it gets a snapshot, and one that can be made to fail. */
function counting() {
  const state = { fails: false, taken: 0, late: [] as (string | undefined)[] };
  const snap: Verifier = {
    async snapshot() {
      if (state.fails) throw new Error("/home/secret");
      state.taken += 1;
      return state.taken;
    },
    async verify({ snapshotTakenAt }) {
      state.late.push(snapshotTakenAt);
      return { ok: true, message: "seen" };
    },
  };
  return { state, snap };
}

describe("a snapshot that was not taken when the phase was entered", () => {
  const SNAP = `${FIELDS}verify: snap\n`;
  const SNAP_SINCE = `${FIELDS}verify: {verifier: snap, since: {phase: 1}}\n`;

  /** Starts a session whose first phase was passed where the verifier is not registered. */
  async function blind(gates: readonly string[]) {
    const { state, snap } = counting();
    const storage = new MemoryStorage();
    const wrong: Verifier = { verify: async () => ({ ok: false, message: "it is wrong" }) };
    const started = await startVerified(gates, { verifiers: { snap, wrong }, storage });
    await createEngine({ storage, content: started.content }).session(started.sessionId).completePhase(1, done);
    const typesOf = async () => {
      const types: string[] = [];
      for await (const { body } of storage.log(started.sessionId)) {
        types.push(...JSON.parse(body).events.map(({ type }: { type: string }) => type));
      }
      return types;
    };
    return { ...started, state, storage, snap, typesOf };
  }

  it.each([
    ["the state", (e: Engine, id: string) => e.session(id).state()],
    ["the phase", (e: Engine, id: string) => e.session(id).phase()],
    ["the history", (e: Engine, id: string) => e.session(id).history()],
    ["a pause", (e: Engine, id: string) => e.session(id).pause()],
  ])("is taken as soon as an engine with the verifier sees it: %s", async (_, see) => {
    const { engine, sessionId, submit, state, typesOf } = await blind([OPEN, SNAP]);
    const told: unknown[] = [];
    engine.on("snapshotsTaken", (notification) => told.push(notification));
    await see(engine, sessionId);
    expect(await typesOf()).toContain("snapshots_taken");
    expect(state.taken).toBe(1);
    expect(told).toMatchObject([{ sessionId, phase: 2, verifiers: ["snap"] }]);
    const { head } = await engine.session(sessionId).state();
    expect(head).toMatchObject({ attempts: 0, spent: [] });
    if (head.status === "paused") await engine.session(sessionId).resume();
    expect(await submit(done, 2)).toMatchObject({ passed: true });
    expect(state.late).toEqual(["2026-03-04T05:06:07.000Z"]);
    expect((await typesOf()).filter((type) => type === "snapshots_taken")).toHaveLength(1);
    expect(await engine.session(sessionId).audit()).toMatchObject({ intact: true });
  });

  it("is also taken for a check of a later phase that names the passed phase in `since`", async () => {
    const { engine, sessionId, submit, state } = await blind([OPEN, OPEN, SNAP_SINCE]);
    await engine.session(sessionId).state();
    expect(state.taken).toBe(1);
    await submit(done, 2);
    expect(await submit(done, 3)).toMatchObject({ passed: true });
    expect(state.taken).toBe(1);
    expect(state.late).toHaveLength(1);
  });

  it("is taken once if two engines see it at once", async () => {
    const { engine, sessionId, storage, content, snap, typesOf } = await blind([OPEN, SNAP]);
    const others = [1, 2, 3].map(() => createEngine({ storage, content, verifiers: { snap } }));
    await Promise.all(
      [engine, ...others].flatMap((each) => [each.session(sessionId).state(), each.session(sessionId).phase()]),
    );
    expect((await typesOf()).filter((type) => type === "snapshots_taken")).toHaveLength(1);
  });

  it("is taken once by several processes on one folder", async () => {
    const { snap } = counting();
    const folder = await temporaryFolder();
    const open = async (verifiers: Record<string, Verifier>, content: MemoryContent) => {
      const engine = createEngine({ storage: await FileStorage.open(folder), content, verifiers });
      onTestFinished(() => engine.close());
      return engine;
    };
    const storage = await FileStorage.open(folder);
    const { content, sessionId, engine } = await startVerified([OPEN, SNAP], { verifiers: { snap }, storage });
    onTestFinished(() => engine.close());
    await (await open({}, content)).session(sessionId).completePhase(1, done);
    const engines = await Promise.all([1, 2, 3].map(() => open({ snap }, content)));
    const seen = await Promise.all(
      engines.flatMap((each) => [each.session(sessionId).state(), each.session(sessionId).phase()]),
    );
    expect(seen).toHaveLength(6);
    for (const { unrecorded } of seen) expect(unrecorded).toBeUndefined();
    expect((await engine.session(sessionId).state()).version).toBe(3);
    expect(await engine.session(sessionId).audit()).toMatchObject({ intact: true });
  });

  it("is not taken by a submission, but by a retry, which needs no failed attempt", async () => {
    const { engine, sessionId, submit, state, typesOf } = await blind([OPEN, SNAP]);
    expect(await submit(done, 2)).toMatchObject({
      passed: false,
      attemptsLeft: 3,
      verification: [{ unrecorded: true }],
    });
    expect(state.taken).toBe(0);
    await engine.session(sessionId).retryPhase(2, { as: "agent" });
    expect(await submit(done, 2)).toMatchObject({ passed: true });
    const other = await blind([OPEN, SNAP]);
    await other.engine.session(other.sessionId).retryPhase(2, { as: "agent" });
    expect(other.state.taken).toBe(1);
    expect(await typesOf()).not.toContain("snapshots_taken");
    await expect(other.engine.session(other.sessionId).retryPhase(2, { as: "agent" })).rejects.toMatchObject({
      code: "INVALID_TRANSITION",
    });
  });

  it("costs no attempt where it is missing, but only in the first submission, and only if nothing else is wrong", async () => {
    const { submit, engine, sessionId } = await blind([OPEN, SNAP]);
    expect(await submit(done, 2)).toMatchObject({ passed: false, attempt: 1, attemptsLeft: 3 });
    // An agent that does not retry, as it was told, goes on at its own expense.
    expect(await submit(done, 2)).toMatchObject({ passed: false, attempt: 1, attemptsLeft: 2 });
    expect(await engine.session(sessionId).state()).toMatchObject({ head: { attempts: 1, spent: [[1, 1]] } });
    expect(await engine.session(sessionId).audit()).toMatchObject({ intact: true });
    const other = await blind([OPEN, SNAP]);
    expect(await other.submit({}, 2)).toMatchObject({ passed: false, attemptsLeft: 2 });
    const both = await blind([OPEN, SNAP.replace("verify: snap", "verify: [snap, wrong]")]);
    expect(await both.submit(done, 2)).toMatchObject({ passed: false, attemptsLeft: 2 });
  });

  it("is tried once: a failure is recorded and shown, and a retry tries again", async () => {
    const { engine, sessionId, submit, state, typesOf } = await blind([OPEN, SNAP]);
    state.fails = true;
    expect(await engine.session(sessionId).state()).toMatchObject({
      unrecorded: [{ verifier: "snap", failed: "its verifier failed" }],
    });
    await engine.session(sessionId).phase();
    expect((await typesOf()).filter((type) => type === "snapshots_taken")).toHaveLength(1);
    state.fails = false;
    await engine.session(sessionId).retryPhase(2, { as: "agent" });
    expect((await engine.session(sessionId).state()).unrecorded).toBeUndefined();
    expect(await submit(done, 2)).toMatchObject({ passed: true });
  });

  it("does not keep a session from being read if it can't be stored", async () => {
    const { engine, sessionId, storage } = await blind([OPEN, SNAP]);
    const errors: unknown[] = [];
    engine.on("internalError", ({ operation }) => errors.push(operation));
    const { append } = storage;
    storage.append = async () => {
      throw new Error("the disk is full");
    };
    expect(await engine.session(sessionId).state()).toMatchObject({
      currentPhase: 2,
      unrecorded: [{ verifier: "snap" }],
    });
    expect(errors).toContain("take snapshots");
    storage.append = append;
    expect((await engine.session(sessionId).state()).unrecorded).toBeUndefined();
  });

  it("is not taken for a completed session", async () => {
    const gate = `checkpoint: {strict: true, allow_override: true}\n${SNAP}`;
    const { engine, sessionId, state, storage, content } = await blind([OPEN, gate]);
    await createEngine({ storage, content }).session(sessionId).overrideGate(2, { by: "ann", note: "known" });
    expect(await engine.session(sessionId).state()).toMatchObject({ status: "completed" });
    expect(state.taken).toBe(0);
  });
});

type Engine = Awaited<ReturnType<typeof startVerified>>["engine"];
