import { DatabaseSync, StatementSync } from "node:sqlite";
import { describe, expect, it, vi } from "vitest";
import { SqliteStorage } from "../../../src/storage/sqlite/storage.js";
import { commitChain, makeCommit, nextCommit } from "../../../src/testing/contract.js";
import { failure } from "../../support/failure.js";
import { newDatabases } from "./new-database.js";

const newDatabase = newDatabases();

/** Opens two connections to one database, as two processes have them. */
async function connections() {
  const file = await newDatabase();
  const [here, there] = [await SqliteStorage.open(file), await SqliteStorage.open(file)];
  return { file, here, there };
}

/** Runs SQL as a person at a SQL prompt does. */
function edit(file: string, sql: string): void {
  const database = new DatabaseSync(file);
  database.exec(sql);
  database.close();
}

describe("the cached state of a session", () => {
  it("is discarded once another connection has written to it", async () => {
    const { here, there } = await connections();
    const [first, second, third] = commitChain(3);
    if (second === undefined || third === undefined) throw new Error("a chain of three");
    await here.append(first);
    await there.append(second);
    expect(await here.read(first.sessionId)).toEqual(second);
    expect(await failure(there.append(second))).toMatchObject({ code: "CONFLICT" });
    await here.append(third);
    expect(await there.read(first.sessionId)).toEqual(third);
  });

  it("is discarded once the file was edited", async () => {
    const { file, here } = await connections();
    const first = makeCommit({ body: '{"events":[]}' });
    await here.append(first);
    expect((await here.read(first.sessionId))?.body).toBe(first.body);
    edit(file, "UPDATE phasegate_commits SET body = 'forged'");
    expect((await here.read(first.sessionId))?.body).toBe("forged");
  });

  it("is discarded when the session is removed, in all connections", async () => {
    const { here, there } = await connections();
    const first = makeCommit({ summary: { status: "deleted" } });
    await here.append(first);
    expect(await there.read(first.sessionId)).toEqual(first);
    await here.remove(first.sessionId);
    for (const storage of [here, there]) {
      expect(await storage.read(first.sessionId)).toBeUndefined();
      expect(await failure(storage.append(first))).toMatchObject({ code: "CONFLICT" });
    }
  });

  it("is not changed by an append that conflicts, nor by a caller", async () => {
    const { here } = await connections();
    const [first, second] = commitChain(2);
    if (second === undefined) throw new Error("a chain of two");
    await here.append(first);
    await failure(here.append({ ...second, previousHash: "another" }));
    const read = await here.read(first.sessionId);
    expect(read).toEqual(first);
    Object.assign(read?.summary ?? {}, { target: "changed" });
    expect(await here.read(first.sessionId)).toEqual(first);
    await here.append(second);
    expect(await here.read(first.sessionId)).toEqual(second);
  });

  it("is discarded when a COMMIT fails, even if it was done", async () => {
    const { here } = await connections();
    const [first, second, third] = commitChain(3);
    if (second === undefined || third === undefined) throw new Error("a chain of three");
    await here.append(first);
    const run = StatementSync.prototype.run;
    const spy = vi.spyOn(StatementSync.prototype, "run").mockImplementation(function (this: StatementSync, ...values) {
      const result = run.apply(this, values);
      if (this.sourceSQL === "COMMIT") throw new Error("the answer was lost");
      return result;
    });
    await failure(here.append(second));
    spy.mockRestore();
    expect(await here.read(first.sessionId)).toEqual(second);
    await here.append(third);
  });

  it("is limited: many sessions and long bodies are all read correctly", async () => {
    const { here } = await connections();
    const commits = Array.from({ length: 300 }, (_, index) => makeCommit({ sessionId: `many_${index}` }));
    const long = makeCommit({ body: "x".repeat(300_000) });
    for (const commit of [...commits, long]) await here.append(commit);
    for (const commit of [long, ...commits]) expect(await here.read(commit.sessionId)).toEqual(commit);
    for (const commit of [long, ...commits]) await here.append(nextCommit(commit));
  });
});
