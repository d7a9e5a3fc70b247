import { byPath, listFolder } from "./list-folder.js";
import { type Resolve, resolveInside } from "./resolve-inside.js";
import type { WallEntry, WallTree } from "./wall.js";

/** How far a walk goes. */
export interface WalkLimits {
  /** How many files and folders, on the whole. */
  readonly maxEntries: number;
  readonly maxDepth: number;
}

/** A folder to be walked, with the real paths of those that it was reached through. */
interface Step {
  readonly path: string;
  readonly above: readonly string[];
}

/**
 * All files below a folder, level by level. A link to a folder that it was reached through is not
 * followed: it would lead round for ever.
 */
export async function walkFolder(
  root: string,
  folder: string,
  limits: WalkLimits,
  resolve: Resolve = resolveInside,
): Promise<WallTree> {
  const entries: WallEntry[] = [];
  let count = 0;
  let level: readonly Step[] = [{ path: folder, above: [] }];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth >= limits.maxDepth) return { entries: entries.sort(byPath), truncated: true };
    const next: Step[] = [];
    for (const { found, above } of await Promise.all(level.map((step) => visible(root, step, resolve)))) {
      count += found.length;
      if (count > limits.maxEntries) return { entries: entries.sort(byPath), truncated: true };
      for (const entry of found) {
        if (entry.kind === "folder") next.push({ path: entry.path, above });
        else entries.push(entry);
      }
    }
    level = next;
  }
  return { entries: entries.sort(byPath), truncated: false };
}

async function visible(root: string, { path, above }: Step, resolve: Resolve) {
  const { real, entries } = await listFolder(root, path, resolve);
  const found = entries.filter((entry) => !entry.path.slice(entry.path.lastIndexOf("/") + 1).startsWith("."));
  return { found: above.includes(real) ? [] : found, above: [...above, real] };
}
