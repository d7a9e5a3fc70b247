import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { encodeCommit } from "../../../src/storage/files/commit-file.js";
import { Disk } from "../../../src/storage/files/disk.js";
import { Background, FolderNames, Folders, StoreLayout } from "../../../src/storage/files/layout.js";
import { LinkPublisher } from "../../../src/storage/files/publish.js";
import { CommitReader, KnownVersions, NewestVersion } from "../../../src/storage/files/read.js";
import { makeCommit } from "../../../src/testing/contract.js";
import { parseSessionId } from "../../../src/workflow/names.js";
import { temporaryRoots } from "./temporary-root.js";

const newRoot = temporaryRoots();

it("KnownVersions keeps the newest version of the 1024 most recently used sessions", () => {
  const known = new KnownVersions();
  const id = (index: number) => parseSessionId(`s${index}`);
  for (let index = 0; index < 1024; index++) known.note(id(index), { version: 5, hash: "five" });
  known.note(id(0), { version: 4, hash: "four" });
  expect(known.get(id(0))).toEqual({ version: 5, hash: "five" });
  known.note(id(2000), { version: 1, hash: "one" });
  expect(known.get(id(1))).toBeUndefined();
  expect(known.get(id(0))?.version).toBe(5);
  known.forget(id(0));
  expect(known.get(id(0))).toBeUndefined();
});

it("the results of lists are cached for a limited number of sessions", async () => {
  const disk = new Disk();
  const layout = new StoreLayout(await newRoot());
  const reader = new CommitReader(disk, new LinkPublisher(disk));
  const hint = vi.spyOn(reader, "hint").mockResolvedValue({ version: 1, folder: undefined });
  vi.spyOn(reader, "hasFile").mockResolvedValue(false);
  vi.spyOn(reader, "file").mockImplementation(async ({ id }) => {
    return { data: Buffer.from(encodeCommit(makeCommit({ sessionId: id }))), packed: 0 };
  });
  const newest = new NewestVersion(disk, layout, reader, new KnownVersions());
  const look = (index: number) => newest.header(parseSessionId(`s${index}`));
  for (let index = 0; index < 4096; index++) await look(index);
  hint.mockClear();
  await look(4095);
  expect(hint).not.toHaveBeenCalled();
  await look(5000);
  await look(4094);
  expect(hint).toHaveBeenCalled();
});

it("a folder is created once, until the cache of known folders is full", async () => {
  const root = await newRoot();
  const disk = new Disk();
  const make = vi.spyOn(disk, "makeFolder");
  const folders = new Folders(disk);
  const use = (name: string) => folders.within(join(root, name), async () => name);
  expect([await use("a"), await use("a")]).toEqual(["a", "a"]);
  expect(make).toHaveBeenCalledTimes(1);
  vi.spyOn(disk, "syncFolder").mockResolvedValue();
  make.mockResolvedValue(true);
  for (let index = 0; index < 4096; index++) await use(String(index));
  make.mockClear();
  await use("a");
  expect(make).toHaveBeenCalledTimes(1);
});

it("a missing folder has no names", async () => {
  const root = await newRoot();
  const names = new FolderNames(new Disk());
  expect(await names.read(join(root, "none"))).toEqual([]);
  await mkdir(join(root, "none"));
  expect(await names.read(join(root, "none"))).toEqual([]);
});

it("background work runs in order per key, and a failed task does not stop the next one", async () => {
  const background = new Background();
  const done: string[] = [];
  const task = (name: string, ms: number) => async () => {
    await new Promise((resolve) => setTimeout(resolve, ms));
    done.push(name);
  };
  background.run("a", task("a1", 15));
  background.run("a", async () => {
    background.run("a", task("a3", 0));
    throw new Error("no harm");
  });
  background.run("b", task("b1", 1));
  await background.idle();
  expect(done).toEqual(["b1", "a1", "a3"]);
  await background.idle();
});
