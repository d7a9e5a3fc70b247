import { type Dirent, lstatSync } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { parseRelativePath } from "../workflow/names.js";
import { signatureOf } from "./read.js";
import { isMissing, notFound, pathRefused } from "./refusals.js";
import { type Resolve, resolveInside } from "./resolve.js";
import type { WallEntry, WallTree } from "./sandbox.js";

/** What a folder below a real root holds, and the folder's own real path. */
interface FolderListing {
  readonly real: string;
  readonly entries: readonly WallEntry[];
}

/** A name as the file system gives it. */
interface FoundName {
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

/** How far a walk goes. */
interface WalkLimits {
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
