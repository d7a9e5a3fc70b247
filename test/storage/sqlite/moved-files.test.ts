import { renameSync } from "node:fs";
import { copyFile, readdir, rename, rm, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { DatabaseSync, StatementSync } from "node:sqlite";
import { afterEach, describe, expect, it, vi } from "vitest";
import { SqliteStorage } from "../../../src/storage/sqlite/storage.js";
import { makeCommit, nextCommit } from "../../../src/testing/commits.js";
import { failure } from "../../support/failure.js";
import { newDatabases } from "./new-database.js";

const newDatabase = newDatabases();
afterEach(() => vi.restoreAllMocks());

const first = makeCommit();
const second = nextCommit(first);

describe("a database whose file was moved or replaced acknowledges no write", () => {
  const ways: [string, (file: string) => Promise<unknown>][] = [
    ["moved", (file) => rename(file, `${file}.old`)],
    ["deleted", (file) => rm(file)],
    ["replaced by a copy", (file) => copyFile(file, `${file}.new`).then(() => rename(`${file}.new`, file))],
    ["moved with its folder", (file) => rename(dirname(file), `${dirname(file)}.old`)],
  ];
  for (const [name, move] of ways) {
    it.each(["by its name", "by the host"])(`${name}, opened %s`, async (how) => {
      const file = await newDatabase();
      const own = how === "by its name" ? undefined : new DatabaseSync(file);
      const storage = await SqliteStorage.open(own ?? file);
      await storage.append(first);
      await move(file);
      for (const call of [() => storage.append(second), () => storage.remove(first.sessionId)]) {
        const error = await failure(call());
        expect([error.code, error.message]).toEqual([
          "STORAGE_FAILED",
          expect.stringContaining(`${file} was moved, deleted or replaced while the database was open`),
        ]);
        expect(error.details, "nothing was written").not.toHaveProperty("outcome");
      }
      await storage.close();
      own?.close();
    });
  }

  it("until the file is moved back", async () => {
    const file = await newDatabase();
    const storage = await SqliteStorage.open(file);
    await storage.append(first);
    await rename(file, `${file}.old`);
    expect(await failure(storage.append(second))).toMatchObject({ code: "STORAGE_FAILED" });
    expect(await readdir(dirname(file)), "no new file is created").not.toContain("sessions.db");
    await rename(`${file}.old`, file);
    await storage.append(second);
    await storage.close();
  });

  it("if it was opened through a link that was changed", async () => {
    const [file, other] = [await newDatabase(), await newDatabase()];
    const link = join(dirname(file), "link.db");
    await (await SqliteStorage.open(other)).close();
    await symlink(file, link);
    const storage = await SqliteStorage.open(file).then(() => SqliteStorage.open(link));
    await storage.append(first);
    await rm(link);
    await symlink(other, link);
    expect(await failure(storage.append(second))).toMatchObject({ code: "STORAGE_FAILED" });
    await storage.close();
  });
});

it("a commit to a file that was moved during the write is not acknowledged", async () => {
  const file = await newDatabase();
  const storage = await SqliteStorage.open(file);
  await storage.append(first);
  const run = StatementSync.prototype.run;
  vi.spyOn(StatementSync.prototype, "run").mockImplementation(function (this: StatementSync, ...values) {
    if (this.sourceSQL === "COMMIT") renameSync(file, `${file}.old`);
    return run.apply(this, values);
  });
  const error = await failure(storage.append(second));
  expect([error.code, error.details]).toEqual(["STORAGE_FAILED", expect.objectContaining({ outcome: "unknown" })]);
  await storage.close();
});

it("a commit whose write-ahead log was deleted is not acknowledged", async () => {
  const file = await newDatabase();
  const storage = await SqliteStorage.open(file);
  await storage.append(first);
  await rm(`${file}-wal`);
  const error = await failure(storage.append(second));
  expect([error.code, error.message, error.details]).toEqual([
    "STORAGE_FAILED",
    expect.stringContaining(`${file}-wal was moved`),
    expect.objectContaining({ outcome: "unknown" }),
  ]);
  await storage.close();
});
