import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryRoots } from "../storage/files/temporary-root.js";
import { howOften } from "../support/how-often.js";
import { DURABLE, openStorage } from "../support/open-storage.js";
import { workersOf } from "../support/worker-process.js";
import { lookingEngine, readMarkers } from "./read-markers.js";

const PROCESSES = howOften(3, 4);
const TRANSITIONS = howOften(12, 1000);

const newRoot = temporaryRoots();
const startWorker = workersOf(join(import.meta.dirname, "engine-worker.ts"));

describe.each(Object.entries(DURABLE))("several engines in processes of their own on %s", (name, folder) => {
  for (const count of [1, 4]) {
    it(`lose no transition on ${count} session(s)`, { timeout: 7_200_000 }, async () => {
      const place = join(await newRoot(), folder);
      const storage = await openStorage(place);
      const engine = lookingEngine(storage);
      const ids: string[] = [];
      for (let index = 0; index < count; index += 1) {
        ids.push((await engine.start({ workflowType: "stubborn", target: `${index}` })).sessionId);
      }
      const workers = await startWorker.together(PROCESSES, place, "submit", String(TRANSITIONS), ...ids);
      const begun = performance.now();
      const ended = await Promise.all(workers.map((worker) => worker.ended));
      const seconds = (performance.now() - begun) / 1000;
      const acknowledged: string[] = [];
      for (const { lines, exitCode, errors } of ended) {
        expect([lines.length, exitCode, errors]).toEqual([TRANSITIONS, 0, ""]);
        acknowledged.push(...lines);
      }
      const found: string[] = [];
      for (const id of ids) {
        expect(await engine.session(id).audit()).toMatchObject({ intact: true });
        found.push(...(await readMarkers(storage, id)).map((marker) => `${id} ${marker}`));
      }
      expect(found.sort(), "each acknowledged transition is there once").toEqual(acknowledged.sort());
      await engine.close();
      await storage.close?.();
      const rate = Math.round(acknowledged.length / seconds);
      console.log(
        `${name}, ${PROCESSES} engines, ${count} session(s): ${acknowledged.length} transitions, ${rate} a second`,
      );
    });
  }
});
