import { createHash, randomUUID } from "node:crypto";
import * as nodeFs from "node:fs/promises";
import { join, relative } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { describe, expect, it, vi } from "vitest";
import type { Commit } from "../../../src/ports/storage-adapter.js";
import { encodeCommit } from "../../../src/storage/files/commit-file.js";
import { type FileSystem, localFileSystem } from "../../../src/storage/files/file-system.js";
import { FileStorage, type FileStorageOptions } from "../../../src/storage/files/storage.js";
import { appendAll, collect, commitChain, makeCommit, nextCommit } from "../../../src/testing/contract.js";
import { systemError } from "./faulty-fs.js";
import { temporaryRoots } from "./temporary-root.js";

const newRoot = temporaryRoots();
const HOURS_AGO = new Date(Date.now() - 2 * 3_600_000);

async function openNew(options: FileStorageOptions = {}) {
  const root = await newRoot();
  return { root, storage: await FileStorage.open(root, options) };
}

function folderOf(root: string, id: string): string {
  return join(root, "sessions", createHash("sha256").update(id).digest("hex").slice(0, 2), id);
}

/** Creates a store that holds a chain of commits, and closes it. */
async function filled(length: number, parts: Parameters<typeof commitChain>[1] = {}) {
  const { root, storage } = await openNew();
  const chain = commitChain(length, parts);
  for (const commit of chain) await storage.append(commit);
  await storage.close();
  const newest = chain.at(-1) ?? chain[0];
  return { root, chain, newest, id: newest.sessionId, folder: folderOf(root, newest.sessionId) };
}

describe("the options of a store", () => {
  it.each<[string, unknown]>([
    ["maxCommitBytes", Number.NaN],
    ["maxCommitBytes", 0],
    ["maxCommitBytes", 1e12],
    ["watchIntervalMs", "200"],
    ["watchIntervalMs", 0],
    ["copyWindowMs", -1],
    ["copyWindowMs", Number.POSITIVE_INFINITY],
    ["copyWindowMs", null],
  ])("are refused before anything is made: %s %s", async (field, value) => {
    const root = join(await newRoot(), "new");
    const opening = Reflect.apply(FileStorage.open, FileStorage, [root, { [field]: value }]);
    await expect(opening).rejects.toMatchObject({
      ...{ code: "INVALID_INPUT", details: { field }, message: expect.stringContaining(`${field} is not valid`) },
    });
    await expect(nodeFs.stat(root)).rejects.toMatchObject({ code: "ENOENT" });
  });
});

describe("the folder of a store", () => {
  it("contains one file per commit, a hint, payloads and markers, readable by the owner alone", async () => {
    const payload = { hash: "a".repeat(64), body: "evidence" };
    const { root } = await filled(2, { payloads: [payload] });
    const entries = await nodeFs.readdir(root, { recursive: true, withFileTypes: true });
    const files = entries
      .filter((entry) => entry.isFile())
      .map((entry) => relative(root, join(entry.parentPath, entry.name)));
    const session = relative(root, folderOf(root, "session_1"));
    expect(files.sort()).toEqual([
      "active/2026-01-02/030405006~session_1~1",
      "all/2026-01-02/030405006~session_1",
      "format.json",
      `${session}/1.json`,
      `${session}/2.json`,
      `${session}/head`,
      `${session}/payloads/${payload.hash}.gz`,
    ]);
    for (const entry of entries) {
      const { mode } = await nodeFs.stat(join(entry.parentPath, entry.name));
      expect(mode & 0o777).toBe(entry.isFile() ? 0o600 : 0o700);
    }
  });

  it("contains commits as JSON files with one hard link each, and a hint with the version", async () => {
    const { folder, newest } = await filled(3);
    expect(JSON.parse(await nodeFs.readFile(join(folder, "3.json"), "utf8"))).toEqual(newest);
    const stats = await Promise.all(["head", "1.json", "3.json"].map((name) => nodeFs.stat(join(folder, name))));
    expect(stats.map(({ nlink }) => nlink)).toEqual([1, 1, 1]);
    const { ino } = await nodeFs.stat(folder);
    const head = JSON.parse(await nodeFs.readFile(join(folder, "head"), "utf8"));
    expect(head).toEqual({ sessionId: "session_1", version: 3, folder: String(ino) });
  });

  it("gets the hint of a busy session once a second", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    try {
      const root = await newRoot();
      const storage = await FileStorage.open(root);
      const head = join(folderOf(root, "session_1"), "head");
      const hinted = async () =>
        Number(/"version":(\d+)/.exec(await nodeFs.readFile(head, "utf8").catch(() => ""))?.[1]);
      await appendAll(storage, commitChain(4));
      await vi.advanceTimersByTimeAsync(900);
      expect(await hinted()).toBeNaN();
      await vi.advanceTimersByTimeAsync(200);
      while ((await hinted()) !== 4) await nextTurn();
      await storage.close();
    } finally {
      vi.useRealTimers();
    }
  });

  it("is created if it is missing, and can be opened through a symbolic link", async () => {
    const root = await newRoot();
    await (await FileStorage.open(join(root, "a", "b"))).close();
    expect((await nodeFs.stat(join(root, "a"))).mode & 0o777).toBe(0o700);
    await nodeFs.symlink(join(root, "a"), join(root, "link"));
    const storage = await FileStorage.open(join(root, "link", "b"));
    await nodeFs.unlink(join(root, "link"));
    await storage.append(makeCommit());
    await storage.close();
  });

  it("can't be a file, and the remedy says so", async () => {
    const file = join(await newRoot(), "taken");
    await nodeFs.writeFile(file, "");
    for (const path of [file, join(file, "state")]) {
      await expect(FileStorage.open(path)).rejects.toMatchObject({
        code: "STORAGE_FAILED",
        remedy: expect.stringContaining("A file is in the place of the session folder"),
      });
    }
  });

  it("contains no name that Windows reserves", async () => {
    const { root } = await filled(1, { sessionId: "con" });
    const names = await nodeFs.readdir(join(root, "sessions"), { recursive: true });
    expect(names.map((name) => name.split(/[/\\]/)[1])).toContain("_con");
  });
});

describe("the hint", () => {
  it("may be stale, missing or truncated", async () => {
    const { root, folder, newest, id } = await filled(40);
    for (const [name, spoil] of Object.entries({
      stale: () => nodeFs.copyFile(join(folder, "3.json"), join(folder, "head")),
      missing: async () => {},
      torn: () => nodeFs.writeFile(join(folder, "head"), '{"sessionId":'),
      "another session's": async () =>
        nodeFs.copyFile(join((await filled(1, { sessionId: "x" })).folder, "head"), join(folder, "head")),
      "no commit": () => nodeFs.writeFile(join(folder, "head"), '{"a":1,\n"body":""}'),
    })) {
      await nodeFs.rm(join(folder, "head"), { force: true });
      await spoil();
      const storage = await FileStorage.open(root);
      expect((await storage.list({})).items, name).toEqual([newest.summary]);
      expect(await storage.read(id), name).toEqual(newest);
      await storage.close();
    }
  });

  it("is used only for its version number, and only if that version exists", async () => {
    const { root, folder, id, chain } = await filled(8);
    const forged = (version: number) => encodeCommit(nextCommit(chain[6] ?? chain[0], { version, body: "forged" }));
    for (const [text, gone, newest] of [
      [forged(8), [], 8],
      [forged(1000), [], 8],
      [forged(8), ["7.json", "8.json"], 6],
      [forged(6).replace('"version":6', '"version":0'), [], 6],
    ] as const) {
      await nodeFs.unlink(join(folder, "head"));
      await nodeFs.writeFile(join(folder, "head"), text);
      for (const name of gone) await nodeFs.unlink(join(folder, name));
      const [storage, another] = [await FileStorage.open(root), await FileStorage.open(root)];
      expect(await storage.read(id)).toEqual(chain[newest - 1]);
      expect((await another.list({})).items).toEqual([chain[newest - 1]?.summary]);
    }
    const storage = await FileStorage.open(root);
    await storage.append(nextCommit(chain[5] ?? chain[0]));
    expect(await collect(storage.log(id))).toHaveLength(7);
  });

  it("is not needed for sessions that this process has already read", async () => {
    const { root, folder, newest, id } = await filled(3);
    const [one, other] = [await FileStorage.open(root), await FileStorage.open(root)];
    await one.read(id);
    let last = newest;
    for (let count = 0; count < 5; count++) {
      last = nextCommit(last);
      await other.append(last);
    }
    await other.close();
    await nodeFs.unlink(join(folder, "head"));
    expect(await one.read(id)).toEqual(last);
    expect(await one.read(id)).toEqual(last);
  });
});

describe("a commit that this process has not written", () => {
  it("is synced before a read returns it, but not for a list, which acknowledges nothing", async () => {
    const { root, newest, id } = await filled(2);
    const syncs = vi.fn();
    const fs: FileSystem = {
      ...localFileSystem,
      async open(path, flags, mode) {
        const file = await localFileSystem.open(path, flags, mode);
        return { ...file, sync: async () => syncs(path) };
      },
    };
    const storage = await FileStorage.open(root, { fs });
    syncs.mockClear();
    await storage.list({ status: ["active"] });
    expect(await storage.read(id, { durable: false })).toEqual(newest);
    expect(syncs).not.toHaveBeenCalled();
    expect(await storage.read(id)).toEqual(newest);
    expect(syncs).toHaveBeenCalledExactlyOnceWith(folderOf(root, id));
    // It is known to be synced now.
    expect(await storage.read(id)).toEqual(newest);
    expect(syncs).toHaveBeenCalledTimes(1);
  });
});

describe("a header", () => {
  it("may be longer than the first read", async () => {
    const { root, newest } = await filled(2, { summary: { target: "é".repeat(5000) } });
    const storage = await FileStorage.open(root);
    expect((await storage.list({})).items).toEqual([newest.summary]);
    await storage.append(nextCommit(newest));
  });
});

describe("damage", () => {
  it("fails reads and appends with TAMPERED, and names the session and the version", async () => {
    const { root, folder, id, newest } = await filled(3);
    const file = join(folder, "3.json");
    const whole = await nodeFs.readFile(file, "utf8");
    const damages = [
      whole.slice(0, 300),
      whole.slice(0, 20),
      "",
      whole.replace('"version":3', '"version":2'),
      "null\n",
      "[1]",
      '{"a":1,\n"body":""}',
    ];
    for (const damage of [...damages, whole.replaceAll(id, "session_2"), whole.replace('"body":', '"bod":')]) {
      await nodeFs.writeFile(file, damage);
      const storage = await FileStorage.open(root);
      const told = { code: "TAMPERED", details: { sessionId: id, version: 3 } };
      await expect(storage.read(id)).rejects.toMatchObject(told);
      await expect(collect(storage.log(id))).rejects.toMatchObject(told);
      if (!damage.includes('"summary"') || damage.includes("session_2")) {
        expect((await storage.list({})).items).toEqual([]);
        await expect(storage.append(nextCommit(newest))).rejects.toMatchObject(told);
      }
    }
  });

  it("of one session excludes only this session from lists", async () => {
    const { root, folder, id } = await filled(2);
    const other = makeCommit({ sessionId: "other" });
    const storage = await FileStorage.open(root);
    await storage.append(other);
    await nodeFs.writeFile(join(folder, "2.json"), "");
    for (const query of [{}, { status: ["active"] }] as const) {
      expect((await storage.list(query)).items).toEqual([other.summary]);
    }
    expect(await collect(storage.damaged())).toEqual([id]);
    await storage.close();
    expect(await storage.countActive(5)).toBe(2);
    await expect(storage.read(id)).rejects.toMatchObject({ code: "TAMPERED" });
  });

  it("of one commit does not prevent reading the log before it", async () => {
    const { root, folder, id, chain } = await filled(10);
    await nodeFs.writeFile(join(folder, "7.json"), "");
    const given: Commit[] = [];
    const read = async () => {
      for await (const commit of (await FileStorage.open(root)).log(id)) given.push(commit);
    };
    await expect(read()).rejects.toMatchObject({ code: "TAMPERED", details: { version: 7 } });
    expect(given).toEqual(chain.slice(0, 6));
  });

  it("is reported by the log if a version is missing", async () => {
    const { root, folder, id } = await filled(30);
    for (const version of [20, 8, 1]) {
      await nodeFs.unlink(join(folder, `${version}.json`));
      const storage = await FileStorage.open(root);
      await expect(collect(storage.log(id))).rejects.toMatchObject({ code: "TAMPERED", details: { version } });
    }
  });

  it("of a payload is reported", async () => {
    const hash = "a".repeat(64);
    const { root, folder, id } = await filled(1, { payloads: [{ hash, body: "evidence" }] });
    const storage = await FileStorage.open(root, { maxCommitBytes: 100 });
    const text = (length: number) => gzipSync(JSON.stringify("\0".repeat(length)));
    const file = join(folder, "payloads", `${hash}.gz`);
    const whole = await nodeFs.readFile(file);
    for (const damage of [whole.subarray(0, 10), "", "evidence", gzipSync("not JSON"), gzipSync("1"), text(101)]) {
      await nodeFs.writeFile(file, damage);
      const told = { code: "TAMPERED", details: { sessionId: id } };
      await expect(storage.payload(id, hash)).rejects.toMatchObject(told);
    }
    await nodeFs.writeFile(file, text(100));
    expect(await storage.payload(id, hash)).toBe("\0".repeat(100));
  });

  it("does not prevent removing the session", async () => {
    const { root, folder, id } = await filled(1);
    await nodeFs.writeFile(join(folder, "1.json"), "");
    const storage = await FileStorage.open(root);
    await storage.remove(id);
    expect(await storage.read(id)).toBeUndefined();
    expect((await storage.list({})).items).toEqual([]);
  });
});

describe("a backup that is restored while a process runs", () => {
  it("is used by that process from then on", async () => {
    const { root, chain, id, folder } = await filled(5);
    for (const goOn of [
      async (storage: FileStorage) => expect(await storage.read(id)).toEqual(chain[1]),
      async (storage: FileStorage) => expect((await storage.list({})).items).toEqual([chain[1]?.summary]),
      async (storage: FileStorage) => {
        await expect(storage.append(nextCommit(chain[4] ?? chain[0]))).rejects.toMatchObject({ code: "CONFLICT" });
        await storage.append(nextCommit(chain[1] ?? chain[0]));
      },
    ]) {
      const storage = await FileStorage.open(root);
      const last = await storage.read(id);
      const names = ["3.json", "4.json", "5.json"];
      const kept = await Promise.all(names.map((name) => nodeFs.readFile(join(folder, name))));
      for (const name of names) await nodeFs.unlink(join(folder, name));
      await goOn(storage);
      await storage.close();
      for (const [index, name] of names.entries()) await nodeFs.writeFile(join(folder, name), kept[index] ?? "");
      expect(await storage.read(id)).toEqual(last);
    }
  });
});

describe("a read", () => {
  /** Counts the syncs of the session's folder, and makes them fail on request. */
  function watched(folder: string) {
    const watch = { syncs: 0, fails: false };
    const open: typeof nodeFs.open = async (path, flags, mode) => {
      const handle = await nodeFs.open(path, flags, mode);
      if (path !== folder) return handle;
      const sync = handle.sync.bind(handle);
      handle.sync = async () => {
        watch.syncs++;
        if (watch.fails) throw systemError("EIO");
        await sync();
      };
      return handle;
    };
    return { watch, fs: { ...nodeFs, open } };
  }

  it("syncs a commit of another process, once per version", async () => {
    const { root, folder, newest, id } = await filled(2);
    const { watch, fs } = watched(folder);
    const storage = await FileStorage.open(root, { fs });
    await storage.list({});
    expect(watch.syncs).toBe(0);
    expect([await storage.read(id), await storage.read(id)]).toEqual([newest, newest]);
    expect(watch.syncs).toBe(1);
    const third = nextCommit(newest);
    await storage.append(third);
    expect(await storage.read(id)).toEqual(third);
    expect(watch.syncs).toBe(2);
    await (await FileStorage.open(root)).append(nextCommit(third));
    await storage.read(id);
    await storage.read(id);
    expect(watch.syncs).toBe(3);
  });

  it("syncs a commit whose sync failed in this process", async () => {
    const { root, folder, newest, id } = await filled(1);
    const { watch, fs } = watched(folder);
    const storage = await FileStorage.open(root, { fs });
    watch.fails = true;
    const unknown = { code: "STORAGE_FAILED", details: { outcome: "unknown" } };
    await expect(storage.append(nextCommit(newest))).rejects.toMatchObject(unknown);
    await expect(storage.read(id)).rejects.toMatchObject({ code: "STORAGE_FAILED", details: { cause: "EIO" } });
    watch.fails = false;
    expect(await storage.read(id)).toEqual(nextCommit(newest));
  });

  it("returns undefined if the session is removed before it is synced", async () => {
    const { root, folder, id } = await filled(1);
    const other = await FileStorage.open(root);
    const open: typeof nodeFs.open = async (...args) => {
      if (args[0] === folder) await other.remove(id);
      return nodeFs.open(...args);
    };
    const storage = await FileStorage.open(root, { fs: { ...nodeFs, open } });
    expect(await storage.read(id)).toBeUndefined();
  });
});

describe("an append that fails", () => {
  it("leaves no markers if it fails before its commit is published", async () => {
    for (const full of [/tmp-/, /~.*~/, "link"]) {
      const root = await newRoot();
      let isFull = false;
      const fails = (path: unknown) => isFull && full instanceof RegExp && full.test(String(path));
      const open: typeof nodeFs.open = async (...args) => {
        if (fails(args[0])) throw systemError("ENOSPC");
        return nodeFs.open(...args);
      };
      const link: typeof nodeFs.link = async (...args) => {
        if (isFull) throw systemError("ENOSPC");
        await nodeFs.link(...args);
      };
      const storage = await FileStorage.open(root, { fs: { ...nodeFs, open, link } });
      isFull = true;
      for (const sessionId of ["one", "two"]) {
        await expect(storage.append(makeCommit({ sessionId }))).rejects.toMatchObject({ details: { cause: "ENOSPC" } });
      }
      expect(await storage.countActive(5)).toBe(0);
      expect(await nodeFs.readdir(join(root, "all", "2026-01-02"))).toEqual([]);
    }
  });

  it("succeeds despite a lack of file handles once its commit is published", async () => {
    const { root, newest, id, folder } = await filled(1);
    let isLinked = false;
    const link: typeof nodeFs.link = async (...args) => {
      await nodeFs.link(...args);
      isLinked = String(args[1]).endsWith("2.json");
    };
    const open: typeof nodeFs.open = async (...args) => {
      if (isLinked && args[0] === folder) throw systemError("EMFILE");
      return nodeFs.open(...args);
    };
    const storage = await FileStorage.open(root, { fs: { ...nodeFs, link, open } });
    await storage.append(nextCommit(newest));
    expect((await storage.read(id))?.version).toBe(2);
  });

  it("leaves the markers that another writer of the same version needs", async () => {
    const root = await newRoot();
    const winner = await FileStorage.open(root);
    const first = makeCommit();
    // In both cases the winner appends in between, and its markers have the same names as the loser's.
    for (const moment of ["link", "unlink"]) {
      const win = async () => {
        await winner.append(first).catch(() => {});
      };
      const link: typeof nodeFs.link = async (from, to) => {
        if (!String(to).endsWith(".json")) return nodeFs.link(from, to);
        if (moment === "link") await win();
        throw systemError(moment === "link" ? "EEXIST" : "ENOSPC");
      };
      const unlink: typeof nodeFs.unlink = async (path) => {
        if (String(path).includes("~")) await win();
        await nodeFs.unlink(path);
      };
      await nodeFs.rm(folderOf(root, "session_1"), { recursive: true, force: true });
      for (const tree of ["all", "active"]) await nodeFs.rm(join(root, tree), { recursive: true });
      for (const tree of ["all", "active"]) await nodeFs.mkdir(join(root, tree));
      const loser = await FileStorage.open(root, { fs: { ...nodeFs, link, unlink } });
      await expect(loser.append(first)).rejects.toMatchObject({});
      expect((await winner.list({ status: ["active"] })).items, moment).toEqual([first.summary]);
      expect((await winner.list({})).items, moment).toEqual([first.summary]);
    }
  });

  it("may remove markers that another writer needs; that writer creates them again", async () => {
    const root = await newRoot();
    const first = makeCommit();
    const paths = ["all/2026-01-02/030405006~session_1", "active/2026-01-02/030405006~session_1~1"];
    for (const path of paths) {
      await nodeFs.mkdir(join(root, path, ".."), { recursive: true });
      await nodeFs.writeFile(join(root, path), "");
    }
    const link: typeof nodeFs.link = async (from, to) => {
      if (String(to).endsWith(".json")) for (const path of paths) await nodeFs.unlink(join(root, path));
      await nodeFs.link(from, to);
    };
    const storage = await FileStorage.open(root, { fs: { ...nodeFs, link } });
    await storage.append(first);
    expect((await storage.list({})).items).toEqual([first.summary]);
    expect(await storage.countActive(5)).toBe(1);
  });
});

describe("a removed session", () => {
  it("cannot be appended to by a storage that has read it before", async () => {
    const { root, newest, id, folder } = await filled(2, { payloads: [{ hash: "a".repeat(64), body: "x" }] });
    const [one, other] = [await FileStorage.open(root), await FileStorage.open(root)];
    await one.read(id);
    await other.remove(id);
    const late = nextCommit(newest, { payloads: [{ hash: "b".repeat(64), body: "y" }] });
    await expect(one.append(late)).rejects.toMatchObject({ code: "CONFLICT" });
    await expect(one.append(makeCommit())).rejects.toMatchObject({ code: "CONFLICT" });
    expect(await one.read(id)).toBeUndefined();
    await expect(nodeFs.stat(folder)).rejects.toMatchObject({ code: "ENOENT" });
  });

  it("cannot be appended to if it is removed between two steps of the append", async () => {
    const { root, newest, id } = await filled(2);
    const other = await FileStorage.open(root);
    const link: typeof nodeFs.link = async (from, to) => {
      if (String(to).endsWith("3.json")) await other.remove(id);
      await nodeFs.link(from, to);
    };
    const storage = await FileStorage.open(root, { fs: { ...nodeFs, link } });
    await expect(storage.append(nextCommit(newest))).rejects.toMatchObject({ code: "CONFLICT" });
  });

  it("has an id that cannot be used again once the removal has begun", async () => {
    const { root, folder, newest, id } = await filled(1);
    const removed = folder.replace("sessions", "removed");
    await nodeFs.mkdir(join(removed, ".."));
    await nodeFs.writeFile(removed, "");
    const storage = await FileStorage.open(root);
    await expect(storage.append(makeCommit({ body: "x" }))).rejects.toMatchObject({ code: "CONFLICT" });
    expect(await storage.read(id)).toEqual(newest);
    await storage.remove(id);
    expect(await storage.read(id)).toBeUndefined();
  });

  it("leaves no files behind, even if an earlier removal was interrupted", async () => {
    const { root, id } = await filled(2);
    await nodeFs.mkdir(join(root, "trash", `removed~left~0~${randomUUID()}`));
    const storage = await FileStorage.open(root);
    await storage.remove(id);
    await storage.close();
    for (const folder of ["trash", "all/2026-01-02", "active/2026-01-02"]) {
      expect(await nodeFs.readdir(join(root, folder))).toEqual([]);
    }
  });

  it("can be removed by two storages at once", async () => {
    const { root, id } = await filled(2);
    const storages = await Promise.all([FileStorage.open(root), FileStorage.open(root)]);
    await Promise.all(storages.map((storage) => storage.remove(id)));
    expect(await storages[0]?.read(id)).toBeUndefined();
  });

  it("ends a log that is being read", async () => {
    const { root, id } = await filled(20);
    const storage = await FileStorage.open(root);
    const log = storage.log(id);
    await log.next();
    await storage.remove(id);
    expect((await collect(log)).length).toBeLessThan(19);
  });
});

describe("a log that is being read", () => {
  it("includes commits that are appended meanwhile", async () => {
    const { root, chain, id } = await filled(2);
    const other = await FileStorage.open(root);
    const late = commitChain(4).slice(2);
    const log = await FileStorage.open(root, { fs: { ...nodeFs, open } });
    // Runs when the end of the log was reached, before the newest version is looked up.
    async function open(...args: Parameters<typeof nodeFs.open>) {
      for (const commit of String(args[0]).endsWith("head") ? late.splice(0) : []) await other.append(commit);
      return nodeFs.open(...args);
    }
    expect(await collect(log.log(id))).toHaveLength(chain.length + 2);
  });

  it("ends without an error if the session is removed meanwhile", async () => {
    const { root, folder, id } = await filled(3);
    await nodeFs.unlink(join(folder, "2.json"));
    const other = await FileStorage.open(root);
    // Runs when the newest version is looked up, since one version is missing.
    const open: typeof nodeFs.open = async (...args) => {
      const handle = await nodeFs.open(...args);
      if (String(args[0]).endsWith("3.json")) await other.remove(id);
      return handle;
    };
    const storage = await FileStorage.open(root, { fs: { ...nodeFs, open } });
    expect(await collect(storage.log(id))).toHaveLength(1);
  });
});

describe("append", () => {
  it("refuses commits that cannot be stored as files", async () => {
    const { storage } = await openNew();
    const commit = makeCommit();
    const refused = [
      { ...commit, version: 0 },
      { ...commit, version: 1.5 },
      makeCommit({ summary: { activeSince: 0 } }),
      makeCommit({ summary: { createdAt: "../../x" } }),
      makeCommit({ summary: { sessionId: makeCommit({ sessionId: "x" }).sessionId } }),
      makeCommit({ payloads: [{ hash: "../x", body: "" }] }),
      JSON.parse(JSON.stringify(commit).replaceAll("session_1", "../x")),
    ];
    for (const one of refused) await expect(storage.append(one)).rejects.toMatchObject({ code: "INVALID_INPUT" });
    await expect(storage.read(JSON.parse('"../x"'))).rejects.toMatchObject({ code: "INVALID_INPUT" });
  });

  it("refuses commits that are too large, payloads included", async () => {
    const { storage } = await openNew({ maxCommitBytes: 100 });
    const payloads = [{ hash: "a".repeat(64), body: "é".repeat(50) }];
    await expect(storage.append(makeCommit({ body: "x", payloads }))).rejects.toMatchObject({
      code: "TOO_LARGE",
      details: { bytes: 101, limit: 100 },
    });
    await storage.append(makeCommit({ body: "", payloads }));
  });
});

describe("temporary files", () => {
  it("are deleted after an append, whether it succeeds or is refused", async () => {
    const { root, chain, folder, newest } = await filled(2);
    const storage = await FileStorage.open(root);
    await expect(storage.append(nextCommit(chain[0]))).rejects.toMatchObject({ code: "CONFLICT" });
    await storage.append(nextCommit(newest));
    await storage.close();
    expect(await nodeFs.readdir(folder)).toEqual(["1.json", "2.json", "3.json", "head"]);
  });

  it("of a crash are deleted now and then, when they are old", async () => {
    const { root, folder, newest } = await filled(62, { payloads: [{ hash: "a".repeat(64), body: "x" }] });
    for (const name of ["tmp-old", "tmp-new", "payloads/tmp-old"]) await nodeFs.writeFile(join(folder, name), "");
    for (const name of ["tmp-old", "payloads/tmp-old"]) await nodeFs.utimes(join(folder, name), HOURS_AGO, HOURS_AGO);
    const storage = await FileStorage.open(root);
    const [next, last] = [nextCommit(newest), nextCommit(nextCommit(newest))];
    await storage.append(next);
    await storage.append(last);
    await storage.close();
    const names = await nodeFs.readdir(folder, { recursive: true });
    expect(names.filter((name) => name.includes("tmp-"))).toEqual(["tmp-new"]);
  });

  it("of a crash are deleted when a session ends", async () => {
    const { root, folder, newest } = await filled(1);
    await nodeFs.writeFile(join(folder, "tmp-old"), "");
    await nodeFs.utimes(join(folder, "tmp-old"), HOURS_AGO, HOURS_AGO);
    const storage = await FileStorage.open(root);
    await storage.append(nextCommit(newest, { summary: { status: "completed" } }));
    await storage.close();
    expect(await nodeFs.readdir(folder)).toEqual(["1.json", "2.json", "head"]);
  });

  it("of a crash while opening the store are deleted at the next opening", async () => {
    const { root } = await filled(1);
    for (const name of ["tmp-old", "tmp-new"]) await nodeFs.writeFile(join(root, "trash", name), "");
    await nodeFs.utimes(join(root, "trash", "tmp-old"), HOURS_AGO, HOURS_AGO);
    await (await FileStorage.open(root)).close();
    expect(await nodeFs.readdir(join(root, "trash"))).toEqual(["tmp-new"]);
  });
});

describe("a file system", () => {
  it("that loses the response to a link does not make a commit look refused", async () => {
    const link: typeof nodeFs.link = async (from, to) => {
      await nodeFs.link(from, to);
      if (String(to).endsWith(".json")) throw systemError("EEXIST");
    };
    const { storage } = await openNew({ fs: { ...nodeFs, link } });
    await storage.append(makeCommit());
    await expect(storage.append(makeCommit({ body: "x" }))).rejects.toMatchObject({ code: "CONFLICT" });
  });

  it("where a staged file has more links does not make a refused commit look written", async () => {
    let [taken, copies] = ["", 0];
    const link: typeof nodeFs.link = async (from, to) => {
      if (!String(to).endsWith(".json")) return nodeFs.link(from, to);
      await nodeFs.link(from, `${from}-copy${copies++}`);
      if (taken === "gone") throw systemError("EEXIST");
      await nodeFs.link(from, to);
    };
    const { root, storage } = await openNew({ fs: { ...nodeFs, link } });
    const first = makeCommit();
    await storage.append(first);
    const late = makeCommit({ sessionId: "late" });
    taken = "gone";
    await expect(storage.append(late)).rejects.toMatchObject({ code: "CONFLICT" });
    taken = "";
    const rival = async (from: nodeFs.FileHandle | unknown, to: unknown) => {
      if (String(to).endsWith("2.json")) await nodeFs.writeFile(String(to), "a rival's");
      return link(String(from), String(to));
    };
    const other = await FileStorage.open(root, { fs: { ...nodeFs, link: rival } });
    await expect(other.append(nextCommit(first))).rejects.toMatchObject({ code: "CONFLICT" });
  });

  it("that cannot read a published version leaves the outcome unknown", async () => {
    let isBroken = false;
    const stat = (async (...args: Parameters<typeof nodeFs.stat>) => {
      if (isBroken) throw systemError("EIO");
      return nodeFs.stat(...args);
    }) as typeof nodeFs.stat;
    const link: typeof nodeFs.link = async (from, to) => {
      isBroken = String(to).endsWith(".json");
      await nodeFs.link(from, to);
      if (isBroken) throw systemError("EEXIST");
    };
    const { storage } = await openNew({ fs: { ...nodeFs, link, stat } });
    const unknown = { code: "STORAGE_FAILED", details: { cause: "EIO", outcome: "unknown" } };
    await expect(storage.append(makeCommit())).rejects.toMatchObject(unknown);
    isBroken = false;
    expect((await storage.list({})).items).toHaveLength(1);
    expect(await storage.countActive(5)).toBe(1);
  });

  it("whose store folder was deleted fails the append at once", async () => {
    const { root, storage } = await openNew();
    await nodeFs.rm(root, { recursive: true });
    await expect(storage.append(makeCommit())).rejects.toMatchObject({
      code: "STORAGE_FAILED",
      details: { operation: "append", cause: "ENOENT" },
    });
    expect(await storage.countActive(5)).toBe(0);
  });

  it("whose inner folders were deleted gets new ones", async () => {
    const { root, storage } = await openNew();
    await storage.append(makeCommit());
    for (const folder of ["sessions", "all", "active"]) {
      await nodeFs.rm(join(root, folder), { recursive: true });
      await nodeFs.mkdir(join(root, folder));
    }
    await storage.append(makeCommit());
    expect((await storage.list({})).items).toHaveLength(1);
  });

  it("that fails with something other than a system error fails the call with STORAGE_FAILED", async () => {
    const odd = { TypeError: new TypeError("odd"), string: "odd", Error: Object.assign(new Error("odd"), { code: 1 }) };
    for (const [cause, error] of Object.entries(odd)) {
      await expect(openNew({ fs: { ...nodeFs, link: () => Promise.reject(error) } })).rejects.toMatchObject({
        code: "STORAGE_FAILED",
        details: { operation: "open", cause },
      });
    }
  });
});

it("the payloads of a commit that comes second are not stored", async () => {
  const { root, storage } = await openNew();
  const other = await FileStorage.open(root);
  const [first] = await appendAll(storage, [makeCommit()]);
  // What it knows of the session is outdated afterwards.
  await other.read(first.sessionId);
  await storage.append(nextCommit(first));
  const payload = { hash: "b".repeat(64), body: "evidence" };
  const late = other.append(nextCommit(first, { body: "late", payloads: [payload] }), { follows: first.body });
  await expect(late).rejects.toMatchObject({ code: "CONFLICT" });
  expect(await storage.payload(first.sessionId, payload.hash)).toBeUndefined();
  for (const opened of [storage, other]) await opened.close();
});
