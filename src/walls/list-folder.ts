import { type Dirent, lstatSync } from "node:fs";
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

/** A name as the file system gives it, with what it is the name of. */
type FoundEntry = FoundName & Pick<Dirent, "isFile" | "isDirectory">;

/** Reads one folder. */
export async function listFolder(
  root: string,
  folder: string,
  resolve: Resolve = resolveInside,
): Promise<FolderListing> {
  const { real, found } = await readFolder(root, folder, resolve);
  const entries = await Promise.all(found.map((entry) => entryOf(root, real, folder, entry, resolve)));
  return { real, entries: sorted(entries) };
}

/** Reads one folder's names and kinds: the folder says of what is no link what it is. */
export async function listNames(root: string, folder: string, resolve: Resolve): Promise<readonly WallEntry[]> {
  const { real, found } = await readFolder(root, folder, resolve);
  const entries = found.map((entry) =>
    entry.isSymbolicLink()
      ? entryOf(root, real, folder, entry, resolve)
      : namedEntry(root, real, folder, entry, resolve),
  );
  return sorted(await Promise.all(entries));
}

async function readFolder(root: string, folder: string, resolve: Resolve) {
  const { real, exists } = await resolve(root, folder);
  if (!exists) throw notFound(folder);
  // Without a turn of the event loop: the name was looked up a moment ago.
  if (!lstatSync(real).isDirectory()) throw pathRefused(folder, "it is a file, not a folder");
  return { real, found: await readdir(real, { withFileTypes: true }) };
}

function sorted(entries: readonly (WallEntry | undefined)[]): readonly WallEntry[] {
  return entries.filter((entry) => entry !== undefined).sort(byPath);
}

function namedEntry(root: string, real: string, folder: string, entry: FoundEntry, resolve: Resolve): WallEntry {
  const path = inFolder(folder, entry.name);
  const refused = !isPlain(path) || resolve.refusal?.(root, path, join(real, entry.name)) !== undefined;
  if (refused || !(entry.isFile() || entry.isDirectory())) return { path, kind: "refused" };
  return { path, kind: entry.isFile() ? "file" : "folder" };
}

function inFolder(folder: string, name: string): string {
  return folder === "." ? name : `${folder}/${name}`;
}

/** One name of a folder; undefined for what has gone since the folder was read. */
export async function entryOf(
  root: string,
  real: string,
  folder: string,
  entry: FoundName,
  resolve: Resolve = resolveInside,
): Promise<WallEntry | undefined> {
  const path = inFolder(folder, entry.name);
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
