import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { parseRelativePath } from "../definition/relative-path.js";
import { signatureOf } from "./file-signature.js";
import { type Resolve, resolveInside } from "./resolve-inside.js";
import type { WallEntry } from "./wall.js";
import { isMissing, notFound, pathRefused } from "./wall-refusals.js";

/** What a folder below a real root holds, and the folder's own real path. */
export interface FolderListing {
  readonly real: string;
  readonly entries: readonly WallEntry[];
}

/** A name as the file system gives it. */
export interface FoundName {
  readonly name: string;
  isSymbolicLink(): boolean;
}

/** Reads one folder. */
export async function listFolder(
  root: string,
  folder: string,
  resolve: Resolve = resolveInside,
): Promise<FolderListing> {
  const { real, exists } = await resolve(root, folder);
  if (!exists) throw notFound(folder);
  if (!(await lstat(real)).isDirectory()) throw pathRefused(folder, "it is a file, not a folder");
  const found = await readdir(real, { withFileTypes: true });
  const entries = await Promise.all(found.map((entry) => entryOf(root, real, folder, entry, resolve)));
  return { real, entries: entries.filter((entry) => entry !== undefined).sort(byPath) };
}

/** One name of a folder; undefined for what has gone since the folder was read. */
export async function entryOf(
  root: string,
  real: string,
  folder: string,
  entry: FoundName,
  resolve: Resolve = resolveInside,
): Promise<WallEntry | undefined> {
  const path = folder === "." ? entry.name : `${folder}/${entry.name}`;
  if (!isPlain(path)) return { path, kind: "refused" };
  try {
    // A plain name in a folder that was resolved needs no look of its own; a link that it has become is refused below.
    const place = entry.isSymbolicLink() ? (await resolve(root, path)).real : join(real, entry.name);
    if (resolve.refusal?.(root, path, place) !== undefined) return { path, kind: "refused" };
    const stats = await lstat(place, { bigint: true });
    if (stats.isFile()) return { path, kind: "file", signature: signatureOf(stats) };
    return stats.isDirectory() ? { path, kind: "folder", signature: signatureOf(stats) } : { path, kind: "refused" };
  } catch (error) {
    return isMissing(error) ? undefined : { path, kind: "refused" };
  }
}

/** Whether a path would come back as it is: a name on disk may hold what no path from outside may. */
function isPlain(path: string): boolean {
  try {
    return parseRelativePath(path) === path;
  } catch {
    return false;
  }
}

/** The order of entries: by path. */
export function byPath(a: WallEntry, b: WallEntry): number {
  return a.path < b.path ? -1 : 1;
}
