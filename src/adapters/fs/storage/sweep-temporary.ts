import { join } from "node:path";
import type { Disk } from "./disk.js";
import { TEMPORARY } from "./publisher.js";

/** No call takes so long: what is older was left by one that never ended. */
const LEFT_MS = 3_600_000;

/** Deletes what crashes left under temporary names in a session's folder, and among its payloads. */
export async function sweepTemporary(disk: Disk, folder: string): Promise<void> {
  for (const place of [folder, join(folder, "payloads")]) {
    const names = await disk.names(place);
    for (const name of names) if (name.startsWith(TEMPORARY)) await sweepOne(disk, join(place, name));
  }
}

/** Deletes something under a temporary name if it is old. */
export async function sweepOne(disk: Disk, path: string): Promise<void> {
  const stat = await disk.stat(path);
  if (stat !== undefined && Date.now() - stat.mtimeMs > LEFT_MS) await disk.dropFolder(path);
}
