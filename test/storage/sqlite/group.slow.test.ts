import { join } from "node:path";
import { DatabaseSync, StatementSync } from "node:sqlite";
import { setTimeout as delay, setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { Commit } from "../../../src/ports/storage-adapter.js";
import { SqliteStorage } from "../../../src/storage/sqlite/storage.js";
import { appendAll, commitChain, makeCommit, nextCommit } from "../../../src/testing/contract.js";
import { parseSessionId } from "../../../src/workflow/names.js";
import { howOften } from "../../support/how-often.js";
import { workersOf } from "../../support/worker-process.js";
import { newDatabases, query } from "./new-database.js";

const newDatabase = newDatabases();
const startWorker = workersOf(join(import.meta.dirname, "../../support/append-worker.ts"));
const idOf = (index: number) => parseSessionId(`session_${index}`);

/** Appends commits at the same time, and returns what came of each: "written", or the code of its error. */
async function together(storage: SqliteStorage, commits: readonly ReturnType<typeof makeCommit>[]): Promise<string[]> {
  const ended = await Promise.allSettled(commits.map((commit) => storage.append(commit)));
  return ended.map((end) => (end.status === "fulfilled" ? "written" : String(end.reason.code)));
}

describe("commits of the same time", () => {
  it("are all written, each for itself, in few transactions", async () => {
    const file = await newDatabase();
    const storage = await SqliteStorage.open(file);
    const watching = new DatabaseSync(file);
    const version = () => Number(watching.prepare("PRAGMA data_version").get()?.data_version);
    const before = version();
    let commits = Array.from({ length: 100 }, (_, index) => makeCommit({ sessionId: idOf(index) }));
    expect(new Set(await together(storage, commits))).toEqual(new Set(["written"]));
    // It changes with what was committed since it was read, however many transactions that were.
    expect(version()).toBeGreaterThan(before);
    commits = commits.map((commit) => nextCommit(commit));
    expect(new Set(await together(storage, commits))).toEqual(new Set(["written"]));
    for (const commit of commits) expect(await storage.read(commit.sessionId)).toEqual(commit);
    expect(query(file, "SELECT count(*) = max(seq) AS dense FROM phasegate_commits")).toEqual([{ dense: 1 }]);
    watching.close();
    await storage.close();
  });

  it("do not take each other along when one is refused", async () => {
    const storage = await SqliteStorage.open(await newDatabase());
    const firsts = [0, 1, 2].map((index) => makeCommit({ sessionId: idOf(index) }));
    await appendAll(storage, firsts);
    const [one, two, three] = firsts.map((commit) => nextCommit(commit));
    if (one === undefined || two === undefined || three === undefined) throw new Error("three commits");
    const late = { ...two, version: 3 };
    expect(await together(storage, [one, late, three])).toEqual(["written", "CONFLICT", "written"]);
    expect(await storage.read(idOf(1))).toEqual(firsts[1]);
  });

  it("of one session follow each other, and one of two with the same version is refused", async () => {
    const storage = await SqliteStorage.open(await newDatabase());
    const chain = commitChain(3, { sessionId: "one" });
    const other = makeCommit({ sessionId: "other" });
    const twin = makeCommit({ sessionId: "other", body: "another" });
    const [first, ...rest] = chain;
    expect(await together(storage, [first, other, ...rest, twin])).toEqual([
      ...["written", "written", "written", "written", "CONFLICT"],
    ]);
    expect((await storage.read(parseSessionId("one")))?.version).toBe(3);
    expect(await storage.read(parseSessionId("other"))).toEqual(other);
  });

  it("are written without the one that a trigger stops", async () => {
    const file = await newDatabase();
    const storage = await SqliteStorage.open(file);
    const host = new DatabaseSync(file);
    host.exec(`CREATE TRIGGER stop BEFORE INSERT ON phasegate_commits WHEN NEW.body = 'stop'
      BEGIN SELECT RAISE(ABORT, 'not this one'); END`);
    host.close();
    const commits = [0, 1, 2].map((index) =>
      makeCommit({ sessionId: idOf(index), ...(index === 1 ? { body: "stop" } : {}) }),
    );
    expect(await together(storage, commits)).toEqual(["written", "STORAGE_FAILED", "written"]);
    expect(await storage.read(idOf(1))).toBeUndefined();
    // What the group had noted of the session before it was undone is forgotten.
    expect(await together(storage, [makeCommit({ sessionId: idOf(1) })])).toEqual(["written"]);
  });

  it("are written when the storage is closed meanwhile", async () => {
    const file = await newDatabase();
    const storage = await SqliteStorage.open(file);
    const commits = [0, 1, 2].map((index) => makeCommit({ sessionId: idOf(index) }));
    const appending = together(storage, commits);
    await Promise.resolve();
    await storage.close();
    expect(await appending).toEqual(["written", "written", "written"]);
    expect(query(file, "SELECT count(*) AS n FROM phasegate_sessions WHERE session_id LIKE 'session_%'")).toEqual([
      { n: 3 },
    ]);
  });

  it("that are many or large are written in several transactions", async () => {
    const storage = await SqliteStorage.open(await newDatabase());
    const body = "x".repeat(3_000_000);
    const commits = Array.from({ length: 300 }, (_, index) =>
      makeCommit({ sessionId: idOf(index), ...(index < 8 ? { body } : {}) }),
    );
    expect(new Set(await together(storage, commits))).toEqual(new Set(["written"]));
    expect((await storage.read(idOf(7)))?.body).toBe(body);
  });
});

describe("commits while another process holds the lock", () => {
  /** Holds the lock until the returned function is called. */
  function hold(file: string): () => void {
    const other = new DatabaseSync(file);
    other.exec("BEGIN IMMEDIATE");
    return () => {
      other.exec("ROLLBACK");
      other.close();
    };
  }

  it("that come one after the other are written in one transaction once it is free", async () => {
    const file = await newDatabase();
    const storage = await SqliteStorage.open(file);
    const release = hold(file);
    const run = vi.spyOn(StatementSync.prototype, "run");
    onTestFinished(() => run.mockRestore());
    const appending: Promise<void>[] = [];
    for (let index = 0; index < 20; index += 1) {
      appending.push(storage.append(makeCommit({ sessionId: idOf(index) })));
      await delay(2);
    }
    release();
    await Promise.all(appending);
    const ended = run.mock.contexts.filter((statement) => Object(statement).sourceSQL === "COMMIT");
    expect(ended).toHaveLength(1);
    await storage.close();
  });

  it("are refused when they have waited as long as is allowed, and one that came later is written", async () => {
    const file = await newDatabase();
    const storage = await SqliteStorage.open(file, { busyTimeout: 100 });
    const release = hold(file);
    const first = together(
      storage,
      [0, 1].map((index) => makeCommit({ sessionId: idOf(index) })),
    );
    await delay(50);
    const later = together(storage, [makeCommit({ sessionId: idOf(2) })]);
    expect(await first).toEqual(["BUSY", "BUSY"]);
    // It has waited for half of the time.
    release();
    expect(await later).toEqual(["written"]);
    expect(await together(storage, [makeCommit({ sessionId: idOf(0) })])).toEqual(["written"]);
    await storage.close();
  });

  it("are told how long each of them has waited", async () => {
    const file = await newDatabase();
    const storage = await SqliteStorage.open(file, { busyTimeout: 100 });
    const release = hold(file);
    const refused: Promise<unknown>[] = [];
    for (const index of [0, 1]) {
      refused.push(storage.append(makeCommit({ sessionId: idOf(index) })).catch((error) => error.message));
      await delay(60);
    }
    for (const message of await Promise.all(refused)) {
      const [, waited] = /was locked for (\d+) ms/.exec(String(message)) ?? [];
      expect(Number(waited)).toBeGreaterThanOrEqual(100);
    }
    release();
    await storage.close();
  });

  it("are written with the next one that comes, if the lock is free by then", async () => {
    const file = await newDatabase();
    const storage = await SqliteStorage.open(file);
    const release = hold(file);
    const written: number[] = [];
    const append = (index: number) =>
      storage.append(makeCommit({ sessionId: idOf(index) })).then(() => written.push(index));
    const first = append(0);
    // By now, the pause until the next attempt is some milliseconds.
    await delay(40);
    release();
    const second = append(1);
    await nextTurn();
    await nextTurn();
    expect(written).toEqual([0, 1]);
    await Promise.all([first, second]);
    await storage.close();
  });

  it("are written by close, if the lock is free by then", async () => {
    const file = await newDatabase();
    const storage = await SqliteStorage.open(file);
    const release = hold(file);
    const appending = together(
      storage,
      [0, 1].map((index) => makeCommit({ sessionId: idOf(index) })),
    );
    await delay(40);
    release();
    await storage.close();
    expect(await appending).toEqual(["written", "written"]);
  });

  it("let others pass if only one of them meets a lock", async () => {
    const storage = await SqliteStorage.open(await newDatabase(), { busyTimeout: 50 });
    const run = StatementSync.prototype.run;
    const spy = vi.spyOn(StatementSync.prototype, "run").mockImplementation(function (this: StatementSync, ...values) {
      if (values.includes("locked")) throw Object.assign(new Error("database table is locked"), { errcode: 6 });
      return Reflect.apply(run, this, values);
    });
    onTestFinished(() => spy.mockRestore());
    const commits = [0, 1, 2].map((index) =>
      makeCommit({ sessionId: idOf(index), ...(index === 1 ? { body: "locked" } : {}) }),
    );
    expect(await together(storage, commits)).toEqual(["written", "BUSY", "written"]);
    await storage.close();
  });

  it("are refused when the storage is closed", async () => {
    const file = await newDatabase();
    const storage = await SqliteStorage.open(file);
    const release = hold(file);
    const appending = together(storage, [makeCommit({ sessionId: idOf(0) })]);
    await storage.close();
    release();
    expect(await appending).toEqual(["STORAGE_FAILED"]);
    expect(query(file, "SELECT count(*) AS n FROM phasegate_sessions")).toEqual([{ n: 0 }]);
  });
});

async function commitsOf(storage: SqliteStorage, id: string | undefined, part = {}): Promise<Commit[]> {
  const commits: Commit[] = [];
  for await (const commit of storage.log(parseSessionId(id), part)) commits.push(commit);
  return commits;
}

it("an acknowledged commit is there after a kill, whichever others were in its transaction", async () => {
  const sessions = Array.from({ length: 40 }, (_, index) => `killed_${index}`);
  let acknowledged = 0;
  for (let round = 0; round < howOften(3, 100); round += 1) {
    const file = await newDatabase();
    await (await SqliteStorage.open(file)).close();
    const worker = startWorker(file, "100000", "together", ...sessions);
    setTimeout(() => worker.process.kill("SIGKILL"), 700 + Math.random() * 600);
    const { lines } = await worker.ended;
    acknowledged += lines.length;
    const storage = await SqliteStorage.open(file);
    for (const line of lines) {
      const [id, version, hash] = line.split(" ");
      const [commit] = await commitsOf(storage, id, { after: Number(version) - 1, limit: 1 });
      expect(commit).toMatchObject({ version: Number(version), hash });
    }
    for (const id of sessions) {
      const versions = (await commitsOf(storage, id)).map(({ version }) => version);
      expect(versions).toEqual(versions.map((_, index) => index + 1));
    }
    await storage.close();
  }
  expect(acknowledged).toBeGreaterThan(100);
});

it("bursts of commits with idle turns between them are one transaction each", async () => {
  const storage = await SqliteStorage.open(await newDatabase());
  const ran = vi.spyOn(StatementSync.prototype, "run");
  onTestFinished(() => ran.mockRestore());
  for (let burst = 0; burst < 5; burst += 1) {
    await nextTurn();
    await nextTurn();
    ran.mockClear();
    await together(
      storage,
      Array.from({ length: 10 }, (_, index) => makeCommit({ sessionId: `burst_${burst}_${index}` })),
    );
    const texts = ran.mock.contexts.map((statement) => (statement instanceof StatementSync ? statement.sourceSQL : ""));
    expect(texts.filter((sql) => sql === "COMMIT")).toHaveLength(1);
  }
  await storage.close();
});
