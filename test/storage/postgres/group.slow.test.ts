import { setTimeout as delay, setImmediate as endOfTurn } from "node:timers/promises";
import { Client, type ClientBase, Pool, type QueryResult } from "pg";
import { type PgQuery, PostgresStorage } from "phasegate/postgres";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { isPhasegateError } from "../../../src/errors.js";
import type { Commit, StorageAdapter } from "../../../src/ports/storage-adapter.js";
import { createStatements, Preparation, valuesOf } from "../../../src/storage/postgres/rows.js";
import { appendAll, collect, makeCommit, nextCommit } from "../../../src/testing/contract.js";
import { parseSessionId } from "../../../src/workflow/names.js";
import { type Acknowledged, acknowledgedIn } from "../../support/acknowledged.js";
import { appendWorkers } from "../../support/append-workers.js";
import { countingCommit } from "../../support/counting-commit.js";
import { howOften } from "../../support/how-often.js";
import { emptyDatabase, newSchema, postgresUrl, runSql } from "../../support/postgres.ts";
import { checkSessions } from "./check-sessions.ts";

/** How many commits are under way, each by its own statement, before others wait. */
const ALONE = 2;
const CONNECTIONS = 10;

let url = "";
let pool: Pool;
beforeAll(async () => {
  url = await postgresUrl();
  // All connections are there before the tests: a statement that waits for a new one is sent after later ones.
  pool = new Pool({ connectionString: `${url}?application_name=groups`, max: CONNECTIONS, idleTimeoutMillis: 0 });
  pool.on("connect", noteStatements);
  const clients = await Promise.all(Array.from({ length: CONNECTIONS }, () => pool.connect()));
  for (const client of clients) client.release();
}, 60_000);
afterAll(() => pool.end());

type Write = () => Promise<QueryResult>;
/** The writing statements that were sent. */
const sent: string[] = [];
/** What a test does to the next group. `cancelWait` tells the storage that the server did not wait for its standbys. */
let disturb: ((write: Write, cancelWait: () => void) => Promise<QueryResult>) | undefined;
beforeEach(() => {
  sent.length = 0;
  disturb = undefined;
});

/** Notes what is sent on a connection, and lets a test disturb a group. */
function noteStatements(client: ClientBase): void {
  const send = client.query.bind(client);
  const query = (given: PgQuery) => {
    const kind = kindOf(given);
    if (kind !== "other") sent.push(kind);
    const write = () => send(given);
    const disturbing = kind === "group" ? disturb : undefined;
    if (disturbing === undefined) return write();
    disturb = undefined;
    return disturbing(write, () => client.emit("notice", { routine: "SyncRepWaitForLSN" }));
  };
  Object.assign(client, { query });
}

function kindOf({ text }: PgQuery): string {
  if (text.includes("INSERT INTO")) return text.includes("SKIP LOCKED") ? "group" : "alone";
  return text.includes("SET version = version") ? "confirm" : "other";
}

/** Opens a storage with new sessions, and returns their first commits. */
async function openWith(count: number, options: { readonly retryMs?: number } = {}) {
  const schema = newSchema();
  const storage = await PostgresStorage.open({ pool, schema, ...options });
  const firsts = Array.from({ length: count }, (_, index) => makeCommit({ sessionId: `s${index}` }));
  await Promise.all(firsts.map((commit) => storage.append(commit)));
  // Until then, the last group is under way.
  await endOfTurn();
  sent.length = 0;
  return { schema, storage, firsts, nexts: firsts.map((commit) => nextCommit(commit)) };
}

/** Appends commits at the same time, and returns what came of each: "written", or the code of its error. */
async function together(storage: StorageAdapter, commits: readonly Commit[]): Promise<string[]> {
  const ended = await Promise.allSettled(commits.map((commit) => storage.append(commit)));
  return ended.map((end) => {
    if (end.status === "fulfilled") return "written";
    if (!isPhasegateError(end.reason)) throw end.reason;
    const { code, details } = end.reason;
    return "outcome" in details ? `${code}, ${details.outcome}` : code;
  });
}

const all = (count: number, what = "written") => Array.from({ length: count }, () => what);
const alone = (count: number) => all(count, "alone");

/** Expects that these commits are the newest of their sessions. */
async function expectNewest(storage: StorageAdapter, commits: readonly Commit[]): Promise<void> {
  for (const commit of commits) expect(await storage.read(commit.sessionId)).toEqual(commit);
}

function lost(): Error {
  return new Error("Connection terminated unexpectedly");
}

describe("commits of the same time", () => {
  it("share a statement once others are under way, and one that comes alone has its own", async () => {
    const { storage, nexts } = await openWith(40);
    // If the first group ended before a commit that was sent alone, there would be a third one.
    disturb = async (write) => {
      while (sent.length < ALONE + 2) await delay(1);
      return write();
    };
    expect(await together(storage, nexts)).toEqual(all(40));
    // Many are in two statements, so that the server need not wait.
    expect(sent).toEqual([...alone(ALONE), "group", "group"]);
    await expectNewest(storage, nexts);
    sent.length = 0;
    const [one] = nexts;
    if (one === undefined) throw new Error("forty commits");
    await appendAll(storage, [nextCommit(one)]);
    expect(sent).toEqual(["alone"]);
  });

  it("are each compared for themselves: one that is refused takes no other with it", async () => {
    const { storage, firsts, nexts } = await openWith(12);
    const at = (commits: readonly Commit[], index: number) => commits[index] ?? makeCommit();
    const other = nextCommit(at(firsts, 6), { body: "other" });
    await appendAll(storage, [other]);
    const wrong = new Map([
      [6, at(nexts, 6)],
      [8, nextCommit(at(nexts, 8))],
      [10, { ...at(nexts, 10), previousHash: "0".repeat(64) }],
    ]);
    const commits = nexts.map((commit, index) => wrong.get(index) ?? commit);
    sent.length = 0;
    expect(await together(storage, commits)).toEqual(
      commits.map((_, index) => (wrong.has(index) ? "CONFLICT" : "written")),
    );
    expect(sent).toEqual([...alone(ALONE), "group", ...alone(3)]);
    await expectNewest(storage, [...nexts.filter((_, index) => !wrong.has(index)), other, at(firsts, 8)]);
    expect(await storage.read(parseSessionId("s10"))).toEqual(firsts[10]);
  });

  it("begin and continue sessions in one statement, but none that is there already, or was removed", async () => {
    const { storage, nexts } = await openWith(12);
    for (const removed of ["s10", "s11"]) await storage.remove(parseSessionId(removed));
    const begin = (...ids: string[]) => ids.map((sessionId) => makeCommit({ sessionId }));
    const written = [...nexts.slice(0, 6), ...begin("new0", "new1", "new2", "new3")];
    const refused = [...nexts.slice(10, 11), ...begin("s7", "s11")];
    sent.length = 0;
    expect(await together(storage, [...written, ...refused])).toEqual([
      ...written.map(() => "written"),
      ...refused.map(() => "CONFLICT"),
    ]);
    expect(sent).toEqual([...alone(ALONE), "group", ...alone(refused.length)]);
    await expectNewest(storage, written);
    expect(await storage.read(parseSessionId("s11"))).toBeUndefined();
  });

  it("of one session are in different groups", async () => {
    const { storage, firsts, nexts } = await openWith(8);
    const last = nexts.at(-1) ?? makeCommit();
    const twin = nextCommit(firsts.at(-1) ?? last, { body: "twin" });
    const outcomes = await together(storage, [...nexts, twin]);
    expect(outcomes.slice(0, -2)).toEqual(all(7));
    expect(outcomes.slice(-2).sort()).toEqual(["CONFLICT", "written"]);
    await expectNewest(storage, [...nexts.slice(0, -1), outcomes.at(-1) === "written" ? twin : last]);
  });

  it("are as they were when they were given to the storage", async () => {
    const { storage, nexts } = await openWith(8);
    const given = nexts.map((commit) => structuredClone(commit));
    const appending = together(storage, given);
    for (const commit of given) Object.assign(commit, { version: 9, hash: "", body: "changed" });
    expect(await appending).toEqual(all(8));
    await expectNewest(storage, nexts);
  });

  it("keep every character, and what only some of them have", async () => {
    const odd = ['{"a"}, NULL', "back\\slash\r\n\t", "\u0000 and \u001a0000", "a \ud800 b", "ä 漢 😀", "", "NULL", "'"];
    const { storage, firsts } = await openWith(ALONE + odd.length);
    const nexts = firsts.map((commit, index) => {
      const body = odd[index - ALONE] ?? "plain";
      const ended = index % 2 === 0 ? {} : { status: "completed" as const, completedAt: commit.at };
      return nextCommit(commit, { body, summary: { ...commit.summary, target: body, ...ended } });
    });
    expect(await together(storage, nexts)).toEqual(all(nexts.length));
    expect(sent).toEqual([...alone(ALONE), "group"]);
    await expectNewest(storage, nexts);
    const { items } = await storage.list({ status: ["completed"] });
    expect(items.map(({ target }) => target).sort()).toEqual(
      nexts.flatMap(({ summary }) => (summary.status === "completed" ? [summary.target] : [])).sort(),
    );
  });

  it("are in several statements if they are many or large", async () => {
    const { storage, firsts } = await openWith(300);
    const nexts = firsts.map((commit, index) => nextCommit(commit, { body: "x".repeat(index < 10 ? 400_000 : 100) }));
    expect(await together(storage, nexts)).toEqual(all(300));
    const groups = sent.filter((kind) => kind === "group").length;
    // Two of the large ones fit into a statement, and eight wait. The order of the answers decides whether more are needed.
    expect(groups).toBeGreaterThanOrEqual(4);
    expect(groups).toBeLessThan(10);
    await expectNewest(storage, nexts.slice(0, 12));
  });

  it("are written without the one that the server refuses", async () => {
    const { schema, storage, firsts, nexts } = await openWith(8);
    await runSql(url, `ALTER TABLE ${schema}.commits ADD CHECK (body <> 'stop')`);
    const commits = nexts.map((commit, index) =>
      index === 6 ? nextCommit(firsts[6] ?? commit, { body: "stop" }) : commit,
    );
    expect(await together(storage, commits)).toEqual([...all(6), "STORAGE_FAILED", "written"]);
    await expectNewest(storage, [...nexts.filter((_, index) => index !== 6), ...firsts.slice(6, 7)]);
  });

  it("do not wait for the one whose session is locked", async () => {
    const { schema, storage, nexts } = await openWith(8);
    const locker = new Client({ connectionString: url });
    await locker.connect();
    await locker.query(`BEGIN; SELECT FROM ${schema}.sessions WHERE session_id = 's6' FOR UPDATE`);
    const [six] = nexts.splice(6, 1);
    if (six === undefined) throw new Error("eight commits");
    const appending = together(storage, [...nexts.slice(0, 6), six, ...nexts.slice(6)]);
    while ((await storage.read(parseSessionId("s7")))?.version !== 2) await delay(5);
    expect((await storage.read(six.sessionId))?.version).toBe(1);
    await locker.query("COMMIT");
    expect(await appending).toEqual(all(8));
    await expectNewest(storage, [...nexts, six]);
    await locker.end();
  });

  it("are written when the storage is closed meanwhile", async () => {
    const { schema, firsts, storage } = await openWith(12);
    await storage.close();
    const own = await PostgresStorage.open({ url, schema });
    const nexts = firsts.map((commit) => nextCommit(commit));
    const appending = together(own, nexts);
    await own.close();
    expect(await appending).toEqual(all(12));
    await expectNewest(storage, nexts);
  });

  it("have a statement each on a host's own client", async () => {
    const { schema, nexts } = await openWith(8);
    const client = new Client({ connectionString: url });
    await client.connect();
    const own = await PostgresStorage.open({ client, schema });
    noteStatements(client);
    expect(await together(own, nexts)).toEqual(all(8));
    expect(sent).toEqual(alone(8));
    await own.close();
    await client.end();
  });
});

describe("a group that gets no answer, or a refusal", () => {
  const COUNT = 10;
  const MEMBERS = COUNT - ALONE;

  it.each<[string, typeof disturb]>([
    ["is lost after the server has written it", (write) => write().then(() => Promise.reject(lost()))],
    ["is lost before the server has it", () => Promise.reject(lost())],
    [
      "is refused by a server that shuts down",
      () => Promise.reject(Object.assign(new Error("ends"), { code: "57P01" })),
    ],
    [
      "is refused by a server that is a standby",
      () => Promise.reject(Object.assign(new Error("no"), { code: "25006" })),
    ],
    ["is rolled back for another transaction", () => Promise.reject(Object.assign(new Error("no"), { code: "40001" }))],
    ["is in a deadlock", () => Promise.reject(Object.assign(new Error("no"), { code: "40P01" }))],
  ])("is written exactly once, each commit by its own statement, if it %s", async (_, how) => {
    const { storage, nexts, firsts } = await openWith(COUNT);
    disturb = how;
    expect(await together(storage, nexts)).toEqual(all(COUNT));
    expect(sent.filter((kind) => kind !== "confirm")).toEqual([...alone(ALONE), "group", ...alone(MEMBERS)]);
    for (const [index, commit] of nexts.entries()) {
      expect(await collect(storage.log(commit.sessionId))).toEqual([firsts[index], commit]);
    }
  });

  it("has an unknown outcome for each of its commits if the server can't be asked again", async () => {
    const { storage, nexts } = await openWith(COUNT, { retryMs: 0 });
    disturb = (write) => write().then(() => Promise.reject(lost()));
    const unknown = all(MEMBERS, "STORAGE_FAILED, unknown");
    expect(await together(storage, nexts)).toEqual([...all(ALONE), ...unknown]);
    await expectNewest(storage, nexts);
  });

  it("is no unknown outcome if the server has refused it", async () => {
    const { schema, storage, nexts } = await openWith(COUNT, { retryMs: 0 });
    disturb = async (write) => {
      await runSql(url, `ALTER TABLE ${schema}.commits ADD CHECK (version < 2) NOT VALID`);
      return write();
    };
    expect(await together(storage, nexts)).toEqual([...all(ALONE), ...all(MEMBERS, "STORAGE_FAILED")]);
  });

  it("is confirmed commit by commit if the server did not wait for its standbys", async () => {
    const { storage, nexts } = await openWith(COUNT);
    disturb = async (write, cancelWait) => {
      const result = await write();
      cancelWait();
      return result;
    };
    expect(await together(storage, nexts)).toEqual(all(COUNT));
    expect(sent).toEqual([...alone(ALONE), "group", ...all(MEMBERS, "confirm")]);
  });

  it("tells the commits of others from its own after a lost answer", async () => {
    const { storage, nexts, firsts } = await openWith(COUNT);
    const other = nextCommit(firsts[7] ?? makeCommit(), { body: "other" });
    disturb = async (write) => {
      await appendAll(storage, [other]);
      await write();
      throw lost();
    };
    // The other commit is sent alone while the group is under way.
    expect(await together(storage, nexts)).toEqual([...all(7), "CONFLICT", ...all(2)]);
    await expectNewest(storage, [...nexts.filter((_, index) => index !== 7), other]);
  });

  it("is written exactly once if its backend is killed while it works", async () => {
    const { schema, storage, nexts, firsts } = await openWith(COUNT);
    const locker = new Client({ connectionString: url });
    await locker.connect();
    const waiting = `FROM pg_stat_activity WHERE application_name = 'groups' AND wait_event_type = 'Lock'
      AND query LIKE 'WITH given %"${schema}"%'`;
    disturb = async (write) => {
      await locker.query(`BEGIN; LOCK TABLE ${schema}.commits IN SHARE MODE`);
      const writing = write();
      // It fails while the other statements run.
      writing.catch(() => {});
      while ((await runSql(url, `SELECT pg_terminate_backend(pid) ${waiting}`)).length === 0) await delay(5);
      await locker.query("COMMIT");
      return writing;
    };
    expect(await together(storage, nexts)).toEqual(all(COUNT));
    expect(sent.filter((kind) => kind === "group")).toEqual(["group"]);
    for (const [index, commit] of nexts.entries()) {
      expect(await collect(storage.log(commit.sessionId))).toEqual([firsts[index], commit]);
    }
    await locker.end();
  });
});

const COLUMNS = "session_id, version, hash, status, kind, workflow_type, target, current_step, created_at, updated_at";
const IDS = Array.from({ length: 40 }, (_, index) => `common_${index}`);
const [APPENDS, CUTS] = howOften([6, 4], [60, 100]);

/** Appends to a session that others append to, too. Returns what was acknowledged. */
async function appendTo(storage: StorageAdapter, id: string, writer: number): Promise<Acknowledged[]> {
  const acknowledged: Acknowledged[] = [];
  while (acknowledged.length < APPENDS) {
    const newest = await storage.read(parseSessionId(id));
    const { body, payloads = [] } = countingCommit(parseSessionId(id), newest);
    const parts = { body: `${body} ${writer}`, payloads };
    const commit = newest === undefined ? makeCommit({ sessionId: id, ...parts }) : nextCommit(newest, parts);
    try {
      await storage.append(commit);
      acknowledged.push({ id, version: commit.version, hash: commit.hash });
    } catch (error) {
      if (!isPhasegateError(error, "CONFLICT")) throw error;
    }
  }
  return acknowledged;
}

describe("several storages that append to the same sessions in groups", () => {
  it("never meet in a deadlock, and lose and double nothing while connections are cut", async () => {
    const [database, schema] = [await emptyDatabase(), newSchema()];
    const from = `${database}?application_name=cut_groups_${schema}`;
    const storages = [
      await PostgresStorage.open({ url: from, schema }),
      await PostgresStorage.open({ url: from, schema }),
    ];
    const deadlocks = async () =>
      (await runSql(database, "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"))[0];
    const before = await deadlocks();
    let isWriting = true;
    const orders = [IDS, IDS.toReversed()];
    const writing = Promise.all(
      storages.flatMap((storage, index) => (orders[index] ?? []).map((id) => appendTo(storage, id, index))),
    ).finally(() => {
      isWriting = false;
    });
    for (let cut = 0; cut < CUTS && isWriting; cut += 1) {
      await delay(50);
      await runSql(
        database,
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'cut_groups_${schema}'`,
      );
    }
    const acknowledged = (await writing).flat();
    expect(acknowledged).toHaveLength(2 * IDS.length * APPENDS);
    expect(await checkSessions(database, schema, acknowledged)).toBe(acknowledged.length);
    expect(await deadlocks()).toEqual(before);
    await Promise.all(storages.map((storage) => storage.close()));
  });
});

describe("two groups that begin the same sessions", () => {
  it("do not wait for each other in a circle if one follows a session that the other is about to begin", async () => {
    const schema = newSchema();
    const storage = await PostgresStorage.open({ pool, schema });
    const names = ["holder", "first", "second"].map((name) => `${name}_${schema}`);
    const clients = names.map((name) => new Client({ connectionString: `${url}?application_name=${name}` }));
    const [holder, first, second] = clients;
    await Promise.all(clients.map((client) => client.connect()));
    const { appendAll: appendingAll } = createStatements(schema, new Preparation(false));
    const group = async (client: Client | undefined, ...commits: readonly Commit[]) => {
      const rows = commits.map(valuesOf);
      const columns = rows[0]?.map((_, index) => rows.map((row) => row[index])) ?? [];
      const written = (await client?.query(appendingAll(columns)))?.rows ?? [];
      return written.map(({ session_id }) => session_id).sort();
    };
    const waits = async (name: string | undefined) => {
      const text = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name = '${name}'`;
      while ((await runSql(url, text)).length === 0) await delay(5);
    };
    const begin = (sessionId: string, body: string) => makeCommit({ sessionId, body });
    const held = `${schema}.sessions (${COLUMNS}) VALUES ('m', 1, 'hash', 'active', '', '', '', '', '', '')`;
    await holder?.query(`BEGIN; INSERT INTO ${held}`);
    // It has begun b, and waits for m; x comes after that.
    const waiting = group(second, begin("b", "second"), begin("m", ""), begin("x", "second"));
    await waits(names[2]);
    const x = begin("x", "");
    await storage.append(x);
    const following = group(first, nextCommit(x), begin("b", "first"));
    await waits(names[1]);
    await holder?.query("ROLLBACK");
    expect(await Promise.all([waiting, following])).toEqual([["b", "m"], ["x"]]);
    await Promise.all(clients.map((client) => client.end()));
  });
});

describe("several processes that append to the same sessions in groups", () => {
  const startWorker = appendWorkers();

  it("lose and double nothing", { timeout: 120_000 }, async () => {
    const schema = newSchema();
    const appends = IDS.length * APPENDS;
    const workers = await startWorker.together(2, `${url}#${schema}`, appends, ["together", ...IDS]);
    const results = await Promise.all(workers.map((worker) => worker.ended));
    for (const { lines, exitCode, errors } of results)
      expect([lines.length, exitCode, errors]).toEqual([appends, 0, ""]);
    const acknowledged = results.flatMap(({ lines }) => acknowledgedIn(lines));
    expect(await checkSessions(url, schema, acknowledged)).toBe(2 * appends);
  });
});
