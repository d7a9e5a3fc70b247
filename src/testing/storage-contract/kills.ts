/** Cases with several processes on one storage: appending at the same time, stopped for a while, and killed at random times. */
import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import type { SessionSummary, StorageAdapter } from "../../ports/storage-adapter.js";
import { parseSessionId, type SessionId } from "../../workflow/names.js";
import { allPages, collect, makeCommit, NotTried, nextCommit, present } from "../contract.js";
import { markedEngine, markersIn, markersOf, type StorageChild, type WorkerTask, withChildren } from "./children.js";
import type { StageChecks, StorageProcess, StorageStage } from "./stage.js";

/** The number of processes that work at the same time; each is killed in its turn. */
const LANES = 3;
/** The longest time from the first acknowledged commit of a process to its kill, in milliseconds. */
const LIFE_MS = 60;
/** The number of killed appending processes for each killed engine. */
const ENGINE_SHARE = 5;
/** The number of sessions that every second killed process works on at once: an adapter may write their commits together. */
const TOGETHER = 12;

export const killChecks: StageChecks = {
  "kills: acknowledged commits are complete, without gaps or duplicates, and the next append works": async (stage) => {
    const target = await durable(stage);
    const lines = await inLanes(stage, stage.kills, (round) => {
      const task = { kind: "append", count: 1e9 } as const;
      if (round % 2 === 0) return killOne(target, { ...task, ids: ["common", `round_${round}`] });
      const own = Array.from({ length: TOGETHER - 1 }, (_, index) => `round_${round}_${index}`);
      return killOne(target, { ...task, ids: ["common", ...own], isTogether: true });
    });
    await checkSessions(await stage.reopen(), lines);
  },
  "kills: the calls of a killed engine can be repeated with their keys, and nothing is done twice": async (stage) => {
    const target = await durable(stage);
    const kills = Math.ceil(stage.kills / ENGINE_SHARE);
    const keys = new Set<string>();
    // A lane's next process goes on with the unfinished sessions, and has more than it can finish in its time.
    const lines = await inLanes(stage, kills, async (round, lane, before) => {
      const finished = new Set(before.filter((line) => line.endsWith("-last")).map(keyIn));
      const mine = Array.from({ length: finished.size + 200 }, (_, index) => `l${lane}s${index}`).filter(
        (key) => !finished.has(key),
      );
      const lanes = round % 2 === 0 ? 1 : TOGETHER;
      const found = await killOne(target, { kind: "live", keys: mine, lanes });
      const said = new Set(found.map(keyIn));
      // It may have begun some more, and was killed before it could say so.
      for (const key of mine.slice(0, mine.findLastIndex((key) => said.has(key)) + 1 + lanes)) keys.add(key);
      return found;
    });
    for (const line of lines) keys.add(keyIn(line));
    lines.push(...(await finish(target, [...keys])));
    await checkLives(stage, lines);
  },
};

/** Returns how other processes open a durable storage. All adapters of this process are closed. */
async function durable(stage: StorageStage): Promise<StorageProcess> {
  const target = await stage.process();
  if (stage.storage.capabilities.durability === "memory") throw new NotTried("the adapter keeps nothing");
  await stage.close();
  return target;
}

/** Runs several rounds, in parallel if several processes may use the storage. Returns all acknowledged lines. */
async function inLanes(
  { storage }: StorageStage,
  rounds: number,
  play: (round: number, lane: number, before: readonly string[]) => Promise<readonly string[]>,
): Promise<string[]> {
  let round = 0;
  const follow = async (lane: number) => {
    const lines: string[] = [];
    for (round += 1; round <= rounds; round += 1) lines.push(...(await play(round, lane, lines)));
    return lines;
  };
  const count = storage.capabilities.multiProcess ? LANES : 1;
  return (await Promise.all(Array.from({ length: count }, (_, lane) => follow(lane)))).flat();
}

/** Starts a process and kills it at a random time. It must acknowledge something: the one before must have done no harm. */
async function killOne(target: StorageProcess, task: WorkerTask): Promise<readonly string[]> {
  return withChildren(async (start) => {
    const child = start(target, task);
    await child.until(1, "a process must get on after others were killed");
    await delay(Math.random() * LIFE_MS);
    await child.kill();
    return child.lines;
  });
}

/** Finishes all sessions, including those that killed processes have left. Returns the acknowledged lines. */
async function finish(target: StorageProcess, keys: readonly string[]): Promise<readonly string[]> {
  return withChildren(async (start) => {
    const child = start(target, { kind: "live", keys, lanes: TOGETHER });
    await child.until(keys.length * (markersOf("").length + 1), "a process must live all sessions to their ends");
    await child.finish();
    return child.lines;
  });
}

async function checkLives(stage: StorageStage, lines: readonly string[]): Promise<void> {
  const storage = await stage.reopen();
  const engine = markedEngine(storage);
  const ids = new Map(lines.map((line) => [keyIn(line), line.split(" ")[0] ?? ""]));
  for (const line of lines) assert.equal(line.split(" ")[0], ids.get(keyIn(line)), "one key has begun two sessions");
  for (const [key, id] of ids) {
    const { intact } = await engine.session(id).audit();
    assert.ok(intact, `the log of ${id} does not hold together`);
    assert.deepEqual(await markersIn(storage, id), markersOf(key), `the calls of ${id} are not there once each`);
    assert.equal((await engine.session(id).state()).head.status, "completed");
  }
  const listed = (await allPages(storage, ALL)).map(({ sessionId }) => String(sessionId));
  assert.deepEqual(listed.sort(), [...ids.values()].sort(), "there are other sessions than those that were begun");
}

function keyIn(line: string): string {
  return (line.split(" ")[1] ?? "").split("-")[0] ?? "";
}

const PROCESSES = 3;
const APPENDS = 40;
/** The longest time for which a process is stopped while it blocks the others, in milliseconds. */
const STOPPED_MS = 250;
const PAUSES_MAX = 25;

/** Several processes on one storage, which are stopped and continued at random times. */
export const processChecks: StageChecks = {
  "processes: no update is lost among those that append to one session": (stage) => race(stage, ["one"]),
  "processes: no update is lost when several append to several sessions": (stage) =>
    race(stage, ["one", "two", "three"]),
  "processes: one that is suspended during an append and continues later overwrites nothing": async (stage) => {
    // Windows has no such signals.
    if (process.platform === "win32") throw new NotTried("processes can't be stopped on Windows");
    const target = await shared(stage);
    const lines = await withChildren(async (start) => {
      const task = { kind: "append", ids: ["common"], count: 1e9 } as const;
      const [sleeper, other] = [start(target, task), start(target, task)];
      const pauses = Math.min(PAUSES_MAX, Math.ceil(stage.kills / 10));
      for (let count = 0; count < pauses; count++) await pause(sleeper, other);
      await Promise.all([sleeper.stop(), other.stop()]);
      return [...sleeper.lines, ...other.lines];
    });
    await checkSessions(await stage.reopen(), lines);
  },
};

async function race(stage: StorageStage, ids: readonly string[]): Promise<void> {
  const target = await shared(stage);
  const lines = await withChildren(async (start) => {
    const task = { kind: "append", ids, count: APPENDS } as const;
    const children = Array.from({ length: PROCESSES }, () => start(target, task));
    await Promise.all(children.map((child) => child.finish()));
    return children.flatMap((child) => child.lines);
  });
  await checkSessions(await stage.reopen(), lines);
}

/** Stops one process anywhere in its work, lets the other write, and continues the first. */
async function pause(sleeper: StorageChild, other: StorageChild): Promise<void> {
  await sleeper.until(sleeper.lines.length + 1, "a process that was stopped must continue");
  await delay(Math.random() * 5);
  sleeper.signal("SIGSTOP");
  // The other may have to wait for a lock of the stopped one. Then nothing is written, and nothing lost.
  const more = other.lines.length + 3;
  await Promise.race([other.until(more, "a process must continue while another one is stopped"), delay(STOPPED_MS)]);
  sleeper.signal("SIGCONT");
}

/** Returns how other processes open a storage that several may use. */
async function shared(stage: StorageStage): Promise<StorageProcess> {
  const target = await stage.process();
  if (stage.storage.capabilities.multiProcess) return target;
  throw new NotTried("the adapter does not have the capability `multiProcess`");
}

/** A commit that was acknowledged to a process. */
interface Acknowledged {
  readonly id: SessionId;
  readonly version: number;
  readonly hash: string;
}

/**
 * Checks sessions against the lines of the processes that have appended to them: each acknowledged commit is there once, no
 * version is missing or duplicated, no commit is torn, no update lost, lists and counts agree, and each session can be
 * continued.
 */
async function checkSessions(storage: StorageAdapter, lines: readonly string[]): Promise<void> {
  const acknowledged = lines.map(readLine);
  const summaries = await settled(storage);
  const listed = new Map(summaries.map((summary) => [summary.sessionId, summary]));
  assert.equal(listed.size, summaries.length, "a session is listed twice");
  const byId = new Map<SessionId, Acknowledged[]>();
  for (const one of acknowledged) {
    const known = byId.get(one.id);
    if (known === undefined) byId.set(one.id, [one]);
    else known.push(one);
  }
  for (const id of byId.keys()) assert.ok(listed.has(id), `session ${id} was acknowledged, and is in no list`);
  const active = summaries.filter(({ status }) => status === "active");
  const filtered = await allPages(storage, { ...ALL, status: ["active"] });
  assert.deepEqual(filtered, active, "the list of active sessions is not that of all");
  assert.ok((await storage.countActive(1e6)) >= active.length, "fewer sessions are counted as active than are");
  for (const [id, summary] of listed) await checkSession(storage, summary, byId.get(id) ?? []);
}

async function checkSession(
  storage: StorageAdapter,
  summary: SessionSummary,
  acknowledged: readonly Acknowledged[],
): Promise<void> {
  const { sessionId: id } = summary;
  const log = await collect(storage.log(id));
  const last = present(log.at(-1), `a commit of the listed session ${id}`);
  const versions = acknowledged.map(({ version }) => version);
  assert.equal(new Set(versions).size, versions.length, `a version of ${id} was acknowledged twice`);
  for (const { version, hash } of acknowledged) {
    assert.equal(log[version - 1]?.hash, hash, `version ${version} of ${id} was acknowledged, and is not in the log`);
  }
  for (const [index, commit] of log.entries()) {
    const before = log[index - 1];
    const { body } = commit;
    assert.equal(commit.version, index + 1, `the log of ${id} has a gap or a double`);
    const sound = before === undefined ? makeCommit({ sessionId: id, body }) : nextCommit(before, { body });
    assert.equal(commit.hash, sound.hash, `version ${index + 1} of ${id} is torn, or does not follow the one before`);
    assert.equal(body.split(" ")[0], String(index + 1), `an update of ${id} was lost before version ${index + 1}`);
    if (index % 7 === 0) await checkPayload(storage, id, index + 1);
  }
  assert.deepEqual(await storage.read(id), last);
  assert.deepEqual(summary, last.summary, `the list does not show the newest commit of ${id}`);
  const next = nextCommit(last, { body: `${log.length + 1} continues` });
  await storage.append(next);
  assert.equal((await storage.read(id))?.hash, next.hash, `session ${id} does not go on`);
}

async function checkPayload(storage: StorageAdapter, id: SessionId, count: number): Promise<void> {
  const hash = String(count).padStart(64, "0");
  assert.equal(
    await storage.payload(id, hash),
    `payload ${count}`,
    `a payload of version ${count} of ${id} is missing`,
  );
}

const ALL = { limit: 1000 };

/** Returns the sessions once nothing changes any more: a server may still carry out what a killed process has sent. */
async function settled(storage: StorageAdapter): Promise<SessionSummary[]> {
  for (let before = "", now = ""; ; before = now) {
    const summaries = await allPages(storage, ALL);
    now = JSON.stringify(summaries);
    if (now === before) return summaries;
    await delay(100);
  }
}

function readLine(line: string): Acknowledged {
  const [id, version, hash = ""] = line.split(" ");
  return { id: parseSessionId(id), version: Number(version), hash };
}
