import { execFileSync } from "node:child_process";
import { mkdir, readdir, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { RotatingFile } from "../../../src/cli/rotating-file.js";
import { FilePlans } from "../../../src/content/file-plans.js";
import { isPhasegateError } from "../../../src/errors.js";
import type { StorageAdapter } from "../../../src/ports/storage-adapter.js";
import { claimName } from "../../../src/sandbox/replace.js";
import { FileStorage } from "../../../src/storage/files/storage.js";
import { SqliteStorage } from "../../../src/storage/sqlite/storage.js";
import { collect, makeCommit, nextCommit } from "../../../src/testing/contract.js";
import { temporaryFolder } from "../../sandbox/temporary-folder.js";
import { failure } from "../../support/failure.js";
import { writeFiles } from "../../support/write-files.js";

const KINDS: Readonly<Record<string, (path: string) => Promise<unknown>>> = {
  "a folder": (path) => mkdir(path),
  "a FIFO": async (path) => execFileSync("mkfifo", [path]),
  "a link to nothing": (path) => symlink("nowhere", path),
};

const first = makeCommit({ payloads: [{ hash: "a".repeat(64), body: "evidence" }] });
const second = nextCommit(first, { body: "second" });
const id = first.sessionId;

/** Makes every call of a storage. Each must end, with a result or with an error of the library. */
const CALLS: readonly ((storage: StorageAdapter) => Promise<unknown>)[] = [
  (storage) => storage.read(id),
  (storage) => collect(storage.log(id)),
  (storage) => storage.payload(id, "a".repeat(64)),
  (storage) => storage.append(nextCommit(second)),
  (storage) => storage.append(makeCommit({ sessionId: "new" })),
  (storage) => storage.list({}),
  (storage) => storage.list({ status: ["active"] }),
  (storage) => storage.countActive(5),
  async (storage) => storage.size?.(id),
  async (storage) => storage.compact?.(id),
  (storage) => storage.remove(id),
];

describe("a special file in place of a storage file", () => {
  it.each(Object.keys(KINDS))("does not block any call: %s", async (kind) => {
    const files = (await filesOf(await stored())).length;
    expect(files).toBeGreaterThan(5);
    for (let nth = 0; nth < files; nth += 1) {
      const root = await stored();
      const file = join(root, (await filesOf(root))[nth] ?? "");
      await rm(file);
      await KINDS[kind]?.(file);
      const storage = await ourError(() => FileStorage.open(root));
      if (storage === undefined) continue;
      for (const call of CALLS) await ourError(() => call(storage));
      await storage.close?.();
    }
  });
});

describe("in place of a commit", () => {
  /** Returns the folder of the session, which has a second commit. */
  async function opened() {
    const root = await stored();
    const [folder] = (await filesOf(root))
      .filter((file) => file.endsWith("2.json"))
      .map((file) => join(root, file, ".."));
    if (folder === undefined) throw new Error("there is no second commit");
    return { root, folder };
  }

  it("a FIFO counts as damage of this session alone", async () => {
    const { root, folder } = await opened();
    await rm(join(folder, "2.json"));
    execFileSync("mkfifo", [join(folder, "2.json")]);
    const storage = await FileStorage.open(root);
    await expect(storage.read(id)).rejects.toMatchObject({ code: "TAMPERED" });
    await storage.append(makeCommit({ sessionId: "sound" }));
    const listed = (await storage.list({})).items.map(({ sessionId }) => sessionId);
    expect(listed).toContain("sound");
    await storage.close();
  });

  it("a folder is ignored if the pack has this version", async () => {
    const { root, folder } = await opened();
    const knows = await FileStorage.open(root);
    await knows.read(id);
    const third = nextCommit(second, { body: "third" });
    const packs = await FileStorage.open(root, { copyWindowMs: 0 });
    await packs.append(third);
    await packs.compact(id);
    await packs.close();
    for (const name of ["2.json", "3.json"]) await rm(join(folder, name), { force: true });
    await mkdir(join(folder, "2.json"));
    expect(await knows.read(id)).toEqual(third);
    await knows.close();
  });

  it("nothing lets another session begin in its folder", async () => {
    const { root, folder } = await opened();
    await rm(join(folder, "1.json"));
    const storage = await FileStorage.open(root);
    await expect(storage.append(first)).rejects.toMatchObject({ code: "CONFLICT" });
    expect(await readdir(folder)).not.toContain("1.json");
    await storage.close();
  });

  it("a link to itself is reported with its version", async () => {
    const { root, folder } = await opened();
    await rm(join(folder, "1.json"));
    await symlink("1.json", join(folder, "1.json"));
    const storage = await FileStorage.open(root);
    await expect(storage.read(id)).rejects.toMatchObject({ code: "TAMPERED", details: { version: 1 } });
    await storage.close();
  });
});

describe("in place of a SQLite file", () => {
  it.each(["", "-journal", "-wal", "-shm"])("a FIFO or a folder is refused: x.db%s", async (ending) => {
    for (const kind of ["a FIFO", "a folder"]) {
      const file = join(await temporaryFolder(), "x.db");
      await (await SqliteStorage.open(file)).close();
      await rm(`${file}${ending}`, { force: true });
      await KINDS[kind]?.(`${file}${ending}`);
      expect(await failure(SqliteStorage.open(file))).toMatchObject({ code: "STORAGE_FAILED" });
    }
  });
});

it("a FIFO in place of a log file is refused", async () => {
  const path = join(await temporaryFolder(), "x.log");
  execFileSync("mkfifo", [path]);
  expect(() => new RotatingFile(path, pino())).toThrow(/ENXIO|EACCES/);
});

it.each(Object.keys(KINDS))("%s in place of a plan's claim is named by the error, at every call", async (kind) => {
  const root = await temporaryFolder();
  await writeFiles(root, { "tasks.md": "# Plan\n" });
  await KINDS[kind]?.(claimName(join(root, "tasks.md")));
  const plans = new FilePlans({ root });
  const found = await plans.read("tasks.md");
  for (let call = 0; call < 3; call += 1) {
    expect(await failure(plans.replace("tasks.md", found?.hash ?? "", "# Ticked\n"))).toMatchObject({
      code: "STORAGE_FAILED",
      message: expect.stringContaining(".tasks.md.phasegate.claim"),
    });
  }
  expect((await plans.read("tasks.md"))?.text).toBe("# Plan\n");
});

/** Creates the folder of a storage with two sessions in it. */
async function stored(): Promise<string> {
  const root = await temporaryFolder();
  const storage = await FileStorage.open(root);
  for (const commit of [first, second, makeCommit({ sessionId: "other" })]) await storage.append(commit);
  await storage.close?.();
  return root;
}

async function filesOf(root: string): Promise<string[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath.slice(root.length), entry.name))
    .sort();
}

/** Returns the result of a call; undefined if it fails with an error of the library. */
async function ourError<T>(call: () => Promise<T>): Promise<T | undefined> {
  try {
    return await call();
  } catch (error) {
    if (!isPhasegateError(error)) throw error;
    return undefined;
  }
}
