import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { SqliteStorage } from "../../../src/storage/sqlite/storage.js";
import { collect, makeCommit, nextCommit } from "../../../src/testing/contract.js";
import { failure } from "../../support/failure.js";
import { newDatabases, query } from "./new-database.js";

const newDatabase = newDatabases();

/** Runs SQL as a person at a SQL prompt does. */
function edit(file: string, sql: string): void {
  const database = new DatabaseSync(file);
  database.exec(sql);
  database.close();
}

const TABLES = ["phasegate_sessions", "phasegate_commits", "phasegate_payloads", "phasegate_removed"];
/** Returns all rows of all tables. */
const all = (file: string) => TABLES.map((table) => query(file, `SELECT * FROM ${table}`));
const ignoring = (event: string, table: string) =>
  `CREATE TRIGGER t BEFORE ${event} ON ${table} BEGIN SELECT RAISE(IGNORE); END`;

const payload = { hash: "0".repeat(64), body: "large" };
const first = makeCommit({ payloads: [payload] });
const moved = nextCommit(first, { summary: { status: "paused" }, payloads: [{ hash: "1".repeat(64), body: "other" }] });

describe("an append fails and writes nothing if a trigger ignores a write", () => {
  it.each<[string, string, typeof first]>([
    ["INSERT", "phasegate_sessions", first],
    ["INSERT", "phasegate_commits", first],
    ["INSERT", "phasegate_payloads", first],
    ["UPDATE", "phasegate_sessions", moved],
    ["UPDATE", "phasegate_sessions", nextCommit(first)],
    ["INSERT", "phasegate_commits", moved],
    ["INSERT", "phasegate_payloads", moved],
  ])("%s on %s", async (event, table, commit) => {
    const file = await newDatabase();
    const storage = await SqliteStorage.open(file);
    if (commit !== first) await storage.append(first);
    const before = all(file);
    edit(file, ignoring(event, table));
    const error = await failure(storage.append(commit));
    expect(error.code).toBe("STORAGE_FAILED");
    expect(error.message).toContain(table);
    expect(error.details).not.toHaveProperty("outcome");
    expect(all(file)).toEqual(before);
    edit(file, "DROP TRIGGER t");
    await storage.append(commit);
    expect((await collect(storage.log(first.sessionId))).at(-1)?.hash).toBe(commit.hash);
    await storage.close();
  });
});

describe("a removal fails and removes nothing if a trigger ignores a write", () => {
  it.each<[string, string]>([
    ["INSERT", "phasegate_removed"],
    ["DELETE", "phasegate_payloads"],
    ["DELETE", "phasegate_commits"],
    ["DELETE", "phasegate_sessions"],
  ])("%s on %s", async (event, table) => {
    const file = await newDatabase();
    const storage = await SqliteStorage.open(file);
    await storage.append(first);
    await storage.append(nextCommit(first));
    const before = all(file);
    edit(file, ignoring(event, table));
    const error = await failure(storage.remove(first.sessionId));
    expect([error.code, error.message]).toEqual(["STORAGE_FAILED", expect.stringContaining(table)]);
    expect(all(file)).toEqual(before);
    edit(file, "DROP TRIGGER t");
    await storage.remove(first.sessionId);
    expect(await storage.read(first.sessionId)).toBeUndefined();
    await storage.close();
  });
});

it("a payload that the session already has is stored once, and the append succeeds", async () => {
  const storage = await SqliteStorage.open(await newDatabase());
  await storage.append(first);
  const again = nextCommit(first, { payloads: [payload] });
  await storage.append(again);
  expect(await storage.payload(first.sessionId, payload.hash)).toBe(payload.body);
  await storage.close();
});
