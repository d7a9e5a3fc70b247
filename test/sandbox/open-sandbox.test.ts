import { execFileSync } from "node:child_process";
import { renameSync, rmSync, symlinkSync } from "node:fs";
import { chmod, link, mkdir, rename, rm, symlink, truncate, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { errnoOf, isPhasegateError } from "../../src/errors.js";
import { byPath, entryOf } from "../../src/sandbox/list.js";
import { unreadable, unwritable } from "../../src/sandbox/refusals.js";
import { resolveInside, resolveUnless } from "../../src/sandbox/resolve.js";
import type { Sandbox } from "../../src/sandbox/sandbox.js";
import { isFolder, openIfThere, openSandbox } from "../../src/sandbox/sandbox.js";
import { temporaryFolder } from "./temporary-folder.js";

const LINUX = process.platform === "linux";
const LIMIT = { maxBytes: 1000 };
let base: string;
let root: string;
let sandbox: Sandbox;

beforeEach(async () => {
  base = await temporaryFolder();
  root = join(base, "root");
  await mkdir(join(root, "a", "b"), { recursive: true });
  await writeFile(join(root, "a", "b", "file.md"), "inside");
  await mkdir(join(base, "root-fake"));
  await writeFile(join(base, "root-fake", "secret.md"), "secret");
  await writeFile(join(base, "secret.md"), "secret");
  sandbox = await openSandbox(root);
});

/** Returns the code of an error; checks that the error does not contain the root's path. */
async function refusal(call: Promise<unknown>): Promise<string> {
  const error: unknown = await call.then(
    (value) => expect.fail(`not refused: ${JSON.stringify(value)}`),
    (reason: unknown) => reason,
  );
  if (!isPhasegateError(error)) throw error;
  expect(`${error.message} ${error.remedy} ${JSON.stringify(error.details)}`).not.toContain(base);
  return error.code;
}

describe("openSandbox", () => {
  it("accepts a root that is a link", async () => {
    await symlink(root, join(base, "link-to-root"));
    const linked = await openSandbox(join(base, "link-to-root"));
    expect((await linked.read("a/b/file.md", LIMIT)).text).toBe("inside");
  });

  it("refuses a root that is missing or not a folder", async () => {
    expect(await refusal(openSandbox(join(base, "nowhere")))).toBe("FILE_NOT_FOUND");
    expect(await refusal(openSandbox(join(base, "secret.md")))).toBe("PATH_REFUSED");
    expect(await refusal(openSandbox("\0"))).toBe("STORAGE_FAILED");
  });

  it("opens a root only if it exists, and refuses a file", async () => {
    expect(await openIfThere(join(base, "nowhere"))).toBeUndefined();
    const opened = await openIfThere(root, { refuse: () => "no entry" });
    expect(await refusal(opened?.check("a") ?? Promise.resolve())).toBe("PATH_REFUSED");
    expect(await refusal(openIfThere(join(base, "secret.md")))).toBe("PATH_REFUSED");
  });

  it("distinguishes folders from everything else", async () => {
    await symlink(join(base, "root-fake"), join(root, "out"));
    const answers = ["a", ".", "a/b/file.md", "nowhere", "out", "../root-fake"].map((path) => isFolder(sandbox, path));
    expect(await Promise.all(answers)).toEqual([true, true, false, false, false, false]);
    const broken = { ...sandbox, list: () => Promise.reject(new TypeError("broken")) };
    await expect(isFolder(broken, "a")).rejects.toThrow(TypeError);
  });

  it("reports every file as missing if the root was deleted", async () => {
    await rm(root, { recursive: true });
    expect(await refusal(sandbox.read("a/b/file.md", LIMIT))).toBe("FILE_NOT_FOUND");
    await expect(sandbox.check("new.md")).rejects.toMatchObject({ code: "FILE_NOT_FOUND", details: { file: "." } });
  });

  it("refuses everything once the root was replaced by a link to elsewhere", async () => {
    await rename(root, join(base, "moved"));
    await symlink(join(base, "root-fake"), root);
    expect(await refusal(sandbox.read("secret.md", LIMIT))).toBe("PATH_REFUSED");
  });
});

describe("isCurrent", () => {
  it("returns true while the root's name leads to the folder that was opened", async () => {
    const link = join(base, "current");
    await symlink(root, link);
    const linked = await openSandbox(link);
    expect(await linked.isCurrent()).toBe(true);
    await rm(link);
    expect(await linked.isCurrent()).toBe(false);
    await symlink(join(base, "root-fake"), link);
    expect(await linked.isCurrent()).toBe(false);
    expect((await linked.read("a/b/file.md", LIMIT)).text).toBe("inside");
    await rm(link);
    await symlink("current", link);
    expect(await refusal(linked.isCurrent())).toBe("STORAGE_FAILED");
    await expect(linked.isCurrent()).rejects.toThrow('"." can\'t be read (ELOOP)');
  });
});

describe("read", () => {
  it("returns the text and a signature that changes with the file", async () => {
    const before = await sandbox.read("a/b/file.md", LIMIT);
    expect(before).toMatchObject({ text: "inside", signature: { size: 6 } });
    expect(await sandbox.signature("a/b/file.md")).toEqual(before.signature);
    await writeFile(join(root, "a", "b", "file.md"), "longer than before");
    expect((await sandbox.signature("a/b/file.md"))?.key).not.toBe(before.signature.key);
  });

  it("uses the later of a file's two times as its change", async () => {
    await utimes(join(root, "a", "b", "file.md"), 0, 4_000_000_000);
    expect((await sandbox.signature("a/b/file.md"))?.changedAt).toBe(4_000_000_000_000);
    await utimes(join(root, "a", "b", "file.md"), 0, 0);
    expect((await sandbox.signature("a/b/file.md"))?.changedAt).toBeGreaterThan(1_000_000_000_000);
  });

  it("returns bytes on request", async () => {
    await writeFile(join(root, "raw"), Uint8Array.of(255, 0, 1));
    expect((await sandbox.readBytes("raw", LIMIT)).bytes).toEqual(Uint8Array.of(255, 0, 1));
  });

  it("reads an empty file, and keeps a byte order mark", async () => {
    await writeFile(join(root, "empty"), "");
    await writeFile(join(root, "marked"), "\uFEFFa");
    expect((await sandbox.read("empty", LIMIT)).text).toBe("");
    expect((await sandbox.read("marked", LIMIT)).text).toBe("\uFEFFa");
  });

  it.each(["../secret.md", "a/../../secret.md", "/etc/passwd", "C:\\x", "..\\secret.md", "a\0b", "", "  "])(
    "refuses the path %j",
    async (path) => {
      expect(await refusal(sandbox.read(path, LIMIT))).toBe("PATH_REFUSED");
    },
  );

  it("reports a missing file, and a path below a file", async () => {
    expect(await refusal(sandbox.read("a/none.md", LIMIT))).toBe("FILE_NOT_FOUND");
    expect(await refusal(sandbox.read("x/y/z.md", LIMIT))).toBe("FILE_NOT_FOUND");
    expect(await refusal(sandbox.read("a/b/file.md/below", LIMIT))).toBe("FILE_NOT_FOUND");
    expect(await sandbox.signature("a/none.md")).toBeUndefined();
  });

  it("refuses anything but a regular file, without waiting", async () => {
    execFileSync("mkfifo", [join(root, "pipe")]);
    await expect(sandbox.read("pipe", LIMIT)).rejects.toThrow('the path "pipe" is refused: it is not a regular file');
    await expect(sandbox.read("a", LIMIT)).rejects.toThrow('the path "a" is refused: it is a folder, not a file');
    expect(await refusal(sandbox.signature("a"))).toBe("PATH_REFUSED");
    const devices = await openSandbox("/dev");
    expect(await refusal(devices.read("null", LIMIT))).toBe("PATH_REFUSED");
  });

  it("enforces the size limit exactly", async () => {
    await writeFile(join(root, "big"), "x".repeat(1000));
    expect((await sandbox.read("big", LIMIT)).text).toHaveLength(1000);
    await writeFile(join(root, "big"), "x".repeat(1001));
    expect(await refusal(sandbox.read("big", LIMIT))).toBe("TOO_LARGE");
    await truncate(join(root, "big"), 2 ** 40);
    expect(await refusal(sandbox.read("big", LIMIT))).toBe("TOO_LARGE");
  });

  it("refuses bytes that are not UTF-8", async () => {
    await writeFile(join(root, "latin"), Uint8Array.of(0x61, 0xe9, 0x62));
    await writeFile(join(root, "surrogate"), Uint8Array.of(0xed, 0xa0, 0x80));
    expect(await refusal(sandbox.read("latin", LIMIT))).toBe("INVALID_INPUT");
    expect(await refusal(sandbox.read("surrogate", LIMIT))).toBe("INVALID_INPUT");
  });

  it("names neither path nor system error if a file is not readable", async ({ skip }) => {
    skip(process.getuid?.() === 0, "root may read every file");
    await chmod(join(root, "a", "b", "file.md"), 0);
    expect(await refusal(sandbox.read("a/b/file.md", LIMIT))).toBe("STORAGE_FAILED");
  });

  it("names neither path nor system error if the file system fails", async ({ skip }) => {
    skip(!LINUX, "only Linux has a file that can be opened and not read");
    // A page of memory that no process may read: it can be opened, but not read.
    const own = await openSandbox("/proc/self");
    expect(await refusal(own.read("mem", LIMIT))).toBe("STORAGE_FAILED");
  });
});

describe("links", () => {
  const to = (target: string, name: string) => symlink(target, join(root, name));

  it("are followed inside the root, over several steps, relative and absolute", async () => {
    await to("a/b/file.md", "one");
    await to(join(root, "one"), "two");
    await to("a", "folder");
    expect((await sandbox.read("two", LIMIT)).text).toBe("inside");
    expect((await sandbox.read("folder/b/file.md", LIMIT)).text).toBe("inside");
    await sandbox.check("folder/b/new.md");
  });

  it("that lead outside are refused with the same error, whether the target exists or not", async () => {
    await to("../secret.md", "out");
    await to(base, "up");
    await to("../root-fake", "sibling");
    await to("../nothing.md", "dangling");
    await to("out", "chain");
    await to("loop", "loop");
    const paths = ["out", "up/secret.md", "up/none.md", "sibling/secret.md", "dangling", "chain", "loop", "dangling/x"];
    const reasons = new Set<string>();
    for (const path of paths) {
      const error: unknown = await sandbox.read(path, LIMIT).catch((reason: unknown) => reason);
      if (!isPhasegateError(error, "PATH_REFUSED")) throw error;
      reasons.add(error.details.reason);
      expect(await refusal(sandbox.check(path))).toBe("PATH_REFUSED");
      expect(await refusal(sandbox.signature(path))).toBe("PATH_REFUSED");
    }
    expect(reasons.size).toBe(1);
  });

  it("that lead back inside through a folder outside are followed for existing files only", async () => {
    await symlink(join(root, "a"), join(base, "root-fake", "back"));
    await to("../root-fake", "sibling");
    expect((await sandbox.read("sibling/back/b/file.md", LIMIT)).text).toBe("inside");
    expect(await refusal(sandbox.check("sibling/new"))).toBe("PATH_REFUSED");
  });

  it("that are hard links are read as files", async () => {
    await link(join(root, "a", "b", "file.md"), join(root, "hard"));
    expect((await sandbox.read("hard", LIMIT)).text).toBe("inside");
  });
});

describe("check", () => {
  it("accepts paths inside, existing or not", async () => {
    for (const path of [".", "a", "a/b/file.md", "new.md", "x/y/z", "..name/x", "a/b/file.md/below"]) {
      await expect(sandbox.check(path)).resolves.toBeUndefined();
    }
  });

  it("refuses paths that lead outside", async () => {
    expect(await refusal(sandbox.check("../root-fake/x"))).toBe("PATH_REFUSED");
    await symlink("../root-fake", join(root, "sibling"));
    expect(await refusal(sandbox.check("sibling/not/there/yet"))).toBe("PATH_REFUSED");
    // Whether a name of this length exists can't be said.
    expect(await refusal(resolveInside(root, `a/${"x".repeat(300)}`))).toBe("PATH_REFUSED");
  });
});

describe("list and walk", () => {
  it("lists a folder by kind, sorted, and marks refused entries", async () => {
    await writeFile(join(root, "z.md"), "");
    await writeFile(join(root, "back\\slash"), "");
    await writeFile(join(root, "line\nbreak"), "");
    await symlink("../secret.md", join(root, "out"));
    await symlink("a", join(root, "alias"));
    execFileSync("mkfifo", [join(root, "pipe")]);
    const kinds = (await sandbox.list(".")).map(({ path, kind }) => [path, kind]);
    expect(kinds).toEqual([
      ["a", "folder"],
      ["alias", "folder"],
      ["back\\slash", "refused"],
      ["line\nbreak", "refused"],
      ["out", "refused"],
      ["pipe", "refused"],
      ["z.md", "file"],
    ]);
    expect((await sandbox.list("a/b")).map(({ path }) => path)).toEqual(["a/b/file.md"]);
  });

  it("marks withheld names, and links to them", async () => {
    const kept = await openSandbox(root, {
      refuse: (path) => (path.includes("secret") ? "it is kept back" : undefined),
    });
    await writeFile(join(root, "secret.md"), "");
    await mkdir(join(root, "secrets"));
    await symlink("secret.md", join(root, "plain.md"));
    const kinds = [
      ["a", "folder"],
      ["plain.md", "refused"],
      ["secret.md", "refused"],
      ["secrets", "refused"],
    ];
    expect((await kept.list(".")).map(({ path, kind }) => [path, kind])).toEqual(kinds);
  });

  it("returns the same signatures for many files as one by one, for links and withheld files too", async () => {
    const kept = await openSandbox(root, {
      refuse: (path) => (path.includes("secret") ? "it is kept back" : undefined),
    });
    await writeFile(join(root, "secret.md"), "");
    await symlink("secret.md", join(root, "plain.md"));
    await symlink("a/b/file.md", join(root, "inside.md"));
    await symlink("../root-fake/secret.md", join(root, "out.md"));
    const { signature } = await kept.read("a/b/file.md", LIMIT);
    const paths = [
      "a/b/file.md",
      "inside.md",
      "a/none.md",
      "none/file.md",
      "secret.md",
      "plain.md",
      "out.md",
      "a",
      ".",
    ];
    const code = (error: unknown) => (isPhasegateError(error) ? error.code : error);
    const signed = await Promise.all(paths.map((path) => kept.signature(path).catch(code)));
    const refused = paths.slice(4).map(() => "PATH_REFUSED");
    expect(signed).toEqual([signature, signature, undefined, undefined, ...refused]);
    // A folder that was just resolved is resolved again, as it may lead outside by now.
    const before = kept.signature("a/b/file.md");
    renameSync(join(root, "a"), join(base, "gone"));
    symlinkSync(join(base, "gone"), join(root, "a"));
    await before.catch(code);
    expect(await kept.signature("a/b/file.md").catch(code)).toBe("PATH_REFUSED");
  });

  it("omits a name that disappeared since the folder was read", async () => {
    expect(await entryOf(root, root, ".", { name: "gone", isSymbolicLink: () => false })).toBeUndefined();
    await writeFile(join(root, "brief"), "");
    // `refuse` is asked about a name before the file is looked at.
    const changing = await openSandbox(root, { refuse: (path) => void (path === "brief" && rmSync(join(root, path))) });
    expect((await changing.list(".")).map(({ path }) => path)).toEqual(["a"]);
  });

  it("sorts by path, for any order of the file system", () => {
    const paths = ["b", "c", "a"].map((path) => ({ path, kind: "refused" as const }));
    expect(paths.sort(byPath).map(({ path }) => path)).toEqual(["a", "b", "c"]);
  });

  it("refuses to list a file, a link to outside and a missing folder", async () => {
    await symlink(base, join(root, "up"));
    expect(await refusal(sandbox.list("a/b/file.md"))).toBe("PATH_REFUSED");
    expect(await refusal(sandbox.list("up"))).toBe("PATH_REFUSED");
    expect(await refusal(sandbox.walk("none"))).toBe("FILE_NOT_FOUND");
  });

  it("walks every folder once, even with cyclic links", async () => {
    await symlink("..", join(root, "a", "round"));
    await writeFile(join(root, "a", "a.md"), "");
    await writeFile(join(root, "a", ".hidden"), "");
    const { entries, truncated } = await sandbox.walk(".");
    expect(truncated).toBe(false);
    expect(entries.map(({ path, kind }) => [path, kind])).toEqual([
      ["a/a.md", "file"],
      ["a/b/file.md", "file"],
    ]);
  });

  it("stops at the caller's limits", async () => {
    await Promise.all(Array.from({ length: 5 }, (_, index) => writeFile(join(root, "a", `${index}.md`), "")));
    expect((await sandbox.walk(".", { maxEntries: 3 })).truncated).toBe(true);
    expect((await sandbox.walk(".", { maxDepth: 2 })).truncated).toBe(true);
    expect((await sandbox.walk(".", { maxDepth: 3 })).truncated).toBe(false);
  });
});

describe("errors of the sandbox", () => {
  it("are created from any failure, even one without a code", () => {
    expect(unreadable("a", new Error("x")).details).toEqual({ operation: "read", cause: "unknown" });
    expect(unwritable("a", new Error("x")).details).toEqual({ operation: "replace", cause: "unknown" });
    expect(errnoOf(Object.assign(new Error("x"), { code: 5 }))).toBeUndefined();
    expect(errnoOf("x")).toBeUndefined();
  });
});

describe("a folder's entries", () => {
  it("are in the order of their names, however they were made", async () => {
    // By their bytes, the last two are in the other order.
    const rest = ["b", "c", "d", "\u{1f331}", "\uff21"];
    for (const name of ["c", "aa", "d", "\u{1f331}", "b", "\uff21"]) await writeFile(join(root, name), "");
    expect((await sandbox.list(".")).map(({ path }) => path)).toEqual(["a", "aa", ...rest]);
    const { entries, truncated } = await sandbox.walk(".");
    expect(entries.map(({ path }) => path)).toEqual(["a/b/file.md", "aa", ...rest]);
    expect(truncated).toBe(false);
  });

  it("are as many as a walk may have, and ordered also if there are more", async () => {
    for (const name of ["z", "y", "x", "a/zz"]) await writeFile(join(root, name), "");
    const walk = async (limits: Parameters<Sandbox["walk"]>[1]) => {
      const { entries, truncated } = await sandbox.walk(".", limits);
      return [entries.map(({ path }) => path), truncated];
    };
    expect(await walk({ maxEntries: 7 })).toEqual([["a/b/file.md", "a/zz", "x", "y", "z"], false]);
    expect(await walk({ maxEntries: 6 })).toEqual([["a/zz", "x", "y", "z"], true]);
    expect(await walk({ maxDepth: 3 })).toEqual([["a/b/file.md", "a/zz", "x", "y", "z"], false]);
    expect(await walk({ maxDepth: 2 })).toEqual([["a/zz", "x", "y", "z"], true]);
  });
});

describe("a sandbox within a sandbox", () => {
  it("has a folder of it as its root, with restrictions of its own", async () => {
    await symlink(base, join(root, "out"));
    const inner = await sandbox.within("a", { refuse: (path) => (path === "b/secret" ? "it is secret" : undefined) });
    expect(await inner.read("b/file.md", LIMIT)).toMatchObject({ text: "inside" });
    expect(await refusal(inner.read("b/secret", LIMIT))).toBe("PATH_REFUSED");
    expect(await refusal(inner.read("../a/b/file.md", LIMIT))).toBe("PATH_REFUSED");
    expect(await refusal(sandbox.within("out"))).toBe("PATH_REFUSED");
    expect(await refusal(sandbox.within("none"))).toBe("FILE_NOT_FOUND");
  });

  it("checks a path without reading it", async () => {
    await symlink(base, join(root, "out"));
    expect(await sandbox.check("a/b/none")).toBeUndefined();
    expect(await refusal(sandbox.check("out/secret.md"))).toBe("PATH_REFUSED");
  });
});

it("a root that is missing, or no folder, is called by no path", async () => {
  const missing = openSandbox(join(base, "none"));
  await expect(missing).rejects.toMatchObject({ code: "FILE_NOT_FOUND", details: { file: "." } });
  const file = openSandbox(join(base, "secret.md"));
  await expect(file).rejects.toThrow('the path "." is refused: the root is not a folder');
});

it("a refused path is refused by its own name, and by the one that it leads to", async () => {
  const resolve = resolveUnless((path) => (path === "a/b" || path === "." ? `no ${path}` : undefined));
  await symlink(join(root, "a", "b"), join(root, "link"));
  await expect(resolve(root, "a/b")).rejects.toThrow("no a/b");
  await expect(resolve(root, "link")).rejects.toThrow("no a/b");
  expect(resolve.refusal?.(root, "a/b", join(root, "a"))).toBe("no a/b");
  expect(resolve.refusal?.(root, "link", join(root, "a", "b"))).toBe("no a/b");
  expect(resolve.refusal?.(root, "link", root)).toBe("no .");
  expect(resolve.refusal?.(root, "a", join(root, "a"))).toBeUndefined();
});
