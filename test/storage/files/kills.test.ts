import { readdir } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { expect, it } from "vitest";
import { FileStorage } from "../../../src/storage/files/storage.js";
import { nextCommit } from "../../../src/testing/contract.js";
import { parseSessionId } from "../../../src/workflow/names.js";
import { type Acknowledged, acknowledgedIn, checkSession } from "../../support/acknowledged.js";
import { appendWorkers } from "../../support/append-workers.js";
import { howOften } from "../../support/how-often.js";
import type { Worker } from "../../support/worker-process.js";
import { temporaryRoots } from "./temporary-root.js";

/** The storage contract kills processes, too. The long form has most of the kills. */
const KILLS = howOften(6, 320);
const WORKERS = 3;
/** The sessions of a round. In the long form, those of all rounds fit on one page of a list. */
const OWN = 8;

const newRoot = temporaryRoots();
const startWorker = appendWorkers();

it(`no acknowledged commit is lost in ${KILLS} kills`, { timeout: 7_200_000 }, async () => {
  const root = await newRoot();
  const acknowledged: Acknowledged[] = [];
  for (let round = 0; round < KILLS / WORKERS; round++) {
    // Each round has sessions of its own, so that starts are killed too, and shares one with all rounds. One of the processes
    // appends to all of them at the same time.
    const ids = ["common", ...Array.from({ length: OWN }, (_, index) => `round_${round}_${index}`)];
    const workers = Array.from({ length: WORKERS }, (_, index) =>
      (index === 0 ? startWorker.toAll : startWorker)(root, 1e9, ids),
    );
    acknowledged.push(...(await Promise.all(workers.map(killLater))).flat());
  }
  const versions = await check(root, acknowledged);
  console.log(`${KILLS} kills: ${acknowledged.length} acknowledged commits, ${versions} versions, none lost or torn`);
});

/** Kills a worker at a random time after its first commit. */
async function killLater(worker: Worker): Promise<Acknowledged[]> {
  await new Promise<void>((resolve) => {
    worker.process.stdout?.once("data", () => resolve());
    worker.process.once("close", () => resolve());
  });
  await delay(Math.random() * 60);
  worker.process.kill("SIGKILL");
  const { lines, errors } = await worker.ended;
  expect(errors).toBe("");
  return acknowledgedIn(lines);
}

/** Checks that each acknowledged commit is in its log once, without gaps, and that lists agree; returns the count. */
async function check(root: string, acknowledged: readonly Acknowledged[]): Promise<number> {
  const storage = await FileStorage.open(root);
  // All workers may have been killed after a session's first commit, before they knew of it.
  const ids: string[] = (await storage.list({ limit: 1000 })).items.map(({ sessionId }) => sessionId);
  expect(ids).toEqual(expect.arrayContaining(acknowledged.map(({ id }) => id)));
  let versions = 0;
  for (const id of ids) versions += await checkSession(storage, id, acknowledged);
  await checkActive(storage);
  await storage.close();
  expect(await readdir(`${root}/trash`)).toEqual([]);
  return versions;
}

async function checkActive(storage: FileStorage): Promise<void> {
  const all = await storage.list({ limit: 1000 });
  const active = all.items.filter((summary) => summary.status === "active");
  expect((await storage.list({ status: ["active"], limit: 1000 })).items).toEqual(active);
  expect(await storage.countActive(1e6)).toBeGreaterThanOrEqual(active.length);
  // A session can still be appended to after all kills.
  const common = await storage.read(parseSessionId("common"));
  if (common !== undefined) await storage.append(nextCommit(common));
}
