import { MemoryStorage } from "phasegate";
import { ROUTED_SESSIONS } from "phasegate/routed";
import { copySessions } from "phasegate/storage";
import { describe, expect, it } from "vitest";
import type { RoutedEvent } from "../../../src/routed/state/events.js";
import { type RoutedEntry, RoutedHistory } from "../../../src/routed/state/history.js";
import { DONE, routed, Script } from "./garden.js";

async function worked(storage = new MemoryStorage()) {
  const { engine } = routed(new Script("Sow", "FINISH"), { storage, hashKey: "a key" });
  const { sessionId } = await engine.start({ workflow: "GARDEN" });
  await engine.session(sessionId).advance(DONE);
  await engine.session(sessionId).advance(DONE);
  return { engine, storage, id: sessionId };
}

describe("logs of routed sessions", () => {
  it("can be watched", async () => {
    const storage = new MemoryStorage();
    const { engine } = routed(new Script("Sow"), { storage });
    const end = new AbortController();
    const commits = engine.watch({}, { signal: end.signal });
    const { sessionId } = await engine.start({ workflow: "GARDEN" });
    await engine.session(sessionId).advance(DONE);
    const seen: string[][] = [];
    for await (const commit of commits) {
      expect(commit.sessionId).toBe(sessionId);
      seen.push(commit.events.map(({ type }) => type));
      if (seen.length === 3) end.abort();
    }
    expect(seen).toEqual([["started"], ["reported"], ["decided"]]);
  });

  it("can be migrated unchanged, if their kind is named", async () => {
    const { storage, id } = await worked();
    const house = new MemoryStorage();
    const refused = await copySessions(storage, house, { hashKey: "a key" });
    expect(refused.refused).toMatchObject([{ sessionId: id, reason: "unknown_kind" }]);
    const copied = await copySessions(storage, house, { hashKey: "a key", kinds: [ROUTED_SESSIONS] });
    expect(copied).toMatchObject({ sessions: 1, commits: 5, refused: [], caughtUp: true });
    const there = routed(new Script(), { storage: house, hashKey: "a key" }).engine;
    expect(await there.session(id).audit()).toMatchObject({ intact: true });
    expect(await there.session(id).state()).toMatchObject({ status: "completed" });
  });

  it("that were changed are refused", async () => {
    const { storage, id } = await worked();
    const security: string[] = [];
    const other = routed(new Script(), { storage, hashKey: "another key" }).engine;
    other.on("security", ({ code }) => security.push(code));
    await expect(other.session(id).state()).rejects.toMatchObject({ code: "TAMPERED" });
    await expect(other.session(id).advance(DONE)).rejects.toMatchObject({ code: "TAMPERED" });
    expect(security).toEqual(["TAMPERED", "TAMPERED"]);
  });
});

/** Counts the reads and writes of entries for the history of the given number of suspensions after failures. */
function looksOf(suspensions: number): number {
  let looks = 0;
  const count = (key: string | symbol) => {
    if (typeof key === "string" && /^\d+$/.test(key)) looks += 1;
  };
  const entries: RoutedEntry[] = new Proxy([], {
    get: (target, key, receiver) => {
      count(key);
      return Reflect.get(target, key, receiver);
    },
    set: (target, key, value, receiver) => {
      count(key);
      return Reflect.set(target, key, value, receiver);
    },
  });
  const history = new RoutedHistory(entries);
  const report = { status: "success" };
  const add = (...events: RoutedEvent[]) =>
    history.add({ version: 1, at: "2026-01-01T00:00:00.000Z", events, head: { step: "Dig" } });
  add({ type: "reported", operation: "advance", step: "Dig", report, contextUpdates: {} });
  for (let round = 0; round < suspensions; round += 1) {
    add({ type: "failed", step: "Dig", code: "DECIDER_FAILED", reason: `failure ${round}` });
    add({ type: "suspended", reason: "lunch" });
  }
  expect(history.entries[0]?.reason).toBe(`failure ${suspensions - 1}`);
  expect(history.entries).toHaveLength(suspensions + 1);
  return looks;
}

it("the cost of a history is proportional to its length", () => {
  const few = looksOf(200);
  expect(few).toBeGreaterThan(0);
  expect(looksOf(800)).toBeLessThan(few * 5);
});
