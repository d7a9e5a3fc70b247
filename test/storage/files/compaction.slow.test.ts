import { createHash } from "node:crypto";
import * as nodeFs from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Commit } from "../../../src/ports/storage-adapter.js";
import type { FileSystem } from "../../../src/storage/files/file-system.js";
import { FileStorage } from "../../../src/storage/files/storage.js";
import { appendAll, collect, commitChain, makeCommit, nextCommit, wins } from "../../../src/testing/contract.js";
import { directFs } from "./direct-fs.js";
import { systemError } from "./faulty-fs.js";
import { eachInstant } from "./instants.js";
import { createPausingFs } from "./pausing-fs.js";
import { temporaryRoots } from "./temporary-root.js";

const newRoot = temporaryRoots();

const FILE_SYSTEMS: Readonly<Record<string, FileSystem>> = {
  "with hard links": directFs,
  "without hard links": { ...directFs, link: () => Promise.reject(systemError("EPERM")) },
};

const payload = { hash: "a".repeat(64), body: "evidence" };
const late = { hash: "b".repeat(64), body: "more evidence" };

function chainOf(length: number): [Commit, ...Commit[]] {
  return commitChain(length, { payloads: [payload] });
}

function placeOf(root: string, id = "session_1"): string {
  return join(root, "sessions", createHash("sha256").update(id).digest("hex").slice(0, 2), id);
}

/** Sets the times of a session's files back, so that a compaction packs all of them and deletes packed ones. */
async function age(root: string): Promise<void> {
  const hoursAgo = new Date(Date.now() - 2 * 3_600_000);
  const folder = placeOf(root);
  for (const name of await nodeFs.readdir(folder, { recursive: true }).catch(() => [])) {
    await nodeFs.utimes(join(folder, name), hoursAgo, hoursAgo).catch(() => undefined); // a temporary file may be gone
  }
}

/** Packs all commits, and deletes the files of packed commits. */
async function compactAll(root: string, storage: FileStorage, id: Commit["sessionId"]): Promise<void> {
  for (let times = 0; times < 2; times++) {
    await age(root);
    await storage.compact(id);
  }
}

/** Checks that a new process finds the session complete. */
async function checkWhole(root: string, fs: FileSystem, commits: readonly Commit[]): Promise<void> {
  const storage = await FileStorage.open(root, { fs });
  await checkIn(storage, commits);
  await storage.close();
}

async function checkIn(storage: FileStorage, commits: readonly Commit[]): Promise<void> {
  const [first, newest] = [commits[0], commits.at(-1)];
  if (first === undefined || newest === undefined) throw new Error("A session has a commit");
  const { payloads: _, ...bare } = newest;
  expect(await storage.read(first.sessionId)).toEqual(bare);
  const log = await collect(storage.log(first.sessionId));
  expect(log.map(({ hash, version }) => [version, hash])).toEqual(commits.map(({ hash, version }) => [version, hash]));
  expect(await storage.payload(first.sessionId, payload.hash)).toBe(payload.body);
  expect((await storage.list({ status: ["active"] })).items).toEqual([newest.summary]);
  expect((await storage.size(first.sessionId))?.commits).toBe(commits.length);
}

for (const [name, fs] of Object.entries(FILE_SYSTEMS)) {
  describe(`a compacted session, ${name}`, () => {
    it("is one file, and all storages read it as before", async () => {
      const root = await newRoot();
      const chain = chainOf(30);
      const [one, other] = [await FileStorage.open(root, { fs }), await FileStorage.open(root, { fs })];
      await appendAll(one, chain);
      await other.read(chain[0].sessionId);
      const size = await one.size(chain[0].sessionId);
      await age(root);
      await one.compact(chain[0].sessionId);
      await one.close();
      const names = async () => (await nodeFs.readdir(placeOf(root))).sort();
      expect(await names()).toHaveLength(32);
      for (const storage of [one, other]) await checkIn(storage, chain);
      await checkWhole(root, fs, chain);
      expect((await one.size(chain[0].sessionId))?.bytes).toBeLessThan(2 * (size?.bytes ?? 0));
      // Packed files stay for a while, so that a running copy of the folder finds them. Then they are deleted.
      await one.compact(chain[0].sessionId);
      expect(await names()).toHaveLength(32);
      expect(await nodeFs.readdir(join(root, "packed"))).toEqual(["session_1"]);
      await age(root);
      await (await FileStorage.open(root, { fs })).close();
      expect(await names()).toEqual([name === "with hard links" ? "1.json" : "1", "head", "payloads"]);
      expect(await nodeFs.readdir(join(root, "packed"))).toEqual([]);
      for (const storage of [one, other]) await checkIn(storage, chain);
      await checkWhole(root, fs, chain);
    });

    it("can be appended to, compacted repeatedly, and removed permanently", async () => {
      const root = await newRoot();
      const [one, other] = [await FileStorage.open(root, { fs }), await FileStorage.open(root, { fs })];
      const [first, second] = chainOf(2);
      if (second === undefined) throw new Error("unreachable");
      const commits: Commit[] = [first, second];
      await appendAll(one, commits);
      for (let round = 1; round <= 4; round++) {
        await (round === 3
          ? age(root).then(() => one.compact(first.sessionId))
          : compactAll(root, one, first.sessionId));
        for (const storage of [other, one, other]) {
          const next = nextCommit(commits.at(-1) ?? first, round === 2 ? { payloads: [late] } : {});
          await storage.append(next);
          commits.push(next);
        }
        await expect(one.append(nextCommit(first, { body: "late" }))).rejects.toMatchObject({ code: "CONFLICT" });
        await checkWhole(root, fs, commits);
      }
      expect(await other.payload(first.sessionId, late.hash)).toBe(late.body);
      await one.close();
      await other.remove(first.sessionId);
      await other.close();
      for (const storage of [one, other, await FileStorage.open(root, { fs })]) {
        expect(await storage.read(first.sessionId)).toBeUndefined();
        expect(await collect(storage.log(first.sessionId))).toEqual([]);
        expect(await storage.size(first.sessionId)).toBeUndefined();
        await storage.compact(first.sessionId);
        for (const commit of [first, nextCommit(commits.at(-1) ?? first)]) {
          await expect(storage.append(commit)).rejects.toMatchObject({ code: "CONFLICT" });
        }
      }
    });

    it("is complete at whichever call its compaction crashes", { timeout: 60_000 }, async () => {
      const instants = await eachInstant(async (nth) => {
        const { root, chain } = await filled(fs, 5, 3);
        const dying = createPausingFs(fs);
        const storage = await FileStorage.open(root, { fs: dying.fs });
        await storage.read(chain[0].sessionId);
        dying.dieBefore(nth);
        await storage.compact(chain[0].sessionId).catch((error: unknown) => {
          expect(error).toMatchObject({ code: "STORAGE_FAILED" });
        });
        await storage.close();
        await checkWhole(root, fs, chain);
        const other = await FileStorage.open(root, { fs });
        const next = nextCommit(chain.at(-1) ?? chain[0]);
        await other.append(next);
        await checkIn(other, [...chain, next]);
        await compactAll(root, other, chain[0].sessionId);
        await other.close();
        await checkWhole(root, fs, [...chain, next]);
        return dying.disarm();
      });
      expect(instants).toBeGreaterThan(25);
    });

    it("is complete after others append, compact or remove while a compaction is suspended", {
      timeout: 120_000,
    }, async () => {
      for (const meanwhile of [["append"], ["compact"], ["append", "compact", "append", "compact"], ["remove"]]) {
        await eachInstant(async (nth) => {
          const { root, chain } = await filled(fs, 5, 3);
          const commits: Commit[] = [...chain];
          const pausing = createPausingFs(fs);
          const sleeper = await FileStorage.open(root, { fs: pausing.fs });
          const other = await FileStorage.open(root, { fs });
          pausing.pauseBefore(nth, () => act(root, other, commits, meanwhile));
          await sleeper.compact(chain[0].sessionId);
          await sleeper.close();
          const reached = pausing.disarm();
          if (commits.length === 0) {
            for (const storage of [sleeper, other]) expect(await storage.read(chain[0].sessionId)).toBeUndefined();
          } else {
            for (const storage of [sleeper, other]) await act(root, storage, commits, ["append"]);
            for (const storage of [sleeper, other]) await checkIn(storage, commits);
            await other.close();
            await checkWhole(root, fs, commits);
          }
          return reached;
        });
      }
    });

    it("loses no acknowledged append of a suspended writer", { timeout: 120_000 }, async () => {
      const meanwhiles = [["compact"], ["append", "compact"], ["compact", "append"], ["compact", "append", "compact"]];
      for (const meanwhile of [...meanwhiles, ["compact", "remove"]]) {
        await eachInstant(async (nth) => {
          const { root, chain } = await filled(fs, 3);
          const commits: Commit[] = [...chain];
          const pausing = createPausingFs(fs);
          const sleeper = await FileStorage.open(root, { fs: pausing.fs });
          const other = await FileStorage.open(root, { fs });
          await sleeper.read(chain[0].sessionId);
          pausing.pauseBefore(nth, async () => {
            await act(root, other, commits, meanwhile);
            // A late start of the same session creates the folder of version 1 for a moment.
            await other.append(chain[0]).catch((error: unknown) => expect(error).toMatchObject({ code: "CONFLICT" }));
          });
          const next = nextCommit(chain.at(-1) ?? chain[0], { body: "of the suspended writer", payloads: [late] });
          const isIn = await wins(sleeper.append(next));
          await sleeper.close();
          const reached = pausing.disarm();
          if (commits.length > 0) {
            // The log contains exactly what was acknowledged.
            const log = await collect(other.log(next.sessionId));
            const acknowledged = new Set([...commits, ...(isIn ? [next] : [])].map(({ hash }) => hash));
            expect(new Set(log.map(({ hash }) => hash))).toEqual(acknowledged);
            for (const storage of [sleeper, other]) await checkIn(storage, log);
            if (isIn) expect(await other.payload(next.sessionId, late.hash)).toBe(late.body);
          }
          return reached;
        });
      }
    });
  });
}

describe("a copy by a tool that reads payloads before commits", () => {
  it("contains the payloads of all commits that it contains", async () => {
    const [root, copy] = [await newRoot(), await newRoot()];
    const storage = await FileStorage.open(root);
    const [first, second, third] = commitChain(3);
    if (second === undefined || third === undefined) throw new Error("unreachable");
    await appendAll(storage, [first, second, third]);
    await nodeFs.mkdir(placeOf(copy), { recursive: true });
    await nodeFs.cp(join(placeOf(root), "2.json"), join(placeOf(copy), "2.json"));
    const next = nextCommit(third, { payloads: [payload] });
    await storage.append(next);
    await storage.compact(first.sessionId);
    for (const name of ["1.json", "3.json"]) await nodeFs.cp(join(placeOf(root), name), join(placeOf(copy), name));
    const copied = await FileStorage.open(copy);
    const log = await collect(copied.log(first.sessionId));
    expect(log.map(({ version }) => version)).toEqual([1, 2, 3]);
    await age(root);
    await storage.compact(first.sessionId);
    expect(await nodeFs.readFile(join(placeOf(root), "1.json"), "utf8")).toContain(next.hash);
  });
});

describe("a session that starts with several commits", () => {
  for (const [name, fs] of Object.entries(FILE_SYSTEMS)) {
    it(`exists completely or not at all after a crash, and can be appended to, ${name}`, {
      timeout: 60_000,
    }, async () => {
      const chain = chainOf(5);
      await eachInstant(async (nth) => {
        const root = await newRoot();
        const dying = createPausingFs(fs);
        const storage = await FileStorage.open(root, { fs: dying.fs });
        dying.dieBefore(nth);
        const isDone = await storage.begin(chain).then(
          () => true,
          () => false,
        );
        await storage.close();
        const isReached = dying.disarm();
        const other = await FileStorage.open(root, { fs });
        const log = await collect(other.log(chain[0].sessionId));
        expect([0, 5]).toContain(log.length);
        if (isDone) expect(log).toHaveLength(5);
        if (log.length === 0) await other.begin(chain);
        await checkIn(other, chain);
        expect(await other.countActive(5)).toBe(1);
        await expect(other.begin(chain)).rejects.toMatchObject({ code: "CONFLICT" });
        const next = nextCommit(chain.at(-1) ?? chain[0]);
        await other.append(next);
        await other.compact(next.sessionId);
        await checkIn(other, [...chain, next]);
        await other.close();
        return isReached;
      });
    });
  }

  it("is refused if its commits are not a chain", async () => {
    const storage = await FileStorage.open(await newRoot());
    const [first, second] = chainOf(2);
    if (second === undefined) throw new Error("unreachable");
    const elsewhere = nextCommit(makeCommit({ sessionId: "other" }));
    for (const wrong of [[second], [first, first], [first, elsewhere], [first, { ...second, previousHash: "x" }]]) {
      await expect(storage.begin(wrong)).rejects.toMatchObject({ code: "INVALID_INPUT" });
    }
    await storage.begin([]);
    expect((await storage.list({})).items).toEqual([]);
  });
});

/** Creates a session, the first commits of which were packed long ago. */
async function filled(fs: FileSystem, length: number, packed = 0) {
  const root = await newRoot();
  const storage = await FileStorage.open(root, { fs });
  const chain = chainOf(length);
  await appendAll(storage, chain.slice(0, packed));
  await age(root);
  await storage.compact(chain[0].sessionId);
  await appendAll(storage, chain.slice(packed));
  if (packed > 0) await age(root);
  await storage.close();
  return { root, chain };
}

/** Appends to, compacts or removes the session, and updates the list of its commits. */
async function act(root: string, storage: FileStorage, commits: Commit[], deeds: readonly string[]): Promise<void> {
  for (const deed of deeds) {
    const newest = await storage.read(makeCommit().sessionId);
    if (newest === undefined) continue;
    if (deed === "append") {
      const next = nextCommit(newest, { body: `${newest.version + 1}` });
      await storage.append(next);
      commits.splice(next.version - 1, 1, next);
    } else if (deed === "compact") await compactAll(root, storage, newest.sessionId);
    else {
      await storage.remove(newest.sessionId);
      commits.length = 0;
    }
  }
}
