import { setTimeout as delay } from "node:timers/promises";
import { PostgresStorage } from "phasegate/postgres";
import { beforeAll, describe, expect, it } from "vitest";
import { type Acknowledged, acknowledgedIn } from "../../support/acknowledged.js";
import { appendWorkers } from "../../support/append-workers.js";
import { howOften } from "../../support/how-often.js";
import { newSchema, postgresUrl } from "../../support/postgres.ts";
import type { Worker } from "../../support/worker-process.js";
import { checkSessions } from "./check-sessions.ts";

const LONG = process.env.PHASEGATE_LONG === "1";
const PROCESSES = howOften(3, 8);
const APPENDS = howOften(15, 500);
/** A multiple of `AT_ONCE`. The storage contract kills processes in every run, too. */
const KILLS = howOften(5, 1000);
const AT_ONCE = 5;
/** The sessions of a round. In the long form, those of all rounds fit on one page of a list. */
const OWN = 4;

let url = "";
beforeAll(async () => {
  url = await postgresUrl();
}, 60_000);
const startWorker = appendWorkers();

describe("several processes on one database", () => {
  const many = Array.from({ length: 100 }, (_, index) => `s${index}`);
  for (const ids of LONG ? [["one"], many] : [["one"], many.slice(0, 8)]) {
    it(`lose no update on ${ids.length} session(s)`, { timeout: 300_000 }, async () => {
      const schema = newSchema();
      const workers = await startWorker.together(PROCESSES, `${url}#${schema}`, APPENDS, ids);
      const start = performance.now();
      const results = await Promise.all(workers.map((worker) => worker.ended));
      const seconds = (performance.now() - start) / 1000;
      for (const { lines, exitCode, errors } of results) {
        expect([lines.length, exitCode, errors]).toEqual([APPENDS, 0, ""]);
      }
      const acknowledged = results.flatMap(({ lines }) => acknowledgedIn(lines));
      expect(await checkSessions(url, schema, acknowledged)).toBe(PROCESSES * APPENDS);
      const rate = Math.round((PROCESSES * APPENDS) / seconds);
      console.log(`${PROCESSES} processes, ${ids.length} sessions: ${PROCESSES * APPENDS} appends, ${rate} a second`);
    });
  }

  it(`lose no acknowledged commit in ${KILLS} kills`, { timeout: 900_000 }, async () => {
    const schema = newSchema();
    const acknowledged: Acknowledged[] = [];
    for (let round = 0; round < KILLS / AT_ONCE; round++) {
      // Each round has sessions of its own, so that starts are killed too, and shares one with all rounds. Two of the
      // processes append to all of them at the same time, in groups.
      const ids = ["common", ...Array.from({ length: OWN }, (_, index) => `round_${round}_${index}`)];
      const workers = Array.from({ length: AT_ONCE }, (_, index) =>
        (index < 2 ? startWorker.toAll : startWorker)(`${url}#${schema}`, 1e9, ids),
      );
      acknowledged.push(...(await Promise.all(workers.map(killLater))).flat());
    }
    const versions = await checkSessions(url, schema, acknowledged);
    const storage = await PostgresStorage.open({ url, schema });
    const listed = (await storage.list({ limit: 1000 })).items.map(({ sessionId }): string => sessionId);
    expect(listed).toEqual(expect.arrayContaining(acknowledged.map(({ id }) => id)));
    await storage.close();
    console.log(
      `${KILLS} kills: ${acknowledged.length} acknowledged commits, ${versions} versions, none lost or double`,
    );
  });
});

/** Kills a worker at a random time after its first commit. */
async function killLater(worker: Worker): Promise<Acknowledged[]> {
  await new Promise<void>((resolve) => {
    worker.process.stdout?.once("data", () => resolve());
    worker.process.once("close", () => resolve());
  });
  await delay(Math.random() * 40);
  worker.process.kill("SIGKILL");
  const { lines, errors } = await worker.ended;
  expect(errors).toBe("");
  return acknowledgedIn(lines);
}
