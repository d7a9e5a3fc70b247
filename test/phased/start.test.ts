import { defineWorkflow } from "phasegate";
import { FakeClock } from "phasegate/testing";
import { describe, expect, it } from "vitest";
import { failure } from "../support/failure.js";
import { makeEngine, startTwoPhases } from "../support/make-engine.js";
import { built, twoPhases } from "../support/workflows.js";

describe("start", () => {
  it("builds the session id from workflow, target, time and 40 random bits, and returns the first phase", async () => {
    const { engine } = makeEngine();
    const started = await engine.start({ workflowType: "two_phases", target: "src/My File.ts" });
    expect(started.sessionId).toMatch(/^two_phases_src_my_file_ts_20260304_050607_[0-9a-v]{8}$/);
    expect(started.phase.phase.number).toBe(1);
    expect(started.phase.content.text).toContain("Make it work");
    expect(started).toMatchObject({ openSessions: [], replayed: false, target: "src/My File.ts" });
  });

  it("names options that are no JSON as the caller has named them", async () => {
    const { engine } = makeEngine();
    const start = (options: Record<string, unknown>) =>
      failure(engine.start({ workflowType: "two_phases", target: "a", options }));
    expect((await start({ evidence_dir: Number.NaN })).message).toBe(
      "the options are refused: options.evidence_dir: NaN is not a JSON number",
    );
    expect((await start({ text: "x".repeat(100_000) })).message).toMatch(
      /^the options are 1\d* bytes of JSON; 65536 are/,
    );
  });

  it("gives sessions of the same second different ids, and names the open one", async () => {
    const { engine } = makeEngine();
    const first = await engine.start({ workflowType: "two_phases", target: "a" });
    const second = await engine.start({ workflowType: "two_phases", target: "a" });
    expect(second.sessionId).not.toBe(first.sessionId);
    expect(second.openSessions.map(({ sessionId }) => sessionId)).toEqual([first.sessionId]);
  });

  it("draws another id when one is in use, and never uses that of a deleted session again", async () => {
    const drawn = ["a", "a", "b", "b", "a", "c"];
    const clock = Object.assign(new FakeClock("2026-03-04T05:06:07.000Z"), { newId: () => drawn.shift() ?? "" });
    const { engine } = makeEngine({ clock });
    const first = await startTwoPhases(engine);
    const second = await startTwoPhases(engine);
    await engine.session(first).delete({ note: "a mistake" });
    const third = await startTwoPhases(engine);
    expect(new Set([first, second, third]).size).toBe(3);
    expect(drawn).toEqual([]);
  });

  it("returns the same session for the same key, even after it has progressed and dropped other keys", async () => {
    const { engine } = makeEngine({ limits: { maxActiveSessions: 1 } });
    const request = { workflowType: "two_phases", target: "a", idempotencyKey: "key-1" };
    const first = await engine.start(request);
    for (let index = 0; index < 20; index += 1) {
      await engine.session(first.sessionId).pause({ idempotencyKey: `pause-${index}` });
      await engine.session(first.sessionId).resume();
    }
    await engine.session(first.sessionId).completePhase(1, built);
    const again = await engine.start(request);
    expect(again).toMatchObject({ sessionId: first.sessionId, replayed: true });
    // It returns the current phase of the session.
    expect(again.phase.phase.number).toBe(2);
    const other = await failure(engine.start({ ...request, options: { other: true } }));
    expect(other.code).toBe("IDEMPOTENCY_KEY_REUSED");
  });

  it("refuses targets outside the project", async () => {
    const { engine } = makeEngine();
    const seen: string[] = [];
    engine.on("security", ({ code }) => seen.push(code));
    for (const target of ["/etc/passwd", "../x", "a/../../b", "C:\\x", "\\\\host\\share", "a\0b", "", "  ", "a\nb"]) {
      expect((await failure(engine.start({ workflowType: "two_phases", target }))).code, target).toBe("PATH_REFUSED");
    }
    // An empty path is a mistake, not an attack.
    expect(seen).toHaveLength(7);
  });

  it("checks the target with the host's guard", async () => {
    const targets = { check: async (path: string) => expect(path).toBe("src/a.ts") };
    const { engine } = makeEngine({ targets });
    await engine.start({ workflowType: "two_phases", target: "./src//a.ts" });
    await expect(engine.start({ workflowType: "two_phases", target: "b" })).rejects.toThrow();
  });

  it("names the nearest workflow if the type is unknown", async () => {
    const { engine } = makeEngine();
    const error = await failure(engine.start({ workflowType: "two_fases", target: "a" }));
    expect(error).toMatchObject({ code: "WORKFLOW_NOT_FOUND", details: { nearest: "two_phases" } });
    expect((await failure(engine.start({ workflowType: "../x", target: "a" }))).code).toBe("WORKFLOW_NOT_FOUND");
  });

  it("creates no session if the first phase cannot be read", async () => {
    const broken = defineWorkflow({
      ...{ type: "unreadable", revision: "1", name: "Unreadable", description: "Its text can't be had" },
      phases: [
        {
          number: 1,
          name: "One",
          content: () => {
            throw new Error("the disk at /srv/secret is gone");
          },
        },
      ],
    });
    const { engine } = makeEngine({}, [broken]);
    const error = await failure(engine.start({ workflowType: "unreadable", target: "a" }));
    expect(["INTERNAL", "CONTENT_UNAVAILABLE"]).toContain(error.code);
    expect(error.message).not.toContain("/srv/secret");
    expect((await engine.listSessions()).items).toEqual([]);
  });

  it("refuses options that are not plain JSON or too large", async () => {
    const { engine } = makeEngine();
    const start = (options: Record<string, unknown>) =>
      failure(engine.start({ workflowType: "two_phases", target: "a", options }));
    for (const options of [{ when: new Date() }, { text: "x".repeat(70_000) }]) {
      const error = await start(options);
      expect(error).toMatchObject({ code: "INVALID_INPUT", details: { field: "options" } });
      expect(error.message).toContain("options");
    }
  });

  it("limits the number of active sessions", async () => {
    const { engine } = makeEngine({ limits: { maxActiveSessions: 2 } });
    const first = await startTwoPhases(engine, "a");
    await startTwoPhases(engine, "b");
    expect((await failure(startTwoPhases(engine, "c"))).code).toBe("SESSION_LIMIT");
    await engine.session(first).pause();
    expect(await startTwoPhases(engine, "c")).toContain("two_phases_c_");
  });

  it("starts at the start phase of the workflow", async () => {
    const late = defineWorkflow({
      ...{ type: "late", revision: "1", name: "Late", description: "Begins in the middle", startPhase: 10 },
      phases: [
        { number: 0, name: "Before", content: "" },
        { number: 10, name: "Here", content: "" },
      ],
    });
    const { engine } = makeEngine({}, [late]);
    const { sessionId, phase } = await engine.start({ workflowType: "late", target: "a" });
    expect(phase).toMatchObject({ currentPhase: 10, totalPhases: 2 });
    const done = await engine.session(sessionId).completePhase(10, {});
    expect(done).toMatchObject({ passed: true, nextPhase: null });
  });

  it("pins the workflow: a running session keeps its gates", async () => {
    const { engine, storage } = makeEngine();
    const sessionId = await startTwoPhases(engine);
    const changed = defineWorkflow({
      ...{ type: "two_phases", revision: "2", name: "One phase", description: "What became of it" },
      phases: [{ number: 1, name: "Only", content: "# Only" }],
    });
    const later = makeEngine({ storage }, [twoPhases, changed]);
    expect((await later.engine.session(sessionId).state()).structure.phases).toHaveLength(2);
    const next = await later.engine.start({ workflowType: "two_phases", target: "b" });
    expect(next.phase.totalPhases).toBe(1);
  });
});
