import { execFileSync } from "node:child_process";
import { lstatSync } from "node:fs";
import {
  chmod,
  link,
  lstat,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { isPhasegateError } from "../../src/errors.js";
import { fill } from "../../src/sandbox/read.js";
import { sha256 } from "../../src/sandbox/replace.js";
import type { Sandbox } from "../../src/sandbox/sandbox.js";
import { openSandbox } from "../../src/sandbox/sandbox.js";
import { holdFolder, makeFolder, renameChecked, saveFile } from "../../src/sandbox/save.js";
import { temporaryFolder } from "./temporary-folder.js";

let base: string;
let root: string;
let sandbox: Sandbox;

beforeEach(async () => {
  base = await temporaryFolder();
  root = join(base, "root");
  await mkdir(join(root, "dir"), { recursive: true });
  await mkdir(join(base, "out"));
  await writeFile(join(base, "out", "file"), "outside");
  sandbox = await openSandbox(root);
});

const save = (path: string, text = "new", maxBytes = 1000) => sandbox.save(path, { text, maxBytes });

/** Returns the code of an error, which never contains the root's path. */
async function refusal(call: Promise<unknown>): Promise<string> {
  const error: unknown = await call.then(
    (value) => expect.fail(`not refused: ${JSON.stringify(value)}`),
    (reason: unknown) => reason,
  );
  if (!isPhasegateError(error)) throw error;
  expect(`${error.message} ${error.remedy} ${JSON.stringify(error.details)}`).not.toContain(base);
  return error.code;
}

describe("save", () => {
  it("creates a file and its folders for their owner alone, without temporary files", async () => {
    expect(await save("a/b/c.md", "é")).toEqual({ bytes: 2, hash: sha256(Buffer.from("é")), replaced: false });
    expect(await readFile(join(root, "a/b/c.md"), "utf8")).toBe("é");
    expect((await stat(join(root, "a/b/c.md"))).mode & 0o777).toBe(0o600);
    expect((await stat(join(root, "a"))).mode & 0o777).toBe(0o700);
    expect(await readdir(join(root, "a/b"))).toEqual(["c.md"]);
  });

  it("replaces a file, and deletes the temporary files of a killed writer", async () => {
    await writeFile(join(root, "dir/file"), "old");
    const left = join(root, "dir/.file.0123abcd.phasegate.tmp");
    await writeFile(left, "half");
    const before = new Date(Date.now() - 120_000);
    await utimes(left, before, before);
    expect(await save("dir/file")).toMatchObject({ replaced: true });
    expect(await readdir(join(root, "dir"))).toEqual(["file"]);
  });

  it("refuses links of every kind, folders and files with several hard links, and does not change their targets", async () => {
    await symlink(join(base, "out"), join(root, "leads-out"));
    await symlink("dir", join(root, "leads-in"));
    await symlink(join(base, "out/file"), join(root, "dir/link"));
    await symlink("nowhere", join(root, "dir/dangling"));
    await writeFile(join(root, "own"), "own");
    await symlink("../own", join(root, "dir/inner"));
    await link(join(base, "out/file"), join(root, "dir/hard"));
    for (const path of [
      "leads-out/new",
      "leads-out/a/new",
      "leads-in/new",
      "dir/link",
      "dir/inner",
      "dir/dangling",
      "dir/dangling/new",
      "dir/hard",
      "dir",
      ".",
    ]) {
      expect(await refusal(save(path)), path).toBe("PATH_REFUSED");
    }
    expect(await readFile(join(base, "out/file"), "utf8")).toBe("outside");
    expect(await readdir(join(base, "out"))).toEqual(["file"]);
    expect((await readdir(join(root, "dir"))).sort()).toEqual(["dangling", "hard", "inner", "link"]);
    expect(await readFile(join(root, "own"), "utf8")).toBe("own");
  });

  it("refuses a FIFO without waiting for a reader", async ({ skip }) => {
    skip(process.platform === "win32", "Windows has no FIFOs");
    execFileSync("mkfifo", [join(root, "dir/fifo")]);
    expect(await refusal(save("dir/fifo"))).toBe("PATH_REFUSED");
  });

  it("refuses a file in place of a folder, and a text above the size limit", async () => {
    await writeFile(join(root, "dir/file"), "old");
    expect(await refusal(save("dir/file/new"))).toBe("PATH_REFUSED");
    expect(await refusal(save("dir/large", "x".repeat(1001)))).toBe("TOO_LARGE");
    expect(await readFile(join(root, "dir/file"), "utf8")).toBe("old");
  });

  it("refuses a file that is replaced again and again meanwhile, and accepts one of another save, or none", async () => {
    const [target, temporary] = [join(root, "dir/file"), join(root, "dir/temporary")];
    await writeFile(target, "old");
    await writeFile(temporary, "new");
    const before = await lstat(target, { bigint: true });
    let looks = 0;
    const changing = () => {
      looks += 1;
      return lstatSync(looks % 2 === 1 ? temporary : target, { bigint: true });
    };
    expect(() => renameChecked(temporary, target, "dir/file", before, changing)).toThrow(
      "it changed while it was being replaced",
    );
    expect(looks).toBe(5);
    expect(await readFile(target, "utf8")).toBe("old");
    await writeFile(join(root, "dir/other"), "other");
    await rename(join(root, "dir/other"), target);
    renameChecked(temporary, target, "dir/file", before);
    expect(await readFile(target, "utf8")).toBe("new");
    await rm(target);
    await writeFile(temporary, "newer");
    renameChecked(temporary, target, "dir/file", before);
    expect(await readFile(target, "utf8")).toBe("newer");
  });

  it("refuses withheld names", async () => {
    const kept = await openSandbox(root, {
      refuse: (path) => (/(^|\/)kept/.test(path) ? "it is kept back" : undefined),
    });
    for (const path of ["kept/new", "kept", "dir/kept", "new/kept"]) {
      expect(await refusal(kept.save(path, { text: "x", maxBytes: 10 })), path).toBe("PATH_REFUSED");
    }
    expect(await readdir(join(root, "dir"))).toEqual([]);
    expect(await refusal(kept.makeFolder("kept"))).toBe("PATH_REFUSED");
    await kept.save("other", { text: "x", maxBytes: 10 });
    expect(await readdir(root)).toEqual(["dir", "other"]);
  });

  it("saves directly in the root", async () => {
    expect(await saveFile(root, "top", { text: "x", maxBytes: 10 })).toMatchObject({ bytes: 1 });
  });
});

describe("holdFolder", () => {
  it("keeps a folder: files are written there, even if its name leads elsewhere meanwhile", async () => {
    const held = await holdFolder(root, "dir");
    await rename(join(root, "dir"), join(root, "moved"));
    await symlink(join(base, "out"), join(root, "dir"));
    await writeFile(join(held.place, "new"), "x");
    await held.sync();
    await held.close();
    expect(await readdir(join(base, "out"))).toEqual(["file"]);
    expect(await readdir(join(root, "moved"))).toEqual(["new"]);
  });

  it("refuses a folder that is missing, or has become a file or a link", async () => {
    expect(await refusal(holdFolder(root, "nowhere"))).toBe("FILE_NOT_FOUND");
    const became = (path: string) => async () => ({ real: join(root, path), exists: true });
    await writeFile(join(root, "file"), "x");
    await symlink("dir", join(root, "link"));
    expect(await refusal(holdFolder(root, "file", { resolve: became("file") }))).toBe("PATH_REFUSED");
    expect(await refusal(holdFolder(root, "link", { resolve: became("link") }))).toBe("PATH_REFUSED");
    expect(await refusal(holdFolder(root, "gone", { resolve: became("gone") }))).toBe("FILE_NOT_FOUND");
    await symlink("loop", join(root, "loop"));
    expect(await refusal(holdFolder(root, "loop/x", { resolve: became("loop/x") }))).toBe("PATH_REFUSED");
  });

  it("refuses a folder that was moved out of the root before it was opened", async () => {
    // A parent folder leads outside by now, and the last name is not a link.
    await mkdir(join(base, "out/inner"));
    await symlink(join(base, "out"), join(root, "way"));
    const resolve = async () => ({ real: join(root, "way/inner"), exists: true });
    expect(await refusal(holdFolder(root, "way/inner", { resolve }))).toBe("PATH_REFUSED");
    expect(await refusal(holdFolder(root, "way/inner", { resolve, handles: "/nowhere" }))).toBe("PATH_REFUSED");
  });

  it("uses the folder's name if the system does not show or open folders", async () => {
    for (const holding of [{ handles: "/nowhere" }, { platform: "win32" }]) {
      const held = await holdFolder(root, "dir", holding);
      expect(held.place).toBe(join(root, "dir"));
      await held.sync();
      await held.close();
    }
  });

  it("throws errors of the file system", async ({ skip }) => {
    skip(process.getuid?.() === 0, "root may open every folder");
    await chmod(join(root, "dir"), 0o000);
    await expect(holdFolder(root, "dir")).rejects.toThrow("EACCES");
    await chmod(join(root, "dir"), 0o700);
  });

  it("throws errors unrelated to the folder", async () => {
    const long = "x".repeat(300);
    const resolve = async () => ({ real: join(root, long), exists: true });
    await expect(holdFolder(root, long, { resolve })).rejects.toThrow("ENAMETOOLONG");
  });
});

describe("makeFolder", () => {
  it("creates a folder and its parents; one of several concurrent calls returns true", async () => {
    expect(await sandbox.makeFolder("a/b")).toBe(true);
    expect(await sandbox.makeFolder("a/b")).toBe(false);
    expect(await sandbox.makeFolder(".")).toBe(false);
    const made = await Promise.all([1, 2, 3, 4, 5].map(() => sandbox.makeFolder("one")));
    expect(made.filter(Boolean)).toHaveLength(1);
    expect(await makeFolder(root, "one")).toBe(false);
  });

  it("creates none behind a link, or in a deleted root", async () => {
    await symlink(join(base, "out"), join(root, "leads-out"));
    expect(await refusal(sandbox.makeFolder("leads-out/new"))).toBe("PATH_REFUSED");
    await expect(makeFolder(root, `dir/${"x".repeat(300)}`)).rejects.toThrow("ENAMETOOLONG");
    await rm(root, { recursive: true });
    expect(await refusal(sandbox.makeFolder("new"))).toBe("FILE_NOT_FOUND");
  });
});

describe("readPart", () => {
  it("returns the existing bytes, and never more than requested", async () => {
    await writeFile(join(root, "dir/file"), "0123456789");
    const part = async (offset: number, length: number) => {
      const { bytes, signature } = await sandbox.readPart("dir/file", { offset, length });
      return [Buffer.from(bytes).toString(), signature.size];
    };
    expect(await part(0, 4)).toEqual(["0123", 10]);
    expect(await part(8, 4)).toEqual(["89", 10]);
    expect(await part(20, 4)).toEqual(["", 10]);
    expect(await refusal(sandbox.readPart("dir", { offset: 0, length: 1 }))).toBe("PATH_REFUSED");
  });

  it("takes no more memory than the rest of the file", async () => {
    await writeFile(join(root, "dir/file"), "0123456789");
    const { bytes } = await sandbox.readPart("dir/file", { offset: 8, length: 1_000_000 });
    expect(bytes.buffer.byteLength).toBe(2);
  });

  it("ends early if the file became shorter meanwhile", async () => {
    await writeFile(join(root, "dir/file"), "0123456789");
    const handle = await open(join(root, "dir/file"));
    expect(await fill(handle, new Uint8Array(20), 4)).toBe(6);
    await handle.close();
  });
});

describe("a sandbox with withheld names", () => {
  it("withholds a file under every name, and lists it as refused", async () => {
    const kept = await openSandbox(root, {
      refuse: (path) => (path.includes("secret") ? "it is kept back" : undefined),
    });
    await writeFile(join(root, "dir/secret"), "x");
    await writeFile(join(root, "dir/open"), "x");
    await symlink("secret", join(root, "dir/innocent"));
    for (const path of ["dir/secret", "dir/innocent"]) {
      expect(await refusal(kept.read(path, { maxBytes: 10 })), path).toBe("PATH_REFUSED");
      expect(await refusal(kept.readPart(path, { offset: 0, length: 1 })), path).toBe("PATH_REFUSED");
      expect(await refusal(kept.signature(path)), path).toBe("PATH_REFUSED");
    }
    const kinds = (await kept.list("dir")).map(({ path, kind }) => `${path} ${kind}`);
    expect(kinds).toEqual(["dir/innocent refused", "dir/open file", "dir/secret refused"]);
    expect((await kept.walk(".")).entries).toHaveLength(3);
    expect(await kept.read("dir/open", { maxBytes: 10 })).toMatchObject({ text: "x" });
  });
});

describe("a save", () => {
  it("may be as long as its limit", async () => {
    expect(await sandbox.save("new/file", { text: "12345", maxBytes: 5 })).toMatchObject({ bytes: 5, replaced: false });
    await expect(sandbox.save("file", { text: "123456", maxBytes: 5 })).rejects.toMatchObject({
      ...{ code: "TOO_LARGE", details: { file: "file", bytes: 6, limit: 5 } },
    });
  });

  it("says what stands in its place", async () => {
    await mkdir(join(root, "folder"));
    await symlink("folder", join(root, "link"));
    const save = (path: string) => sandbox.save(path, { text: "x", maxBytes: 5 });
    await expect(save(".")).rejects.toThrow("it is a folder, not a file");
    await expect(save("folder")).rejects.toThrow("it is a folder, not a file");
    await expect(save("link")).rejects.toThrow("it is a link");
  });

  it("checks a file again that another save has made meanwhile", async () => {
    const [temporary, target] = [join(root, "temporary"), join(root, "target")];
    await writeFile(temporary, "mine");
    await writeFile(target, "theirs");
    const stats = lstatSync(target, { bigint: true });
    const seen = [stats, stats];
    renameChecked(temporary, target, "target", undefined, () => seen.pop());
    expect(seen).toEqual([]);
    expect(await readFile(target, "utf8")).toBe("mine");
  });
});
