import { join } from "node:path";
import { type Worker, workersOf } from "./worker-process.js";

/** Returns a function that starts processes which append to sessions, in a place that `openStorage` opens. */
export function appendWorkers(): (place: string, appends: number, ids: readonly string[]) => Worker {
  const start = workersOf(join(import.meta.dirname, "append-worker.ts"));
  return (place, appends, ids) => start(place, String(appends), ...ids);
}
