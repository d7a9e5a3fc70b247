import { PostgresStorage } from "phasegate/postgres";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { makeCommit, nextCommit } from "../../../src/testing/contract.js";
import { failure } from "../../support/failure.js";
import { newSchema, postgresUrl, runSql } from "../../support/postgres.ts";

let url = "";
beforeAll(async () => {
  url = await postgresUrl();
}, 60_000);

let [schema, storage] = ["", {} as PostgresStorage];
beforeEach(async () => {
  schema = newSchema();
  storage = await PostgresStorage.open({ url, schema });
});
afterEach(() => storage.close());

describe("changes", () => {
  it("goes on after the session with the newest commit was removed, and its tombstone is gone", async () => {
    const [first, last] = [makeCommit({ sessionId: "first" }), makeCommit({ sessionId: "last" })];
    await storage.append(first);
    await storage.append(last);
    const tombstone = nextCommit(last, { summary: { status: "deleted" } });
    await storage.append(tombstone);
    const before = await storage.changes("phased");
    await storage.remove(last.sessionId);
    await runSql(url, `DELETE FROM ${schema}.commits WHERE session_id = 'last'`);
    const removed = await storage.changes("phased", before.position);
    expect(removed.sessionIds).toEqual(["last"]);
    expect((await storage.changes("phased", removed.position)).sessionIds).toEqual([]);
    await storage.append(nextCommit(first));
    expect((await storage.changes("phased", removed.position)).sessionIds).toEqual(["first"]);
  });

  it("refuses a position whose commit the server has lost: another may have its transaction's number now", async () => {
    const first = makeCommit();
    await storage.append(first);
    const lost = nextCommit(first);
    await storage.append(lost);
    const { position } = await storage.changes("phased");
    await runSql(
      url,
      `DELETE FROM ${schema}.commits WHERE version = 2`,
      `UPDATE ${schema}.sessions SET version = 1, hash = '${first.hash}'`,
    );
    expect((await failure(storage.changes("phased", position))).code).toBe("CURSOR_INVALID");
  });

  it("names a commit whose transaction began before the position and ended after it", async () => {
    const [slow, quick] = [makeCommit({ sessionId: "slow" }), makeCommit({ sessionId: "quick" })];
    await storage.append(slow);
    const next = nextCommit(slow);
    const { Client } = await import("pg");
    const client = new Client({ connectionString: url });
    await client.connect();
    const onClient = await PostgresStorage.open({ client, schema });
    await client.query("BEGIN");
    await onClient.append(next);
    await storage.append(quick);
    const between = await storage.changes("phased");
    await client.query("COMMIT");
    expect((await storage.changes("phased", between.position)).sessionIds).toEqual(["slow"]);
    await client.end();
  });

  for (const wrong of ["1:2", "2:1:", "0:5:", "3:5:4,4", "3:5:3,9", "1:1: 1", "1:1: 99999999999999999999 a b"]) {
    it(`refuses the position ${wrong}`, async () => {
      expect((await failure(storage.changes("phased", wrong))).code).toBe("CURSOR_INVALID");
    });
  }
});
