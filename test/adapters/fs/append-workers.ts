import { join } from "node:path";
import { type Worker, workersOf } from "../../support/worker-process.js";

/** A version that a process was told is on the disk. */
export interface Acknowledged {
  readonly id: string;
  readonly version: number;
  readonly hash: string;
}

/** What starts processes that append to sessions. */
export function appendWorkers(): (root: string, appends: number, ids: readonly string[]) => Worker {
  const start = workersOf(join(import.meta.dirname, "append-worker.ts"));
  return (root, appends, ids) => start(root, String(appends), ...ids);
}

/** What the lines of a worker say. */
export function acknowledgedIn(lines: readonly string[]): Acknowledged[] {
  return lines.map((line) => {
    const [id = "", version = "", hash = ""] = line.split(" ");
    return { id, version: Number(version), hash };
  });
}
