/**
 * Puts another text in the place of a file's: compare, write beside it, compare again, rename. Whoever
 * reads the file sees the old text or the new one, whole.
 *
 * No file system has a rename that compares, so the second comparison and the rename are done under a claim that
 * every process of ours makes first (see claim-file.ts): among them no text is lost. Who knows of no claims, an editor,
 * may still write between the two, which are neighbours without a turn of the event loop between them: what hits
 * these few microseconds is lost. An editor that has the old text open and saves it later is the editor's to warn of.
 */
import { createHash, randomBytes } from "node:crypto";
import { type BigIntStats, closeSync, constants, fstatSync, openSync, readFileSync, renameSync } from "node:fs";
import { type FileHandle, open, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { sweepBeside, temporaryName } from "./beside.js";
import { whileClaimed } from "./claim-file.js";
import { liesInside, openChecked } from "./open-checked.js";
import { readBounded } from "./read-bounded.js";
import { resolveInside } from "./resolve-inside.js";
import { codeOf, isMissing, pathRefused, severalNames, tooLarge } from "./wall-refusals.js";

/** What to put in the place of a file's text, and which text that must be. */
export interface Replacement {
  readonly text: string;
  /** SHA-256 of the bytes that are to be replaced, in hexadecimal digits. */
  readonly hash: string;
  /** The most that is read or written. */
  readonly maxBytes: number;
}

/** Replaces a file below a real root; false, and nothing is changed, if it isn't what was expected. */
export async function replaceFile(
  root: string,
  path: string,
  replacement: Replacement,
  resolve = resolveInside,
): Promise<boolean> {
  const { hash, maxBytes } = replacement;
  const next = Buffer.from(replacement.text);
  if (next.length > maxBytes) throw tooLarge(path, next.length, maxBytes);
  const { real, bytes, stats } = await readWhole(root, path, maxBytes, resolve);
  if (sha256(bytes) !== hash) return false;
  checkNames(path, stats);
  // A link is followed: what it leads to is replaced, and the link stays.
  const folder = dirname(real);
  const temporary = temporaryName(real, randomBytes(12).toString("hex"));
  try {
    await writeBeside(root, path, temporary, next, stats);
    const same = () => holdsStill(real, bytes);
    const renamed = await whileClaimed(real, () => renameIfSame(temporary, real, bytes), same);
    if (renamed !== true) return false;
    await syncFolder(folder);
    // The text is there: what is left of others is no reason to say otherwise.
    await Promise.allSettled([sweepBeside(real)]);
    return true;
  } finally {
    await rm(temporary, { force: true });
  }
}

/** SHA-256 in hexadecimal digits. */
export function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/**
 * A rename makes two files of one that has several names, and only one of them has the new text then. That a file is
 * write-protected is no reason: copies of a protected folder are, and the mode stays what it was.
 */
function checkNames(path: string, { nlink }: BigIntStats): void {
  if (nlink > 1n) throw severalNames(path);
}

async function readWhole(root: string, path: string, maxBytes: number, resolve: typeof resolveInside) {
  const { handle, stats, real } = await openChecked(root, path, resolve);
  try {
    return { real, stats, bytes: await readBounded(handle, path, Number(stats.size), maxBytes) };
  } finally {
    await handle.close();
  }
}

/** Writes a new file and brings it to the disk: with the mode and the owner of another one, or for its owner alone. */
export async function writeBeside(
  root: string,
  path: string,
  temporary: string,
  data: Uint8Array,
  like?: BigIntStats,
): Promise<void> {
  const handle = await open(temporary, "wx", 0o600);
  try {
    // A folder on the way may have become a link since the file was read.
    if (!(await liesInside(root, temporary, handle, await handle.stat({ bigint: true })))) {
      throw pathRefused(path, "it was exchanged while it was being replaced");
    }
    await handle.writeFile(data);
    if (like !== undefined) await makeLike(handle, like);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function makeLike(handle: FileHandle, { uid, gid, mode }: BigIntStats): Promise<void> {
  // Who may not give files away keeps this one, which is no reason to leave the text as it is.
  await Promise.allSettled([handle.chown(Number(uid), Number(gid))]);
  await handle.chmod(Number(mode) & 0o7777);
}

/** Renames a file over another one if that still is a file with these bytes. Synchronous: see above. */
export function renameIfSame(from: string, to: string, bytes: Uint8Array): boolean {
  if (!holdsStill(to, bytes)) return false;
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

/** Whether there is a regular file with these bytes. */
function holdsStill(file: string, bytes: Uint8Array): boolean {
  try {
    const handle = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const stats = fstatSync(handle);
      return stats.isFile() && stats.size === bytes.length && readFileSync(handle).equals(bytes);
    } finally {
      closeSync(handle);
    }
  } catch (error) {
    if (isMissing(error) || codeOf(error) === "ELOOP") return false;
    throw error;
  }
}

/** Brings a folder's names to the disk. Windows has no call for it, and does it by itself. */
export async function syncFolder(folder: string, platform: string = process.platform): Promise<void> {
  if (platform === "win32") return;
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
