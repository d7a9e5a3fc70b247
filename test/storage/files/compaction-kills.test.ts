import { readdir, utimes } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, it } from "vitest";
import { FileStorage } from "../../../src/storage/files/storage.js";
import { collect, makeCommit } from "../../../src/testing/contract.js";
import { parseSessionId } from "../../../src/workflow/names.js";
import { type Acknowledged, acknowledgedIn, checkSession } from "../../support/acknowledged.js";
import { appendWorkers } from "../../support/append-workers.js";
import { howOften } from "../../support/how-often.js";
import { type Worker, workersOf } from "../../support/worker-process.js";
import { temporaryRoots } from "./temporary-root.js";

const KILLS = howOften(4, 1000);
const STOPS = howOften(3, 200);
const STOPS_EACH = howOften(3, 5);
/** Kills per session. After that a new session starts, so that logs stay short and are compacted often. */
const KILLS_EACH = howOften(4, 10);

const newRoot = temporaryRoots();
const startAppender = appendWorkers();
const startCompactor = workersOf(join(import.meta.dirname, "compact-worker.ts"));

async function firstLine(worker: Worker): Promise<void> {
  await new Promise<void>((resolve) => {
    worker.process.stdout?.once("data", () => resolve());
    worker.process.once("close", () => resolve());
  });
}

async function killed(worker: Worker): Promise<Acknowledged[]> {
  worker.process.kill("SIGKILL");
  const { lines, errors } = await worker.ended;
  expect(errors).toBe("");
  return acknowledgedIn(lines);
}

async function newSession(root: string, id: string): Promise<void> {
  const storage = await FileStorage.open(root, { copyWindowMs: 0 });
  const body = `1 by the test ${"x".repeat(1000)}`;
  await storage.append(makeCommit({ sessionId: id, body, payloads: [{ hash: "0".repeat(64), body }] }));
  await storage.close();
}

it(`no acknowledged commit is lost in ${KILLS} kills of compactions while others append`, {
  timeout: 7_200_000,
}, async () => {
  const root = await newRoot();
  let [versions, packed] = [0, 0];
  for (let round = 0; round < KILLS / KILLS_EACH; round++) {
    const id = `round_${round}`;
    await newSession(root, id);
    // One of them appends to other sessions at the same time.
    const others = Array.from({ length: 3 }, (_, index) => `beside_${round}_${index}`);
    const appenders = [startAppender(root, 1e9, [id]), startAppender.toAll(root, 1e9, [id, ...others])];
    await Promise.all(appenders.map(firstLine));
    // Two compactions run at a time, so that they meet, and one finishes what the other has left.
    for (let kills = 0; kills < KILLS_EACH; kills += 2) {
      const pair = [startCompactor(root, id), startCompactor(root, id)];
      await Promise.all(
        pair.map(async (worker) => {
          await firstLine(worker);
          await delay(Math.random() * 25);
          await killed(worker);
        }),
      );
    }
    const acknowledged = (await Promise.all(appenders.map(killed))).flat();
    const storage = await FileStorage.open(root, { copyWindowMs: 0 });
    for (const one of [id, ...others]) versions += await checkSession(storage, one, acknowledged);
    await storage.compact(parseSessionId(id));
    await checkSession(storage, id, acknowledged);
    await storage.close();
    packed += await onlyPack(root, id);
  }
  expect(await readdir(join(root, "trash"))).toEqual([]);
  console.log(`${KILLS} kills of compactions: ${versions} versions, ${packed} of them packed, nothing lost`);
});

it(`no acknowledged commit is lost in ${STOPS} suspensions of a writer or a compaction`, {
  timeout: 900_000,
}, async () => {
  const root = await newRoot();
  let versions = 0;
  for (let round = 0; round < STOPS / STOPS_EACH; round++) versions += await stopRound(root, `stopped_${round}`);
  console.log(`${STOPS} stops: ${versions} versions, nothing lost`);
});

async function stopRound(root: string, id: string): Promise<number> {
  await newSession(root, id);
  const workers = [startAppender(root, 1e9, [id]), startAppender(root, 1e9, [id])];
  const compactors = [startCompactor(root, id), startCompactor(root, id)];
  for (const { process } of compactors) process.setMaxListeners(0);
  await Promise.all([...workers, ...compactors].map(firstLine));
  for (let stop = 0; stop < STOPS_EACH; stop++) {
    for (const [sleeper, others] of [
      [workers[stop % 2], compactors[0]],
      [compactors[stop % 2], compactors[(stop + 1) % 2]],
    ] as const) {
      sleeper?.process.kill("SIGSTOP");
      // It is suspended while at least two compactions run from start to end.
      for (let line = 0; line < 3 && others !== undefined; line++) await firstLine(others);
      sleeper?.process.kill("SIGCONT");
      await delay(Math.random() * 10);
    }
  }
  const acknowledged = (await Promise.all(workers.map(killed))).flat();
  await Promise.all(compactors.map(killed));
  const storage = await FileStorage.open(root, { copyWindowMs: 0 });
  const versions = await checkSession(storage, id, acknowledged);
  await storage.close();
  return versions;
}

/** Compacts the session once its pack is old, checks that only the pack is left, and returns its number of versions. */
async function onlyPack(root: string, id: string): Promise<number> {
  const names = await readdir(join(root, "sessions"), { recursive: true });
  const first = names.find((name) => name.endsWith(join(id, "1.json"))) ?? "";
  const hoursAgo = new Date(Date.now() - 2 * 3_600_000);
  await utimes(join(root, "sessions", first), hoursAgo, hoursAgo);
  const storage = await FileStorage.open(root, { copyWindowMs: 0 });
  await storage.compact(parseSessionId(id));
  const log = await collect(storage.log(parseSessionId(id)));
  await storage.close();
  const left = await readdir(join(root, "sessions", first, ".."));
  // Temporary files of killed processes are deleted after an hour.
  expect(left.filter((name) => !name.startsWith("tmp-")).sort()).toEqual(["1.json", "head", "payloads"]);
  return log.length;
}
