import { constants } from "node:fs";
import * as pooled from "node:fs/promises";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, describe, expect, it, vi } from "vitest";
import { type FileSystem, localFileSystem, type OpenFile } from "../../../src/storage/files/file-system.js";
import { Background } from "../../../src/storage/files/layout.js";
import { temporaryRoots } from "./temporary-root.js";

const newRoot = temporaryRoots();
const READ = constants.O_RDONLY | constants.O_NONBLOCK;
/** Nothing is found below a file on Windows, and a folder can't be synced. */
const onWindows = process.platform === "win32";
const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL;

const NAMES = { encoding: "latin1" } as const;

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

  it.skipIf(onWindows)("opens a folder for a sync", async () => {
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
    const below = onWindows ? "ENOENT" : "ENOTDIR";
    await expect(fs.stat(join(taken, "inside"))).rejects.toMatchObject({ code: below });
    await expect(fs.stat(join(taken, "further", "inside"))).rejects.toMatchObject({ code: below });
    await expect(fs.open(join(taken, "inside"), READ)).rejects.toMatchObject({ code: below });
    await expect(fs.readdir(missing, NAMES)).rejects.toMatchObject({ code: "ENOENT" });
    await expect(fs.readdir(taken, NAMES)).rejects.toMatchObject({ code: "ENOTDIR" });
    const folder = await fs.open(root, READ);
    await expect(folder.read(Buffer.alloc(5), 0, 5, 0)).rejects.toMatchObject({ code: "EISDIR" });
    await folder.close();
  });
});

describe("on a local disk", () => {
  const fs = localFileSystem;

  afterEach(() => vi.restoreAllMocks());

  /** Returns true if a call has ended before the event loop turns. */
  async function isAtOnce(call: () => Promise<unknown>): Promise<boolean> {
    // No time passes: it is not the turn of others.
    vi.spyOn(performance, "now").mockReturnValue(0);
    let hasEnded = false;
    const ending = call()
      .catch(() => {})
      .finally(() => {
        hasEnded = true;
      });
    for (let step = 0; step < 20; step += 1) await null;
    const wasAtOnce = hasEnded;
    await ending;
    return wasAtOnce;
  }

  it("looks and short reads are done at once, and long reads are not", async () => {
    const path = join(await newRoot(), "file");
    await pooled.writeFile(path, Buffer.alloc(200_000));
    const file = await fs.open(path, READ);
    const read = (length: number) => isAtOnce(() => file.read(Buffer.alloc(length), 0, length, 0));
    expect(await isAtOnce(() => fs.stat(path))).toBe(true);
    expect(await isAtOnce(() => fs.stat(`${path} missing`))).toBe(true);
    expect(await isAtOnce(() => file.stat())).toBe(true);
    expect([await read(10_000), await read(64 * 1024)]).toEqual([true, true]);
    expect([await read(64 * 1024 + 1), await read(200_000)]).toEqual([false, false]);
    expect(await isAtOnce(() => file.readFile())).toBe(false);
    expect(await isAtOnce(() => file.close())).toBe(true);
    expect(await isAtOnce(async () => (await fs.open(path, READ)).close())).toBe(true);
  });

  it.skipIf(onWindows)(
    "the names of a small folder are read at once, and those of a large one are not",
    async ({ skip }) => {
      const folder = await newRoot();
      await pooled.writeFile(join(folder, "name"), "");
      expect(await isAtOnce(() => fs.readdir(folder, NAMES))).toBe(true);
      const names = Array.from({ length: 1000 }, (_, index) => `${index}`.padStart(40, "0"));
      for (const name of names) await pooled.writeFile(join(folder, name), "");
      expect((await fs.readdir(folder, NAMES)).sort()).toEqual([...names, "name"]);
      skip((await pooled.stat(folder)).size < 8 * 1024, "this file system counts names");
      expect(await isAtOnce(() => fs.readdir(folder, NAMES))).toBe(false);
    },
  );

  it("a file is linked and a short text written at once, and it is not made, synced and closed at once", async () => {
    const path = join(await newRoot(), "file");
    let file: OpenFile | undefined;
    const making = async () => {
      file = await fs.open(path, CREATE, 0o600);
    };
    expect(await isAtOnce(making)).toBe(false);
    expect((await fs.stat(path)).mode & 0o077).toBe(0);
    expect(await isAtOnce(async () => file?.writeFile("text"))).toBe(true);
    expect(await isAtOnce(async () => file?.writeFile(Buffer.alloc(64 * 1024)))).toBe(true);
    expect(await isAtOnce(async () => file?.writeFile(Buffer.alloc(64 * 1024 + 1)))).toBe(false);
    const written = await pooled.readFile(path);
    expect(written.equals(Buffer.concat([Buffer.from("text"), Buffer.alloc(2 * 64 * 1024 + 1)]))).toBe(true);
    expect(await isAtOnce(async () => file?.sync())).toBe(false);
    expect(await isAtOnce(() => fs.link(path, `${path} linked`))).toBe(true);
    expect(await isAtOnce(() => fs.link(path, `${path} linked`))).toBe(true);
    await expect(fs.link(path, `${path} linked`)).rejects.toMatchObject({ code: "EEXIST" });
    await expect(fs.link(`${path} missing`, `${path} other`)).rejects.toMatchObject({ code: "ENOENT" });
    expect(await isAtOnce(async () => file?.close())).toBe(false);
  });

  it("others have their turn during a long series of looks", async () => {
    const root = await newRoot();
    let turns = 0;
    const counting = setInterval(() => {
      turns += 1;
    }, 1);
    const begun = performance.now();
    while (performance.now() - begun < 200) await fs.stat(root);
    clearInterval(counting);
    // Not one for each 5 ms: the machine may be busy.
    expect(turns).toBeGreaterThan(3);
  });

  it.runIf(process.platform === "linux")("no file stays open", async () => {
    const root = await newRoot();
    const opened = async () => (await pooled.readdir("/proc/self/fd")).length;
    const before = await opened();
    for (let index = 0; index < 100; index += 1) {
      await (await fs.open(join(root, String(index)), CREATE)).close();
      await (await fs.open(root, READ)).close();
    }
    expect(await opened()).toBeLessThan(before + 50);
  });
});

describe("the tasks of a store", () => {
  // If a pause went on, these tests would not end.
  const FOREVER = 1_000_000_000;

  it("end their pauses when somebody waits for all of them, and don't pause then", async () => {
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
    await nextTurn();
    expect(done).toEqual([]);
    await background.idle();
    expect(done).toEqual(["first", "second"]);
  });

  it("pause for their time otherwise, and fail alone", async () => {
    const background = new Background();
    background.run("key", async () => {
      await background.pause(1);
      throw new Error("for nobody");
    });
    const begun = performance.now();
    await new Promise<void>((resolve) => {
      background.run("key", async () => {
        await background.pause(50);
        resolve();
      });
    });
    expect(performance.now() - begun).toBeGreaterThan(40);
  });

  it("can be waited for although others begin all the time", async () => {
    const background = new Background();
    let isOver = false;
    const another = async (): Promise<void> => {
      await nextTurn();
      if (!isOver) background.run("key", another);
    };
    background.run("key", another);
    await background.current();
    isOver = true;
    await background.idle();
  });
});
