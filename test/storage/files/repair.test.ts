import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import * as nodeFs from "node:fs/promises";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Commit } from "../../../src/ports/storage-adapter.js";
import { FileStorage } from "../../../src/storage/files/storage.js";
import { appendAll, collect, commitChain, makeCommit, nextCommit, wins } from "../../../src/testing/contract.js";
import { createPausingFs } from "./pausing-fs.js";
import { temporaryRoots } from "./temporary-root.js";

const newRoot = temporaryRoots();

afterEach(() => vi.useRealTimers());

const first = makeCommit();
const paused = nextCommit(first, { summary: { status: "paused" } });
const other = makeCommit({ sessionId: "other" });

async function filled(...commits: Commit[]) {
  const root = await newRoot();
  const storage = await FileStorage.open(root);
  for (const commit of commits) await storage.append(commit);
  return { root, storage };
}

function folderOf(root: string, id = "session_1"): string {
  return join(root, "sessions", createHash("sha256").update(id).digest("hex").slice(0, 2), id);
}

async function idsIn(storage: FileStorage, status?: "active"): Promise<string[]> {
  const { items } = await storage.list(status === undefined ? {} : { status: [status] });
  return items.map(({ sessionId }) => sessionId as string).sort();
}

describe("a repair", () => {
  it("creates markers again that were deleted, and reports them", async () => {
    const { root, storage } = await filled(first, paused, other);
    for (const tree of ["all", "active"]) await nodeFs.rm(join(root, tree, "2026-01-02"), { recursive: true });
    expect(await idsIn(storage)).toEqual([]);
    expect(await storage.repair()).toEqual({
      sessions: 2,
      repaired: [{ what: "list markers made", count: 3 }],
      damaged: [],
    });
    expect([await idsIn(storage), await idsIn(storage, "active")]).toEqual([["other", "session_1"], ["other"]]);
    expect(await storage.countActive(10)).toBe(1);
    expect((await storage.repair()).repaired).toEqual([]);
  });

  it("deletes wrong markers, and updates outdated heads", async () => {
    const { root, storage } = await filled(first, paused);
    await storage.close();
    await nodeFs.writeFile(join(root, "active/2026-01-02/030405006~session_1~1"), "");
    await nodeFs.rm(join(folderOf(root), "head"));
    const { repaired } = await storage.repair();
    expect(repaired).toEqual([
      { what: "list markers taken away", count: 1 },
      { what: "heads written", count: 1 },
    ]);
    expect(await storage.hint(first.sessionId)).toBe(2);
  });

  it("reports and lists damaged sessions, and does not change them", async () => {
    const { root, storage } = await filled(...commitChain(4), other);
    await storage.close();
    await nodeFs.rm(join(folderOf(root), "2.json"));
    await nodeFs.rm(join(root, "all"), { recursive: true });
    await nodeFs.mkdir(join(root, "all"));
    const before = await nodeFs.readdir(folderOf(root));
    const again = await FileStorage.open(root);
    const { damaged } = await again.repair();
    expect(damaged).toEqual([{ sessionId: "session_1", reason: "Version 2 is missing" }]);
    await nodeFs.writeFile(join(folderOf(root), "4.json"), "{");
    expect((await again.repair()).damaged).toMatchObject([{ sessionId: "session_1" }]);
    expect(await collect(again.damaged())).toEqual(["session_1"]);
    expect(await nodeFs.readdir(folderOf(root))).toEqual(before);
  });
});

describe("a copy of a folder", () => {
  it("lists every session, even if markers were not copied", async () => {
    const { root, storage } = await filled(first, paused, other);
    await storage.close();
    const copy = join(await newRoot(), "copy");
    await nodeFs.cp(root, copy, { recursive: true });
    await nodeFs.rm(join(copy, "active"), { recursive: true });
    await nodeFs.rm(join(copy, "all/2026-01-02/030405006~other"));
    const opened = await FileStorage.open(copy);
    expect([await idsIn(opened), await idsIn(opened, "active")]).toEqual([["other", "session_1"], ["other"]]);
    await opened.close();
    // From now on it is a store of its own, and is not scanned again.
    const { ino } = await nodeFs.stat(copy);
    expect(JSON.parse(await nodeFs.readFile(join(copy, "format.json"), "utf8"))).toMatchObject({ folder: String(ino) });
  });

  it("keeps a newer head that another process wrote while this one waited to write its own", async () => {
    const { root, storage } = await filled(first);
    const elsewhere = await FileStorage.open(root);
    // The first head is written at once, so that the second one waits.
    while (!existsSync(join(folderOf(root), "head"))) await nextTurn();
    await storage.append(paused);
    await elsewhere.append(nextCommit(paused));
    await Promise.all([storage.close(), elsewhere.close()]);
    expect(JSON.parse(await nodeFs.readFile(join(folderOf(root), "head"), "utf8"))).toMatchObject({ version: 3 });
  });

  it("does not take a head that is ahead as a sign of lost commits", async () => {
    const { root, storage } = await filled(first, paused);
    await storage.close();
    const copy = join(await newRoot(), "copy");
    await nodeFs.cp(root, copy, { recursive: true });
    for (const place of [root, copy]) await nodeFs.rm(join(folderOf(place), "2.json"));
    expect(await (await FileStorage.open(copy)).hint(first.sessionId)).toBeLessThan(2);
    const original = await FileStorage.open(root);
    expect((await original.repair()).damaged).toMatchObject([{ reason: expect.stringContaining("Commits are gone") }]);
    expect(await original.hint(first.sessionId)).toBe(2);
  });

  it("does not contain a session whose removal was copied", async () => {
    const { root, storage } = await filled(first, other);
    const copy = join(await newRoot(), "copy");
    await nodeFs.cp(root, copy, { recursive: true });
    await storage.remove(first.sessionId);
    await nodeFs.cp(join(root, "removed"), join(copy, "removed"), { recursive: true });
    expect(await idsIn(await FileStorage.open(copy))).toEqual(["other"]);
  });

  it("is refused if an unreleased version has compacted sessions in it", async () => {
    const { root } = await filled(first);
    await nodeFs.mkdir(join(root, "compacted", "3a"), { recursive: true });
    await expect(FileStorage.open(root)).rejects.toMatchObject({ code: "STORAGE_FAILED" });
  });
});

describe("the count of active sessions", () => {
  const again = nextCommit(paused, { summary: { status: "active" } });

  it("does not grow when writers pause and resume a session, wherever one of them is suspended", async () => {
    for (let nth = 1; ; nth++) {
      const { root, storage } = await filled(first, paused);
      const pausing = createPausingFs();
      const sleeper = await FileStorage.open(root, { fs: pausing.fs });
      await sleeper.read(first.sessionId);
      pausing.pauseBefore(nth, async () => {
        const newest = await storage.read(first.sessionId);
        if (newest === undefined) throw new Error("The session is there");
        const resumed =
          newest.version === 2 ? nextCommit(paused, { body: "x", summary: { status: "active" } }) : newest;
        if (newest.version === 2) await storage.append(resumed);
        await storage.append(nextCommit(resumed, { summary: { status: "paused" } }));
      });
      await wins(sleeper.append(again));
      await sleeper.close();
      const reached = pausing.disarm();
      const newest = await storage.read(first.sessionId);
      const markers = await nodeFs.readdir(join(root, "active/2026-01-02"));
      expect(markers.length, `asleep before call ${nth}: ${markers}`).toBe(newest?.summary.status === "active" ? 1 : 0);
      if (!reached) break;
    }
  });

  it("opens sessions if the number of markers reaches the limit, and deletes wrong markers", async () => {
    const { root, storage } = await filled(first, paused, other);
    for (const name of ["030405006~session_1~1", "030405006~other~0", "030405006~gone~1"]) {
      await nodeFs.writeFile(join(root, "active/2026-01-02", name), "");
    }
    expect(await storage.countActive(100)).toBe(3);
    // A marker without a session may belong to a session that is about to start.
    expect(await storage.countActive(3)).toBe(2);
    await storage.close();
    expect(await storage.countActive(3)).toBe(2);
    expect(await storage.countActive(1)).toBe(1);
  });
});

describe("a clock that is hours ahead", () => {
  it("deletes nothing that another process is about to publish", async () => {
    const { root, storage } = await filled(first);
    const staged = [join(folderOf(root), "tmp-of-another"), join(root, "trash", "tmp-of-another")];
    for (const path of staged) await nodeFs.writeFile(path, "");
    const marker = join(root, "active/2026-01-02/030405006~soon~1");
    await nodeFs.writeFile(marker, "");
    const hoursAgo = new Date(Date.now() - 2 * 3_600_000);
    const old = join(folderOf(root), "tmp-old");
    await nodeFs.writeFile(old, "");
    await nodeFs.utimes(old, hoursAgo, hoursAgo);
    vi.useFakeTimers({ now: Date.now() + 2 * 3_600_000, toFake: ["Date"] });
    const ahead = await FileStorage.open(root);
    await ahead.append(paused);
    await ahead.list({ status: ["active"] });
    await ahead.close();
    for (const path of [...staged, marker]) expect(await nodeFs.stat(path)).toBeDefined();
    await expect(nodeFs.stat(old)).rejects.toMatchObject({ code: "ENOENT" });
    await storage.close();
  });

  it("keeps removed sessions for watchers", async () => {
    const { root, storage } = await filled(first);
    const stop = new AbortController();
    const seen: string[] = [];
    const watching = (async () => {
      for await (const commit of storage.watch({}, { signal: stop.signal })) seen.push(commit.summary.status);
    })();
    while ((await nodeFs.readdir(join(root, "watching"))).length === 0) await new Promise(setImmediate);
    vi.useFakeTimers({ now: Date.now() + 2 * 3_600_000, toFake: ["Date"] });
    const ahead = await FileStorage.open(root);
    await appendAll(ahead, [nextCommit(first, { summary: { status: "deleted" } })]);
    await ahead.remove(first.sessionId);
    await ahead.close();
    await (await FileStorage.open(root)).close();
    expect(await nodeFs.readdir(join(root, "trash"))).toHaveLength(1);
    vi.useRealTimers();
    while (seen.length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    expect(seen).toEqual(["deleted"]);
    stop.abort();
    await watching;
  });
});
