import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { writeBelow } from "../../src/sandbox/change.js";
import { sha256, syncFolder, whileClaimed } from "../../src/sandbox/replace.js";
import { openSandbox } from "../../src/sandbox/sandbox.js";
import { holdFolder } from "../../src/sandbox/save.js";
import { openHandles } from "./open-handles.js";
import { temporaryFolder } from "./temporary-folder.js";

it("every call closes what it has opened, also if it is refused", async () => {
  const base = await temporaryFolder();
  const root = join(base, "root");
  await mkdir(root);
  await mkdir(join(base, "out", "inner"), { recursive: true });
  await symlink(join(base, "out"), join(root, "way"));
  await writeFile(join(root, "file"), "old");
  const sandbox = await openSandbox(root);
  const replacement = { text: "new", hash: sha256(Buffer.from("old")), maxBytes: 100 };
  const resolve = async () => ({ real: join(root, "way/inner"), exists: true });
  const calls: Record<string, () => Promise<unknown>> = {
    read: () => sandbox.read("file", { maxBytes: 100 }),
    readPart: () => sandbox.readPart("file", { offset: 1, length: 1 }),
    replace: () => sandbox.replace("file", replacement),
    save: () => sandbox.save("saved", { text: "x", maxBytes: 100 }),
    makeFolder: () => sandbox.makeFolder("made"),
    whileClaimed: () => whileClaimed(join(root, "file"), () => "done"),
    syncFolder: () => syncFolder(root),
    holdFolder: async () => (await holdFolder(root, ".")).close(),
    writeBelow: async () => writeBelow(root, "written", "x"),
    "writeBelow through a link": async () => expect(() => writeBelow(root, "way/inner/x", "x")).toThrow("refused"),
    "a folder outside": () => expect(holdFolder(root, "way/inner", { resolve })).rejects.toThrow("refused"),
    "a file that is too large": () => expect(sandbox.read("file", { maxBytes: 1 })).rejects.toThrow("larger"),
  };
  for (const [name, call] of Object.entries(calls)) {
    await call();
    expect(await openHandles(base), name).toBe(0);
  }
});
