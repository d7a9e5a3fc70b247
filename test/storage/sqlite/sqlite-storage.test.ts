import { stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { SqliteStorage } from "../../../src/storage/sqlite/storage.js";
import { collect, commitChain, makeCommit, nextCommit } from "../../../src/testing/contract.js";
import { digest } from "../../../src/workflow/json.js";
import { parseSessionId } from "../../../src/workflow/names.js";
import { failure } from "../../support/failure.js";
import { newDatabases, query } from "./new-database.js";

const newDatabase = newDatabases();
const ODD = "a\0b \ud800 \udfff\ud800 \u2028 é 😀 \ufeff";

describe("makeDurable", () => {
  it("syncs the write-ahead log, and changes no rows", async () => {
    const file = await newDatabase();
    const storage = await SqliteStorage.open(file);
    const payload = { hash: "0".repeat(64), body: "large" };
    const { payloads: _, ...first } = makeCommit({ payloads: [payload] });
    await storage.append({ ...first, payloads: [payload] });
    const frames = () => Number(query(file, "PRAGMA wal_checkpoint(PASSIVE)")[0]?.log);
    const before = frames();
    await storage.makeDurable(parseSessionId("nobody"));
    // What is in the database needs no further sync: the next write starts the log anew.
    await storage.makeDurable(first.sessionId);
    expect(before).toBeGreaterThan(0);
    expect(frames()).toBeGreaterThan(0);
    expect(frames()).toBeLessThan(before);
    expect(await storage.read(first.sessionId)).toEqual(first);
    expect(await storage.payload(first.sessionId, payload.hash)).toBe(payload.body);
    expect(query(file, "SELECT hash FROM phasegate_payloads")).toEqual([{ hash: payload.hash }]);
    await storage.close();
  });
});

describe("SqliteStorage", () => {
  it("returns unusual texts exactly, in every field", async () => {
    const storage = await SqliteStorage.open(await newDatabase());
    const payload = { hash: digest(ODD), body: ODD };
    const summary = { target: ODD, workflowType: ODD, kind: ODD, current: ODD };
    const first = makeCommit({ body: ODD, summary, payloads: [payload] });
    const second = nextCommit(first, { body: "\0", at: first.at });
    await storage.append(first);
    await storage.append(second);
    const { payloads: _, ...bare } = first;
    expect(await collect(storage.log(first.sessionId))).toEqual([bare, second]);
    expect(await storage.payload(first.sessionId, payload.hash)).toBe(ODD);
    for (const filter of [{ target: ODD }, { workflowType: ODD }, { kind: ODD }]) {
      expect((await storage.list(filter)).items).toEqual([second.summary]);
    }
    expect((await storage.list({ target: ODD.replace("\ud800", "\ufffd") })).items).toEqual([]);
    await storage.close();
  });

  it("returns a payload and a body of many megabytes, and stores the same content once", async () => {
    const storage = await SqliteStorage.open(await newDatabase());
    const large = "0123456789abcdef".repeat(640_000);
    const payload = { hash: digest(large), body: large };
    const first = makeCommit({ body: large, payloads: [payload] });
    await storage.append(first);
    const once = await storage.size(first.sessionId);
    const second = nextCommit(first, { body: "{}", payloads: [payload] });
    await storage.append(second);
    expect(await storage.payload(first.sessionId, payload.hash)).toBe(large);
    expect((await storage.read(first.sessionId))?.body).toBe("{}");
    const twice = await storage.size(first.sessionId);
    expect([once?.commits, twice?.commits]).toEqual([1, 2]);
    expect(once?.bytes).toBeGreaterThan(large.length);
    expect((twice?.bytes ?? 0) - (once?.bytes ?? 0)).toBeLessThan(1000);
    expect(await storage.payload(first.sessionId, "0".repeat(64))).toBeUndefined();
    await storage.close();
  });

  it("keeps a summary time that differs from the commit's", async () => {
    const storage = await SqliteStorage.open(await newDatabase());
    const commit = makeCommit({ summary: { updatedAt: "2027-01-01T00:00:00.000Z" } });
    await storage.append(commit);
    expect(await storage.read(commit.sessionId)).toEqual(commit);
    await storage.close();
  });

  it("creates files and folders that only their owner can access", async () => {
    const file = join(dirname(await newDatabase()), "made/for/it/sessions.db");
    const storage = await SqliteStorage.open(file);
    await storage.append(makeCommit());
    const modes = [file, `${file}-wal`, `${file}-shm`, dirname(file), dirname(dirname(file))];
    const found = await Promise.all(modes.map(async (path) => ((await stat(path)).mode & 0o777).toString(8)));
    expect(found).toEqual(["600", "600", "600", "700", "700"]);
    await storage.close();
  });

  it("reports its durability and its limits", async () => {
    const storage = await SqliteStorage.open(await newDatabase(), { maxCommitBytes: 1000 });
    expect(storage.capabilities).toEqual({ durability: "power", multiProcess: true, maxCommitBytes: 1000 });
    await storage.close();
    const passing = await SqliteStorage.open(":memory:");
    expect(passing.capabilities).toMatchObject({ durability: "memory", multiProcess: false });
    await passing.append(makeCommit());
    expect((await passing.list({})).items).toHaveLength(1);
    await passing.close();
  });
});

describe("a removed session", () => {
  it("frees its disk space", async () => {
    const file = await newDatabase();
    const storage = await SqliteStorage.open(file);
    const body = "x".repeat(100_000);
    const chain = commitChain(2, { sessionId: "stays" });
    for (const commit of chain) await storage.append(commit);
    let last = makeCommit({ body });
    for (let index = 0; index < 40; index += 1) {
      await storage.append(last);
      last = nextCommit(last, { body });
    }
    await storage.compact(last.sessionId);
    const full = (await stat(file)).size;
    expect(full).toBeGreaterThan(4_000_000);
    await storage.remove(last.sessionId);
    await storage.compact(last.sessionId);
    expect((await stat(file)).size).toBeLessThan(500_000);
    expect((await stat(`${file}-wal`)).size).toBe(0);
    expect(await collect(storage.log(chain[0].sessionId))).toEqual(chain);
    expect(await storage.size(last.sessionId)).toBeUndefined();
    await storage.close();
  });

  it("leaves the reason of its tombstone, and no other row", async () => {
    const file = await newDatabase();
    const storage = await SqliteStorage.open(file);
    const payload = { hash: digest("x"), body: "x" };
    const first = makeCommit({ payloads: [payload] });
    const tombstone = nextCommit(first, { body: '{"reason":"stale"}', summary: { status: "deleted" } });
    const plain = makeCommit({ sessionId: "plain" });
    for (const commit of [first, tombstone, plain]) await storage.append(commit);
    await storage.remove(first.sessionId);
    await storage.remove(plain.sessionId);
    await storage.close();
    expect(query(file, "SELECT session_id, body FROM phasegate_removed ORDER BY seq")).toEqual([
      { session_id: "session_1", body: '{"reason":"stale"}' },
      { session_id: "plain", body: null },
    ]);
    for (const table of ["phasegate_sessions", "phasegate_commits", "phasegate_payloads"]) {
      expect(query(file, `SELECT * FROM ${table}`)).toEqual([]);
    }
    expect(query(file, "SELECT * FROM workflow_instances")).toEqual([]);
    expect(query(file, "SELECT * FROM workflow_history")).toEqual([]);
  });

  it("has log numbers that are never used again", async () => {
    const file = await newDatabase();
    const storage = await SqliteStorage.open(file);
    for (const sessionId of ["a", "b"]) await storage.append(makeCommit({ sessionId }));
    await storage.remove(makeCommit({ sessionId: "b" }).sessionId);
    await storage.append(makeCommit({ sessionId: "c" }));
    await storage.close();
    expect(query(file, "SELECT seq FROM phasegate_commits ORDER BY seq")).toEqual([{ seq: 1 }, { seq: 3 }]);
  });
});

it("two connections see each other's commits at once, and one of two racing appends fails", async () => {
  const file = await newDatabase();
  const [one, other] = [await SqliteStorage.open(file), await SqliteStorage.open(file)];
  const first = makeCommit();
  await one.append(first);
  expect(await other.read(first.sessionId)).toEqual(first);
  const next = nextCommit(first, { body: "other" });
  await other.append(next);
  expect(await failure(one.append(nextCommit(first, { body: "one" })))).toMatchObject({ code: "CONFLICT" });
  expect(await one.read(first.sessionId)).toEqual(next);
  await one.close();
  await one.close();
  expect(await failure(one.read(first.sessionId))).toMatchObject({
    code: "STORAGE_FAILED",
    remedy: "The database was closed: open the storage again.",
  });
  await other.append(nextCommit(next));
  await other.close();
});
