/**
 * Saves a file below a root, new or over an old one: a temp file is written, synced and renamed. Readers see the old
 * text or the new one, complete; a crash or a full disk leaves the old one.
 */
import { randomBytes } from "node:crypto";
import { type BigIntStats, lstatSync, renameSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join, posix } from "node:path";
import { holdFolder, makeFolders } from "./folders.js";
import { isSameFile } from "./read.js";
import { pathRefused, tooLarge } from "./refusals.js";
import { sha256, sweepTemporary, temporaryName, writeTemporary } from "./replace.js";
import { resolveInside } from "./resolve.js";

/** A text to save. */
export interface Saving {
  readonly text: string;
  /** Limit for the text, in bytes. */
  readonly maxBytes: number;
}

/** The result of a save. */
export interface Saved {
  readonly bytes: number;
  /** SHA-256 of the bytes, in hexadecimal. */
  readonly hash: string;
  /** True if the file existed before. */
  readonly replaced: boolean;
}

/** Attempts to rename over a file that another save replaces at the same time: both saves must succeed. */
const RENAME_ATTEMPTS = 5;

/** Saves a file below a real root and makes missing parent folders. */
export async function saveFile(
  root: string,
  path: string,
  { text, maxBytes }: Saving,
  resolve = resolveInside,
): Promise<Saved> {
  const data = Buffer.from(text);
  if (data.length > maxBytes) throw tooLarge(path, data.length, maxBytes);
  if (path === ".") throw pathRefused(path, "it is a folder, not a file");
  // Resolve first: a refused path must leave no folders behind, and `holdFolder` checks the folder only.
  await resolve(root, path);
  const folder = posix.dirname(path);
  await makeFolders(root, folder, resolve);
  const held = await holdFolder(root, folder, { resolve });
  const target = join(held.place, posix.basename(path));
  const temporary = temporaryName(target, randomBytes(12).toString("hex"));
  try {
    const before = replaceable(target, path);
    await writeTemporary(root, path, temporary, data);
    renameChecked(temporary, target, path, before);
    await held.sync();
    // The text is written: a failure to clean up after others must not fail the call.
    await Promise.allSettled([sweepTemporary(target)]);
    return { bytes: data.length, hash: sha256(data), replaced: before !== undefined };
  } finally {
    await rm(temporary, { force: true });
    await held.close();
  }
}

/** Returns the stats of the existing file, if any. Throws for everything that must not be replaced. */
function replaceable(target: string, path: string): BigIntStats | undefined {
  const stats = lstatSync(target, { bigint: true, throwIfNoEntry: false });
  if (stats === undefined) return undefined;
  if (stats.isSymbolicLink()) throw pathRefused(path, "it is a link");
  if (stats.isDirectory()) throw pathRefused(path, "it is a folder, not a file");
  if (!stats.isFile()) throw pathRefused(path, "it is not a regular file");
  // Its other name may belong to somebody else.
  if (stats.nlink > 1n) throw pathRefused(path, "it has several names (hard links)");
  return stats;
}

/**
 * Renames a temp file over the file that was checked, or over one that another save put there meanwhile. Check and
 * rename are adjacent and synchronous, so that no other task runs in between.
 */
export function renameChecked(
  temporary: string,
  target: string,
  path: string,
  before: BigIntStats | undefined,
  check = replaceable,
): void {
  let seen = before;
  for (let attempt = 0; attempt < RENAME_ATTEMPTS; attempt += 1) {
    const now = check(target, path);
    if (isUnchanged(seen, now)) return renameSync(temporary, target);
    seen = now;
  }
  throw pathRefused(path, "it changed while it was being replaced");
}

function isUnchanged(before: BigIntStats | undefined, now: BigIntStats | undefined): boolean {
  if (before === undefined || now === undefined) return before === now;
  return isSameFile(before, now);
}
