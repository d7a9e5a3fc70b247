import { mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { isLink } from "../../src/sandbox/resolve.js";
import { openSandbox, workingFolder } from "../../src/sandbox/sandbox.js";
import { failure } from "../support/failure.js";
import { temporaryFolder } from "./temporary-folder.js";

let base: string;
let root: string;

beforeEach(async () => {
  base = await temporaryFolder();
  root = join(base, "root");
  await mkdir(join(root, "a", "b"), { recursive: true });
  await mkdir(join(base, "out"));
  await writeFile(join(root, "file"), "x");
  await symlink("a", join(root, "inside"));
  await symlink("../out", join(root, "outside"));
  await symlink("nowhere", join(root, "dangling"));
});

describe("workingFolder", () => {
  it("returns the real path of a folder inside the root", async () => {
    expect(await workingFolder(root, ".")).toBe(root);
    expect(await workingFolder(root, "a/./b/")).toBe(join(root, "a", "b"));
    expect(await workingFolder(root, "inside/b")).toBe(join(root, "a", "b"));
  });

  it.each([
    ["..", "PATH_REFUSED"],
    ["/tmp", "PATH_REFUSED"],
    ["a\0", "PATH_REFUSED"],
    ["outside", "PATH_REFUSED"],
    ["dangling", "PATH_REFUSED"],
    ["file", "PATH_REFUSED"],
    ["none", "FILE_NOT_FOUND"],
    ["file/below", "FILE_NOT_FOUND"],
  ])("refuses %j", async (path, code) => {
    const error = await failure(workingFolder(root, path));
    expect(error.code).toBe(code);
    expect(JSON.stringify([error.message, error.details])).not.toContain(base);
  });
});

describe("isLink", () => {
  it("returns true if the last name is a link, to anywhere", async () => {
    const sandbox = await openSandbox(root);
    for (const path of ["inside", "./outside", "dangling"]) {
      expect(await sandbox.isLink(path)).toBe(true);
    }
    for (const path of [".", "a", "file", "none", "inside/b", "none/inside", "file/below"]) {
      expect(await sandbox.isLink(path)).toBe(false);
    }
    // An error that means neither yes nor no is thrown.
    await expect(isLink(root, "a\0")).rejects.toMatchObject({ code: "ERR_INVALID_ARG_VALUE" });
    expect((await failure(sandbox.isLink("outside/x"))).code).toBe("PATH_REFUSED");
    await rm(root, { recursive: true });
    expect((await failure(sandbox.isLink("a"))).code).toBe("FILE_NOT_FOUND");
  });
});
