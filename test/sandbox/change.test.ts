import { chmodSync, linkSync, lstatSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { bytesBelow, linkIn, makeFolderBelow, removeFolderBelow, writeBelow } from "../../src/sandbox/change.js";
import { temporaryFolder } from "./temporary-folder.js";

const IS_LINK = expect.objectContaining({
  code: "PATH_REFUSED",
  message: expect.stringContaining("is refused: it is a link"),
});

/** A root with a folder outside of it, to which links lead. */
async function aRoot() {
  const base = await temporaryFolder();
  const [root, outside] = [join(base, "root"), join(base, "outside")];
  for (const folder of [root, outside, join(root, "real")]) mkdirSync(folder);
  writeFileSync(join(outside, "theirs.md"), "theirs\n");
  writeFileSync(join(root, "real/a.md"), "a\n");
  symlinkSync(outside, join(root, "out"));
  symlinkSync("real", join(root, "in"));
  symlinkSync(join(outside, "theirs.md"), join(root, "real/link.md"));
  return { root, outside, read: (path: string) => readFileSync(join(root, path), "utf8") };
}

it("names the first link of a path", async () => {
  const { root } = await aRoot();
  expect(
    ["real/a.md", "real/a.md/b", "none/b", "in/a.md", "out", "real/link.md"].map((path) => linkIn(root, path)),
  ).toEqual([undefined, undefined, undefined, "in", "out", "real/link.md"]);
  expect(() => linkIn(root, "x".repeat(300))).toThrow("ENAMETOOLONG");
});

it("reads, writes and deletes files, and keeps their modes", async () => {
  const { root, read } = await aRoot();
  expect([bytesBelow(root, "real/a.md")?.toString(), bytesBelow(root, "b.md"), bytesBelow(root, "none/b.md")]).toEqual([
    "a\n",
    undefined,
    undefined,
  ]);
  chmodSync(join(root, "real/a.md"), 0o640);
  expect(writeBelow(root, "real/a.md", "new\n")).toBe(0o640);
  expect([read("real/a.md"), lstatSync(join(root, "real/a.md")).mode & 0o777]).toEqual(["new\n", 0o640]);
  expect(writeBelow(root, "real/a.md", undefined)).toBe(0o640);
  expect(writeBelow(root, "real/a.md", "again\n", 0o600)).toBeUndefined();
  expect(lstatSync(join(root, "real/a.md")).mode & 0o777).toBe(0o600);
  expect(writeBelow(root, "b.md", "b\n")).toBeUndefined();
  expect(read("b.md")).toBe("b\n");
  expect(bytesBelow(join(root, "none"), "b.md")).toBeUndefined();
});

it("makes folders, and removes empty ones", async () => {
  const { root } = await aRoot();
  makeFolderBelow(root, "new");
  makeFolderBelow(root, "new/private", 0o700);
  expect(removeFolderBelow(root, "new")).toBeUndefined();
  expect([removeFolderBelow(root, "new/private"), removeFolderBelow(root, "new/private")]).toEqual([0o700, undefined]);
  expect([removeFolderBelow(root, "real/a.md"), removeFolderBelow(root, "in")]).toEqual([undefined, undefined]);
});

it.each(["out/theirs.md", "in/a.md", "real/link.md"])("goes through no link: %s", async (path) => {
  const { root, outside, read } = await aRoot();
  expect(() => bytesBelow(root, path)).toThrow(IS_LINK);
  expect(() => writeBelow(root, path, "mine\n")).toThrow(IS_LINK);
  expect(() => writeBelow(root, path, undefined)).toThrow(IS_LINK);
  expect([read("real/a.md"), readFileSync(join(outside, "theirs.md"), "utf8")]).toEqual(["a\n", "theirs\n"]);
});

it("makes and removes no folder through a link, and writes to no file of several names", async () => {
  const { root, outside } = await aRoot();
  mkdirSync(join(outside, "empty"));
  expect(() => makeFolderBelow(root, "out/new")).toThrow(IS_LINK);
  expect(() => removeFolderBelow(root, "out/empty")).toThrow(IS_LINK);
  expect(() => makeFolderBelow(root, "real/a.md/b")).toThrow(IS_LINK);
  expect(() => makeFolderBelow(root, "none/b")).toThrow("ENOENT");
  symlinkSync("loop", join(root, "loop"));
  expect(() => makeFolderBelow(root, "loop/x/new")).toThrow(IS_LINK);
  linkSync(join(outside, "theirs.md"), join(root, "hard.md"));
  expect(() => writeBelow(root, "hard.md", "mine\n")).toThrow("several names");
});

it("goes by real paths where the system shows none for an open folder", async () => {
  const { root, outside, read } = await aRoot();
  const deep = join(root, "real");
  expect(writeBelow(deep, "a.md", "new\n", undefined, { handles: join(outside, "no-handles") })).toBe(0o644);
  expect(read("real/a.md")).toBe("new\n");
  expect(writeBelow(deep, "a.md", "newer\n", undefined, { platform: "win32" })).toBe(0o644);
  expect(() => writeBelow(root, "in/a.md", "mine\n", undefined, { platform: "win32" })).toThrow(IS_LINK);
  expect(read("real/a.md")).toBe("newer\n");
  mkdirSync(join(outside, "deep"));
  expect(() =>
    writeBelow(root, "out/deep/a.md", "mine\n", undefined, { handles: join(outside, "no-handles") }),
  ).toThrow(IS_LINK);
});
