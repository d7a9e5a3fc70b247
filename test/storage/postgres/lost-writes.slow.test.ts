import { PostgresStorage } from "phasegate/postgres";
import { beforeAll, describe, expect, it } from "vitest";
import { collect, makeCommit, nextCommit } from "../../../src/testing/contract.js";
import { failure } from "../../support/failure.js";
import { newSchema, postgresUrl, runSql } from "../../support/postgres.ts";

let url = "";
beforeAll(async () => {
  url = await postgresUrl();
}, 60_000);

/** Creates a trigger that drops rows without an error; returns a function that deletes it. */
async function dropping(schema: string, event: string, table: string): Promise<() => Promise<unknown>> {
  await runSql(
    url,
    `CREATE FUNCTION ${schema}.drop_row() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'`,
    `CREATE TRIGGER t BEFORE ${event} ON ${schema}.${table} FOR EACH ROW EXECUTE FUNCTION ${schema}.drop_row()`,
  );
  return () => runSql(url, `DROP FUNCTION ${schema}.drop_row CASCADE`);
}

async function openAt(schema: string) {
  const storage = await PostgresStorage.open({ url, schema, maxConnections: 2 });
  const rows = () =>
    Promise.all(["sessions", "commits", "payloads"].map((table) => runSql(url, `SELECT * FROM ${schema}.${table}`)));
  return { storage, rows };
}

const WORDS = "a row was not written, though the server reported no error";
const payload = { hash: "0".repeat(64), body: "large" };
const first = makeCommit({ payloads: [payload] });
const second = nextCommit(first, { payloads: [payload, { hash: "1".repeat(64), body: "other" }] });

describe("an append fails and writes nothing if a trigger drops a row", () => {
  it.each<[string, string, typeof first]>([
    ["INSERT", "sessions", first],
    ["INSERT", "commits", first],
    ["INSERT", "payloads", first],
    ["UPDATE", "sessions", second],
    ["INSERT", "commits", second],
    ["INSERT", "commits", nextCommit(first)],
    ["INSERT", "payloads", second],
  ])("%s on %s", async (event, table, commit) => {
    for (const when of ["before it was opened", "while it is open"]) {
      const schema = newSchema();
      const { storage: plain, rows } = await openAt(schema);
      if (commit !== first) await plain.append(first);
      const before = await rows();
      const restore = await dropping(schema, event, table);
      const storage = when === "while it is open" ? plain : (await openAt(schema)).storage;
      // The second time, the storage knows that rows are dropped.
      for (const _ of [1, 2]) {
        const error = await failure(storage.append(commit));
        expect([error.code, error.details]).toEqual(["STORAGE_FAILED", { operation: "append", cause: WORDS }]);
        expect(await rows(), when).toEqual(before);
      }
      await restore();
      await storage.append(commit);
      expect((await collect(storage.log(first.sessionId))).at(-1)?.hash).toBe(commit.hash);
      await Promise.all([storage.close(), plain.close()]);
    }
  });
});

it("an append fails if a rule replaces a table, and the error names the rule", async () => {
  for (const table of ["sessions", "commits"]) {
    const schema = newSchema();
    const { storage, rows } = await openAt(schema);
    await runSql(url, `CREATE RULE r AS ON INSERT TO ${schema}.${table} DO INSTEAD NOTHING`);
    const again = await openAt(schema);
    for (const opened of [again.storage, storage]) {
      const error = await failure(opened.append(makeCommit()));
      expect([error.code, error.message]).toEqual(["STORAGE_FAILED", expect.stringContaining("a rule on a table")]);
      expect(await rows()).toEqual([[], [], []]);
      await opened.close();
    }
  }
});

it("an append reports a conflict even with a trigger on the table", async () => {
  const schema = newSchema();
  const { storage } = await openAt(schema);
  await storage.append(first);
  await dropping(schema, "UPDATE", "sessions");
  expect((await failure(storage.append(first))).code).toBe("CONFLICT");
  expect((await failure(storage.append(nextCommit(second)))).code).toBe("CONFLICT");
  await storage.close();
});

describe("a removal fails and removes nothing if a trigger keeps a row", () => {
  it.each<[string, string]>([
    ["DELETE", "commits"],
    ["DELETE", "payloads"],
    ["UPDATE", "sessions"],
  ])("%s on %s", async (event, table) => {
    const schema = newSchema();
    const { storage, rows } = await openAt(schema);
    await storage.append(first);
    const before = await rows();
    const restore = await dropping(schema, event, table);
    const error = await failure(storage.remove(first.sessionId));
    expect([error.code, error.details]).toEqual(["STORAGE_FAILED", { operation: "remove", cause: WORDS }]);
    expect(await rows()).toEqual(before);
    await restore();
    await storage.remove(first.sessionId);
    expect(await storage.read(first.sessionId)).toBeUndefined();
    await storage.close();
  });
});
