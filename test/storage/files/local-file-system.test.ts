import { constants } from "node:fs";
import * as pooled from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type FileSystem, localFileSystem } from "../../../src/storage/files/file-system.js";
import { Background } from "../../../src/storage/files/layout.js";
import { temporaryRoots } from "./temporary-root.js";

const newRoot = temporaryRoots();
const READ = constants.O_RDONLY | constants.O_NONBLOCK;
const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL;

describe.each([
  ["on a local disk", localFileSystem],
  ["in Node's pool", pooled satisfies FileSystem],
])("the file system %s", (_, fs) => {
  it("writes, syncs and reads a file of any length", async () => {
    for (const length of [0, 1, 70_000]) {
      const path = join(await newRoot(), "file");
      const data = Buffer.alloc(length, "abc");
      const written = await fs.open(path, CREATE, 0o600);
      await written.writeFile(data);
      await written.sync();
      await written.close();
      const file = await fs.open(path, READ);
      const buffer = Buffer.alloc(length + 1);
      expect(await file.read(buffer, 0, length + 1, 0)).toMatchObject({ bytesRead: length });
      expect(buffer.subarray(0, length).equals(data)).toBe(true);
      expect(await file.read(buffer, 0, 1, 1)).toMatchObject({ bytesRead: length > 1 ? 1 : 0 });
      expect((await file.readFile()).equals(data)).toBe(true);
      expect(await file.stat()).toMatchObject({ size: length });
      await file.close();
      expect(await fs.stat(path)).toMatchObject({ size: length });
      expect(await fs.stat(path, { bigint: true })).toMatchObject({ size: BigInt(length) });
    }
  });

  it("opens a folder for a sync", async () => {
    const folder = await fs.open(await newRoot(), READ);
    await expect(folder.sync()).resolves.toBeUndefined();
    await folder.close();
  });

  it("says why a call fails", async () => {
    const root = await newRoot();
    const taken = join(root, "taken");
    await (await fs.open(taken, CREATE)).close();
    const missing = join(root, "missing");
    await expect(fs.stat(missing)).rejects.toMatchObject({ code: "ENOENT" });
    await expect(fs.stat(missing, { bigint: true })).rejects.toMatchObject({ code: "ENOENT" });
    await expect(fs.open(missing, READ)).rejects.toMatchObject({ code: "ENOENT" });
    await expect(fs.open(taken, CREATE)).rejects.toMatchObject({ code: "EEXIST" });
    await expect(fs.stat(join(missing, "inside"))).rejects.toMatchObject({ code: "ENOENT" });
    await expect(fs.stat(join(taken, "inside"))).rejects.toMatchObject({ code: "ENOTDIR" });
    await expect(fs.stat(join(taken, "further", "inside"))).rejects.toMatchObject({ code: "ENOTDIR" });
    const folder = await fs.open(root, READ);
    await expect(folder.read(Buffer.alloc(5), 0, 5, 0)).rejects.toMatchObject({ code: "EISDIR" });
    await folder.close();
  });
});

describe("the tasks of a store", () => {
  // If a pause went on, these tests would not end.
  const FOREVER = 1_000_000_000;

  it("do not pause while somebody waits for all of them", async () => {
    const background = new Background();
    const done: string[] = [];
    background.run("key", async () => {
      await background.pause(FOREVER);
      done.push("first");
    });
    background.run("key", async () => {
      await background.pause(FOREVER);
      done.push("second");
    });
    await background.idle();
    expect(done).toEqual(["first", "second"]);
  });

  it("pause otherwise, and fail alone", async () => {
    const background = new Background();
    const done: string[] = [];
    background.run("key", async () => {
      await background.pause(1);
      throw new Error("for nobody");
    });
    await new Promise<void>((resolve) => {
      background.run("key", async () => {
        await background.pause(1);
        resolve();
      });
    });
    background.run("other", async () => {
      await background.pause(FOREVER);
      done.push("last");
    });
    expect(done).toEqual([]);
    await background.idle();
    expect(done).toEqual(["last"]);
  });
});
