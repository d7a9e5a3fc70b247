import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { collect } from "../../../src/testing/contract.js";
import { parseSessionId } from "../../../src/workflow/names.js";
import { appendWorkers } from "../../support/append-workers.js";
import { howOften } from "../../support/how-often.js";
import { DURABLE, openStorage } from "../../support/open-storage.js";
import { temporaryRoots } from "./temporary-root.js";

const PROCESSES = howOften(3, 4);
const APPENDS = howOften(20, 1000);

const newRoot = temporaryRoots();
const startWorker = appendWorkers();

describe.each(Object.entries(DURABLE))("several processes on one %s", (name, place) => {
  for (const ids of [["one"], ["one", "two", "three", "four"]]) {
    it(`lose no update on ${ids.length} sessions`, { timeout: 300_000 }, async () => {
      const root = join(await newRoot(), place);
      const workers = await startWorker.together(PROCESSES, root, APPENDS, ids);
      const start = performance.now();
      const results = await Promise.all(workers.map((worker) => worker.ended));
      const seconds = (performance.now() - start) / 1000;
      for (const { lines, exitCode, errors } of results) {
        expect([lines.length, exitCode, errors]).toEqual([APPENDS, 0, ""]);
      }
      await check(root, ids);
      const rate = Math.round((PROCESSES * APPENDS) / seconds);
      console.log(
        `${name}, ${PROCESSES} processes, ${ids.length} sessions: ${PROCESSES * APPENDS} appends, ${rate} a second`,
      );
    });
  }
});

async function check(root: string, ids: readonly string[]): Promise<void> {
  const storage = await openStorage(root);
  let total = 0;
  for (const id of ids) {
    const log = await collect(storage.log(parseSessionId(id)));
    expect(log.map((commit) => Number(commit.body.split(" ")[0]))).toEqual(log.map((_, index) => index + 1));
    total += log.length;
  }
  expect(total).toBe(PROCESSES * APPENDS);
  await storage.close?.();
}
