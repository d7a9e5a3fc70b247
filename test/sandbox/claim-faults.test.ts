import type * as fs from "node:fs";
import { renameSync, unlinkSync, writeFileSync } from "node:fs";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, extname, join } from "node:path";
import { afterEach, expect, it, vi } from "vitest";
import { claimName, whileClaimed } from "../../src/sandbox/replace.js";
import { temporaryFolder } from "./temporary-folder.js";

/** Runs right before the right to delete a claim is created, or a file is deleted. */
const hooks = vi.hoisted(() => ({ beforeRight: () => {}, beforeDelete: (_file: string) => {} }));

vi.mock("node:fs", async (original) => {
  const real = await original<typeof fs>();
  const openSync = (...args: Parameters<typeof real.openSync>) => {
    if (String(args[0]).endsWith(".tmp")) hooks.beforeRight();
    return real.openSync(...args);
  };
  const rmSync = (file: string, options?: fs.RmOptions) => {
    hooks.beforeDelete(file);
    real.rmSync(file, options);
  };
  return { ...real, openSync, rmSync };
});

afterEach(() => {
  hooks.beforeRight = hooks.beforeDelete = () => {};
});

it("accepts that another process deletes the same claims at the same moment", async () => {
  const file = join(await temporaryFolder(), "tasks.md");
  const deleted: string[] = [];
  hooks.beforeDelete = (path) => {
    unlinkSync(path);
    deleted.push(extname(path));
  };
  await writeFile(claimName(file), "left behind");
  expect(await whileClaimed(file, () => "done", undefined, 0)).toBe("done");
  // The old claim, the right to delete it, and the own claim.
  expect(deleted).toEqual([".claim", ".tmp", ".claim"]);
});

it("does not delete a claim that replaced the old one while the right to delete that was acquired", async () => {
  const file = join(await temporaryFolder(), "tasks.md");
  await writeFile(claimName(file), "left behind");
  let exchanged = 0;
  hooks.beforeRight = () => {
    exchanged += 1;
    exchange(claimName(file));
  };
  const call = whileClaimed(
    file,
    () => "done",
    () => exchanged === 0,
    0,
  );
  expect(await call).toBeUndefined();
  expect(await readFile(claimName(file), "utf8")).toBe("another's");
  expect(await readdir(dirname(file))).toHaveLength(1);
});

/** Replaces a file by another one, which is created first under another name so that its inode differs. */
function exchange(name: string): void {
  writeFileSync(`${name}.new`, "another's");
  renameSync(`${name}.new`, name);
}
