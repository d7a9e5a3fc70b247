import { posix } from "node:path";
import { distance } from "fastest-levenshtein";
import { isPhasegateError } from "../../errors.js";
import type { WallEntry } from "../../walls/wall.js";
import type { Location } from "./location.js";

/** How many names are worth the tokens. */
const NAMES_MAX = 5;

/** The names most like one that isn't there, out of its folder, or of the nearest folder above that is there. */
export async function nearestNames(
  roots: { list(location: Location): Promise<readonly WallEntry[]> },
  { root, path }: Location,
): Promise<readonly Location[]> {
  for (let wanted = path; wanted !== "."; wanted = posix.dirname(wanted)) {
    const entries = await listed(roots, { root, path: posix.dirname(wanted) });
    if (entries === undefined) continue;
    const name = posix.basename(wanted).toLowerCase();
    const steps = new Map(
      entries.map((entry) => [entry.path, distance(name, posix.basename(entry.path).toLowerCase())]),
    );
    const sorted = [...steps].sort(([, a], [, b]) => a - b).slice(0, NAMES_MAX);
    return sorted.map(([near]) => ({ root, path: near }));
  }
  return [];
}

async function listed(roots: { list(location: Location): Promise<readonly WallEntry[]> }, folder: Location) {
  try {
    return await roots.list(folder);
  } catch (error) {
    if (isPhasegateError(error)) return undefined;
    throw error;
  }
}
