import { createHash } from "node:crypto";
import { mkdir, mkdtemp, open, readdir, readFile, rm, symlink, truncate, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { FileStorage } from "../../../src/storage/files/storage.js";
import { makeCommit, nextCommit } from "../../../src/testing/contract.js";
import type { SessionId } from "../../../src/workflow/names.js";
import { temporaryRoots } from "./temporary-root.js";

const newRoot = temporaryRoots();
const first = makeCommit();
const second = nextCommit(first);
const id = first.sessionId;
const other = makeCommit({ sessionId: "other" });

/** Creates a store with a session that the test then changes by hand, and a second session. */
async function stored({ packed = false } = {}): Promise<string> {
  const root = await newRoot();
  const storage = await FileStorage.open(root);
  for (const commit of [first, second, other]) await storage.append(commit);
  if (packed) await storage.compact(id);
  await storage.close();
  return root;
}

function fileOf(root: string, name: string, session: SessionId = id): string {
  return join(root, "sessions", createHash("sha256").update(session).digest("hex").slice(0, 2), session, name);
}

/** Creates a folder of another owner, with old files in it. */
async function someoneElses(): Promise<string> {
  const folder = await newRoot();
  await mkdir(join(folder, "photos"));
  for (const name of ["thesis.txt", "photos/one.jpg"]) {
    await writeFile(join(folder, name), "x");
    await utimes(join(folder, name), 1, 1);
  }
  return folder;
}

describe("a folder in a store", () => {
  it.each(["trash", "watching", "sessions", "all", "active", "packed", "removed"])(
    "is refused if it is a link, and nothing is deleted at its destination: %s",
    async (name) => {
      const [root, elsewhere] = [await stored(), await someoneElses()];
      await rm(join(root, name), { recursive: true });
      await symlink(elsewhere, join(root, name));
      await expect(FileStorage.open(root)).rejects.toMatchObject({
        code: "STORAGE_FAILED",
        message: expect.stringContaining(name),
      });
      expect((await readdir(elsewhere)).sort()).toEqual(["photos", "thesis.txt"]);
    },
  );

  it("with the name of a store folder keeps the foreign files in it", async () => {
    const root = await newRoot();
    for (const name of ["trash", "watching"]) {
      await mkdir(join(root, name));
      await writeFile(join(root, name, "thesis.txt"), "x");
      await utimes(join(root, name, "thesis.txt"), 1, 1);
    }
    const storage = await FileStorage.open(root);
    await storage.append(first);
    await storage.remove(id);
    await storage.close();
    for (const name of ["trash", "watching"]) expect(await readdir(join(root, name))).toContain("thesis.txt");
  });
});

describe("a commit whose time of creation is a path", () => {
  it("counts as damaged, and no marker is created outside the store", async () => {
    const root = await stored();
    const outside = await mkdtemp(join(tmpdir(), "o"));
    onTestFinished(() => rm(outside, { recursive: true, force: true, maxRetries: 5 }));
    const file = fileOf(root, "2.json");
    const text = await readFile(file, "utf8");
    // The first ten characters name the folder of the day: two levels above all/ is a folder next to the store.
    const day = `../../${basename(outside).slice(0, 4)}`;
    const commit = text.replace(/"createdAt":"[^"]*"/, `"createdAt":"${day}T10:00:00.000Z"`);
    await writeFile(file, commit);
    const before = await readdir(tmpdir());
    const storage = await FileStorage.open(root);
    const { damaged } = await storage.repair();
    await storage.close();
    expect((await readdir(tmpdir())).filter((name) => !before.includes(name) && name.length === 4)).toEqual([]);
    expect(damaged.map(({ sessionId }) => sessionId)).toEqual([id]);
  });
});

/** Files that can take the place of a session's newest commit, or of its folder. */
const ODD: Readonly<Record<string, (root: string) => Promise<unknown>>> = {
  "a link to itself": (root) => linked(fileOf(root, "2.json"), "2.json"),
  "a link to a name that is too long": (root) => linked(fileOf(root, "2.json"), "n".repeat(300)),
  "a link to below a file": (root) => linked(fileOf(root, "2.json"), "/etc/passwd/x"),
  "a link to a device without an end": (root) => linked(fileOf(root, "2.json"), "/dev/zero"),
  "a folder": (root) => rm(fileOf(root, "2.json")).then(() => mkdir(fileOf(root, "2.json"))),
  "a session's folder that is a file": (root) =>
    rm(fileOf(root, ""), { recursive: true }).then(() => writeFile(fileOf(root, ""), "x")),
  "a session's folder that is a link to itself": (root) => linked(fileOf(root, ""), id),
};

async function linked(path: string, to: string): Promise<void> {
  await rm(path, { recursive: true });
  await symlink(to, path);
}

describe("a special file in place of a session's newest commit", () => {
  it.each(Object.keys(ODD))("does not prevent lists, repairs and watches of other sessions: %s", async (kind) => {
    const root = await stored();
    await ODD[kind]?.(root);
    const storage = await FileStorage.open(root, { watchIntervalMs: 5 });
    const page = await storage.list({});
    expect(page.items.map(({ sessionId }) => sessionId)).toEqual([other.sessionId]);
    expect(page.damaged).toEqual([id]);
    await expect(storage.read(id)).rejects.toMatchObject({ code: "TAMPERED" });
    expect((await storage.repair()).damaged.map(({ sessionId }) => sessionId)).toEqual([id]);
    const stop = new AbortController();
    const seen = storage.watch({}, { signal: stop.signal })[Symbol.asyncIterator]();
    const next = seen.next();
    await storage.append(nextCommit(other));
    expect((await next).value).toMatchObject({ sessionId: other.sessionId, version: 2 });
    stop.abort();
    await seen.return?.();
    await storage.close();
  });
});

describe("an endless or gigantic file", () => {
  it.each(["/dev/zero", "/dev/urandom"])("is not read as format.json or as evidence: %s", async (device) => {
    const root = await stored();
    const hash = "a".repeat(64);
    await mkdir(fileOf(root, "payloads"));
    await symlink(device, fileOf(root, `payloads/${hash}.gz`));
    const storage = await FileStorage.open(root);
    await expect(storage.payload(id, hash)).rejects.toMatchObject({ code: "TAMPERED" });
    await storage.close();
    await linked(join(root, "format.json"), device);
    await expect(FileStorage.open(root)).rejects.toMatchObject({ code: "STORAGE_FAILED" });
  });

  it("counts as a damaged commit, and is not loaded into memory", async () => {
    const root = await stored();
    await truncate(fileOf(root, "2.json"), 1_900_000_000);
    const storage = await FileStorage.open(root);
    await expect(storage.read(id)).rejects.toMatchObject({ code: "TAMPERED" });
    await expect(storage.compact(id)).rejects.toMatchObject({ code: "TAMPERED" });
    await storage.close();
  });
});

describe("the index of a pack with impossible numbers", () => {
  it.each(["9000000000000000", "0000003000000000", "0000000600000000"])(
    "does not crash the process: a commit that ends at %s",
    async (end) => {
      const root = await stored({ packed: true });
      const lines = (await readFile(fileOf(root, "1.json"), "latin1")).split("\n");
      lines[lines.length - 3] = end;
      await writeFile(fileOf(root, "1.json"), lines.join("\n"), "latin1");
      const storage = await FileStorage.open(root);
      await expect(storage.read(id)).rejects.toMatchObject({ code: "TAMPERED" });
      expect((await storage.list({})).items).toHaveLength(1);
      await storage.close();
    },
  );

  it("does not crash the process: a hundred million commits", async () => {
    const root = await stored();
    const count = 150_000_000;
    const title = (at: number) => `phasegate-log ${String(count).padStart(16, "0")} ${String(at).padStart(16, "0")}\n`;
    const newest = (await readFile(fileOf(root, "2.json"), "utf8")).replace('"version":2', `"version":${count}`);
    await rm(fileOf(root, ""), { recursive: true });
    await mkdir(fileOf(root, ""));
    const file = await open(fileOf(root, "1.json"), "w");
    const at = newest.length;
    await file.write(newest, 0);
    const lines = `${"0".repeat(16)}\n${String(at).padStart(16, "0")}\n`;
    await file.write(lines, at + (count - 1) * 17);
    await file.write(title(at), at + (count + 1) * 17);
    await file.close();
    const storage = await FileStorage.open(root);
    await writeFile(fileOf(root, `${count + 1}.json`), newest.replace(`"version":${count}`, `"version":${count + 1}`));
    await writeFile(fileOf(root, `${count + 2}.json`), newest.replace(`"version":${count}`, `"version":${count + 2}`));
    await expect(storage.compact(id)).rejects.toMatchObject({ code: "TAMPERED" });
    await storage.close();
  });
});
