/** DurableStorage on a stand-in for a Durable Object's database. The other files of this folder run it in workerd. */
import type { StorageAdapter } from "phasegate";
import { type DurableObjectDatabase, DurableStorage } from "phasegate/durable-objects";
import { describe, expect, it } from "vitest";
import { makeCommit, nextCommit } from "../../../src/testing/contract.js";
import { storageContract } from "../../../src/testing/storage-contract/contract.js";
import { failure } from "../../support/failure.js";
import { objectDatabase } from "./object-database.js";

describe("DurableStorage keeps the contract", () => {
  const databases = new WeakMap<StorageAdapter, DurableObjectDatabase>();
  const openOn = async (database = objectDatabase()) => {
    const storage = new DurableStorage(database);
    databases.set(storage, database);
    return storage;
  };
  const cases = storageContract({ open: () => openOn(), reopen: (storage) => openOn(databases.get(storage)) });
  for (const { name, run } of cases) it(name, run);
});

describe("a failing object", () => {
  /** Returns a storage whose statements fail once `fail` has been set. */
  function failing(): { storage: DurableStorage; fault: { error?: Error; onSync?: Error } } {
    const fault: { error?: Error; onSync?: Error } = {};
    const database = objectDatabase();
    const storage = new DurableStorage({
      sql: {
        exec(...args) {
          if (fault.error !== undefined) throw fault.error;
          return database.sql.exec(...args);
        },
      },
      transactionSync: (action) => database.transactionSync(action),
      sync: () => (fault.onSync === undefined ? Promise.resolve() : Promise.reject(fault.onSync)),
    });
    return { storage, fault };
  }

  it("reports SQLite's result, and what to do when the object is full", async () => {
    const { storage, fault } = failing();
    fault.error = new Error("database or disk is full: SQLITE_FULL");
    expect(await failure(storage.append(makeCommit()))).toMatchObject({
      code: "STORAGE_FAILED",
      message: "The session database failed to append: SQLITE_FULL",
      remedy: expect.stringContaining("remove sessions"),
    });
    fault.error = new Error("UNIQUE constraint failed: a.z: SQLITE_CONSTRAINT (extended: SQLITE_CONSTRAINT_UNIQUE)");
    expect(await failure(storage.list({}))).toMatchObject({
      details: { operation: "list", cause: "SQLITE_CONSTRAINT" },
    });
    fault.error = new TypeError("no storage any more");
    expect(await failure(storage.read(makeCommit().sessionId))).toMatchObject({ details: { cause: "TypeError" } });
  });

  it("leaves it open whether a commit was written whose sync has failed", async () => {
    const { storage, fault } = failing();
    const first = makeCommit();
    await storage.append(first);
    fault.onSync = new Error("the object was reset");
    expect(await failure(storage.append(nextCommit(first)))).toMatchObject({
      code: "STORAGE_FAILED",
      details: { operation: "append", outcome: "unknown" },
    });
    expect(await failure(storage.makeDurable(first.sessionId))).toMatchObject({ code: "STORAGE_FAILED" });
    expect(await failure(storage.remove(first.sessionId))).toMatchObject({ code: "STORAGE_FAILED" });
  });

  it("answers an append only after its sync", async () => {
    const database = objectDatabase();
    let synced = () => {};
    const sync = () =>
      new Promise<void>((resolve) => {
        synced = resolve;
      });
    const storage = new DurableStorage({ ...database, sync });
    let isAnswered = false;
    const appending = storage.append(makeCommit()).then(() => {
      isAnswered = true;
    });
    await new Promise((done) => setTimeout(done, 20));
    expect(isAnswered).toBe(false);
    synced();
    await appending;
    expect(isAnswered).toBe(true);
  });
});

it.each([
  ["maxCommitBytes", { maxCommitBytes: 33 * 1024 * 1024 }],
  ["tablePrefix", { tablePrefix: "no prefix" }],
])("an invalid %s is refused", (field, options) => {
  expect(() => new DurableStorage(objectDatabase(), options)).toThrow(
    expect.objectContaining({ code: "INVALID_INPUT", details: expect.objectContaining({ field }) }),
  );
});

it("a watch delivers all commits of a session that is removed at once", { timeout: 5000 }, async () => {
  const storage = new DurableStorage(objectDatabase());
  const first = makeCommit();
  const last = nextCommit(first, { summary: { status: "deleted" } });
  const watched = storage.watch({}, { signal: new AbortController().signal });
  await Promise.all([storage.append(first), storage.append(last), storage.remove(first.sessionId)]);
  const hashes = new Set<string>();
  for await (const { hash } of watched) {
    hashes.add(hash);
    if (hash === last.hash) break;
  }
  expect([...hashes]).toEqual([first.hash, last.hash]);
});

it("a payload stays as it is when a longer one with its hash comes", async () => {
  const storage = new DurableStorage(objectDatabase());
  const first = makeCommit({ payloads: [{ hash: "h", body: "mine" }] });
  await storage.append(first);
  await storage.append(nextCommit(first, { payloads: [{ hash: "h", body: "x".repeat(1_200_000) }] }));
  expect(await storage.payload(first.sessionId, "h")).toBe("mine");
});

it("closing ends the watches", async () => {
  const storage = new DurableStorage(objectDatabase());
  const watched = storage.watch({}, { signal: new AbortController().signal })[Symbol.asyncIterator]();
  const next = watched.next();
  await storage.close();
  expect(await next).toEqual({ done: true, value: undefined });
});
