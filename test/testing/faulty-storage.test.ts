import { describe, expect, it } from "vitest";
import type { StorageAdapter } from "../../src/ports/storage-adapter.js";
import { FileStorage } from "../../src/storage/files/storage.js";
import { MemoryStorage } from "../../src/storage/memory/storage.js";
import { wrapStorage } from "../../src/testing/broken.js";
import { collect, commitChain, makeCommit, nextCommit, present } from "../../src/testing/contract.js";
import { FaultyStorage, type StorageFault, type StorageMethod } from "../../src/testing/faulty-storage.js";
import { markedEngine, markedEvidence, markersIn } from "../../src/testing/storage-contract/children.js";
import { runStorageContract } from "../../src/testing/storage-contract/contract.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { FullStorage } from "./full-storage.js";

const commit = makeCommit();

function faulty(...faults: StorageFault[]) {
  const inner = new MemoryStorage();
  return { inner, storage: new FaultyStorage(inner, faults) };
}

describe("FaultyStorage", () => {
  it("keeps the contract as long as it is not told to fail", { timeout: 60_000 }, async () => {
    const report = await runStorageContract({ open: async () => new FaultyStorage(new FullStorage().adapter()) });
    expect([
      report.broken,
      report.results.some(({ name, outcome }) => name.startsWith("watch") && outcome === "kept"),
    ]).toEqual([0, true]);
  });

  it("has every method of the inner storage, and makes each of them fail", async () => {
    const folder = await FileStorage.open(await temporaryFolder());
    const optional = { changes: async () => ({ sessionIds: [], position: "" }), makeDurable: async () => {} };
    const inner = Object.assign(folder, optional);
    const calls: { [M in StorageMethod]: (storage: StorageAdapter) => unknown } = {
      read: (storage) => storage.read(commit.sessionId),
      append: (storage) => storage.append(commit),
      begin: (storage) => storage.begin?.([commit]),
      makeDurable: (storage) => storage.makeDurable?.(commit.sessionId),
      log: (storage) => collect(storage.log(commit.sessionId)),
      payload: (storage) => storage.payload(commit.sessionId, commit.hash),
      list: (storage) => storage.list({}),
      countActive: (storage) => storage.countActive(1),
      remove: (storage) => storage.remove(commit.sessionId),
      watch: (storage) => collect(present(storage.watch?.({}, { signal: AbortSignal.abort() }), "watch")),
      changes: (storage) => storage.changes?.("phased"),
      hint: (storage) => storage.hint?.(commit.sessionId),
      damaged: (storage) => collect(present(storage.damaged?.(), "damaged")),
      size: (storage) => storage.size?.(commit.sessionId),
      compact: (storage) => storage.compact?.(commit.sessionId),
      repair: (storage) => storage.repair?.(),
      close: (storage) => storage.close?.(),
    };
    for (const [method, call] of Object.entries(calls) as [StorageMethod, (typeof calls)[StorageMethod]][]) {
      const storage = new FaultyStorage(inner, [{ method, fault: "fail" }]);
      const failed = Promise.resolve(call(storage)).then(
        () => "done",
        (error: Error) => error.message,
      );
      expect(await failed).toBe(`${method} failed on request`);
    }
    await inner.close();
  });

  it("fails at the n-th call of a method, with nothing done, and counts calls", async () => {
    const { inner, storage } = faulty({ method: "append", call: 2, fault: "fail" });
    const [first, second] = [commit, nextCommit(commit)];
    await storage.append(first);
    await expect(storage.append(second)).rejects.toMatchObject({
      code: "STORAGE_FAILED",
      message: "append failed on request",
      details: { operation: "append" },
    });
    expect(await inner.read(commit.sessionId)).toEqual(first);
    await storage.append(second);
    expect([storage.calls("append"), storage.calls("read")]).toEqual([3, 0]);
    const error = new Error("of my own");
    storage.inject({ method: "read", fault: "fail", error });
    await expect(storage.read(commit.sessionId)).rejects.toBe(error);
    expect(await storage.read(commit.sessionId)).toEqual(second);
  });

  it("does it, and drops the answer", async () => {
    const { inner, storage } = faulty({ method: "append", fault: "drop-answer" });
    await expect(storage.append(commit)).rejects.toMatchObject({ details: { outcome: "unknown" } });
    expect(await inner.read(commit.sessionId)).toEqual(commit);
  });

  it("does it twice, and gives the second answer", async () => {
    const { inner, storage } = faulty(
      { method: "append", fault: "duplicate" },
      { method: "remove", fault: "duplicate" },
    );
    await expect(storage.append(commit)).rejects.toMatchObject({ code: "CONFLICT" });
    expect(await inner.read(commit.sessionId)).toEqual(commit);
    await storage.remove(commit.sessionId);
    expect(await inner.read(commit.sessionId)).toBeUndefined();
  });

  it("delays a call, and others pass it", async () => {
    const { storage } = faulty(
      { method: "append", fault: "delay", milliseconds: 20 },
      { method: "list", fault: "delay" },
    );
    const order: string[] = [];
    const slow = storage.append(commit).then(() => order.push("slow"));
    const fast = storage.append(makeCommit({ sessionId: "other" })).then(() => order.push("fast"));
    await Promise.all([slow, fast, storage.list({})]);
    expect(order).toEqual(["fast", "slow"]);
  });

  it("fails, doubles and breaks off logs", async () => {
    const { storage } = faulty(
      { method: "log", fault: "fail" },
      { method: "log", call: 2, fault: "duplicate" },
      { method: "log", call: 3, fault: "drop-answer" },
    );
    const [first, second] = commitChain(2);
    for (const one of [first, second]) if (one !== undefined) await storage.append(one);
    await expect(collect(storage.log(first.sessionId))).rejects.toMatchObject({ code: "STORAGE_FAILED" });
    expect(await collect(storage.log(first.sessionId))).toEqual([first, first, second, second]);
    const seen: unknown[] = [];
    const broken = async () => {
      for await (const one of storage.log(first.sessionId)) seen.push(one);
    };
    await expect(broken()).rejects.toMatchObject({ details: { outcome: "unknown" } });
    expect(seen).toEqual([first]);
    expect(await collect(storage.log(first.sessionId))).toEqual([first, second]);
  });

  it("has the methods that the other one has, and no others", async () => {
    const memory = new FaultyStorage(new MemoryStorage());
    expect([typeof memory.watch, memory.size, memory.compact]).toEqual(["function", undefined, undefined]);
    const { watch: _, ...unwatched } = wrapStorage(new MemoryStorage(), {});
    expect(new FaultyStorage(unwatched).watch).toBeUndefined();
    const noted = new FaultyStorage(
      wrapStorage(new MemoryStorage(), {
        hint: async () => 7,
        async *damaged() {
          yield commit.sessionId;
        },
      }),
    );
    noted.inject({ method: "damaged", call: 2, fault: "fail" });
    expect(await noted.hint?.(commit.sessionId)).toBe(7);
    expect(await collect(present(noted.damaged?.(), "the sessions"))).toEqual([commit.sessionId]);
    await expect(collect(present(noted.damaged?.(), "the sessions"))).rejects.toMatchObject({ code: "STORAGE_FAILED" });
    const full = new FaultyStorage(new FullStorage().adapter());
    await full.append(commit);
    full.inject({ method: "size", fault: "fail" });
    await expect(full.size?.(commit.sessionId)).rejects.toMatchObject({ code: "STORAGE_FAILED" });
    expect(await full.size?.(commit.sessionId)).toMatchObject({ commits: 1 });
    full.inject({ method: "watch", fault: "fail" });
    const watch = present(full.watch?.({}, { signal: AbortSignal.abort() }), "a watch");
    await expect(collect(watch)).rejects.toMatchObject({ code: "STORAGE_FAILED" });
    await full.close();
    expect(full.calls("close")).toBe(1);
  });

  it("takes no call that there can't be", () => {
    expect(() => faulty({ method: "read", call: 0, fault: "fail" })).toThrow("a fault cannot be at call 0");
  });

  it("shows that an engine's keyed calls are done once, even if their answers are lost", async () => {
    for (const fault of ["fail", "duplicate", "drop-answer", "delay"] as const) {
      const { storage } = faulty();
      const engine = markedEngine(storage);
      const { sessionId } = await engine.start({ workflowType: "marked", target: "a.md" });
      storage.inject({ method: "append", fault });
      const submit = () =>
        engine.session(sessionId).completePhase(1, markedEvidence("m", true), { idempotencyKey: "k" });
      const first = await submit().catch((error) => error.code);
      expect(await submit()).toMatchObject({ passed: true, replayed: fault !== "fail" });
      expect(fault === "fail" || fault === "drop-answer" ? first : first.passed).toBe(
        fault === "fail" || fault === "drop-answer" ? "STORAGE_FAILED" : true,
      );
      expect(await markersIn(storage, sessionId)).toEqual(["m"]);
    }
  });
});
