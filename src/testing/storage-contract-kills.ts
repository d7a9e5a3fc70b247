import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { checkSessions } from "./check-sessions.js";
import { NotTried } from "./contract-case.js";
import { markersOf } from "./live-through.js";
import { markedEngine, markersIn } from "./marked-workflow.js";
import type { StorageProcess } from "./storage-check.js";
import { withChildren } from "./storage-child.js";
import type { StageCheck, StorageStage } from "./storage-stage.js";
import type { WorkerTask } from "./worker-task.js";

/** How many processes are at work at once, and killed each in its turn. */
const LANES = 3;
/** A process is killed so long after its first acknowledged commit at the latest. */
const LIFE_MS = 60;
/** Kills of processes that append, for one of an engine. */
const ENGINE_SHARE = 5;

/** Processes that are killed at random instants. */
export const killChecks: readonly StageCheck[] = [
  [
    "kills: what was acknowledged is there, with no gap, no double, nothing torn, and the next append works",
    async (stage) => {
      const target = await durable(stage);
      const lines = await inLanes(stage, stage.kills, (round) =>
        killOne(target, { kind: "append", ids: ["common", `round_${round}`], count: 1e9 }),
      );
      await checkSessions(await stage.reopen(), lines);
    },
  ],
  [
    "kills: whoever repeats a killed engine's calls under their keys goes on, and nothing is done twice",
    async (stage) => {
      const target = await durable(stage);
      const kills = Math.ceil(stage.kills / ENGINE_SHARE);
      const keys = new Set<string>();
      // The first one that a lane has not seen the end of is where its next process begins; more than it can live in its time.
      const lines = await inLanes(stage, kills, async (_, lane, before) => {
        const done = before.filter((line) => line.endsWith("-last")).length;
        const mine = Array.from({ length: 200 }, (_, index) => `l${lane}s${done + index}`);
        return killOne(target, { kind: "live", keys: mine });
      });
      for (const line of lines) keys.add(keyIn(line));
      await finish(target, [...keys]);
      await checkLives(stage, lines);
    },
  ],
];

/** How other processes open a storage that outlives them; all adapters of this one are closed. */
async function durable(stage: StorageStage): Promise<StorageProcess> {
  const target = await stage.process();
  if (stage.storage.capabilities.durability === "memory") throw new NotTried("the adapter keeps nothing");
  await stage.close();
  return target;
}

/** Several rounds, side by side where several processes may use a storage; gives all that was acknowledged. */
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

/** Starts a process and kills it at some instant; that it acknowledges anything shows that the one before left no harm. */
async function killOne(target: StorageProcess, task: WorkerTask): Promise<readonly string[]> {
  return withChildren(async (start) => {
    const child = start(target, task);
    await child.until(1, "a process must get on after others were killed");
    await delay(Math.random() * LIFE_MS);
    await child.kill();
    return child.lines;
  });
}

/** Lives the sessions to their ends, those that kills have left too. */
async function finish(target: StorageProcess, keys: readonly string[]): Promise<void> {
  await withChildren(async (start) => {
    const child = start(target, { kind: "live", keys });
    await child.until(keys.length * (markersOf("").length + 1), "a process must live all sessions to their ends");
    await child.finish();
  });
}

async function checkLives(stage: StorageStage, lines: readonly string[]): Promise<void> {
  const storage = await stage.reopen();
  const engine = markedEngine(storage);
  const ids = new Map(lines.map((line) => [keyIn(line), line.split(" ")[0] ?? ""]));
  for (const line of lines) assert.equal(line.split(" ")[0], ids.get(keyIn(line)), "one key has begun two sessions");
  for (const [key, id] of ids) {
    const { intact } = await engine.audit(id);
    assert.ok(intact, `the log of ${id} does not hold together`);
    assert.deepEqual(await markersIn(storage, id), markersOf(key), `the calls of ${id} are not there once each`);
    assert.equal((await engine.getState(id)).head.status, "completed");
  }
  const listed = (await storage.list({ limit: 1000 })).items.map(({ sessionId }) => String(sessionId));
  assert.deepEqual(listed.sort(), [...ids.values()].sort(), "there are other sessions than those that were begun");
}

/** The key of the session that a line tells of. */
function keyIn(line: string): string {
  return (line.split(" ")[1] ?? "").split("-")[0] ?? "";
}
