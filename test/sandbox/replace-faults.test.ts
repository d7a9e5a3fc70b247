import type { RmOptions } from "node:fs";
import type * as fs from "node:fs/promises";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, it, vi } from "vitest";
import { sha256, sweepTemporary, temporaryName } from "../../src/sandbox/replace.js";
import { openSandbox } from "../../src/sandbox/sandbox.js";
import { temporaryFolder } from "./temporary-folder.js";

/** Makes a call on a temporary file or a folder fail, or removes a file after its folder was listed, or before it is deleted. */
const faults = vi.hoisted(() => ({ open: false, sync: false, syncFolder: false, remove: "", removeFirst: false }));

vi.mock("node:fs/promises", async (original) => {
  const real = await original<typeof fs>();
  const failure = (code: string) => Object.assign(new Error(code), { code });
  return {
    ...real,
    open: async (...args: Parameters<typeof real.open>) => {
      const isTemporary = String(args[0]).endsWith(".tmp");
      if (isTemporary && faults.open) throw failure("EACCES");
      const handle = await real.open(...args);
      if (isTemporary && faults.sync) handle.sync = () => Promise.reject(failure("EIO"));
      const isFolder = faults.syncFolder && (await handle.stat()).isDirectory();
      if (isFolder) handle.sync = () => Promise.reject(failure("EIO"));
      return handle;
    },
    rm: async (path: string, options?: RmOptions) => {
      if (faults.removeFirst) await real.unlink(path);
      await real.rm(path, options);
    },
    readdir: async (folder: string) => {
      const names = await real.readdir(folder);
      if (faults.remove !== "") await real.rm(faults.remove);
      return names;
    },
  };
});

it("sweepTemporary accepts that another process removes the same files", async () => {
  const file = join(await temporaryFolder(), "file");
  const [gone, left] = ["a1", "b2"].map((digits) => temporaryName(file, digits));
  for (const path of [gone, left]) await writeFile(path ?? "", "");
  faults.remove = gone ?? "";
  faults.removeFirst = true;
  await sweepTemporary(file, Date.now() + 3_600_000);
  faults.remove = "";
  faults.removeFirst = false;
  expect(await readdir(dirname(file))).toEqual([]);
});

it("no text counts as written until its folder is on the disk", async () => {
  const folder = await temporaryFolder();
  await writeFile(join(folder, "file"), "old");
  const sandbox = await openSandbox(folder);
  faults.syncFolder = true;
  const calls = [
    sandbox.replace("file", { text: "new", hash: sha256(Buffer.from("old")), maxBytes: 100 }),
    sandbox.save("saved", { text: "x", maxBytes: 100 }),
    sandbox.makeFolder("made"),
  ];
  const failed = { status: "rejected", reason: expect.objectContaining({ code: "STORAGE_FAILED" }) };
  expect(await Promise.allSettled(calls)).toEqual([failed, failed, failed]);
  faults.syncFolder = false;
});

it.each([
  ["no file can be created", "open", "EACCES"],
  ["the disk fails", "sync", "EIO"],
] as const)("replace changes nothing if %s", async (_, fault, cause) => {
  const folder = await temporaryFolder();
  await writeFile(join(folder, "file"), "old");
  const sandbox = await openSandbox(folder);
  const replacement = { text: "new", hash: sha256(Buffer.from("old")), maxBytes: 100 };
  faults[fault] = true;
  const call = sandbox.replace("file", replacement);
  await expect(call).rejects.toMatchObject({ code: "STORAGE_FAILED", details: { operation: "replace", cause } });
  faults[fault] = false;
  expect(await readdir(folder)).toEqual(["file"]);
  expect(await readFile(join(folder, "file"), "utf8")).toBe("old");
  expect(await sandbox.replace("file", replacement)).toBe(true);
});
