import * as nodeFs from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { Disk } from "../../../src/storage/files/disk.js";
import type { FileSystem } from "../../../src/storage/files/file-system.js";
import { FileStorage } from "../../../src/storage/files/storage.js";
import { makeCommit, nextCommit } from "../../../src/testing/contract.js";
import { systemError } from "./faulty-fs.js";
import { temporaryRoots } from "./temporary-root.js";

const newRoot = temporaryRoots();

function failing(code: string) {
  return () => Promise.reject(systemError(code));
}

describe("a file system without hard links", () => {
  const fs: FileSystem = { ...nodeFs, link: failing("EPERM") };

  it("stores each commit in a folder, and the hint as a copy", async () => {
    const root = await newRoot();
    const storage = await FileStorage.open(root, { fs });
    const first = makeCommit();
    await storage.append(first);
    await storage.append(nextCommit(first));
    await storage.close();
    const names = await nodeFs.readdir(join(root, "sessions"), { recursive: true });
    const files = names.map((name) => name.split("session_1/")[1]).filter((name) => name !== undefined);
    expect(files.sort()).toEqual(["1", "1/commit.json", "2", "2/commit.json", "head"]);
  });

  it("finds the newest commit without the hint", async () => {
    const root = await newRoot();
    const storage = await FileStorage.open(root, { fs });
    const first = makeCommit();
    await storage.append(first);
    await storage.append(nextCommit(first));
    await storage.close();
    for await (const head of nodeFs.glob(join(root, "sessions/*/*/head"))) await nodeFs.writeFile(head, "torn");
    expect(await (await FileStorage.open(root)).read(first.sessionId)).toEqual(nextCommit(first));
  });

  it("keeps the store in this format when it is opened elsewhere", async () => {
    const root = await newRoot();
    const commit = makeCommit();
    await (await FileStorage.open(root, { fs })).append(commit);
    const storage = await FileStorage.open(root);
    await storage.append(nextCommit(commit));
    expect(await storage.read(commit.sessionId)).toEqual(nextCommit(commit));
  });

  it("cannot open a store that was created with hard links", async () => {
    const root = await newRoot();
    await FileStorage.open(root);
    await expect(FileStorage.open(root, { fs })).rejects.toMatchObject({
      code: "STORAGE_FAILED",
      remedy: expect.stringContaining("hard links"),
    });
  });

  it("is refused if a rename replaces folders there", async () => {
    const rename: typeof nodeFs.rename = async (from, to) => {
      await nodeFs.rm(to, { recursive: true, force: true });
      await nodeFs.rename(from, to);
    };
    await expect(FileStorage.open(await newRoot(), { fs: { ...fs, rename } })).rejects.toMatchObject({
      code: "STORAGE_FAILED",
      message: expect.stringContaining("a rename replaces folders"),
    });
  });

  it("distinguishes a version that exists from a rename that failed", async () => {
    let code = "";
    const rename: typeof nodeFs.rename = (from, to) =>
      code === "" || String(to).endsWith("head") ? nodeFs.rename(from, to) : failing(code)();
    const storage = await FileStorage.open(await newRoot(), { fs: { ...fs, rename } });
    const first = makeCommit();
    await storage.append(first);
    code = "EPERM";
    await expect(storage.append(nextCommit(first))).rejects.toMatchObject({ details: { cause: "EPERM" } });
    code = "ENOENT";
    await expect(storage.append(nextCommit(first))).rejects.toMatchObject({ code: "CONFLICT" });
    code = "";
    await storage.append(nextCommit(first));
  });

  it("reports the outcome as unknown if a rename fails after it was done", async () => {
    let isAnswerLost = false;
    const rename: typeof nodeFs.rename = async (from, to) => {
      await nodeFs.rename(from, to);
      if (isAnswerLost && String(to).endsWith("/2")) throw systemError("EIO");
    };
    const storage = await FileStorage.open(await newRoot(), { fs: { ...fs, rename } });
    const first = makeCommit();
    const second = nextCommit(first);
    await storage.append(first);
    isAnswerLost = true;
    await expect(storage.append(second)).rejects.toMatchObject({
      code: "STORAGE_FAILED",
      details: { outcome: "unknown" },
    });
    expect(await storage.read(first.sessionId)).toEqual(second);
    await storage.close();
  });

  it("reports the outcome as unknown if the version cannot be looked up", async () => {
    let isBroken = false;
    const rename: typeof nodeFs.rename = (from, to) =>
      isBroken && String(to).endsWith("/2") ? failing("EIO")() : nodeFs.rename(from, to);
    const stat = ((path: string) =>
      isBroken && path.endsWith("/2/commit.json") ? failing("EIO")() : nodeFs.stat(path)) as typeof nodeFs.stat;
    const storage = await FileStorage.open(await newRoot(), { fs: { ...fs, rename, stat } });
    const first = makeCommit();
    await storage.append(first);
    isBroken = true;
    await expect(storage.append(nextCommit(first))).rejects.toMatchObject({ details: { outcome: "unknown" } });
    await storage.close();
  });

  it("leaves no temporary files of a commit that could not be staged", async () => {
    const root = await newRoot();
    let isFull = false;
    const open: typeof nodeFs.open = (path, flags, mode) =>
      isFull && String(path).endsWith("commit.json") ? failing("ENOSPC")() : nodeFs.open(path, flags, mode);
    const storage = await FileStorage.open(root, { fs: { ...fs, open } });
    isFull = true;
    await expect(storage.append(makeCommit())).rejects.toMatchObject({ details: { cause: "ENOSPC" } });
    const names = await nodeFs.readdir(join(root, "sessions"), { recursive: true });
    expect(names.filter((name) => name.includes("tmp-"))).toEqual([]);
  });
});

describe("the format of a store", () => {
  it("is refused if it is newer", async () => {
    const root = await newRoot();
    await nodeFs.writeFile(join(root, "format.json"), '{"format":2,"publish":"copy"}');
    await expect(FileStorage.open(root)).rejects.toMatchObject({ code: "FORMAT_TOO_NEW", details: { found: 2 } });
  });

  it("is refused if it cannot be read", async () => {
    const root = await newRoot();
    for (const text of ["", "null", "{}", '{"format":1,"publish":"copy"}']) {
      await nodeFs.writeFile(join(root, "format.json"), text);
      await expect(FileStorage.open(root)).rejects.toMatchObject({
        code: "STORAGE_FAILED",
        message: expect.stringContaining("format.json is damaged"),
      });
    }
  });
});

describe("on Windows", () => {
  const unsynced: typeof nodeFs.open = async (path, flags, mode) => {
    const isFolder = await nodeFs.stat(path).then(
      (stat) => stat.isDirectory(),
      () => false,
    );
    if (isFolder) throw systemError("EPERM");
    return nodeFs.open(path, flags, mode);
  };

  it("folders need not be synced", async () => {
    const fs = { ...nodeFs, open: unsynced };
    const storage = await FileStorage.open(await newRoot(), { fs, platform: "win32" });
    await storage.append(makeCommit());
    await expect(FileStorage.open(await newRoot(), { fs, platform: "linux" })).rejects.toMatchObject({
      details: { cause: "EPERM" },
    });
  });

  // Its folder may be renamed next, which Windows refuses while a file in it is open.
  it("a new file is closed before it counts as written", async () => {
    const events: string[] = [];
    const slow: typeof nodeFs.open = async (path, flags, mode) => {
      const file = await nodeFs.open(path, flags, mode);
      const close = file.close.bind(file);
      file.close = async () => {
        await delay(20);
        await close();
        events.push("closed");
      };
      return file;
    };
    const disk = new Disk({ ...nodeFs, open: slow }, "win32");
    await disk.writeNew(join(await newRoot(), "one"), "text");
    events.push("written");
    expect(events).toEqual(["closed", "written"]);
  });

  it("a rename over an open file is repeated, up to a limit", async () => {
    const rename = vi.fn(nodeFs.rename);
    const root = await newRoot();
    const [from, to] = [join(root, "from"), join(root, "to")];
    await nodeFs.writeFile(from, "");
    const disk = new Disk({ ...nodeFs, rename }, "win32");
    rename.mockRejectedValueOnce(systemError("EBUSY")).mockRejectedValueOnce(systemError("EACCES"));
    await disk.replace(from, to);
    expect(rename).toHaveBeenCalledTimes(3);
    rename.mockRejectedValue(systemError("EPERM"));
    await expect(disk.replace(to, from)).rejects.toMatchObject({ code: "EPERM" });
    expect(rename).toHaveBeenCalledTimes(9);
    rename.mockRejectedValue(systemError("EIO"));
    await expect(disk.replace(to, from)).rejects.toMatchObject({ code: "EIO" });
    await expect(new Disk({ ...nodeFs, rename }, "linux").replace(to, from)).rejects.toMatchObject({ code: "EIO" });
    expect(rename).toHaveBeenCalledTimes(11);
  });
});
