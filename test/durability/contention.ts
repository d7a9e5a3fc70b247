import { expect, it } from "vitest";
import { MemoryContent } from "../../src/content/memory.js";
import { createEngine } from "../../src/phased/engine.js";
import type { StorageAdapter } from "../../src/ports/storage-adapter.js";
import { howOften } from "../support/how-often.js";
import { workersOf } from "../support/worker-process.js";
import { readMarkers } from "./read-markers.js";
import { stubborn } from "./stubborn-workflow.js";

const PROCESSES = howOften(3, 8);
const TRANSITIONS = howOften(12, 500);
const SESSIONS = [1, howOften(10, 100)];

/** The adapter that processes contend over. */
export interface Contended {
  /** The file of a process that calls `contend` with this adapter. */
  readonly worker: string;
  /** Returns a new, empty place, which each process gets as its first argument. */
  readonly newPlace: () => Promise<string>;
  readonly open: (place: string) => Promise<StorageAdapter>;
}

/** Tests that processes that work on the same sessions concurrently lose no transition, on any adapter. */
export function contentionTests({ worker, newPlace, open }: Contended): void {
  const start = workersOf(worker);
  for (const count of SESSIONS) {
    it(`${PROCESSES} processes lose no transition on ${count} session(s)`, { timeout: 7_200_000 }, async () => {
      const place = await newPlace();
      const storage = await open(place);
      const content = new MemoryContent({ workflows: [stubborn] });
      const engine = createEngine({ storage, content, limits: { maxActiveSessions: Number.POSITIVE_INFINITY } });
      const ids: string[] = [];
      for (let index = 0; index < count; index += 1) {
        ids.push((await engine.start({ workflowType: "stubborn", target: `${index}` })).sessionId);
      }
      const workers = await start.together(PROCESSES, place, String(TRANSITIONS), ...ids);
      const acknowledged: string[] = [];
      for (const { lines, exitCode, errors } of await Promise.all(workers.map((one) => one.ended))) {
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
    });
  }
}
