/**
 * Writes a file below a root, new or in the place of an old one: beside it, to the disk, then under its name. Whoever
 * reads sees the old text or the new one, whole; a process that dies, or a disk that is full, leaves the old one.
 */
import { randomBytes } from "node:crypto";
import { type BigIntStats, lstatSync, renameSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join, posix } from "node:path";
import { holdFolder, makeFolders } from "./folders.js";
import { isSameFile } from "./read.js";
import { pathRefused, tooLarge } from "./refusals.js";
import { sha256, sweepBeside, temporaryName, writeBeside } from "./replace.js";
import { resolveInside } from "./resolve.js";
/** What to save. */
export interface Saving {
  readonly text: string;
  /** The most that is written. */
  readonly maxBytes: number;
}

/** What was saved. */
export interface Saved {
  readonly bytes: number;
  /** SHA-256 of the bytes, in hexadecimal digits. */
  readonly hash: string;
  /** Whether there was a file before. */
  readonly replaced: boolean;
}

/** Of two that save one file at the same time, both do: the look at what is replaced is taken again so often. */
const LOOKS = 5;

/** Saves a file below a real root, and makes the folders on the way. */
export async function saveFile(
  root: string,
  path: string,
  { text, maxBytes }: Saving,
  resolve = resolveInside,
): Promise<Saved> {
  const data = Buffer.from(text);
  if (data.length > maxBytes) throw tooLarge(path, data.length, maxBytes);
  if (path === ".") throw pathRefused(path, "it is a folder, not a file");
  // Asked first: what may not be saved under its name makes no folders, and the look at its folder below asks of that alone.
  await resolve(root, path);
  const folder = posix.dirname(path);
  await makeFolders(root, folder, resolve);
  const held = await holdFolder(root, folder, { resolve });
  const target = join(held.place, posix.basename(path));
  const temporary = temporaryName(target, randomBytes(12).toString("hex"));
  try {
    const before = replaceable(target, path);
    await writeBeside(root, path, temporary, data);
    renameChecked(temporary, target, path, before);
    await held.sync();
    // The text is there: what is left of others is no reason to say otherwise.
    await Promise.allSettled([sweepBeside(target)]);
    return { bytes: data.length, hash: sha256(data), replaced: before !== undefined };
  } finally {
    await rm(temporary, { force: true });
    await held.close();
  }
}

/** The file that has a name, if one has; throws for everything that must not be replaced. */
function replaceable(target: string, path: string): BigIntStats | undefined {
  const stats = lstatSync(target, { bigint: true, throwIfNoEntry: false });
  if (stats === undefined) return undefined;
  if (stats.isSymbolicLink()) throw pathRefused(path, "it is a link");
  if (stats.isDirectory()) throw pathRefused(path, "it is a folder, not a file");
  if (!stats.isFile()) throw pathRefused(path, "it is not a regular file");
  // Under its other name it may be somebody else's.
  if (stats.nlink > 1n) throw pathRefused(path, "it has several names (hard links)");
  return stats;
}

/**
 * Renames a file over what was looked at, or over what one of ours has put there meanwhile, and over nothing else. The look
 * and the rename are neighbours, without a turn of the event loop between them.
 */
export function renameChecked(
  temporary: string,
  target: string,
  path: string,
  before: BigIntStats | undefined,
  look = replaceable,
): void {
  let seen = before;
  for (let looks = 0; looks < LOOKS; looks += 1) {
    const now = look(target, path);
    if (isUnchanged(seen, now)) return renameSync(temporary, target);
    seen = now;
  }
  throw pathRefused(path, "it was exchanged while it was being replaced");
}

function isUnchanged(before: BigIntStats | undefined, now: BigIntStats | undefined): boolean {
  if (before === undefined || now === undefined) return before === now;
  return isSameFile(before, now);
}
