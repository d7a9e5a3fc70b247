import { getEventListeners, once } from "node:events";
import * as nodeFs from "node:fs/promises";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import type { Commit, SessionQuery } from "../../../src/ports/storage-adapter.js";
import type { FileSystem } from "../../../src/storage/files/file-system.js";
import { FileStorage, type FileStorageOptions } from "../../../src/storage/files/storage.js";
import { appendAll, type CommitParts, commitChain, makeCommit, nextCommit } from "../../../src/testing/contract.js";
import { createFaultyFs, systemError } from "./faulty-fs.js";
import { PowerDisk } from "./power/power-fs.js";
import { systemCalls } from "./power/system-calls.js";
import { temporaryRoots } from "./temporary-root.js";

const newRoot = temporaryRoots();
const FAST: FileStorageOptions = { watchIntervalMs: 5 };

/** Opens two adapters on one store, as two processes have them. */
async function openTwo() {
  const root = await newRoot();
  return { root, here: await FileStorage.open(root, FAST), there: await FileStorage.open(root, FAST) };
}

/** Watches a storage; `next` collects the given number of commits, in `session version` form. */
function watching(storage: FileStorage, query: SessionQuery = {}) {
  const abort = new AbortController();
  const commits = storage.watch(query, abort)[Symbol.asyncIterator]();
  return {
    abort,
    commits,
    async next(count: number): Promise<string[]> {
      const seen: string[] = [];
      while (seen.length < count) {
        const { value, done } = await commits.next();
        if (done) break;
        seen.push(`${value.sessionId} ${value.version}`);
      }
      return seen;
    },
    async end(): Promise<void> {
      abort.abort();
      expect(await commits.next()).toEqual({ value: undefined, done: true });
    },
  };
}

/** Waits until a watch yields a commit of its own adapter: from then on it also yields commits of others. */
async function begun(storage: FileStorage, watch: ReturnType<typeof watching>, parts: CommitParts = {}): Promise<void> {
  await storage.append(makeCommit({ sessionId: "mark", ...parts }));
  expect(await watch.next(1)).toEqual([`${parts.sessionId ?? "mark"} 1`]);
}

function last(commits: readonly Commit[]): Commit {
  const commit = commits.at(-1);
  if (commit === undefined) throw new Error("There must be a commit");
  return commit;
}

describe("a watch", () => {
  it("yields commits that the same adapter appends after the call, even before it is iterated", async () => {
    const { here } = await openTwo();
    const [first, second] = await appendAll(here, commitChain(2));
    const watch = watching(here);
    const third = nextCommit(second ?? first);
    await here.append(third);
    await here.append(makeCommit({ sessionId: "new" }));
    expect((await watch.next(2)).sort()).toEqual(["new 1", "session_1 3"]);
    await watch.end();
  });

  it("yields commits that the same adapter appends while it reads the state of sessions", async () => {
    const root = await newRoot();
    const first = makeCommit();
    const second = nextCommit(first);
    const [linked, seen] = [new AbortController(), new AbortController()];
    let isWatched = false;
    const fs: FileSystem = {
      ...nodeFs,
      // The append is suspended between publishing its commit and returning.
      link: async (from, to) => {
        await nodeFs.link(from, to);
        if (!isWatched || !String(to).endsWith("2.json")) return;
        linked.abort();
        await once(seen.signal, "abort");
      },
      // The watch reads the state of sessions once its sign exists.
      open: async (path, ...rest) => {
        if (isWatched && String(path).includes("watching") && !linked.signal.aborted)
          await once(linked.signal, "abort");
        return nodeFs.open(path, ...rest);
      },
    };
    const storage = await FileStorage.open(root, { ...FAST, fs });
    await storage.append(first);
    isWatched = true;
    const { next, end } = watching(storage);
    const commits = next(2);
    const appending = storage.append(second);
    await once(linked.signal, "abort");
    await storage.append(makeCommit({ sessionId: "other" }));
    await delay(50);
    seen.abort();
    await appending;
    expect((await commits).toSorted()).toEqual(["other 1", `${first.sessionId} 2`]);
    await end();
    await storage.close();
  });

  it("yields commits of other adapters, in order per session, and none from before the call", async () => {
    const { here, there } = await openTwo();
    const chain = await appendAll(there, commitChain(3));
    const watch = watching(here);
    await begun(here, watch);
    const first = watch.next(9);
    await there.append(makeCommit({ sessionId: "begin" }));
    let newest = last(chain);
    let other = makeCommit({ sessionId: "other" });
    await there.append(other);
    for (let count = 0; count < 4; count++) {
      newest = nextCommit(newest);
      other = nextCommit(other);
      await there.append(newest);
      await there.append(other);
    }
    const seen = [...(await first), ...(await watch.next(1))];
    expect(seen.filter((one) => one.startsWith("other"))).toEqual([1, 2, 3, 4, 5].map((version) => `other ${version}`));
    const own = seen.filter((one) => one.startsWith("session_1"));
    expect(own.at(-1)).toBe("session_1 7");
    expect(own).toEqual(own.toSorted());
    await watch.end();
  });

  it("yields commits of sessions that pause, resume and end, each filtered by its own summary", async () => {
    const { here, there } = await openTwo();
    const first = makeCommit();
    await there.append(first);
    const pausedMark = makeCommit({ sessionId: "paused_mark", summary: { status: "paused" } });
    const [all, paused] = [watching(here), watching(here, { status: ["paused"] })];
    await begun(here, all);
    await here.append(pausedMark);
    expect(await paused.next(1)).toEqual(["paused_mark 1"]);
    const [seenAll, seenPaused] = [all.next(7), paused.next(2)];
    // Each wait is long enough that the watch sees the state in between.
    let newest = first;
    for (const status of ["paused", "active", "paused", "active", "completed", "completed"] as const) {
      await new Promise((resolve) => setTimeout(resolve, 15));
      newest = nextCommit(newest, { summary: { status } });
      await there.append(newest);
    }
    const own = (await seenAll).filter((one) => one.startsWith("session_1"));
    expect(own).toEqual([2, 3, 4, 5, 6, 7].map((version) => `session_1 ${version}`));
    expect(await seenPaused).toEqual(["session_1 2", "session_1 4"]);
    await Promise.all([all.end(), paused.end()]);
  });

  it("yields the last commits of a session that is removed at once, and deletes its files afterwards", async () => {
    const { root, here, there } = await openTwo();
    const resting = makeCommit({ sessionId: "resting", summary: { status: "completed" } });
    const compacted = commitChain(3, { sessionId: "compacted" });
    await appendAll(there, [resting, ...compacted]);
    const watch = watching(here);
    await begun(here, watch);
    const seen = watch.next(5);
    await there.append(nextCommit(resting, { summary: { status: "deleted" } }));
    await there.remove(resting.sessionId);
    await there.append(makeCommit({ sessionId: "short" }));
    await there.remove(makeCommit({ sessionId: "short" }).sessionId);
    const fourth = nextCommit(last(compacted));
    await there.append(fourth);
    await there.compact(fourth.sessionId);
    await there.append(nextCommit(fourth));
    await there.compact(fourth.sessionId);
    await there.append(nextCommit(nextCommit(fourth)));
    await there.remove(fourth.sessionId);
    expect((await seen).sort()).toEqual(["compacted 4", "compacted 5", "compacted 6", "resting 2", "short 1"]);
    await watch.end();
    await there.close();
    await new Promise((resolve) => setTimeout(resolve, 20));
    for (const folder of ["trash", "watching"]) expect(await readdir(join(root, folder))).toEqual([]);
  });

  it("continues through compactions", async () => {
    const { here, there } = await openTwo();
    const chain = await appendAll(there, commitChain(5));
    const watch = watching(here);
    await begun(here, watch);
    const seen = watch.next(12);
    let newest = last(chain);
    for (let round = 0; round < 12; round++) {
      newest = nextCommit(newest);
      await there.append(newest);
      if (round % 3 === 0) await there.compact(newest.sessionId);
      if (round % 4 === 0) await new Promise((resolve) => setTimeout(resolve, 12));
    }
    expect(await seen).toEqual(Array.from({ length: 12 }, (_, index) => `session_1 ${index + 6}`));
    await watch.end();
  });

  it("polls inactive sessions in turn, and only ids with the given prefix", async () => {
    const { here, there } = await openTwo();
    const resting = Array.from({ length: 200 }, (_, index) =>
      makeCommit({ sessionId: `a_${index}`, summary: { status: "paused" } }),
    );
    await appendAll(there, [...resting, makeCommit({ sessionId: "b" })]);
    const watch = watching(here, { idPrefix: "a_" });
    await begun(here, watch, { sessionId: "a_mark" });
    const seen = watch.next(200);
    await there.append(nextCommit(makeCommit({ sessionId: "b" })));
    await appendAll(
      there,
      resting.map((commit) => nextCommit(commit)),
    );
    expect((await seen).sort()).toEqual(resting.map(({ sessionId }) => `${sessionId} 2`).sort());
    await watch.end();
  });

  it("skips a damaged session until it is repaired", async () => {
    const { root, here, there } = await openTwo();
    const first = makeCommit({ sessionId: "good" });
    const hurt = commitChain(2, { sessionId: "hurt" });
    await appendAll(there, [first, ...hurt]);
    const names = await readdir(join(root, "sessions"), { recursive: true });
    const file = join(root, "sessions", names.find((name) => name.endsWith("hurt/2.json")) ?? "");
    const whole = await readFile(file);
    await writeFile(file, "");
    const watch = watching(here);
    await begun(here, watch);
    const seen = watch.next(1);
    await there.append(nextCommit(first));
    expect(await seen).toEqual(["good 2"]);
    await writeFile(file, whole);
    await there.append(nextCommit(last(hurt)));
    expect(await watch.next(1)).toEqual(["hurt 3"]);
    await watch.end();
  });

  it("ends when it is aborted: before it waits, while it waits, and when it is not iterated", async () => {
    const { root, here } = await openTwo();
    await watching(here).end();
    expect(await readdir(join(root, "watching"))).toEqual([]);
    const waiting = watching(here);
    const next = waiting.commits.next();
    setTimeout(() => waiting.abort.abort(), 20);
    expect(await next).toEqual({ value: undefined, done: true });
    const early = here.watch({}, { signal: AbortSignal.abort() })[Symbol.asyncIterator]();
    expect((await early.next()).done).toBe(true);
    const left = watching(here);
    left.abort.abort();
    while ((await readdir(join(root, "watching"))).length > 0) await new Promise((resolve) => setTimeout(resolve, 2));
  });

  it("ends without an error and leaves no listener, even if its trash can't be looked at", async () => {
    const root = await newRoot();
    const fault = { code: "" };
    const readdir: FileSystem["readdir"] = (path, options) =>
      fault.code === "" ? nodeFs.readdir(path, options) : Promise.reject(systemError(fault.code));
    const storage = await FileStorage.open(root, { ...FAST, fs: { ...nodeFs, readdir } });
    const [left, aborted] = [watching(storage), watching(storage)];
    await begun(storage, left);
    await left.commits.return?.();
    expect(getEventListeners(left.abort.signal, "abort")).toEqual([]);
    expect(await aborted.next(1)).toEqual(["mark 1"]);
    const unhandled: unknown[] = [];
    const note = (reason: unknown) => void unhandled.push(reason);
    process.on("unhandledRejection", note);
    fault.code = "EMFILE";
    aborted.abort.abort();
    await delay(50);
    process.off("unhandledRejection", note);
    expect(unhandled).toEqual([]);
    expect(await aborted.commits.next()).toEqual({ value: undefined, done: true });
  });

  it("fails in the iterator if the file system fails", async () => {
    const { root } = await openTwo();
    const faulty = createFaultyFs();
    const storage = await FileStorage.open(root, { ...FAST, fs: faulty.fs });
    faulty.arm(1, "EIO", "before");
    const watch = watching(storage);
    await expect(watch.commits.next()).rejects.toMatchObject({
      code: "STORAGE_FAILED",
      details: { operation: "watch", cause: systemError("EIO").message.slice(0, 3) },
    });
  });
});

it("a watch yields no commit that a loss of power could undo, though its writer has not synced it yet", async () => {
  const disk = new PowerDisk({ of: () => 0 });
  const first = makeCommit();
  const second = nextCommit(first);
  let place: string | undefined;
  const isLinked = () => place !== undefined && disk.folder(place).entries.has("2.json");
  // The writer never comes to syncing the second commit.
  const slow = systemCalls(disk, async (call, path) => {
    if (call === "link" && path.endsWith(`${first.sessionId}/1.json`)) place = dirname(path);
    if (call === "sync" && isLinked()) await new Promise(() => {});
  });
  const writer = await FileStorage.open("/store", { ...FAST, fs: slow });
  // While the reader reads the first commit, and looks whether there is a second one, that is linked.
  const late = systemCalls(disk, async (call, path) => {
    if (call !== "open" || !path.endsWith(`${first.sessionId}/2.json`) || isLinked()) return;
    void writer.append(second);
    await vi.waitUntil(isLinked);
  });
  const reader = await FileStorage.open("/store", { ...FAST, fs: late });
  const watch = watching(reader);
  await begun(reader, watch);
  await writer.append(first);
  expect(await watch.next(2)).toEqual([`${first.sessionId} 1`, `${first.sessionId} 2`]);
  expect([...disk.folder(place ?? "").onDisk.keys()]).toContain("2.json");
  await watch.end();
});
