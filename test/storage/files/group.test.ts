import { cp, readdir, readFile, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Commit } from "../../../src/ports/storage-adapter.js";
import type { FileSystem } from "../../../src/storage/files/disk.js";
import { StoreLayout } from "../../../src/storage/files/layout.js";
import { FileStorage } from "../../../src/storage/files/storage.js";
import { collect, makeCommit, nextCommit } from "../../../src/testing/contract.js";
import type { SessionId } from "../../../src/workflow/names.js";
import { directFs } from "./direct-fs.js";
import { systemError } from "./faulty-fs.js";
import { temporaryRoots } from "./temporary-root.js";

const newRoot = temporaryRoots();

const firstOf = (sessionId: string) => makeCommit({ sessionId });
/** While the commit of the first one is written alone, those of the others come. */
const [alone, one, two, three] = [firstOf("alone"), firstOf("one"), firstOf("two"), firstOf("three")];
const FIRSTS = [alone, one, two, three];
const SECONDS = FIRSTS.map((first) => nextCommit(first, { body: `the second of ${first.sessionId}` }));
const [, one2 = one, two2 = two, three2 = three] = SECONDS;

const fileOf = (root: string, { sessionId, version }: Commit) =>
  join(new StoreLayout(root).place(sessionId).folder, `${version}.json`);
const textOf = (root: string, commit: Commit) => readFile(fileOf(root, commit), "utf8");
const log = (storage: FileStorage, id: SessionId) => collect(storage.log(id));

async function begun(fs: FileSystem = directFs) {
  const root = await newRoot();
  const storage = await FileStorage.open(root, { fs, copyWindowMs: 0 });
  for (const commit of FIRSTS) await storage.append(commit);
  return { root, storage };
}

const appendAll = (storage: FileStorage, commits: readonly Commit[]) =>
  Promise.allSettled(commits.map((commit) => storage.append(commit)));

/** A store in which three sessions share a file. */
async function grouped() {
  const { root, storage } = await begun();
  for (const { status } of await appendAll(storage, SECONDS)) expect(status).toBe("fulfilled");
  return { root, storage };
}

/** Returns a file system that calls `before` with each name of a call, also of handles, and its path. */
function fsWith(before: (call: string, path: string) => Promise<void> | void): FileSystem {
  return new Proxy(directFs, {
    get(target, call) {
      const value: unknown = Reflect.get(target, call);
      if (typeof value !== "function") return value;
      return async (...args: unknown[]) => {
        await before(String(call), String(args[call === "link" ? 1 : 0]));
        const result: unknown = await value.apply(target, args);
        return call === "open" && typeof result === "object" && result !== null
          ? handleWith(result, String(args[0]), before)
          : result;
      };
    },
  });
}

function handleWith(handle: object, path: string, before: (call: string, path: string) => Promise<void> | void) {
  return new Proxy(handle, {
    get(target, call) {
      const value: unknown = Reflect.get(target, call, target);
      if (typeof value !== "function") return value;
      return async (...args: unknown[]) => {
        await before(`handle.${String(call)}`, path);
        return value.apply(target, args);
      };
    },
  });
}

describe("commits that come while another one is written", () => {
  it("share one file, and are read and measured as if each were alone", async () => {
    const { root, storage } = await grouped();
    const shared = await textOf(root, one2);
    for (const commit of [one2, two2, three2]) {
      expect(await textOf(root, commit)).toBe(shared);
      expect(shared).toContain(JSON.stringify(commit.body));
    }
    expect(await textOf(root, SECONDS[0] ?? alone)).not.toContain("the second of one");
    const other = await FileStorage.open(root, { fs: directFs });
    for (const reader of [storage, other]) {
      for (const [index, commit] of SECONDS.entries()) {
        expect(await reader.read(commit.sessionId)).toEqual(commit);
        expect(await log(reader, commit.sessionId)).toEqual([FIRSTS[index], commit]);
      }
      expect((await reader.list({})).items).toHaveLength(4);
    }
    const text = shared.slice(shared.indexOf(`{"sessionId":"two"`)).split("\n").slice(0, 2).join("\n");
    const first = (await textOf(root, two)).length;
    expect(await storage.size(two.sessionId)).toEqual({ commits: 2, bytes: first + text.length + 1 });
    await storage.close();
  });

  it("are at most 32, and those with long texts go alone", async () => {
    const root = await newRoot();
    const storage = await FileStorage.open(root, { fs: directFs });
    const firsts = Array.from({ length: 41 }, (_, index) => firstOf(`s${index}`));
    for (const first of firsts) await storage.append(first);
    const long = "x".repeat(20_000);
    const next = firsts.map((first, index) => nextCommit(first, index === 7 ? { body: long } : {}));
    await appendAll(storage, next);
    const texts = await Promise.all(next.map((commit) => textOf(root, commit)));
    const sharing = texts.map(
      (text) => text.split('{"sessionId"').length - 1 - text.split('"summary":{"sessionId"').length + 1,
    );
    expect(sharing.filter((count) => count === 32)).toHaveLength(32);
    expect(Math.max(...sharing)).toBe(32);
    expect(sharing[7]).toBe(1);
    for (const commit of next) expect(await storage.read(commit.sessionId)).toEqual(commit);
    await storage.close();
  });

  it("two of one session, of which one loses", async () => {
    const { root, storage } = await begun();
    const rival = nextCommit(two, { body: "a rival" });
    const results = await appendAll(storage, [...SECONDS, rival]);
    expect(results.map(({ status }) => status)).toEqual([...SECONDS.map(() => "fulfilled"), "rejected"]);
    expect(await storage.read(two.sessionId)).toEqual(two2);
    expect(await textOf(root, one2)).not.toContain("a rival");
    await storage.close();
  });
});

describe("one commit of a group", () => {
  it("loses to another writer, and the others do not notice: nothing of it stays in their file", async () => {
    const { root, storage } = await begun();
    const rival = nextCommit(two, { body: "a rival" });
    const other = await FileStorage.open(root, { fs: directFs });
    await other.append(rival);
    const results = await appendAll(storage, SECONDS);
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected", "fulfilled"]);
    expect(results[2]).toMatchObject({ reason: { code: "CONFLICT" } });
    expect(await storage.read(two.sessionId)).toEqual(rival);
    for (const commit of [one2, three2]) {
      expect(await storage.read(commit.sessionId)).toEqual(commit);
      expect(await textOf(root, commit)).not.toContain("the second of two");
    }
    await storage.close();
  });

  it("has the outcome unknown if the sync of its folder fails, and is in the log", async () => {
    let isArmed = false;
    const fs = fsWith((call, path) => {
      if (isArmed && call === "handle.sync" && basename(path) === "two") throw systemError("EIO");
    });
    const { storage } = await begun(fs);
    isArmed = true;
    const results = await appendAll(storage, SECONDS);
    isArmed = false;
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected", "fulfilled"]);
    expect(results[2]).toMatchObject({ reason: { code: "STORAGE_FAILED", details: { outcome: "unknown" } } });
    for (const commit of SECONDS) expect(await storage.read(commit.sessionId)).toEqual(commit);
    await storage.close();
  });

  it("conflicts if its session is removed meanwhile", async () => {
    let place: string | undefined;
    const fs = fsWith(async (call, path) => {
      if (place === undefined || call !== "link" || basename(path) !== "2.json" || !dirname(path).endsWith("two"))
        return;
      const other = await FileStorage.open(place, { fs: directFs });
      place = undefined;
      await other.remove(two.sessionId);
    });
    const { root, storage } = await begun(fs);
    place = root;
    const results = await appendAll(storage, SECONDS);
    expect(results[2]).toMatchObject({ reason: { code: "CONFLICT" } });
    expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(3);
    for (const commit of [one2, three2]) expect(await textOf(root, commit)).not.toContain("the second of two");
    await storage.close();
  });
});

describe("a group whose file can't be written", () => {
  it.each(["handle.writeFile", "handle.sync"])("is written one by one: %s", async (failing) => {
    const seen = new Set<string>();
    let isArmed = false;
    const { root, storage } = await begun(
      fsWith((call, path) => {
        if (!isArmed || call !== failing || !basename(path).startsWith("tmp-")) return;
        const id = basename(dirname(path));
        // The first file in the folder of the second session is that of the group.
        if (id === "one" && !seen.has(id)) {
          seen.add(id);
          throw systemError("ENOSPC");
        }
      }),
    );
    isArmed = true;
    for (const { status } of await appendAll(storage, SECONDS)) expect(status).toBe("fulfilled");
    expect(seen.size).toBe(1);
    for (const commit of SECONDS) {
      expect(await storage.read(commit.sessionId)).toEqual(commit);
      expect((await textOf(root, commit)).split("\n")).toHaveLength(3);
    }
    await storage.close();
    expect(await readdir(dirname(fileOf(root, three)))).toEqual(
      expect.not.arrayContaining([expect.stringMatching(/^tmp-/)]),
    );
  });

  it("is refused, each of its commits, if one by one fails too: nothing was written", async () => {
    let isArmed = false;
    const fs = fsWith((call, path) => {
      if (isArmed && call === "handle.writeFile" && basename(path).startsWith("tmp-")) throw systemError("ENOSPC");
    });
    const { storage } = await begun(fs);
    isArmed = true;
    for (const result of await appendAll(storage, SECONDS)) {
      expect(result).toMatchObject({
        status: "rejected",
        reason: { code: "STORAGE_FAILED", details: { cause: "ENOSPC" } },
      });
      expect(result).not.toMatchObject({ reason: { details: { outcome: "unknown" } } });
    }
    isArmed = false;
    for (const commit of FIRSTS) expect(await storage.read(commit.sessionId)).toEqual(commit);
    for (const { status } of await appendAll(storage, SECONDS)) expect(status).toBe("fulfilled");
    await storage.close();
  });
});

describe("a removed session", () => {
  it("leaves no text in the files of others, who keep theirs", async () => {
    const { root, storage } = await grouped();
    await storage.remove(two.sessionId);
    await storage.close();
    const left = await textOf(root, one2);
    expect(left).not.toContain("the second of two");
    expect(left).not.toContain('"sessionId":"two"');
    const other = await FileStorage.open(root, { fs: directFs });
    expect(await other.read(two.sessionId)).toBeUndefined();
    expect(await log(other, one.sessionId)).toEqual([one, one2]);
    expect(await log(other, three.sessionId)).toEqual([three, three2]);
    expect(await collect(other.damaged())).toEqual([]);
    await other.close();
  });

  it("leaves none of a text of several blocks", async () => {
    const { root, storage } = await begun();
    const long = nextCommit(two, { body: `${"y".repeat(9000)} end` });
    await appendAll(
      storage,
      SECONDS.map((commit) => (commit === two2 ? long : commit)),
    );
    expect(await textOf(root, one2)).toContain("yyy");
    expect(await storage.read(two.sessionId)).toEqual(long);
    await storage.remove(two.sessionId);
    await storage.close();
    expect(await textOf(root, one2)).not.toMatch(/yyy|end"/);
  });

  it("stays in the trash while its text can't be overwritten, and is deleted by the next open", async () => {
    let isArmed = true;
    const fs = fsWith((call) => {
      if (isArmed && call === "handle.write") throw systemError("EIO");
    });
    const { root, storage } = await begun(fs);
    await appendAll(storage, SECONDS);
    await storage.remove(two.sessionId);
    await storage.close();
    expect(await textOf(root, one2)).toContain("the second of two");
    expect(await readdir(join(root, "trash"))).toHaveLength(1);
    isArmed = false;
    await (await FileStorage.open(root, { fs: directFs })).close();
    expect(await textOf(root, one2)).not.toContain("the second of two");
    expect(await readdir(join(root, "trash"))).toEqual([]);
  });
});

describe("a shared file", () => {
  it("is read in a copy without hard links, and removing there leaves the original", async () => {
    const { root, storage } = await grouped();
    await storage.close();
    const copy = await newRoot();
    await cp(root, copy, { recursive: true });
    const copied = await FileStorage.open(copy, { fs: directFs });
    for (const [index, commit] of SECONDS.entries()) {
      expect(await log(copied, commit.sessionId)).toEqual([FIRSTS[index], commit]);
    }
    await copied.remove(two.sessionId);
    expect(await copied.read(one.sessionId)).toEqual(one2);
    await copied.close();
    expect(await textOf(root, two2)).toContain("the second of two");
  });

  it("is only the session's own after a compaction, and has nothing of it any more", async () => {
    const { root, storage } = await grouped();
    await storage.compact(two.sessionId);
    expect(await log(storage, two.sessionId)).toEqual([two, two2]);
    await storage.compact(two.sessionId);
    expect(await readdir(dirname(fileOf(root, two)))).not.toContain("2.json");
    expect(await textOf(root, one2)).not.toContain("the second of two");
    expect(await textOf(root, two)).not.toContain("the second of one");
    const other = await FileStorage.open(root, { fs: directFs });
    expect(await log(other, two.sessionId)).toEqual([two, two2]);
    expect(await log(other, one.sessionId)).toEqual([one, one2]);
    await Promise.all([storage.close(), other.close()]);
  });

  it("is read again if a compaction wipes it after it was opened", async () => {
    const { root, storage } = await grouped();
    let isArmed = true;
    const fs = fsWith(async (call, path) => {
      if (!isArmed || call !== "handle.read" || path !== fileOf(root, two2)) return;
      isArmed = false;
      await storage.compact(two.sessionId);
      await storage.compact(two.sessionId);
    });
    const reader = await FileStorage.open(root, { fs });
    expect(await reader.read(two.sessionId)).toEqual(two2);
    expect(isArmed).toBe(false);
    await Promise.all([storage.close(), reader.close()]);
  });

  it("is damaged for the session whose text was changed, and for no other", async () => {
    const { root, storage } = await grouped();
    await storage.close();
    const text = await textOf(root, two2);
    for (const changed of [
      text.replace('"version":2,"at"', '"version":3,"at"'),
      text.replace('{"sessionId":"one"', '{"sessionId":"eno"'),
      text.replace('{"sessionId":"one"', "                  "),
      text.slice(0, 30),
    ]) {
      await writeFile(fileOf(root, one2), changed);
      const reader = await FileStorage.open(root, { fs: directFs });
      await expect(reader.read(one.sessionId)).rejects.toMatchObject({ code: "TAMPERED" });
      if (changed.length === text.length) expect(await reader.read(three.sessionId)).toEqual(three2);
      expect((await reader.list({})).damaged).toContain("one");
      await reader.close();
    }
  });
});
