import type * as fs from "node:fs";
import { mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { writeBelow } from "../../src/sandbox/change.js";
import { temporaryFolder } from "./temporary-folder.js";

/** Makes calls fail, or runs once a temporary file that a killed run may have left is deleted. */
const faults = vi.hoisted(() => ({ open: false, rename: false, afterDelete: (_file: string) => {} }));

vi.mock("node:fs", async (original) => {
  const real = await original<typeof fs>();
  const failure = (code: string) => Object.assign(new Error(code), { code });
  return {
    ...real,
    openSync: (...args: Parameters<typeof real.openSync>) => {
      if (faults.open) throw failure("EPERM");
      return real.openSync(...args);
    },
    renameSync: (from: string, to: string) => {
      if (faults.rename) throw failure("EIO");
      real.renameSync(from, to);
    },
    rmSync: (file: string, options?: fs.RmOptions) => {
      real.rmSync(file, options);
      faults.afterDelete(file);
    },
  };
});

let root: string;
let outside: string;

beforeEach(async () => {
  const base = await temporaryFolder();
  [root, outside] = [join(base, "root"), join(base, "outside")];
  for (const folder of [root, outside, join(root, "dir")]) mkdirSync(folder);
  writeFileSync(join(root, "dir/a.md"), "old\n");
  writeFileSync(join(outside, "a.md"), "theirs\n");
});

afterEach(() => {
  Object.assign(faults, { open: false, rename: false, afterDelete: () => {} });
});

/** Runs a step the first time that a file is deleted. */
function onFirstDelete(step: (file: string) => void): void {
  faults.afterDelete = (file) => {
    faults.afterDelete = () => {};
    step(file);
  };
}

it("writes through no link that appears under the name of its temporary file", () => {
  onFirstDelete((file) => symlinkSync(join(outside, "a.md"), file));
  expect(() => writeBelow(root, "dir/a.md", "mine\n")).toThrow("EEXIST");
  expect(readFileSync(join(outside, "a.md"), "utf8")).toBe("theirs\n");
  expect(readFileSync(join(root, "dir/a.md"), "utf8")).toBe("old\n");
});

it("leaves no temporary file behind if the file can't be replaced", () => {
  faults.rename = true;
  expect(() => writeBelow(root, "dir/a.md", "mine\n")).toThrow("EIO");
  expect(readdirSync(join(root, "dir"))).toEqual(["a.md"]);
});

it("writes into the folder that it has opened, even if the folder's name leads elsewhere meanwhile", ({ skip }) => {
  skip(process.platform !== "linux", "only Linux has paths through open folders");
  onFirstDelete(() => {
    renameSync(join(root, "dir"), join(root, "moved"));
    symlinkSync(outside, join(root, "dir"));
  });
  writeBelow(root, "dir/a.md", "mine\n");
  expect(readFileSync(join(outside, "a.md"), "utf8")).toBe("theirs\n");
  expect(readFileSync(join(root, "moved/a.md"), "utf8")).toBe("mine\n");
});

it("opens no folder on Windows, which can't", () => {
  faults.open = true;
  // Node's own writing opens the file by other means.
  writeBelow(root, "dir/a.md", "mine\n", undefined, { platform: "win32" });
  expect(readFileSync(join(root, "dir/a.md"), "utf8")).toBe("mine\n");
  expect(() => writeBelow(root, "dir/a.md", "mine\n", undefined, { platform: "linux" })).toThrow("EPERM");
});
