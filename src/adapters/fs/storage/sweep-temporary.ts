import { join } from "node:path";
import type { Disk } from "./disk.js";
import { TEMPORARY } from "./publisher.js";

/** No call takes so long: what is older was left by one that never ended. */
const LEFT_MS = 3_600_000;

/** Deletes what crashes left under temporary names in a session's folder, and among its payloads. */
export async function sweepTemporary(disk: Disk, folder: string): Promise<void> {
  for (const place of [folder, join(folder, "payloads")]) await sweepOld(disk, place);
}

/**
 * Deletes what is old of the temporary names in a folder. How old is told by the file system's own clock, which has
 * stamped the files: this process's may be hours ahead, and others' calls are under way.
 */
export async function sweepOld(disk: Disk, folder: string): Promise<void> {
  const paths = (await disk.names(folder))
    .filter((name) => name.startsWith(TEMPORARY))
    .map((name) => join(folder, name));
  const times = await Promise.all(paths.map(async (path) => (await disk.stat(path))?.mtimeMs));
  // Where nothing is old by this process's clock, no file is made to ask for the other one.
  if (!times.some((time) => time !== undefined && isOld(time, Date.now()))) return;
  const now = await disk.now(folder);
  for (const [index, path] of paths.entries()) {
    const time = times[index];
    if (time !== undefined && isOld(time, now)) await disk.dropFolder(path);
  }
}

function isOld(time: number, now: number): boolean {
  return now - time > LEFT_MS;
}
