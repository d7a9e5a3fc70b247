import type * as fs from "node:fs/promises";
import { mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { resolveInside } from "../../src/sandbox/resolve.js";
import { temporaryFolder } from "./temporary-folder.js";

/** Runs right after a path was found to be missing. */
const hooks = vi.hoisted(() => ({ afterMissing: async (_path: string) => {} }));

vi.mock("node:fs/promises", async (original) => {
  const real = await original<typeof fs>();
  const realpath = (path: string) =>
    real.realpath(path).catch(async (error: unknown) => {
      await hooks.afterMissing(path);
      throw error;
    });
  return { ...real, realpath };
});

it("resolveInside finds a folder that another process creates meanwhile", async () => {
  const root = await temporaryFolder();
  hooks.afterMissing = async (path) => void (await mkdir(path));
  expect(await resolveInside(root, "session")).toEqual({ real: join(root, "session"), exists: true });
});

it("resolveInside refuses a dangling link that another process creates meanwhile", async () => {
  const root = await temporaryFolder();
  hooks.afterMissing = (path) => symlink("../elsewhere", path);
  await expect(resolveInside(root, "session")).rejects.toMatchObject({ code: "PATH_REFUSED" });
});
