import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { Connection } from "../../../src/storage/sqlite/connection.js";
import { MIGRATIONS, migrate } from "../../../src/storage/sqlite/open.js";
import { tableNames } from "../../../src/storage/sqlite/rows.js";
import { SqliteStorage } from "../../../src/storage/sqlite/storage.js";
import { makeCommit } from "../../../src/testing/contract.js";
import { parseSessionId } from "../../../src/workflow/names.js";
import { failure } from "../../support/failure.js";
import { makeEngine } from "../../support/make-engine.js";
import { workersOf } from "../../support/worker-process.js";
import { newDatabases, query } from "./new-database.js";

const newDatabase = newDatabases();
const startWorker = workersOf(join(import.meta.dirname, "../../support/append-worker.ts"));
const SAMPLES = MIGRATIONS.map((_, index) => index + 1);
const TABLES = ["workflow_instances", "workflow_history", "phasegate_commits", "phasegate_removed"];

/** Creates a database of an older version from a dump (`sqlite3 FILE .dump`) made when that version was the newest. */
async function sampleOf(version: number): Promise<string> {
  const file = await newDatabase();
  const database = new DatabaseSync(file);
  database.exec(await readFile(join(import.meta.dirname, `samples/format-${version}.sql`), "utf8"));
  database.close();
  return file;
}

describe("a database of an older version", () => {
  it.each(SAMPLES)("is migrated from version %s to the newest, and its sessions continue", async (version) => {
    const file = await sampleOf(version);
    const storage = await SqliteStorage.open(file);
    const { engine } = makeEngine({ storage });
    const { items } = await engine.listSessions();
    expect(items.map(({ target, status }) => [target, status])).toEqual([
      ["src/b.ts", "paused"],
      ["src/a.ts", "completed"],
    ]);
    for (const { sessionId } of items) expect(await engine.session(sessionId).audit()).toMatchObject({ intact: true });
    const paused = items[0]?.sessionId ?? "";
    await engine.session(paused).resume();
    expect((await engine.session(paused).state()).head.status).toBe("active");
    await engine.close();
    await storage.close();
    expect(query(file, "SELECT version FROM phasegate_migrations").map((row) => row.version)).toEqual(SAMPLES);
  });

  it("has the same tables after migration as a new one", async () => {
    const [old, newest] = [await sampleOf(1), await sampleOf(MIGRATIONS.length)];
    await (await SqliteStorage.open(old)).close();
    for (const table of TABLES)
      expect(query(old, `SELECT * FROM ${table}`)).toEqual(query(newest, `SELECT * FROM ${table}`));
    const fresh = await newDatabase();
    await (await SqliteStorage.open(fresh)).close();
    const schema = "SELECT type, name, sql FROM sqlite_schema ORDER BY name";
    for (const file of [old, newest]) expect(query(file, schema)).toEqual(query(fresh, schema));
  });
});

it("waits longer than busyTimeout for a lock, as another process may hold it to migrate a large database", async () => {
  const file = await sampleOf(2);
  const other = new DatabaseSync(file);
  other.exec("PRAGMA journal_mode = WAL; BEGIN IMMEDIATE");
  const opening = SqliteStorage.open(file, { busyTimeout: 20 });
  await delay(300);
  other.exec("COMMIT");
  other.close();
  await (await opening).close();
  expect(query(file, "SELECT version FROM phasegate_migrations").map((row) => row.version)).toEqual(SAMPLES);
});

it("does not change a host's own views on the history", async () => {
  const file = await sampleOf(2);
  const view = "CREATE VIEW mine AS SELECT instance_id, outcome_status FROM workflow_history";
  const host = new DatabaseSync(file);
  host.exec(view);
  host.close();
  const before = query(file, "SELECT * FROM mine");
  await (await SqliteStorage.open(file)).close();
  expect(query(file, "SELECT * FROM mine")).toEqual(before);
  expect(query(file, "SELECT sql FROM sqlite_schema WHERE name = 'mine'")).toEqual([{ sql: view }]);
});

it.each(["commits", "sessions"])(
  "refuses a view in place of a table, which may be an endless query: %s",
  async (name) => {
    const file = await newDatabase();
    await (await SqliteStorage.open(file)).close();
    const host = new DatabaseSync(file);
    const endless = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)";
    const table = `phasegate_${name}`;
    host.exec(`PRAGMA legacy_alter_table = ON; DROP VIEW phasegate_events; ALTER TABLE ${table} RENAME TO moved`);
    host.exec(`CREATE VIEW ${table} AS ${endless} SELECT moved.* FROM moved, n WHERE i < 0`);
    host.close();
    const refused = await failure(SqliteStorage.open(file, { migrate: false }));
    expect(refused).toMatchObject({ code: "STORAGE_FAILED", message: expect.stringContaining("phasegate_") });
  },
);

it("names the host's view that blocks a migration, and changes nothing", async () => {
  const file = await sampleOf(2);
  const host = new DatabaseSync(file);
  host.exec("CREATE VIEW mine AS SELECT updated_at FROM phasegate_sessions");
  host.close();
  const refused = await failure(SqliteStorage.open(file));
  expect(refused).toMatchObject({ code: "STORAGE_FAILED", message: expect.stringContaining("mine") });
  expect(refused.remedy).toContain("view");
  expect(query(file, "SELECT updated_at FROM mine")).toHaveLength(2);
  expect(query(file, "SELECT version FROM phasegate_migrations")).toHaveLength(2);
});

describe("with `migrate: false` a database", () => {
  it("is refused and left unchanged if it needs any migration", async () => {
    const missing = await newDatabase();
    expect(await failure(SqliteStorage.open(missing, { migrate: false }))).toMatchObject({
      code: "STORAGE_FAILED",
      details: { operation: "open", cause: "there is no such file" },
    });
    expect(existsSync(missing)).toBe(false);
    const old = await sampleOf(1);
    const before = await readFile(old);
    const host = new DatabaseSync(old);
    for (const database of [old, host]) {
      expect(await failure(SqliteStorage.open(database, { migrate: false }))).toMatchObject({
        details: { cause: `it has version 1 of the tables, and ${MIGRATIONS.length} is needed` },
      });
    }
    host.close();
    expect((await readFile(old)).equals(before)).toBe(true);
    expect(await failure(SqliteStorage.open(":memory:", { migrate: false }))).toMatchObject({ code: "STORAGE_FAILED" });
  });

  it("is opened if it is up to date", async () => {
    const file = await newDatabase();
    await (await SqliteStorage.open(file)).close();
    const storage = await SqliteStorage.open(file, { migrate: false });
    await storage.append(makeCommit());
    await storage.close();
  });
});

it("a database of a newer version is refused and left unchanged", async () => {
  const file = await newDatabase();
  const database = new DatabaseSync(file);
  database.exec("CREATE TABLE phasegate_migrations (version INTEGER); INSERT INTO phasegate_migrations VALUES (99)");
  database.close();
  const before = await readFile(file);
  expect(await failure(SqliteStorage.open(file))).toMatchObject({
    code: "FORMAT_TOO_NEW",
    details: { found: 99, supported: MIGRATIONS.length },
  });
  expect((await readFile(file)).equals(before)).toBe(true);
});

it("a migration that fails is rolled back", async () => {
  const file = await newDatabase();
  const connection = new Connection(new DatabaseSync(file), 0);
  const broken = [...MIGRATIONS, () => connection.database.exec("CREATE TABLE more (a); no SQL")];
  await failure(connection.write("open", () => migrate(connection, tableNames(""), broken)));
  connection.close();
  expect(query(file, "SELECT * FROM sqlite_schema")).toEqual([]);
  await (await SqliteStorage.open(file)).close();
});

it("if eight storages open a new file at once, one creates the tables, and all can write", async () => {
  const file = await newDatabase();
  const storages = await Promise.all(Array.from({ length: 8 }, () => SqliteStorage.open(file)));
  for (const [index, storage] of storages.entries()) await storage.append(makeCommit({ sessionId: `s${index}` }));
  expect((await storages[0]?.list({}))?.items).toHaveLength(8);
  await Promise.all(storages.map((storage) => storage.close()));
});

it("if four processes open a new file at once, all can write", { timeout: 120_000 }, async () => {
  for (let round = 0; round < 4; round += 1) {
    const file = await newDatabase();
    const workers = Array.from({ length: 4 }, () => startWorker(file, "3", "one"));
    for (const { lines, exitCode, errors } of await Promise.all(workers.map((worker) => worker.ended))) {
      expect([lines.length, exitCode, errors]).toEqual([3, 0, ""]);
    }
    const storage = await SqliteStorage.open(file);
    expect((await storage.read(parseSessionId("one")))?.version).toBe(12);
    await storage.close();
    expect(query(file, "SELECT version FROM phasegate_migrations")).toHaveLength(MIGRATIONS.length);
  }
});
