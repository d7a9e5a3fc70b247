import fs, { renameSync } from "node:fs";
import { copyFile, cp, readdir, rename, rm, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { dirname, join } from "node:path";
import { DatabaseSync, StatementSync } from "node:sqlite";
import { afterEach, describe, expect, it, vi } from "vitest";
import { SqliteStorage } from "../../../src/storage/sqlite/storage.js";
import { makeCommit, nextCommit } from "../../../src/testing/contract.js";
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

describe("a commit is not acknowledged", () => {
  it.each(["", "-wal"])("if sessions.db%s was moved during the write", async (suffix) => {
    const file = await newDatabase();
    const storage = await SqliteStorage.open(file);
    await storage.append(first);
    const run = StatementSync.prototype.run;
    vi.spyOn(StatementSync.prototype, "run").mockImplementation(function (this: StatementSync, ...values) {
      if (this.sourceSQL === "COMMIT") renameSync(`${file}${suffix}`, `${file}.old`);
      return run.apply(this, values);
    });
    const error = await failure(storage.append(second));
    expect([error.code, error.details]).toEqual(["STORAGE_FAILED", expect.objectContaining({ outcome: "unknown" })]);
    await storage.close();
  });

  it("if the write-ahead log was deleted", async () => {
    const file = await newDatabase();
    const storage = await SqliteStorage.open(file);
    await storage.append(first);
    await rm(`${file}-wal`);
    const error = await failure(storage.append(second));
    expect([error.code, error.message]).toEqual(["STORAGE_FAILED", expect.stringContaining(`${file}-wal was moved`)]);
    expect(error.details, "nothing was written").not.toHaveProperty("outcome");
    await storage.close();
  });
});

describe("while the folder does not change", () => {
  /** Opens a database in a folder that has been unchanged for a minute, and appends the first commit. */
  async function settled() {
    const file = await newDatabase();
    const storage = await SqliteStorage.open(file);
    const aMinuteAgo = new Date(Date.now() - 60_000);
    await utimes(dirname(file), aMinuteAgo, aMinuteAgo);
    await storage.append(first);
    return { file, storage };
  }

  it("the files themselves are not looked up: that would slow down the next sync", async () => {
    const { file, storage } = await settled();
    const looked: unknown[] = [];
    const { statSync } = fs;
    vi.spyOn(fs, "statSync").mockImplementation((...given) => {
      looked.push(given[0]);
      return Reflect.apply(statSync, fs, given);
    });
    syncBuiltinESMExports();
    await storage.append(second);
    expect(looked, "before and after it").toEqual([dirname(file), dirname(file)]);
    vi.restoreAllMocks();
    syncBuiltinESMExports();
    await storage.close();
  });

  it.each([
    ["the file is deleted", (file: string) => rm(file)],
    ["the log is deleted", (file: string) => rm(`${file}-wal`)],
    [
      "the log is replaced",
      (file: string) => writeFile(`${file}.new`, "").then(() => rename(`${file}.new`, `${file}-wal`)),
    ],
    ["the folder is moved", (file: string) => rename(dirname(file), `${dirname(file)}.old`)],
    [
      "the folder is replaced by a copy of the same age",
      async (file: string) => {
        const { atime, mtime } = await stat(dirname(file));
        await cp(dirname(file), `${dirname(file)}.new`, { recursive: true });
        await rename(dirname(file), `${dirname(file)}.old`);
        await rename(`${dirname(file)}.new`, dirname(file));
        await utimes(dirname(file), atime, mtime);
      },
    ],
  ])("a write is refused as soon as %s", async (_, change) => {
    const { file, storage } = await settled();
    await storage.append(second);
    await change(file);
    const error = await failure(storage.append(nextCommit(second)));
    expect(error.code).toBe("STORAGE_FAILED");
    expect(error.details, "nothing was written").not.toHaveProperty("outcome");
    await storage.close();
  });

  it("another file in it changes nothing", async () => {
    const { file, storage } = await settled();
    await writeFile(join(dirname(file), "other.txt"), "");
    await storage.append(second);
    expect(await storage.read(first.sessionId)).toEqual(second);
    await storage.close();
  });
});
