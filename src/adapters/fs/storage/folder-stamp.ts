import type { Disk } from "./disk.js";
import { oddityOf } from "./fs-failure.js";

/** What changed just now may change again within the same tick of the file system's clock, unseen. */
const SETTLED_MS = 100;
/** Some file systems keep whole seconds only, or every second one. */
const SETTLED_COARSE_MS = 2500;

/** Which state a folder is in: `settled` changes with its names. Undefined if there is no such folder. */
export interface FolderState {
  /** Undefined if a second change could not be told from the last one yet. */
  readonly settled: string | undefined;
}

/** Asks for the state of a folder. Ask before you look into it. */
export async function folderState(disk: Disk, path: string): Promise<FolderState | undefined> {
  const stat = await disk.stat(path).catch(orNone);
  if (stat === undefined) return undefined;
  const settledMs = Number.isInteger(stat.mtimeMs) ? SETTLED_COARSE_MS : SETTLED_MS;
  const isSettled = Math.abs(disk.about() - stat.mtimeMs) >= settledMs;
  return { settled: isSettled ? `${stat.ino}:${stat.mtimeMs}` : undefined };
}

/** What is no folder is told of by those who look into it. */
function orNone(error: unknown): undefined {
  if (oddityOf(error) === undefined) throw error;
}
