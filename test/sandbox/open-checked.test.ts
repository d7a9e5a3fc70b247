import { execFileSync } from "node:child_process";
import { appendFile, lstat, mkdir, open, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { isPhasegateError } from "../../src/errors.js";
import {
  checkRegular,
  identityOf,
  isOpenInside,
  isSameFile,
  openChecked,
  openSame,
  readBounded,
  signatureOf,
} from "../../src/sandbox/read.js";
import { openSandbox } from "../../src/sandbox/sandbox.js";
import { openHandles } from "./open-handles.js";
import { temporaryFolder } from "./temporary-folder.js";

let base: string;
let root: string;
let file: string;

beforeEach(async () => {
  base = await temporaryFolder();
  root = join(base, "root");
  file = join(root, "dir", "file");
  await mkdir(join(root, "dir"), { recursive: true });
  await mkdir(join(base, "out"));
  await writeFile(file, "inside");
  await writeFile(join(base, "out", "file"), "secret");
});

const stat = (path: string) => lstat(path, { bigint: true });

/** Replaces `root/dir` by a link to the folder outside. */
async function swapFolder(): Promise<void> {
  await rename(join(root, "dir"), join(root, "real"));
  await symlink(join(base, "out"), join(root, "dir"));
}

describe("openSame", () => {
  it("opens the file that was checked", async () => {
    const opened = await openSame(root, file, await stat(file));
    expect(await opened?.handle.readFile("utf8")).toBe("inside");
    await opened?.handle.close();
  });

  it("accepts a file that replaced the checked one only if the system shows that it is inside", async () => {
    const checked = await stat(file);
    await writeFile(join(root, "another"), "another");
    await rename(join(root, "another"), file);
    expect(await openSame(root, file, checked, join(base, "no-such-folder"))).toBeUndefined();
    const opened = await openSame(root, file, checked);
    if (process.platform === "linux") expect(await opened?.handle.readFile("utf8")).toBe("another");
    await opened?.handle.close();
    await swapFolder();
    expect(await openSame(root, file, checked)).toBeUndefined();
  });

  it("accepts a file that replaced the checked one, and was itself replaced once it was open", async () => {
    const [checked, handles] = [await stat(join(base, "out", "file")), join(base, "handles")];
    await mkdir(handles);
    for (let index = 0; index < 512; index += 1) await symlink(`${file} (deleted)`, join(handles, String(index)));
    const opened = await openSame(root, file, checked, handles);
    expect(await opened?.handle.readFile("utf8")).toBe("inside");
    await opened?.handle.close();
  });

  it("refuses a file that is missing, or has become a link or a FIFO", async () => {
    const checked = await stat(file);
    await rename(file, join(root, "kept"));
    expect(await openSame(root, file, checked)).toBeUndefined();
    await symlink(join(root, "kept"), file);
    expect(await openSame(root, file, checked)).toBeUndefined();
    await rm(file);
    execFileSync("mkfifo", [file]);
    expect(await openSame(root, file, await stat(file))).toBeUndefined();
  });

  it("detects that a parent folder was a link when it was checked and opened", async () => {
    await swapFolder();
    const outside = await stat(join(base, "out", "file"));
    expect(await openSame(root, file, outside)).toBeUndefined();
  });

  it("checks a second time if the system does not show the path of a handle", async () => {
    const none = join(base, "no-such-folder");
    const opened = await openSame(root, file, await stat(file), none);
    expect(opened).toBeDefined();
    await opened?.handle.close();
    await swapFolder();
    expect(await openSame(root, file, await stat(join(base, "out", "file")), none)).toBeUndefined();
  });

  it("checks a second time that the file is the opened one, and is still there", async () => {
    const handle = await open(file, "r");
    const isSame = async () => isOpenInside(root, file, handle, join(base, "none"));
    expect(await isSame()).toBe(true);
    await writeFile(join(root, "another"), "another");
    await rename(join(root, "another"), file);
    expect(await isSame()).toBe(false);
    await rm(file);
    expect(await isSame()).toBe(false);
    await handle.close();
  });

  it("closes the handle when a check fails", async () => {
    const handles = join(base, "handles");
    await mkdir(handles);
    // A file instead of a link: readlink fails for another reason than a missing name.
    await Promise.all(Array.from({ length: 512 }, (_, index) => writeFile(join(handles, String(index)), "")));
    const before = await openHandles(base);
    await expect(openSame(root, file, await stat(file), handles)).rejects.toMatchObject({ code: "EINVAL" });
    expect(await openHandles(base)).toBe(before);
  });
});

describe("openChecked", () => {
  it("reports a new link, so that it is resolved again", async () => {
    await symlink("file", join(root, "dir", "link"));
    expect((await checkRegular(join(root, "dir", "link"), "dir/link"))?.isSymbolicLink()).toBe(true);
    expect(await checkRegular(join(root, "dir", "gone"), "dir/gone")).toBeUndefined();
  });

  it("never returns a file from outside while a folder is swapped again and again, and leaves no handle open", async () => {
    const sandbox = await openSandbox(root);
    const inside = join(root, "dir");
    await rename(inside, join(root, "real"));
    await symlink("real", inside);
    let running = true;
    const swapping = (async () => {
      for (let turn = 0; running; turn += 1) {
        await symlink(turn % 2 === 0 ? join(base, "out") : "real", join(root, "next"));
        await rename(join(root, "next"), inside);
      }
    })();
    const before = await openHandles(base);
    const texts = new Set<string>();
    for (let round = 0; round < 1500; round += 1) {
      try {
        texts.add((await sandbox.read("dir/file", { maxBytes: 100 })).text);
      } catch (error) {
        if (!isPhasegateError(error, "PATH_REFUSED")) throw error;
      }
    }
    running = false;
    await swapping;
    expect([...texts]).toEqual(["inside"]);
    expect(await openHandles(base)).toBe(before);
  });

  it("reads a file that is replaced all the time, old or new, never torn", async () => {
    const sandbox = await openSandbox(root);
    const versions = ["a".repeat(5000), "b".repeat(7000)];
    await writeFile(file, "a".repeat(5000));
    let running = true;
    const replacing = (async () => {
      for (let turn = 0; running; turn += 1) {
        await writeFile(join(root, "next"), versions[turn % 2] ?? "");
        await rename(join(root, "next"), file);
      }
    })();
    for (let round = 0; round < 300; round += 1) {
      try {
        expect(versions).toContain((await sandbox.read("dir/file", { maxBytes: 10_000 })).text);
      } catch (error) {
        if (!isPhasegateError(error, "PATH_REFUSED")) throw error;
      }
    }
    running = false;
    await replacing;
  });

  it("stops after some attempts if a file is never there when it is opened", async () => {
    let looks = 0;
    const stale = async () => {
      looks += 1;
      return { real: join(root, "dir", "gone"), exists: true };
    };
    await expect(openChecked(root, "dir/file", stale)).rejects.toMatchObject({ code: "PATH_REFUSED" });
    expect(looks).toBe(5);
  });
});

describe("identityOf", () => {
  it("is the same for a renamed and changed file", async () => {
    const before = identityOf(signatureOf(await stat(file)));
    await rename(file, join(root, "moved"));
    await appendFile(join(root, "moved"), "more");
    expect(before).toMatch(/^\d+:\d+$/);
    expect(identityOf(signatureOf(await stat(join(root, "moved"))))).toBe(before);
  });

  it("is undefined if the file system has no inode numbers", () => {
    expect(identityOf({ key: "64:0:5:1:1", size: 5, changedAt: 0 })).toBeUndefined();
    expect(identityOf({ key: "another", size: 5, changedAt: 0 })).toBeUndefined();
  });

  it("differs for the same inode number on another device", async () => {
    const stats = await stat(file);
    const other = { ...stats, dev: stats.dev + 1n };
    expect(identityOf(signatureOf(other))).not.toBe(identityOf(signatureOf(stats)));
    expect(isSameFile(other, stats)).toBe(false);
  });
});

describe("readBounded", () => {
  it("reads what was appended to a file meanwhile, up to the limit", async () => {
    const handle = await open(file, "r");
    await appendFile(file, " and more");
    expect(new TextDecoder().decode(await readBounded(handle, "file", 6, 100))).toBe("inside and more");
    expect(new TextDecoder().decode(await readBounded(handle, "file", 0, 15))).toBe("inside and more");
    await expect(readBounded(handle, "file", 6, 14)).rejects.toMatchObject({ code: "TOO_LARGE" });
    await expect(readBounded(handle, "file", 15, 14)).rejects.toMatchObject({ code: "TOO_LARGE" });
    // Not a byte more is read than shows that the file is too large.
    await expect(readBounded(handle, "file", 4, 5)).rejects.toMatchObject({ details: { bytes: 6, limit: 5 } });
    await handle.close();
  });
});
