import * as nodeFs from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Commit } from "../../../src/ports/storage-adapter.js";
import { activeMarker, allMarker, parseMarker } from "../../../src/storage/files/markers.js";
import { FileStorage } from "../../../src/storage/files/storage.js";
import { makeCommit, nextCommit } from "../../../src/testing/contract.js";
import { temporaryRoots } from "./temporary-root.js";

const newRoot = temporaryRoots();
const DAY = "2026-01-02";
const HOURS_AGO = new Date(Date.now() - 2 * 3_600_000);

afterEach(() => vi.useRealTimers());

async function openWith(...commits: Commit[]) {
  const root = await newRoot();
  const storage = await FileStorage.open(root);
  for (const commit of commits) await storage.append(commit);
  return { root, storage };
}

/** Creates markers by hand, as a crash may leave them. */
async function leave(root: string, ...names: string[]): Promise<void> {
  for (const name of names) {
    await nodeFs.mkdir(join(root, name, ".."), { recursive: true });
    await nodeFs.writeFile(join(root, name), "");
  }
}

async function markersIn(root: string, tree: string): Promise<string[]> {
  const names = await nodeFs.readdir(join(root, tree), { recursive: true });
  return names.filter((name) => name.includes("~"));
}

describe("markers", () => {
  const first = makeCommit();
  const paused = nextCommit(first, { summary: { status: "paused" } });
  const resumed = nextCommit(paused, { summary: { status: "active" } });

  it("exist while a session is active", async () => {
    const { root, storage } = await openWith();
    const seen: string[][] = [];
    for (const commit of [first, paused, resumed, nextCommit(resumed)]) {
      await storage.append(commit);
      seen.push(await markersIn(root, "active"));
    }
    const [begun, again] = [`${DAY}/030405006~session_1~1`, `${DAY}/030405006~session_1~3`];
    expect(seen).toEqual([[begun], [], [again], [again]]);
    expect(await markersIn(root, "all")).toEqual([`${DAY}/030405006~session_1`]);
  });

  it("that are wrong are not listed, and a list deletes them", async () => {
    const { root, storage } = await openWith(first, paused, resumed, makeCommit({ sessionId: "other" }));
    const left = ["030405006~session_1~1", "030405006~session_1~2", "110000000~session_1~1"];
    await leave(root, ...left.map((name) => `active/${DAY}/${name}`), `all/${DAY}/110000000~session_1`);
    expect(await storage.countActive(100)).toBe(5);
    for (const query of [{}, { status: ["active"] }] as const) {
      const { items } = await storage.list(query);
      expect(items.map((summary) => summary.sessionId)).toEqual(["other", "session_1"]);
    }
    await storage.close();
    expect(await storage.countActive(100)).toBe(2);
    expect(await markersIn(root, "all")).toHaveLength(2);
  });

  it("of a session that has ended are deleted by a list", async () => {
    const { root, storage } = await openWith(first, paused);
    await leave(root, `active/${DAY}/030405006~session_1~1`);
    expect((await storage.list({ status: ["active"] })).items).toEqual([]);
    await storage.close();
    expect(await markersIn(root, "active")).toEqual([]);
  });

  it("of a future version are kept, as it may be in progress", async () => {
    const { root, storage } = await openWith(first, paused);
    await leave(root, `active/${DAY}/030405006~session_1~3`);
    expect((await storage.list({ status: ["active"] })).items).toEqual([]);
    await storage.close();
    expect(await markersIn(root, "active")).toHaveLength(1);
  });

  it("without a session are deleted once they are old, as the session may be starting", async () => {
    const { root, storage } = await openWith();
    const [old, fresh] = [`active/${DAY}/000000000~old~1`, `active/${DAY}/000000000~fresh~1`];
    await leave(root, old, fresh);
    await nodeFs.utimes(join(root, old), HOURS_AGO, HOURS_AGO);
    expect((await storage.list({ status: ["active"] })).items).toEqual([]);
    await storage.close();
    expect(await markersIn(root, "active")).toEqual([`${DAY}/000000000~fresh~1`]);
  });

  it("of a session with some files left are kept", async () => {
    const { root, storage } = await openWith(first, paused, resumed);
    const [old] = await nodeFs.readdir(join(root, "sessions"));
    const folder = join(root, "sessions", old ?? "", "session_1");
    await storage.close();
    for (const name of ["3.json", "head"]) await nodeFs.unlink(join(folder, name));
    for (const tree of ["all", "active"]) {
      for (const name of await markersIn(root, tree)) await nodeFs.utimes(join(root, tree, name), HOURS_AGO, HOURS_AGO);
    }
    expect((await storage.list({})).items).toEqual([paused.summary]);
    await storage.close();
    expect(await markersIn(root, "all")).toHaveLength(1);
    await nodeFs.unlink(join(folder, "1.json"));
    const another = await FileStorage.open(root);
    expect((await another.list({})).items).toEqual([paused.summary]);
    await another.close();
    expect(await markersIn(root, "all")).toHaveLength(1);
  });

  it("are created again if their session starts while they are being deleted", async () => {
    const root = await newRoot();
    const writer = await FileStorage.open(root);
    const marker = join(root, "active", DAY, "030405006~session_1~1");
    // The writer publishes after the list has looked for the session, and before the old marker is deleted.
    const unlink: typeof nodeFs.unlink = async (path) => {
      if (path === marker) await writer.append(first);
      await nodeFs.unlink(path);
    };
    const storage = await FileStorage.open(root, { fs: { ...nodeFs, unlink } });
    await leave(root, `active/${DAY}/030405006~session_1~1`);
    await nodeFs.utimes(marker, HOURS_AGO, HOURS_AGO);
    await storage.list({ status: ["active"] });
    await storage.close();
    expect(await markersIn(root, "active")).toHaveLength(1);
  });

  it("may share their folder with unrelated files", async () => {
    const { root, storage } = await openWith(first);
    const odd = [".DS_Store", "x", "030405006~", "030405006~Not valid~1", "990000000~a~1", "030405006~a~0", "~~"];
    await leave(root, ...odd.flatMap((name) => [`active/${DAY}/${name}`, `all/${DAY}/${name}`]), "all/thumbs/x~y");
    for (const query of [{}, { status: ["active"] }] as const) {
      expect((await storage.list(query)).items).toEqual([first.summary]);
    }
    expect(await storage.countActive(100)).toBe(1);
  });

  it("are parsed back to the values they were made from", () => {
    for (const commit of [first, resumed]) {
      const { createdAt, sessionId, activeSince } = commit.summary;
      for (const [marker, version] of [
        [allMarker(commit.summary), 1],
        [activeMarker(commit.summary), activeSince],
      ] as const) {
        const read = parseMarker(marker.tree, marker.day, marker.name);
        expect(read).toEqual({ createdAt, sessionId, version, marker });
      }
    }
  });
});

describe("day folders", () => {
  const recent = new Date().toISOString();

  it("that are old and empty are deleted by a list, and created again for a session of that day", async () => {
    const first = makeCommit();
    const { root, storage } = await openWith(first, makeCommit({ sessionId: "new", summary: { createdAt: recent } }));
    for (const commit of [first, makeCommit({ sessionId: "new" })]) await storage.remove(commit.sessionId);
    expect((await storage.list({})).items).toEqual([]);
    await storage.close();
    expect(await nodeFs.readdir(join(root, "all"))).toEqual([recent.slice(0, 10)]);
    await storage.append(makeCommit({ sessionId: "again" }));
    expect((await storage.list({})).items).toHaveLength(1);
  });

  it("may be deleted right before a marker is created", async () => {
    const root = await newRoot();
    let races = 1;
    const open: typeof nodeFs.open = async (path, flags, mode) => {
      if (String(path).includes("~") && races-- > 0) await nodeFs.rmdir(join(String(path), ".."));
      return nodeFs.open(path, flags, mode);
    };
    const storage = await FileStorage.open(root, { fs: { ...nodeFs, open } });
    await storage.append(makeCommit());
    expect(await storage.countActive(5)).toBe(1);
  });
});

describe("large day folders", () => {
  const createdAt = "2026-01-02T03:04:05.006Z";

  async function crowd(root: string, count: number): Promise<void> {
    const names = Array.from({ length: count }, (_, index) => `active/${DAY}/010000000~s${index}~1`);
    await leave(root, ...names);
  }

  it("are read again when they change, even within the resolution of the file time", async () => {
    const { root, storage } = await openWith();
    await crowd(root, 300);
    const day = join(root, "active", DAY);
    for (const mtime of [HOURS_AGO, new Date(Date.now() - 60_000.5), new Date()]) {
      await nodeFs.utimes(day, mtime, mtime);
      const before = await storage.countActive(1000);
      expect(await storage.countActive(1000)).toBe(before);
      await storage.append(makeCommit({ sessionId: `at${mtime.getTime()}`, summary: { createdAt } }));
      expect(await storage.countActive(1000)).toBe(before + 1);
    }
  });

  it("are cached for a limited time, up to a limit", async () => {
    const { root, storage } = await openWith();
    await crowd(root, 256);
    const days = [DAY, ...Array.from({ length: 17 }, (_, index) => `2025-01-${index + 10}`)];
    for (const day of days.slice(1))
      await nodeFs.cp(join(root, "active", DAY), join(root, "active", day), { recursive: true });
    for (const day of days) await nodeFs.utimes(join(root, "active", day), HOURS_AGO, HOURS_AGO);
    expect(await storage.countActive(1e6)).toBe(256 * days.length);
    expect(await storage.countActive(1e6)).toBe(256 * days.length);
    vi.useFakeTimers({ now: Date.now() + 60_000, toFake: ["Date"] });
    expect(await storage.countActive(1e6)).toBe(256 * days.length);
  });
});
