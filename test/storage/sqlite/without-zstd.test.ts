import { expect, it, vi } from "vitest";
import { makeCommit } from "../../../src/testing/contract.js";
import { failure } from "../../support/failure.js";
import { newDatabases, query } from "./new-database.js";

const newDatabase = newDatabases();
const payload = { hash: "a".repeat(64), body: '{"text":"ä \ud800"}' };
const first = makeCommit({ payloads: [payload] });

/** Loads the storage as in a runtime with zstd, or without it. */
async function storageIn(runtime: "old" | "new") {
  vi.resetModules();
  vi.doMock("node:zlib", async (load) => {
    const { zstdCompressSync, ...old } = await load<typeof import("node:zlib")>();
    return runtime === "old" ? old : { ...old, zstdCompressSync };
  });
  return (await import("../../../src/storage/sqlite/storage.js")).SqliteStorage;
}

it.each(["well-formed", payload.body])(
  "without zstd, a payload is stored as gzip, and read by every runtime: %j",
  async (body) => {
    const file = await newDatabase();
    const old = await (await storageIn("old")).open(file);
    await old.append({ ...first, payloads: [{ ...payload, body }] });
    expect(await old.payload(first.sessionId, payload.hash)).toBe(body);
    await old.close();
    expect(query(file, "SELECT hex(substr(body, 1, 2)) AS magic FROM phasegate_payloads")).toEqual([{ magic: "1F8B" }]);
    const now = await (await storageIn("new")).open(file);
    expect(await now.payload(first.sessionId, payload.hash)).toBe(body);
    await now.close();
  },
);

it("a payload of a newer runtime is refused with what to do", async () => {
  const file = await newDatabase();
  const now = await (await storageIn("new")).open(file);
  await now.append({ ...first, payloads: [{ ...payload, body: "well-formed" }] });
  await now.close();
  expect(query(file, "SELECT hex(substr(body, 1, 4)) AS magic FROM phasegate_payloads")).toEqual([
    { magic: "28B52FFD" },
  ]);
  const old = await (await storageIn("old")).open(file);
  expect(await failure(old.payload(first.sessionId, payload.hash))).toMatchObject({
    code: "STORAGE_FAILED",
    remedy: expect.stringContaining("22.15"),
  });
  await old.close();
});
