import { MemoryStorage, parseSessionId } from "phasegate";
import type { Commit, SessionCommit } from "phasegate/storage";
import { describe, expect, it } from "vitest";
import { AlteredStorage } from "../log/altered-storage.js";
import { makeEngine, startTwoPhases } from "../support/make-engine.js";
import { built } from "../support/workflows.js";

async function take(commits: AsyncIterator<SessionCommit, undefined>, count: number): Promise<string[]> {
  const seen: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const { value } = await commits.next();
    if (value === undefined) break;
    seen.push(`${value.version} ${value.events.map(({ type }) => type).join("+")} ${value.summary.status}`);
  }
  return seen;
}

describe("engine.watch", () => {
  it("yields the commits of any engine on the storage, parsed and checked", async () => {
    const { engine, storage } = makeEngine();
    const commits = engine.watch();
    const { engine: other } = makeEngine({ storage });
    const sessionId = await startTwoPhases(other);
    await other.session(sessionId).completePhase(1, {});
    await other.session(sessionId).completePhase(1, built);
    await other.session(sessionId).pause();
    expect(await take(commits, 4)).toEqual([
      "1 started+phase_entered active",
      "2 gate_failed active",
      "3 gate_passed+phase_entered active",
      "4 paused paused",
    ]);
    await other.session(sessionId).resume();
    const { value } = await commits.next();
    expect(value).toMatchObject({ sessionId, version: 5, at: "2026-03-04T05:06:07.000Z", head: { phase: 2 } });
    expect(value?.hash).toBe((await storage.read(parseSessionId(sessionId)))?.hash);
  });

  it("filters by the summary of each commit", async () => {
    const { engine } = makeEngine();
    const paused = engine.watch({ status: ["paused"] });
    const other = engine.watch({ target: "src/b.ts", workflowType: "two_phases" });
    const sessionId = await startTwoPhases(engine);
    const one = engine.watch({ idPrefix: sessionId });
    await engine.session(sessionId).pause();
    const second = await startTwoPhases(engine, "src/b.ts");
    expect((await paused.next()).value).toMatchObject({ sessionId, version: 2 });
    expect((await other.next()).value).toMatchObject({ sessionId: second, version: 1 });
    expect((await one.next()).value).toMatchObject({ sessionId, version: 2 });
  });

  it("ends without an error when the signal aborts, or was aborted", async () => {
    const { engine } = makeEngine();
    const control = new AbortController();
    const commits = engine.watch({}, { signal: control.signal });
    const waiting = commits.next();
    control.abort();
    expect(await waiting).toEqual({ done: true, value: undefined });
    expect(await commits.next()).toEqual({ done: true, value: undefined });
    expect(await engine.watch({}, { signal: AbortSignal.abort() }).next()).toEqual({ done: true, value: undefined });
  });

  it("ends when its loop breaks, even if the adapter's watch is a generator", async () => {
    let released = 0;
    class Generated extends MemoryStorage {
      override watch(...args: Parameters<MemoryStorage["watch"]>) {
        const commits = super.watch(...args);
        args[1].signal.addEventListener("abort", () => (released += 1));
        return (async function* () {
          yield* commits;
        })();
      }
    }
    const { engine } = makeEngine({ storage: new Generated() });
    const commits = engine.watch();
    await startTwoPhases(engine);
    for await (const { version } of commits) {
      expect(version).toBe(1);
      break;
    }
    expect(released).toBe(1);
    expect(await commits.next()).toEqual({ done: true, value: undefined });
  });

  it("throws UNSUPPORTED if the storage cannot be watched", () => {
    class Blind extends MemoryStorage {
      override watch = undefined as never;
    }
    const { engine } = makeEngine({ storage: new Blind() });
    expect(() => engine.watch()).toThrowError(expect.objectContaining({ code: "UNSUPPORTED" }));
  });

  it("ends with TAMPERED at a commit that was altered, and notifies the host", async () => {
    class Edited extends AlteredStorage {
      override async *watch(...args: Parameters<MemoryStorage["watch"]>) {
        for await (const commit of super.watch(...args)) yield edited(commit);
      }
    }
    const edited = (commit: Commit) => ({ ...commit, body: commit.body.replace("src/a.ts", "src/b.ts") });
    const { engine } = makeEngine({ storage: new Edited() });
    const told: string[] = [];
    engine.on("security", ({ operation, code }) => told.push(`${operation} ${code}`));
    const commits = engine.watch();
    const waiting = commits.next();
    await startTwoPhases(engine);
    await expect(waiting).rejects.toMatchObject({ code: "TAMPERED" });
    expect(told).toEqual(["watch TAMPERED"]);
    expect(await commits.next()).toEqual({ done: true, value: undefined });
  });

  it("turns an unknown error into INTERNAL", async () => {
    class Failing extends MemoryStorage {
      override watch(): never {
        const failing = { next: () => Promise.reject(new Error("gone")), [Symbol.asyncIterator]: () => failing };
        return failing as never;
      }
    }
    const { engine } = makeEngine({ storage: new Failing() });
    await expect(engine.watch().next()).rejects.toMatchObject({ code: "INTERNAL" });
    expect(engine.metrics()).toEqual({});
  });
});
