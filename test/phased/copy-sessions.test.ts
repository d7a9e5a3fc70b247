import { rm } from "node:fs/promises";
import { join } from "node:path";
import { MemoryStorage, parseSessionId, type StorageAdapter } from "phasegate";
import { FileStorage, type FileStorageOptions } from "phasegate/fs";
import { type CopyProgress, copySessions } from "phasegate/storage";
import { commitChain, makeCommit } from "phasegate/testing";
import { describe, expect, it, onTestFinished } from "vitest";
import { StoreLayout } from "../../src/storage/files/layout.js";
import { AlteredStorage } from "../log/altered-storage.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { failure } from "../support/failure.js";
import { livedIn, logOf } from "../support/house.js";
import { makeEngine, startTwoPhases } from "../support/make-engine.js";

async function openFiles(options: FileStorageOptions = {}) {
  const storage = await FileStorage.open(await temporaryFolder(), options);
  onTestFinished(() => storage.close());
  return storage;
}
const HASH_KEY = "a key of the host, of more than 32 characters";

/** Wraps a storage so that a function runs before each append. */
function hooked(storage: StorageAdapter, hook: (append: number) => Promise<void> | void): StorageAdapter {
  let count = 0;
  return {
    ...{ capabilities: storage.capabilities, countActive: (upTo) => storage.countActive(upTo) },
    ...{ read: (id) => storage.read(id), log: (id, options) => storage.log(id, options) },
    ...{ payload: (id, hash) => storage.payload(id, hash), list: (query) => storage.list(query) },
    remove: (id) => storage.remove(id),
    append: async (commit) => {
      count += 1;
      await hook(count);
      await storage.append(commit);
    },
  };
}

async function expectSame(from: StorageAdapter, to: StorageAdapter, ids: Iterable<string>): Promise<void> {
  for (const id of ids) {
    const log = await logOf(to, id);
    expect(log.length).toBeGreaterThan(1);
    expect(log).toEqual(await logOf(from, id));
    expect(await makeEngine({ storage: to }).engine.session(id).audit()).toMatchObject({
      intact: true,
      versions: log.length,
    });
  }
  expect((await to.list({})).items).toEqual((await from.list({})).items);
}

describe("copySessions", () => {
  it("copies logs and payloads exactly, from files to memory and back to files", async () => {
    const [files, memory, again] = [await openFiles(), new MemoryStorage(), await openFiles()];
    const { ids } = await livedIn(files);
    const report = await copySessions(files, memory);
    expect(report).toMatchObject({ sessions: 4, commits: 14, refused: [], caughtUp: true });
    expect(report.bytes).toBeGreaterThan(300_000);
    await expectSame(files, memory, Object.values(ids));
    expect(await copySessions(memory, again)).toEqual(report);
    await expectSame(files, again, Object.values(ids));
    expect(JSON.stringify(await logOf(again, ids.large))).toContain("\\ud800");
  });

  it("copies sessions so that they continue, with their idempotency keys", async () => {
    const [from, to] = [new MemoryStorage(), new MemoryStorage()];
    const { ids, clock } = await livedIn(from);
    await copySessions(from, to);
    const { engine } = makeEngine({ storage: to, clock });
    await engine.session(ids.odd).resume();
    expect((await engine.session(ids.odd).state()).head.status).toBe("active");
    const again = { phase: 1, evidence: { summary: "added the parser", tests_pass: true }, idempotencyKey: "once" };
    expect(await engine.session(ids.done).completePhase(again.phase, again.evidence)).toMatchObject({ passed: true });
    expect(await logOf(to, ids.done)).toHaveLength(3);
  });

  it("checks and copies HMAC chains with their key, and refuses them without it", async () => {
    const [from, to] = [new MemoryStorage(), new MemoryStorage()];
    const { ids } = await livedIn(from, { hashKey: HASH_KEY });
    const blind = await copySessions(from, to);
    expect(blind).toMatchObject({ sessions: 0, commits: 0, caughtUp: true });
    expect(new Set(blind.refused.map(({ reason }) => reason))).toEqual(new Set(["unreadable"]));
    expect(await copySessions(from, to, { hashKey: HASH_KEY })).toMatchObject({ sessions: 4, refused: [] });
    const bytes = new TextEncoder().encode(HASH_KEY);
    expect(await copySessions(from, new MemoryStorage(), { hashKey: bytes })).toMatchObject({ sessions: 4 });
    const { engine } = makeEngine({ storage: to, hashKey: HASH_KEY });
    expect(await engine.session(ids.odd).audit()).toMatchObject({ intact: true });
  });

  it("continues after an interruption at any commit", async () => {
    const from = new MemoryStorage();
    const { ids } = await livedIn(from);
    for (let at = 1; at <= 14; at += 1) {
      const to = new MemoryStorage();
      const cut = hooked(to, (count) => {
        if (count === at) throw new Error("the power is gone");
      });
      await expect(copySessions(from, cut)).rejects.toThrow("the power is gone");
      const control = new AbortController();
      const aborting = hooked(to, () => control.abort());
      const cutShort = copySessions(from, aborting, { signal: control.signal });
      if (at < 14) await expect(cutShort).rejects.toMatchObject({ name: "AbortError" });
      else await cutShort.catch(() => undefined);
      expect((await copySessions(from, to)).commits).toBe(Math.max(0, 14 - at));
      await expectSame(from, to, Object.values(ids));
    }
  });

  it("has the same result if two processes copy at the same time", async () => {
    const from = new MemoryStorage();
    const { ids } = await livedIn(from);
    const to = await openFiles();
    const [one, other] = await Promise.all([copySessions(from, to), copySessions(from, to)]);
    expect(one.commits + other.commits).toBe(14);
    expect([one.refused, other.refused]).toEqual([[], []]);
    await expectSame(from, to, Object.values(ids));
  });

  it("refuses a session that differs in the target, and copies the others", async () => {
    const [from, to] = [new MemoryStorage(), new MemoryStorage()];
    const { ids, engine } = await livedIn(from);
    const { engine: other } = makeEngine({ storage: to });
    await copySessions(from, to, { sessionIds: [ids.odd, ids.large] });
    await engine.session(ids.odd).resume();
    await other.session(ids.large).pause({ note: "here" });
    await other
      .session(ids.large)
      .pause()
      .catch(() => undefined);
    await engine.session(ids.large).pause({ note: "there" });
    const { refused, sessions } = await copySessions(from, to);
    expect(sessions).toBe(3);
    expect(refused).toEqual([expect.objectContaining({ sessionId: ids.large, reason: "differs" })]);
    expect(await copySessions(from, to, { sessionIds: [ids.large] })).toMatchObject({ sessions: 0, caughtUp: true });
  });

  it("distinguishes a target that has more commits from one that has another log", async () => {
    const [from, to] = [new MemoryStorage(), new MemoryStorage()];
    const { ids, engine } = await livedIn(from);
    await copySessions(from, to);
    const { engine: other } = makeEngine({ storage: to });
    await other.session(ids.odd).resume();
    expect((await copySessions(from, to)).refused).toMatchObject([{ sessionId: ids.odd, reason: "ahead" }]);
    await other.session(ids.odd).pause();
    await engine.session(ids.large).rollback(1);
    await engine.session(ids.odd).resume();
    expect((await copySessions(from, to)).refused).toMatchObject([{ sessionId: ids.odd, reason: "differs" }]);
  });

  it("refuses an id that was removed in the target, as it is never used again", async () => {
    const [from, to] = [new MemoryStorage(), new MemoryStorage()];
    const { ids } = await livedIn(from);
    await copySessions(from, to);
    await makeEngine({ storage: to }).engine.session(ids.done).delete();
    expect((await copySessions(from, to)).refused).toMatchObject([{ sessionId: ids.done, reason: "removed" }]);
  });

  it("copies a tombstone whose removal is not finished; cleanup then finishes it", async () => {
    class Interrupted extends MemoryStorage {
      override async remove(): Promise<void> {
        throw new Error("killed");
      }
    }
    const [from, to] = [new Interrupted(), new MemoryStorage()];
    const { ids, engine } = await livedIn(from);
    await engine
      .session(ids.done)
      .delete()
      .catch(() => undefined);
    await copySessions(from, to);
    const { engine: there } = makeEngine({ storage: to });
    expect(await failure(there.session(ids.done).state())).toMatchObject({ code: "SESSION_NOT_FOUND" });
    expect(await there.cleanup()).toEqual({ removed: [ids.done] });
  });

  it("copies commits that arrive meanwhile, and reports if there is no end", async () => {
    const [from, target] = [new MemoryStorage(), new MemoryStorage()];
    const { engine, ids } = await livedIn(from);
    let worked = 0;
    const working = (most: number) =>
      hooked(target, async () => {
        if (worked >= most) return;
        worked += 1;
        await (worked % 2 === 1 ? engine.session(ids.odd).resume() : engine.session(ids.odd).pause());
        if (worked === 1) await startTwoPhases(engine, "new");
      });
    expect(await copySessions(from, working(4))).toMatchObject({ sessions: 5, refused: [], caughtUp: true });
    expect(await logOf(target, ids.odd)).toEqual(await logOf(from, ids.odd));
    await engine.start({ workflowType: "two_phases", target: "another" });
    const busy = await copySessions(from, working(1000), { passes: 2 });
    expect(busy).toMatchObject({ caughtUp: false });
  });

  it("reports a session that is deleted while it is copied", async () => {
    const [from, target] = [new MemoryStorage(), new MemoryStorage()];
    const { engine, ids } = await livedIn(from);
    const to = hooked(target, async (count) => {
      if (count === 5) await engine.session(ids.done).delete();
    });
    expect((await copySessions(from, to)).refused).toMatchObject([{ sessionId: ids.done, reason: "not_found" }]);
    expect((await copySessions(from, to, { sessionIds: ["nobody"] })).refused).toMatchObject([
      { sessionId: "nobody", reason: "not_found" },
    ]);
    expect((await copySessions(from, to, { sessionIds: [ids.done] })).refused).toMatchObject([
      { sessionId: ids.done, reason: "not_found" },
    ]);
  });

  it("copies a damaged log only up to the damage", async () => {
    const edits: readonly [string, (storage: AlteredStorage) => void, number][] = [
      ["body", (storage) => storage.edit(2, { body: "{}" }), 1],
      ["summary", (storage) => (storage.alter = (all) => all.map((one) => withStatus(one, "completed"))), 0],
      ["order", (storage) => (storage.alter = (all) => [...all.slice(0, 1), ...all.slice(2)]), 1],
      ["format", (storage) => storage.edit(3, { schema: 99 }), 2],
      ["kind", (storage) => (storage.alter = (all) => all.map((one) => withKind(one, "routed"))), 0],
    ];
    for (const [name, edit, copied] of edits) {
      const [from, to] = [new AlteredStorage(), new MemoryStorage()];
      const { ids } = await livedIn(from);
      edit(from);
      const { refused, commits } = await copySessions(from, to, { sessionIds: [ids.odd] });
      expect([name, refused[0]?.reason]).toEqual([name, name === "kind" ? "unknown_kind" : "unreadable"]);
      expect([name, commits, (await logOf(to, ids.odd)).length]).toEqual([name, 0, copied]);
    }
  });

  it("refuses a truncated session, as an audit does, and copies the others", async () => {
    const root = await temporaryFolder();
    const from = await FileStorage.open(root);
    const { ids } = await livedIn(from);
    const folder = new StoreLayout(root).place(parseSessionId(ids.odd)).folder;
    const { version = 0 } = (await from.read(parseSessionId(ids.odd))) ?? {};
    await from.close();
    await rm(join(folder, `${version}.json`));
    const cut = await FileStorage.open(root);
    const reason = expect.stringContaining(`names commit ${version} as one of the session's, and it is missing`);
    expect(await makeEngine({ storage: cut }).engine.session(ids.odd).audit()).toMatchObject({ intact: false, reason });
    const to = new MemoryStorage();
    const { refused, sessions } = await copySessions(cut, to);
    expect(refused).toMatchObject([{ sessionId: ids.odd, reason: "unreadable", message: reason }]);
    expect(sessions).toBe(3);
    expect(await logOf(to, ids.odd)).toEqual([]);
    await cut.close();
  });

  it("refuses a session with a missing or wrong payload", async () => {
    for (const text of [undefined, "other"]) {
      class Lossy extends MemoryStorage {
        override async payload(): Promise<string | undefined> {
          return text;
        }
      }
      const from = new Lossy();
      const { ids } = await livedIn(from);
      const { refused, sessions } = await copySessions(from, new MemoryStorage());
      expect(sessions).toBe(3);
      expect(refused).toMatchObject([{ sessionId: ids.large, reason: "unreadable", cause: { code: "TAMPERED" } }]);
    }
  });

  it("refuses sessions that the target refuses, and stops if the target fails", async () => {
    const from = new MemoryStorage();
    const { ids } = await livedIn(from);
    const small = await openFiles({ maxCommitBytes: 50_000 });
    expect((await copySessions(from, small)).refused).toMatchObject([
      { sessionId: ids.large, reason: "not_taken", cause: { code: "TOO_LARGE" } },
    ]);
    const other = new MemoryStorage();
    for (const commit of commitChain(2)) await other.append(commit);
    expect((await copySessions(other, new MemoryStorage())).refused).toMatchObject([{ reason: "unreadable" }]);
  });

  it("copies only the given sessions, and reports its progress", async () => {
    const from = new MemoryStorage();
    const { ids } = await livedIn(from);
    const told: CopyProgress[] = [];
    const onProgress = (progress: CopyProgress) => void told.push(progress);
    const to = new MemoryStorage();
    await copySessions(from, to, { query: { status: ["completed", "failed"] }, onProgress });
    expect((await to.list({})).items.map(({ sessionId }) => sessionId)).toEqual([ids.failed, ids.done]);
    expect(told.map(({ pass, sessionId, sessions, commits }) => [pass, sessionId, sessions, commits])).toEqual([
      [1, ids.failed, 1, 4],
      [1, ids.done, 2, 7],
      [2, ids.failed, 1, 7],
      [2, ids.done, 2, 7],
    ]);
    expect(await failure(copySessions(from, to, { sessionIds: ["../x"] }))).toMatchObject({ code: "INVALID_INPUT" });
    expect(await to.read(parseSessionId(ids.odd))).toBeUndefined();
  });

  it("stops trying if the target refuses a session every time", async () => {
    const from = new MemoryStorage();
    const { ids } = await livedIn(from);
    class Stubborn extends MemoryStorage {
      override read = async () => makeCommit({ sessionId: ids.done });
      override append = () => super.append(makeCommit({ version: 7 }));
    }
    expect((await copySessions(from, new Stubborn(), { sessionIds: [ids.done] })).refused).toHaveLength(1);
  });
});

type One = Awaited<ReturnType<typeof logOf>>[number];

function withStatus(commit: One, status: One["summary"]["status"]): One {
  return { ...commit, summary: { ...commit.summary, status } };
}

function withKind(commit: One, kind: string): One {
  return { ...commit, summary: { ...commit.summary, kind } };
}
