import {
  createEngine,
  defineWorkflow,
  type JsonValue,
  MemoryContent,
  MemoryStorage,
  type StorageAdapter,
} from "phasegate";
import type { Verifier } from "phasegate/verify";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { makeProject, startVerified } from "../support/verified.js";

const CHANGED =
  "evidence_schema: {done: {type: boolean}}\nverify: {verifier: changed_since_phase_start, path: a.txt}\n";
const OPEN = "checkpoint: {strict: true, allow_override: true}\nevidence_schema: {done: {type: boolean}}\n";
const done = { done: true };

/** Returns a verifier that records the result of `at` as its snapshot and passes if a snapshot was given. */
function beginning(at: () => Promise<JsonValue>): Verifier & { readonly given: unknown[] } {
  const given: unknown[] = [];
  return {
    given,
    snapshot: at,
    verify: async ({ snapshot }) => {
      given.push(snapshot);
      return { ok: true, message: "seen" };
    },
  };
}

const SNAP = "evidence_schema: {done: {type: boolean}}\nverify: snap\n";

describe("a snapshot of a phase", () => {
  it("contains the state of the files at the start", async () => {
    const { verifiers, write } = await makeProject();
    await write("a.txt", "before");
    const { submit } = await startVerified([CHANGED, OPEN], { verifiers });
    expect(await submit(done)).toMatchObject({ passed: false, verification: [{ ok: false, ran: "a.txt" }] });
    await write("a.txt", "after");
    expect(await submit(done)).toMatchObject({ passed: true });
  });

  it("is taken when a gate passes, and again after a rollback", async () => {
    const { verifiers, write } = await makeProject();
    await write("a.txt", "one");
    const { engine, sessionId, submit } = await startVerified([OPEN, CHANGED], { verifiers });
    await write("a.txt", "two");
    await submit(done);
    expect(await submit(done, 2)).toMatchObject({ passed: false });
    await write("a.txt", "three");
    await engine.session(sessionId).rollback(1);
    await submit(done);
    expect(await submit(done, 2)).toMatchObject({ passed: false });
    await write("a.txt", "four");
    expect(await submit(done, 2)).toMatchObject({ passed: true });
  });

  it("is compared with all earlier ones of the phase, even by a new engine", async () => {
    const { verifiers, write } = await makeProject();
    const storage = new MemoryStorage();
    await write("a.txt", "original");
    const { engine, content, sessionId, submit } = await startVerified([OPEN, CHANGED], { verifiers, storage });
    await submit(done);
    await write("a.txt", "junk");
    await engine.session(sessionId).rollback(1);
    await submit(done);
    await write("a.txt", "original");
    for (const each of [engine, createEngine({ storage, content, verifiers })]) {
      const refused = await each.session(sessionId).completePhase(2, done);
      expect(refused).toMatchObject({ passed: false, verification: [{ ok: false, ran: "a.txt" }] });
      expect(JSON.stringify(refused)).toContain("no new content");
    }
    await write("a.txt", "better");
    expect(await submit(done, 2)).toMatchObject({ passed: true });
  });

  it("is passed to a verifier with the earlier ones, oldest first, of this phase alone", async () => {
    let looks = 0;
    const seen: unknown[] = [];
    const snap: Verifier = {
      snapshot: async () => {
        looks += 1;
        return looks;
      },
      verify: async ({ snapshot, earlierSnapshots }) => {
        seen.push([snapshot, earlierSnapshots]);
        return { ok: true, message: "seen" };
      },
    };
    const { engine, sessionId, submit } = await startVerified([SNAP, SNAP, OPEN], { verifiers: { snap } });
    for (const _ of [1, 2, 3]) {
      await submit(done);
      await submit(done, 2);
      await engine.session(sessionId).rollback(1);
    }
    expect(seen).toEqual([
      [1, undefined],
      [2, undefined],
      [3, [1]],
      [4, [2]],
      [5, [1, 3]],
      [6, [2, 4]],
    ]);
  });

  it("is taken for the phase that is entered by a rollback, an override or a skip", async () => {
    const snap = beginning(async () => snap.given.length);
    const { engine, sessionId, submit } = await startVerified([SNAP, OPEN, SNAP], { verifiers: { snap } });
    await submit(done);
    await engine.session(sessionId).rollback(1);
    await submit(done);
    await engine.session(sessionId).overrideGate(2, { by: "ann", note: "known" });
    await submit(done, 3);
    expect(snap.given).toEqual([0, 1, 2]);
  });

  it("is taken when an approval enters the phase", async () => {
    const snap = beginning(async () => "as it was");
    const gate = "evidence_schema: {done: {type: boolean}}\napproval: {prompt: Good?}\n";
    const { engine, sessionId, submit } = await startVerified([gate, SNAP], {
      verifiers: { snap },
      allowUnsignedApprovals: true,
    });
    await submit(done);
    const asked = await engine.session(sessionId).approval();
    await engine.session(sessionId).approve({ by: "ann", evidenceHash: asked?.evidenceHash ?? "" });
    await submit(done, 2);
    expect(snap.given).toEqual(["as it was"]);
  });

  it("is stored outside of the log if it is long, and read from there by another engine", async () => {
    const long = Array.from({ length: 10_000 }, (_, index) => `file ${index}`);
    const snap = beginning(async () => long);
    const storage: StorageAdapter = new MemoryStorage();
    const { sessionId, content } = await startVerified([SNAP, OPEN], { verifiers: { snap }, storage });
    const other = createEngine({ storage, content, verifiers: { snap } });
    expect(await other.session(sessionId).audit()).toMatchObject({ intact: true });
    expect((await storage.read(sessionId))?.body.length).toBeLessThan(10_000);
    await other.session(sessionId).completePhase(1, done);
    expect(snap.given).toEqual([long]);
  });

  it.each<[string, () => Promise<JsonValue>, string]>([
    ["a crash", () => Promise.reject(new Error("/home/secret")), "its verifier failed"],
    ["a value that is not JSON", async () => JSON.parse("1", () => new Date(0)), "what it gave is not JSON"],
    ["a value that is too long", async () => "x".repeat(5 * 2 ** 20), "it has 5242882 characters"],
  ])("that fails is recorded, blocks the gate, and is taken again by a retry: %s", async (_, broken, words) => {
    let isBroken = true;
    const snap = beginning(() => (isBroken ? broken() : Promise.resolve("whole")));
    const { engine, sessionId, submit } = await startVerified([SNAP, OPEN], { verifiers: { snap } });
    const refused = await submit(done);
    expect(refused).toMatchObject({ passed: false, problems: [{ problem: "unverified" }] });
    expect(JSON.stringify(refused)).toContain(words);
    expect(JSON.stringify(refused)).not.toContain("secret");
    isBroken = false;
    await engine.session(sessionId).retryPhase(1, { as: "agent" });
    expect(await submit(done)).toMatchObject({ passed: true });
    expect(snap.given).toEqual(["whole"]);
  });

  it("is not taken again by a retry if it exists", async () => {
    let looks = 0;
    const snap = beginning(async () => {
      looks += 1;
      return looks;
    });
    const gate = `${SNAP}checkpoint: {strict: true}\n`;
    const { engine, sessionId, submit } = await startVerified([gate, OPEN], { verifiers: { snap } });
    await submit({ done: false });
    await engine.session(sessionId).retryPhase(1);
    await submit(done);
    expect(snap.given).toEqual([1]);
    expect(looks).toBe(1);
  });

  it("is reported as missing if the phase was entered without the verifier, as `phasegate approve` may do", async () => {
    const snap = beginning(async () => "late");
    const storage = new MemoryStorage();
    const { sessionId, content, engine } = await startVerified([OPEN, SNAP], { verifiers: { snap }, storage });
    await createEngine({ storage, content }).session(sessionId).completePhase(1, done);
    const refused = await engine.session(sessionId).completePhase(2, done);
    expect(JSON.stringify(refused)).toContain("nothing was recorded; retry_phase records it again");
    await engine.session(sessionId).retryPhase(2, { as: "agent" });
    expect(await engine.session(sessionId).completePhase(2, done)).toMatchObject({ passed: true });
  });
});

describe("migrate", () => {
  const schema = z.object({ done: z.boolean() });
  const structure = (revision: string, verify: string[]) =>
    defineWorkflow({
      ...{ type: "moved", revision, name: "Moved", description: "Moves" },
      phases: [
        {
          number: 1,
          name: "One",
          content: "# One",
          gate: { evidence: schema, verify: verify.map((verifier) => ({ verifier })) },
        },
      ],
    });

  it("keeps the snapshots of the current phase", async () => {
    const first = beginning(async () => `first ${first.given.length}`);
    const storage = new MemoryStorage();
    const verifiers = { first };
    const engine = createEngine({
      storage,
      content: new MemoryContent({ workflows: [structure("1", ["first"])] }),
      verifiers,
    });
    const { sessionId } = await engine.start({ workflowType: "moved", target: "a" });
    const content = new MemoryContent({ workflows: [structure("2", ["first"])] });
    const newer = createEngine({ storage, content, verifiers });
    await newer.session(sessionId).migrate({ by: "ann" });
    expect(await newer.session(sessionId).completePhase(1, done)).toMatchObject({ passed: true });
    expect(first.given).toEqual(["first 0"]);
  });

  it("is refused if the host lacks a verifier of the new definition", async () => {
    const storage = new MemoryStorage();
    const engine = createEngine({ storage, content: new MemoryContent({ workflows: [structure("1", [])] }) });
    const { sessionId } = await engine.start({ workflowType: "moved", target: "a" });
    const content = new MemoryContent({ workflows: [structure("2", ["second"])] });
    const newer = createEngine({ storage, content });
    await expect(newer.session(sessionId).migrate({ by: "ann" })).rejects.toMatchObject({ code: "DEFINITION_INVALID" });
    expect((await newer.session(sessionId).state()).version).toBe(1);
  });
});
