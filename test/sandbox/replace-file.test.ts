import { execFileSync } from "node:child_process";
import {
  chmod,
  chown,
  link,
  lstat,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  truncate,
  utimes,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { isPhasegateError } from "../../src/errors.js";
import { claimName, renameIfSame, sha256, syncFolder, writeTemporary } from "../../src/sandbox/replace.js";
import type { Sandbox } from "../../src/sandbox/sandbox.js";
import { openSandbox } from "../../src/sandbox/sandbox.js";
import { temporaryFolder } from "./temporary-folder.js";

const LIMIT = 1000;
let base: string;
let root: string;
let file: string;
let sandbox: Sandbox;

beforeEach(async () => {
  base = await temporaryFolder();
  root = join(base, "root");
  file = join(root, "dir", "file");
  await mkdir(join(root, "dir"), { recursive: true });
  await mkdir(join(base, "out"));
  await writeFile(file, "old");
  await writeFile(join(base, "out", "file"), "old");
  sandbox = await openSandbox(root);
});

const OLD = sha256(Buffer.from("old"));
const replace = (path: string, text = "new", hash = OLD, maxBytes = LIMIT) =>
  sandbox.replace(path, { text, hash, maxBytes });

/** Returns the code of an error, which never contains the root's path. */
async function refusal(call: Promise<unknown>): Promise<string> {
  const error: unknown = await call.catch((reason: unknown) => reason);
  if (!isPhasegateError(error)) throw new Error(`not refused: ${String(error)}`);
  expect(`${error.message} ${error.remedy} ${JSON.stringify(error.details)}`).not.toContain(base);
  return error.code;
}

describe("replace", () => {
  it("replaces a text, keeps the mode of the file, and leaves no temporary files", async () => {
    await chmod(file, 0o640);
    expect(await replace("dir/file", "é\r\n")).toBe(true);
    expect(await readFile(file, "utf8")).toBe("é\r\n");
    expect((await stat(file)).mode & 0o7777).toBe(0o640);
    expect(await readdir(join(root, "dir"))).toEqual(["file"]);
  });

  it("changes nothing if the text differs from the expected one", async () => {
    expect(await replace("dir/file", "new", sha256(Buffer.from("older")))).toBe(false);
    expect(await readFile(file, "utf8")).toBe("old");
    expect(await readdir(join(root, "dir"))).toEqual(["file"]);
  });

  it("replaces the target of a link inside the root, and keeps the link", async () => {
    await symlink(join("dir", "file"), join(root, "link"));
    expect(await replace("link")).toBe(true);
    expect((await lstat(join(root, "link"))).isSymbolicLink()).toBe(true);
    expect(await readFile(file, "utf8")).toBe("new");
  });

  it("refuses paths that lead outside, and anything but a regular file", async () => {
    await symlink(join(base, "out", "file"), join(root, "link"));
    await symlink(join(base, "out"), join(root, "folder"));
    execFileSync("mkfifo", [join(root, "fifo")]);
    for (const path of ["link", "folder/file", "../out/file", "dir", "fifo"]) {
      expect(await refusal(replace(path))).toBe("PATH_REFUSED");
    }
    expect(await readFile(join(base, "out", "file"), "utf8")).toBe("old");
    expect(await refusal(replace("dir/none"))).toBe("FILE_NOT_FOUND");
  });

  it("enforces the size limit, before and after", async () => {
    expect(await refusal(replace("dir/file", "too long", OLD, 5))).toBe("TOO_LARGE");
    expect(await refusal(replace("dir/file", "", OLD, 2))).toBe("TOO_LARGE");
    expect(await readFile(file, "utf8")).toBe("old");
    expect(await replace("dir/file", "newer", OLD, 5)).toBe(true);
  });

  it("refuses a file with several hard links; a write-protected one stays protected", async () => {
    await chmod(file, 0o444);
    await link(file, join(root, "other"));
    expect(await refusal(replace("other"))).toBe("STORAGE_FAILED");
    expect(await readFile(file, "utf8")).toBe("old");
    await rm(join(root, "other"));
    expect(await replace("dir/file")).toBe(true);
    expect((await stat(file)).mode & 0o777).toBe(0o444);
  });

  it("keeps the owner of the file", async ({ skip }) => {
    skip(process.getuid?.() !== 0, "only root may change an owner");
    await chown(file, 1234, 2345);
    expect(await replace("dir/file")).toBe(true);
    expect(await stat(file)).toMatchObject({ uid: 1234, gid: 2345 });
  });

  it("deletes the temporary files of killed writers, and nothing else", async () => {
    const names = [
      ".file.0a1b.phasegate.tmp",
      ".file.0a1c.phasegate.tmp",
      ".file.mine.phasegate.tmp",
      ".file.0a1d.tmp",
      ".file.0a1e.phasegate.bak",
      ".file.0a1f-mine.phasegate.tmp",
      ".lime.0a1b.phasegate.tmp",
    ];
    for (const name of names) {
      await writeFile(join(root, "dir", name), "left");
      if (name !== names[1]) await utimes(join(root, "dir", name), 1, 1);
    }
    expect(await replace("dir/file")).toBe(true);
    expect((await readdir(join(root, "dir"))).sort()).toEqual([...names.slice(1), "file"].sort());
  });

  it("waits for another writer's claim, and changes nothing if that writer has written", async () => {
    await writeFile(claimName(file), "");
    const call = replace("dir/file");
    // The new text is next to the file: from now on the call waits.
    await vi.waitFor(async () => expect(await readdir(join(root, "dir"))).toHaveLength(3));
    await writeFile(file, "odd");
    expect(await call).toBe(false);
    expect(await readFile(file, "utf8")).toBe("odd");
    expect((await readdir(join(root, "dir"))).sort()).toEqual([".file.phasegate.claim", "file"]);
  });

  it("accepts one of several concurrent calls, and the text is never torn", async () => {
    const texts = Array.from({ length: 10 }, (_, index) => `${index}`.repeat(500));
    const done = await Promise.all(texts.map((text) => replace("dir/file", text)));
    expect(texts.filter((_, index) => done[index])).toEqual([await readFile(file, "utf8")]);
    expect(await readdir(join(root, "dir"))).toEqual(["file"]);
  });

  it("writes nothing outside while a folder is swapped all the time", async () => {
    await rename(join(root, "dir"), join(root, "real"));
    await symlink("real", join(root, "dir"));
    let running = true;
    const swapping = (async () => {
      for (let turn = 0; running; turn += 1) {
        await symlink(turn % 2 === 0 ? join(base, "out") : "real", join(root, "next"));
        await rename(join(root, "next"), join(root, "dir"));
      }
    })();
    let text = "old";
    for (let round = 0; round < 200; round += 1) {
      try {
        if (await replace("dir/file", `${round}`, sha256(Buffer.from(text)))) text = `${round}`;
      } catch (error) {
        if (!isPhasegateError(error, "PATH_REFUSED")) throw error;
      }
    }
    running = false;
    await swapping;
    expect(text).not.toBe("old");
    expect(await readFile(join(base, "out", "file"), "utf8")).toBe("old");
    expect(await readdir(join(base, "out"))).toEqual(["file"]);
    expect(await readFile(join(root, "real", "file"), "utf8")).toBe(text);
  });
});

describe("writeTemporary", () => {
  it("refuses a folder that became a link to outside", async () => {
    const like = await stat(file, { bigint: true });
    await rename(join(root, "dir"), join(root, "real"));
    await symlink(join(base, "out"), join(root, "dir"));
    const written = writeTemporary(root, "dir/file", join(root, "dir", "t.tmp"), Buffer.from("new"), like);
    expect(await refusal(written)).toBe("PATH_REFUSED");
    expect(await readFile(join(base, "out", "t.tmp"), "utf8")).toBe("");
  });
});

it("syncFolder does nothing on Windows", async () => {
  const none = join(root, "none");
  await expect(syncFolder(none)).rejects.toMatchObject({ code: "ENOENT" });
  await expect(syncFolder(none, "win32")).resolves.toBeUndefined();
});

describe("renameIfSame", () => {
  const bytes = Buffer.from("old");
  const next = () => join(root, "dir", "t.tmp");
  beforeEach(async () => writeFile(next(), "new"));

  it("replaces a file with these bytes", async () => {
    expect(renameIfSame(next(), file, bytes)).toBe(true);
    expect(await readFile(file, "utf8")).toBe("new");
  });

  it.each([
    ["has other bytes", () => writeFile(file, "odd")],
    ["is longer", () => writeFile(file, "older")],
    ["has become too large to be read", () => truncate(file, 2 ** 40)],
    ["was deleted", () => rm(file)],
    ["has become a link", () => rm(file).then(() => symlink(join(base, "out", "file"), file))],
    ["has become a FIFO", () => rm(file).then(() => void execFileSync("mkfifo", [file]))],
  ])("keeps a file that %s", async (_, change) => {
    await change();
    expect(renameIfSame(next(), file, bytes)).toBe(false);
    expect(renameIfSame(next(), file, Buffer.from(""))).toBe(false);
    expect(await readFile(next(), "utf8")).toBe("new");
  });

  it("throws every other error", async () => {
    // A name with a NUL is refused without a system call.
    const refused = expect.objectContaining({ code: "ERR_INVALID_ARG_VALUE" });
    expect(() => renameIfSame("a\0", file, bytes)).toThrow(refused);
    expect(() => renameIfSame(next(), "a\0", bytes)).toThrow(refused);
  });

  it("returns false if the temporary file is missing", async () => {
    await rm(next());
    expect(renameIfSame(next(), file, bytes)).toBe(false);
    expect(await readFile(file, "utf8")).toBe("old");
  });
});
