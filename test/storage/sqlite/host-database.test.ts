import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { SqliteStorage } from "../../../src/storage/sqlite/storage.js";
import { commitChain, makeCommit, nextCommit } from "../../../src/testing/contract.js";
import { failure } from "../../support/failure.js";
import { newDatabases, query } from "./new-database.js";

const newDatabase = newDatabases();
const SETTINGS = ["journal_mode", "synchronous", "foreign_keys", "busy_timeout", "auto_vacuum", "user_version"];

function settings(database: DatabaseSync): unknown[] {
  return SETTINGS.map((name) => Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0]);
}

describe("a database of the host", () => {
  it("keeps its settings and its tables, and stays open", async () => {
    const file = await newDatabase();
    const database = new DatabaseSync(file, { enableForeignKeyConstraints: false });
    database.exec("PRAGMA user_version = 7; CREATE TABLE mine (a); INSERT INTO mine VALUES (1)");
    const before = settings(database);
    const storage = await SqliteStorage.open(database);
    const chain = commitChain(3);
    for (const commit of chain) await storage.append(commit);
    await storage.remove(chain[0].sessionId);
    await storage.compact(chain[0].sessionId);
    await storage.close();
    expect(settings(database)).toEqual(before);
    expect(database.prepare("SELECT a FROM mine").all()).toHaveLength(1);
    expect(database.prepare("SELECT * FROM workflow_history").all(), "also without foreign keys").toEqual([]);
    database.close();
    expect(query(file, "PRAGMA integrity_check")).toEqual([{ integrity_check: "ok" }]);
  });

  it("determines the reported durability by its settings", async () => {
    for (const [pragmas, durability, multiProcess] of [
      ["PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL", "power", true],
      ["PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL", "process", true],
      ["PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL", "process", true],
      ["PRAGMA journal_mode = DELETE; PRAGMA synchronous = EXTRA", "power", true],
      ["PRAGMA journal_mode = TRUNCATE; PRAGMA synchronous = FULL", "power", true],
      ["PRAGMA journal_mode = MEMORY; PRAGMA synchronous = FULL", "memory", true],
      ["PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL", "power", false],
    ] as const) {
      const database = new DatabaseSync(await newDatabase());
      database.exec(pragmas);
      const storage = await SqliteStorage.open(database);
      expect(storage.capabilities, pragmas).toMatchObject({ durability, multiProcess });
      await storage.append(makeCommit());
      database.close();
    }
  });

  it("may have settings of its own for reading rows", async () => {
    const database = new DatabaseSync(await newDatabase());
    const prepare = database.prepare.bind(database);
    database.prepare = (sql: string) => {
      const statement = prepare(sql);
      statement.setReadBigInts(true);
      if ("setReturnArrays" in statement) statement.setReturnArrays(true);
      return statement;
    };
    const storage = await SqliteStorage.open(database);
    const [first, second] = commitChain(2);
    for (const commit of commitChain(2)) await storage.append(commit);
    expect(await storage.read(first.sessionId)).toEqual(second);
    expect((await storage.list({})).items).toEqual([second?.summary]);
    database.close();
  });

  it("with an open transaction can be read, and refuses commits", async () => {
    const database = new DatabaseSync(await newDatabase());
    const storage = await SqliteStorage.open(database);
    const first = makeCommit();
    await storage.append(first);
    database.exec("BEGIN");
    expect(await storage.read(first.sessionId)).toEqual(first);
    expect(await failure(storage.append(nextCommit(first)))).toMatchObject({
      code: "STORAGE_FAILED",
      details: { cause: "a transaction of the host's is open" },
    });
    database.exec("ROLLBACK");
    await storage.append(nextCommit(first));
    database.close();
  });

  it("with a table of the same name is refused, and accepted with a table prefix", async () => {
    const database = new DatabaseSync(await newDatabase());
    database.exec("CREATE TABLE Workflow_Instances (a)");
    expect(await failure(SqliteStorage.open(database))).toMatchObject({
      code: "STORAGE_FAILED",
      details: { cause: "a table workflow_instances of somebody else's is there" },
    });
    expect(database.prepare("SELECT count(*) AS count FROM sqlite_schema").get()).toEqual({ count: 1 });
    const [one, other] = [
      await SqliteStorage.open(database, { tablePrefix: "a_" }),
      await SqliteStorage.open(database, { tablePrefix: "b_" }),
    ];
    await one.append(makeCommit());
    expect((await one.list({})).items).toHaveLength(1);
    expect((await other.list({})).items).toEqual([]);
    database.close();
  });
});
