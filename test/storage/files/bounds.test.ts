import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { Disk } from "../../../src/storage/files/disk.js";
import { Background, Folders } from "../../../src/storage/files/layout.js";
import { temporaryRoots } from "./temporary-root.js";

const newRoot = temporaryRoots();

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
