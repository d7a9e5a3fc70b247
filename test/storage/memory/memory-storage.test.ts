import { describe, expect, it } from "vitest";
import { MemoryStorage } from "../../../src/storage/memory/storage.js";
import { makeCommit, nextCommit } from "../../../src/testing/contract.js";
import { storageContract } from "../../../src/testing/storage-contract/contract.js";

describe("MemoryStorage", () => {
  for (const { name, run } of storageContract({ open: async () => new MemoryStorage() })) it(name, run);

  it("returns the total number of sessions, and the number that match a filter", async () => {
    const storage = new MemoryStorage();
    for (const sessionId of ["a", "b", "c"]) await storage.append(makeCommit({ sessionId }));
    await storage.append(makeCommit({ sessionId: "d", summary: { status: "failed" } }));
    const page = await storage.list({ limit: 1 });
    expect(page.total).toBe(4);
    expect(await storage.list({ limit: 1, status: ["active"], cursor: page.cursor ?? "" })).toMatchObject({ total: 3 });
  });

  it.each([undefined, null, "yesterday"])("refuses a commit that was created at %j", async (createdAt) => {
    const storage = new MemoryStorage();
    const commit = makeCommit();
    const wrong = { ...commit, summary: { ...commit.summary, createdAt } };
    const refused = storage.append(wrong as never);
    await expect(refused).rejects.toMatchObject({ code: "INVALID_INPUT", details: { field: "summary.createdAt" } });
    expect(await storage.read(commit.sessionId)).toBeUndefined();
  });

  it("returns frozen commits, the same object each time", async () => {
    const storage = new MemoryStorage();
    const commit = makeCommit({ payloads: [{ hash: "h", body: "x" }] });
    await storage.append(commit);
    const read = await storage.read(commit.sessionId);
    expect(Object.isFrozen(read) && Object.isFrozen(read?.summary)).toBe(true);
    expect(read).not.toHaveProperty("payloads");
    expect(await storage.read(commit.sessionId)).toBe(read);
  });

  it("lists sessions in order if they are created out of order", async () => {
    const storage = new MemoryStorage();
    const days = [5, 3, 9, 1, 7, 2, 8, 6, 4];
    for (const day of days) {
      await storage.append(
        makeCommit({ sessionId: `d${day}`, summary: { createdAt: `2026-01-0${day}T00:00:00.000Z` } }),
      );
    }
    await storage.remove(makeCommit({ sessionId: "d3" }).sessionId);
    const { items } = await storage.list({});
    expect(items.map((summary) => summary.sessionId).join()).toBe("d9,d8,d7,d6,d5,d4,d2,d1");
  });

  it("finds a session by the target that it has now, after it had another one", async () => {
    const storage = new MemoryStorage();
    const first = makeCommit({ summary: { target: "old.ts" } });
    await storage.append(first);
    const second = nextCommit(first, { summary: { target: "new.ts" } });
    await storage.append(second);
    const ids = async (target: string) => (await storage.list({ target })).items.map(({ sessionId }) => sessionId);
    expect([await ids("old.ts"), await ids("new.ts")]).toEqual([[], [first.sessionId]]);
    await storage.append(nextCommit(second, { summary: { target: "old.ts" } }));
    expect([await ids("old.ts"), await ids("new.ts")]).toEqual([[first.sessionId], []]);
    await storage.remove(first.sessionId);
    expect([await ids("old.ts"), await ids("new.ts")]).toEqual([[], []]);
  });
});
