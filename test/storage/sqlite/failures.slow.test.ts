import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, describe, expect, it, vi } from "vitest";
import { SqliteStorage } from "../../../src/storage/sqlite/storage.js";
import { makeCommit, nextCommit } from "../../../src/testing/contract.js";
import { failure } from "../../support/failure.js";
import { newDatabases } from "./new-database.js";

const newDatabase = newDatabases();
afterEach(() => vi.restoreAllMocks());

describe("an opening fails", () => {
  it("for a folder, a file that is not a database and an empty name", async () => {
    const file = await newDatabase();
    await mkdir(`${file}.d`);
    expect(await failure(SqliteStorage.open(`${file}.d`))).toMatchObject({
      code: "STORAGE_FAILED",
      details: { cause: "it is a folder" },
    });
    const text = "this is no database, though it is long enough to have the header of one".repeat(100);
    for (const content of [text, "short"]) {
      await writeFile(file, content);
      expect(await failure(SqliteStorage.open(file))).toMatchObject({ details: { cause: "SQLITE_NOTADB" } });
      expect(await readFile(file, "utf8"), "the file is unchanged").toBe(content);
    }
    expect(await failure(SqliteStorage.open(join(file, "below.db")))).toMatchObject({ code: "STORAGE_FAILED" });
    expect(await failure(SqliteStorage.open(""))).toMatchObject({ code: "INVALID_INPUT" });
  });

  it("with invalid options", async () => {
    const file = await newDatabase();
    for (const options of [
      { busyTimeout: -1 },
      { watchInterval: 0 },
      { maxCommitBytes: 1e12 },
      { busyTimeout: Number.NaN },
      ...["1a", "a-b", 'x"; DROP TABLE y; --', "sqlite_x", "a".repeat(33)].map((tablePrefix) => ({ tablePrefix })),
    ]) {
      expect(await failure(SqliteStorage.open(file, options)), JSON.stringify(options)).toMatchObject({
        code: "INVALID_INPUT",
        details: { field: Object.keys(options)[0] },
      });
    }
  });

  it("in a runtime without node:sqlite", async () => {
    vi.spyOn(process, "getBuiltinModule").mockReturnValue(undefined);
    expect(await failure(SqliteStorage.open(await newDatabase()))).toMatchObject({
      code: "STORAGE_FAILED",
      message: "This runtime has no node:sqlite",
    });
  });
});

it("only the warning of Node 22 about SQLite is suppressed", async () => {
  const emitted = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
  const { emitWarning, getBuiltinModule } = process;
  vi.spyOn(process, "getBuiltinModule").mockImplementation((name: string) => {
    process.emitWarning("SQLite is an experimental feature and might change at any time", "ExperimentalWarning");
    process.emitWarning("something else");
    return Reflect.apply(getBuiltinModule, process, [name]);
  });
  await (await SqliteStorage.open(":memory:")).close();
  expect(emitted.mock.calls).toEqual([["something else"]]);
  expect(process.emitWarning).toBe(emitWarning);
});

describe("a lock of another connection", () => {
  async function lockedDatabase() {
    const file = await newDatabase();
    const storage = await SqliteStorage.open(file, { busyTimeout: 150 });
    const first = makeCommit();
    await storage.append(first);
    const other = new DatabaseSync(file);
    other.exec("BEGIN IMMEDIATE");
    return { storage, first, other };
  }

  it("is waited for without blocking the event loop", async () => {
    const { storage, first, other } = await lockedDatabase();
    const appended = storage.append(nextCommit(first));
    await delay(20);
    expect(await storage.read(first.sessionId), "reading waits for nobody").toEqual(first);
    other.exec("COMMIT");
    await appended;
    expect((await storage.read(first.sessionId))?.version).toBe(2);
    other.close();
    await storage.close();
  });

  it("causes BUSY if it is held too long, and nothing is written", async () => {
    const { storage, first, other } = await lockedDatabase();
    for (const call of [() => storage.append(nextCommit(first)), () => storage.remove(first.sessionId)]) {
      expect(await failure(call())).toMatchObject({ code: "BUSY", details: { running: 1, limit: 1 } });
    }
    other.exec("COMMIT");
    expect(await storage.read(first.sessionId)).toEqual(first);
    other.close();
    await storage.close();
  });
});

it("an append on a full disk writes nothing, and succeeds once there is space", async () => {
  const file = await newDatabase();
  const database = new DatabaseSync(file);
  const storage = await SqliteStorage.open(database);
  const first = makeCommit();
  await storage.append(first);
  const { page_count: pages } = database.prepare("PRAGMA page_count").get() ?? {};
  database.exec(`PRAGMA max_page_count = ${pages}`);
  const large = nextCommit(first, { body: "x".repeat(200_000) });
  expect(await failure(storage.append(large))).toMatchObject({
    code: "STORAGE_FAILED",
    details: { operation: "append", cause: "SQLITE_FULL" },
    remedy: "Free disk space where the database is, or raise its max_page_count, then repeat the call.",
  });
  expect(await storage.read(first.sessionId)).toEqual(first);
  database.exec("PRAGMA max_page_count = 1000000");
  await storage.append(large);
  expect(await storage.read(first.sessionId)).toEqual(large);
  database.close();
});

it("a read-only database can be read, and refuses writes", async () => {
  const file = await newDatabase();
  const storage = await SqliteStorage.open(file);
  const first = makeCommit();
  await storage.append(first);
  const database = new DatabaseSync(file, { readOnly: true });
  const reader = await SqliteStorage.open(database);
  expect(await reader.read(first.sessionId)).toEqual(first);
  expect(await failure(reader.append(nextCommit(first)))).toMatchObject({ details: { cause: "SQLITE_READONLY" } });
  await storage.close();
  database.close();
  const empty = new DatabaseSync(await newDatabase());
  empty.exec("PRAGMA query_only = ON");
  expect(await failure(SqliteStorage.open(empty))).toMatchObject({ details: { cause: "SQLITE_READONLY" } });
  empty.close();
});

/** Lets the nth statement that returns a row fail, from now on. */
function failingAt(database: DatabaseSync, nth: number, errcode: number): { readonly failed: boolean } {
  const prepare = database.prepare.bind(database);
  const state = { failed: false, left: nth };
  vi.spyOn(database, "prepare").mockImplementation((sql) => {
    const statement = prepare(sql);
    const get = statement.get.bind(statement);
    vi.spyOn(statement, "get").mockImplementation((...values) => {
      state.left -= 1;
      if (state.left !== 0) return get(...values);
      state.failed = true;
      throw Object.assign(new Error("a fault"), { code: "ERR_SQLITE_ERROR", errcode });
    });
    return statement;
  });
  return state;
}

it("an opening whose nth read fails says so, and one that meets a lock tries again", async () => {
  const file = await newDatabase();
  await (await SqliteStorage.open(file)).close();
  for (let nth = 1; ; nth += 1) {
    const database = new DatabaseSync(file);
    // SQLITE_IOERR.
    const state = failingAt(database, nth, 10);
    const opened = await SqliteStorage.open(database).catch((error: unknown) => error);
    if (state.failed)
      expect(opened, `read ${nth}`).toMatchObject({ code: "STORAGE_FAILED", details: { operation: "open" } });
    vi.restoreAllMocks();
    failingAt(database, nth, 5);
    const storage = await SqliteStorage.open(database);
    expect((await storage.list({})).items).toEqual([]);
    database.close();
    if (!state.failed) return expect(nth, "reads of an opening").toBeGreaterThan(3);
  }
});

it("a failure of COMMIT leaves the outcome unknown", async () => {
  const database = new DatabaseSync(await newDatabase());
  const prepare = database.prepare.bind(database);
  let code = 0;
  vi.spyOn(database, "prepare").mockImplementation((sql) => {
    const statement = prepare(sql);
    if (sql !== "COMMIT") return statement;
    const run = statement.run.bind(statement);
    vi.spyOn(statement, "run").mockImplementation(() => {
      if (code !== 0) throw Object.assign(new Error("a fault"), { code: "ERR_SQLITE_ERROR", errcode: code });
      return run();
    });
    return statement;
  });
  const storage = await SqliteStorage.open(database, { busyTimeout: 20 });
  const first = makeCommit();
  // SQLITE_IOERR_FSYNC.
  code = 1034;
  expect(await failure(storage.append(first))).toMatchObject({
    code: "STORAGE_FAILED",
    details: { operation: "append", cause: "SQLITE_IOERR", outcome: "unknown" },
  });
  code = 13;
  const full = await failure(storage.append(first));
  expect(full).toMatchObject({ code: "STORAGE_FAILED", details: { cause: "SQLITE_FULL" } });
  expect(full.details).not.toHaveProperty("outcome");
  code = 5;
  expect(await failure(storage.append(first))).toMatchObject({ code: "BUSY" });
  code = 0;
  await storage.append(first);
  expect(await storage.read(first.sessionId)).toEqual(first);
  database.close();
});

it("rows that were changed by hand are reported as TAMPERED or STORAGE_FAILED", async () => {
  const file = await newDatabase();
  const storage = await SqliteStorage.open(file);
  const payload = { hash: "0".repeat(64), body: "x" };
  const first = makeCommit({ payloads: [payload] });
  await storage.append(first);
  const byHand = new DatabaseSync(file);
  byHand.exec("UPDATE phasegate_payloads SET body = x'00'");
  expect(await failure(storage.payload(first.sessionId, payload.hash))).toMatchObject({ code: "TAMPERED" });
  byHand.exec("UPDATE phasegate_payloads SET body = 1");
  expect(await failure(storage.payload(first.sessionId, payload.hash))).toMatchObject({ code: "STORAGE_FAILED" });
  byHand.exec("UPDATE phasegate_commits SET hash = 1.5, schema = 'x'");
  expect(await failure(storage.read(first.sessionId))).toMatchObject({ code: "STORAGE_FAILED" });
  for (const summary of ["none", "{}"]) {
    byHand.exec(`UPDATE phasegate_commits SET summary = '${summary}'`);
    expect(await failure(storage.read(first.sessionId))).toMatchObject({ code: "TAMPERED" });
  }
  byHand.close();
  await storage.close();
});

it("a stored body of 600 MB is refused without being read", { timeout: 60_000 }, async () => {
  const database = new DatabaseSync(":memory:");
  const storage = await SqliteStorage.open(database);
  const first = makeCommit();
  await storage.append(first);
  database.exec("UPDATE phasegate_commits SET body = CAST(zeroblob(600000000) AS TEXT)");
  expect(await failure(storage.read(first.sessionId))).toMatchObject({
    code: "TAMPERED",
    message: expect.stringContaining("its body has more than 536870912 bytes"),
  });
  await storage.close();
  database.close();
});

it("commits that no engine creates are refused", async () => {
  const storage = await SqliteStorage.open(await newDatabase());
  const sound = makeCommit();
  for (const commit of [
    { ...sound, sessionId: makeCommit({ sessionId: "other" }).sessionId },
    { ...sound, version: 0.5 },
    { ...sound, summary: { ...sound.summary, activeSince: -1 } },
    { ...sound, summary: { ...sound.summary, createdAt: "yesterday" } },
  ]) {
    expect(await failure(storage.append(commit))).toMatchObject({ code: "INVALID_INPUT" });
  }
  expect((await storage.list({})).items).toEqual([]);
  await storage.close();
});

it("an opening fails if the folder cannot be created", async () => {
  const file = await newDatabase();
  await writeFile(join(dirname(file), "a-file"), "");
  const error = await failure(SqliteStorage.open(join(dirname(file), "a-file/below/x.db")));
  expect(error).toMatchObject({ code: "STORAGE_FAILED", details: { operation: "open", cause: "ENOTDIR" } });
});
