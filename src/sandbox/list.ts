/** Lists folders of the sandbox: one folder, or the whole tree below it. */
import { type Dirent, lstatSync } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { isPlainPath } from "../workflow/names.js";
import { type FileSignature, signatureOf } from "./read.js";
import { isMissing, notFound, pathRefused, REMEDIES } from "./refusals.js";
import { type Resolve, resolveInside } from "./resolve.js";

/** A name in a folder. */
export interface SandboxEntry {
  /** Relative to the root, with `/`. */
  readonly path: string;
  /** `refused`: a link that leads out or nowhere, a name that is not a valid path, a device, a FIFO. */
  readonly kind: "file" | "folder" | "refused";
  /** Set for files and folders. */
  readonly signature?: FileSignature;
}

/** The files below a folder. */
export interface SandboxTree {
  /** Files and refused entries, sorted by path. */
  readonly entries: readonly SandboxEntry[];
  /** True if the walk stopped at its limit of entries or depth. */
  readonly truncated: boolean;
}

interface WalkLimits {
  /** Files and folders in total. */
  readonly maxEntries: number;
  readonly maxDepth: number;
}

/** A folder to walk, with the real paths of its ancestors in the walk. */
interface Step {
  readonly path: string;
  readonly above: readonly string[];
}

export async function listFolder(
  root: string,
  folder: string,
  resolve: Resolve,
): Promise<{ readonly real: string; readonly entries: readonly SandboxEntry[] }> {
  const { real, exists } = await resolve(root, folder);
  if (!exists) throw notFound(folder);
  // Synchronous: the name was just resolved, so its inode is cached, and a thread pool round trip costs more.
  if (!lstatSync(real).isDirectory()) throw pathRefused(folder, "it is a file, not a folder", REMEDIES.folder);
  const found = await readdir(real, { withFileTypes: true });
  const entries = await Promise.all(found.map((entry) => entryOf(root, real, folder, entry, resolve)));
  return { real, entries: entries.filter((entry) => entry !== undefined).sort(byPath) };
}

/** Lists all files below a folder. A link to an ancestor is not followed: it would be an endless loop. */
export async function walkFolder(
  root: string,
  folder: string,
  limits: WalkLimits,
  resolve: Resolve,
): Promise<SandboxTree> {
  const entries: SandboxEntry[] = [];
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

/** Reads one entry; undefined if it was removed after the folder was read. */
export async function entryOf(
  root: string,
  real: string,
  folder: string,
  entry: Pick<Dirent, "name" | "isSymbolicLink">,
  resolve: Resolve = resolveInside,
): Promise<SandboxEntry | undefined> {
  const path = folder === "." ? entry.name : `${folder}/${entry.name}`;
  // Names on the disk may contain what paths from outside may not.
  if (!isPlainPath(path)) return { path, kind: "refused" };
  try {
    // A name in a resolved folder is not resolved again. If it became a link meanwhile, `lstat` refuses it below.
    const place = entry.isSymbolicLink() ? (await resolve(root, path)).real : join(real, entry.name);
    if (resolve.refusal?.(root, path, place) !== undefined) return { path, kind: "refused" };
    const stats = await lstat(place, { bigint: true });
    if (stats.isFile()) return { path, kind: "file", signature: signatureOf(stats) };
    return stats.isDirectory() ? { path, kind: "folder", signature: signatureOf(stats) } : { path, kind: "refused" };
  } catch (error) {
    return isMissing(error) ? undefined : { path, kind: "refused" };
  }
}

export function byPath(a: SandboxEntry, b: SandboxEntry): number {
  return a.path < b.path ? -1 : 1;
}
