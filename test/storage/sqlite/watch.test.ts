import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { Commit } from "../../../src/ports/storage-adapter.js";
import { SqliteStorage } from "../../../src/storage/sqlite/storage.js";
import { commitChain, makeCommit, nextCommit } from "../../../src/testing/contract.js";
import { workersOf } from "../../support/worker-process.js";
import { newDatabases } from "./new-database.js";

const newDatabase = newDatabases();
const startWorker = workersOf(join(import.meta.dirname, "../../support/append-worker.ts"));

async function take(commits: AsyncIterable<Commit>, count: number): Promise<Commit[]> {
  const taken: Commit[] = [];
  for await (const commit of commits) {
    taken.push(commit);
    if (taken.length === count) break;
  }
  return taken;
}

describe("watch", () => {
  it("yields commits of this and other connections, from the call on", async () => {
    const file = await newDatabase();
    const [one, other] = [await SqliteStorage.open(file, { watchInterval: 5 }), await SqliteStorage.open(file)];
    const [before, ...after] = commitChain(4);
    await one.append(before);
    const watched = one.watch({}, { signal: new AbortController().signal });
    for (const [index, commit] of after.entries()) await (index % 2 === 0 ? one : other).append(commit);
    expect(await take(watched, 3)).toEqual(after);
    await one.close();
    await other.close();
  });

  it("yields commits whose own summary matches", async () => {
    const storage = await SqliteStorage.open(await newDatabase(), { watchInterval: 5 });
    const watched = storage.watch({ status: ["completed"] }, { signal: new AbortController().signal });
    const first = makeCommit();
    const last = nextCommit(first, { summary: { status: "completed" } });
    for (const commit of [first, last]) await storage.append(commit);
    expect(await take(watched, 1)).toEqual([last]);
    await storage.close();
  });

  it("yields every commit of four processes, in order per session", { timeout: 60_000 }, async () => {
    const file = await newDatabase();
    const storage = await SqliteStorage.open(file, { watchInterval: 3 });
    const watched = storage.watch({}, { signal: new AbortController().signal });
    const workers = Array.from({ length: 4 }, () => startWorker(file, "50", "one", "two"));
    const seen = await take(watched, 200);
    for (const { exitCode, errors } of await Promise.all(workers.map((worker) => worker.ended))) {
      expect([exitCode, errors]).toEqual([0, ""]);
    }
    for (const id of ["one", "two"]) {
      const versions = seen.filter(({ sessionId }) => sessionId === id).map(({ version }) => version);
      expect(versions).toEqual(versions.map((_, index) => index + 1));
    }
    await storage.close();
  });

  it("yields a session that is removed before the first poll; another connection yields its tombstone", async () => {
    const file = await newDatabase();
    const [one, other] = [await SqliteStorage.open(file, { watchInterval: 5 }), await SqliteStorage.open(file)];
    const signal = new AbortController().signal;
    const [own, others] = [one.watch({}, { signal }), other.watch({}, { signal })];
    const first = makeCommit();
    const tombstone = nextCommit(first, { summary: { status: "deleted" } });
    for (const commit of [first, tombstone]) await one.append(commit);
    await one.remove(first.sessionId);
    expect(await take(own, 2)).toEqual([first, tombstone]);
    expect(await take(others, 1)).toEqual([tombstone]);
    await one.close();
    await other.close();
  });

  it("skips a damaged commit, which does not keep its session from being removed", async () => {
    const file = await newDatabase();
    const storage = await SqliteStorage.open(file, { watchInterval: 5 });
    const { signal } = new AbortController();
    const [slow, polling] = [storage.watch({}, { signal }), storage.watch({}, { signal })];
    const [odd, sound] = [makeCommit({ sessionId: "odd" }), makeCommit({ sessionId: "sound" })];
    for (const commit of [odd, sound]) await storage.append(commit);
    const byHand = new DatabaseSync(file);
    byHand.exec("UPDATE phasegate_commits SET summary = 'none' WHERE seq = 1");
    byHand.close();
    expect(await take(polling, 1)).toEqual([sound]);
    await storage.remove(odd.sessionId);
    expect(await storage.read(odd.sessionId)).toBeUndefined();
    expect(await take(slow, 1)).toEqual([sound]);
    await storage.close();
  });

  it("ends without an error when the signal aborts, and when the storage is closed", async () => {
    const storage = await SqliteStorage.open(await newDatabase());
    const controller = new AbortController();
    const ended = [controller.signal, new AbortController().signal].map((signal) =>
      take(storage.watch({}, { signal }), 1),
    );
    const never = storage.watch({}, { signal: AbortSignal.abort() });
    expect(await take(never, 1)).toEqual([]);
    await delay(5);
    controller.abort();
    expect(await ended[0]).toEqual([]);
    await storage.close();
    expect(await ended[1]).toEqual([]);
  });

  it("fails if the storage is closed", async () => {
    const storage = await SqliteStorage.open(await newDatabase());
    await storage.close();
    expect(() => storage.watch({}, { signal: new AbortController().signal })).toThrow("failed to watch");
  });
});
