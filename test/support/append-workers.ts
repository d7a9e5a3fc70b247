import { join } from "node:path";
import { type Worker, workersOf } from "./worker-process.js";

/** Starts processes that append to sessions, to one after the other, in a place that `openStorage` opens. */
export interface StartAppender {
  (place: string, appends: number, ids: readonly string[]): Worker;
  /** The process appends to all sessions at the same time. */
  toAll(place: string, appends: number, ids: readonly string[]): Worker;
  together(count: number, place: string, appends: number, ids: readonly string[]): Promise<readonly Worker[]>;
}

/** Returns the functions that start them. */
export function appendWorkers(): StartAppender {
  const start = workersOf(join(import.meta.dirname, "append-worker.ts"));
  type Rest = Parameters<StartAppender>;
  const one = (...[place, appends, ids]: Rest) => start(place, String(appends), ...ids);
  const toAll = (...[place, appends, ids]: Rest) => start(place, String(appends), "together", ...ids);
  const together = (count: number, ...[place, appends, ids]: Rest) =>
    start.together(count, place, String(appends), ...ids);
  return Object.assign(one, { toAll, together });
}
