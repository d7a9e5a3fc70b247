/**
 * Replaces a file's text: compare, write a temp file next to it, compare again, rename. Readers see the old text or
 * the new one, complete.
 *
 * No file system has a rename that compares, so the second comparison and the rename happen under a claim that every
 * phasegate process makes first: among them no update is lost. An editor knows no claims and may write between the
 * comparison and the rename. Both calls are synchronous and adjacent, so only a write within these few microseconds
 * is lost.
 */
import { createHash, randomBytes } from "node:crypto";
import {
  type BigIntStats,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
} from "node:fs";
import { type FileHandle, lstat, open, readdir, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { errnoOf } from "../errors.js";
import { isOpenInside, readWhole, unlessGone } from "./read.js";
import { claimBlocked, isMissing, pathRefused, REMEDIES, severalNames, tooLarge } from "./refusals.js";
import type { Resolve } from "./resolve.js";

/** A new text, and the hash of the text that it replaces. */
interface Replacement {
  readonly text: string;
  /** SHA-256 of the current bytes, in hexadecimal. */
  readonly hash: string;
  /** Limit for both the old and the new text. */
  readonly maxBytes: number;
}

/** A claim that is seen unchanged for so many milliseconds is stale: its process died. */
const STALE_AFTER = 5000;

/** The longest wait for the claims of others, in milliseconds. */
const LIMIT = 20_000;

/** The longest pause between two attempts, in milliseconds. */
const PAUSE_MAX = 20;

/** Temp files older than this, in milliseconds, are removed. A writer that is still alive starts again. */
const LEFT_BEHIND = 60_000;

/** Characters of the file's name in those of its temp files: a name has at most 255 bytes, a character up to four. */
const NAME_MAX = 40;
const ENDING = ".phasegate.tmp";

/** Replaces a file below a real root. Returns false without a change if its bytes are not the expected ones. */
export async function replaceFile(
  root: string,
  path: string,
  replacement: Replacement,
  resolve: Resolve,
): Promise<boolean> {
  const { hash, maxBytes } = replacement;
  const next = Buffer.from(replacement.text);
  if (next.length > maxBytes) throw tooLarge(path, next.length, maxBytes);
  const { real, bytes, stats } = await readWhole(root, path, maxBytes, resolve);
  if (sha256(bytes) !== hash) return false;
  // After a rename only one of its names would have the new text. A write-protected file is not refused, and keeps its
  // mode: copies of a protected folder contain such files.
  if (stats.nlink > 1n) throw severalNames(path);
  // A link is followed: what it leads to is replaced, and the link stays.
  const folder = dirname(real);
  const temporary = temporaryName(real, randomBytes(12).toString("hex"));
  try {
    await writeTemporary(root, path, temporary, next, stats);
    const same = () => isUnchanged(real, bytes);
    const renamed = await whileClaimed(real, () => renameIfSame(temporary, real, bytes), same);
    if (renamed !== true) return false;
    await syncFolder(folder);
    // The text is written: a failure to clean up after others must not fail the call.
    await Promise.allSettled([sweepTemporary(real)]);
    return true;
  } finally {
    await rm(temporary, { force: true });
  }
}

/** Returns the SHA-256 in hexadecimal. */
export function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** Writes a temp file and syncs it to the disk, with the mode and owner of `like`, or for its owner only. */
export async function writeTemporary(
  root: string,
  path: string,
  temporary: string,
  data: Uint8Array,
  like?: BigIntStats,
): Promise<void> {
  const handle = await open(temporary, "wx", 0o600);
  try {
    // A parent folder may have become a link since the file was read.
    if (!(await isOpenInside(root, temporary, handle))) {
      throw pathRefused(path, "it changed while it was being replaced", REMEDIES.again);
    }
    await handle.writeFile(data);
    if (like !== undefined) await makeLike(handle, like);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function makeLike(handle: FileHandle, { uid, gid, mode }: BigIntStats): Promise<void> {
  // Only root may change the owner. The replacement goes on without it.
  await Promise.allSettled([handle.chown(Number(uid), Number(gid))]);
  await handle.chmod(Number(mode) & 0o7777);
}

/** Renames a file over one that still has these bytes: synchronously, so that no other task runs in between. */
export function renameIfSame(from: string, to: string, bytes: Uint8Array): boolean {
  if (!isUnchanged(to, bytes)) return false;
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

function isUnchanged(file: string, bytes: Uint8Array): boolean {
  try {
    const handle = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const stats = fstatSync(handle);
      return stats.isFile() && stats.size === bytes.length && readFileSync(handle).equals(bytes);
    } finally {
      closeSync(handle);
    }
  } catch (error) {
    if (isMissing(error) || errnoOf(error) === "ELOOP") return false;
    throw error;
  }
}

/** Syncs a folder's entries to the disk. Windows has no call for it and does it by itself. */
export async function syncFolder(folder: string, platform: string = process.platform): Promise<void> {
  if (platform === "win32") return;
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Runs a step while this process holds the claim on a file. A claim is a file next to it, created exclusively and
 * held only for a synchronous step, so writers wait briefly and readers never.
 *
 * A process that dies while it holds a claim leaves it behind. Another process removes a claim that it has seen
 * unchanged for `staleAfter` milliseconds, measured by its own clock. Only the holder of a second exclusive file may
 * remove it, so that no newer claim is removed by mistake. The remaining risk is a process that is suspended for
 * longer than that while it holds a claim.
 *
 * `wanted` is called between attempts; if it returns false, the step is skipped and the result is undefined. Throws
 * `STORAGE_FAILED` if the claim's name is not a regular file, or if others hold claims for longer than `limit`.
 */
export async function whileClaimed<T>(
  file: string,
  step: () => T,
  wanted: () => boolean = () => true,
  staleAfter = STALE_AFTER,
  limit = LIMIT,
): Promise<T | undefined> {
  const name = claimName(file);
  const begun = performance.now();
  let seen: { readonly key: string; readonly since: number } | undefined;
  for (;;) {
    const own = makeClaim(name);
    if (own !== undefined) return runAndRelease(name, own, step);
    if (!wanted()) return undefined;
    const key = readClaim(name);
    if (key !== undefined) {
      if (key !== seen?.key) seen = { key, since: performance.now() };
      else if (performance.now() - seen.since > staleAfter) await removeStale(file, name, key);
    }
    if (performance.now() - begun > limit) throw claimBlocked(basename(name), "other processes hold it all the time");
    await delay(Math.random() * PAUSE_MAX);
  }
}

/** Creates a claim file and returns its key; undefined if there is one already. */
function makeClaim(name: string): string | undefined {
  try {
    const handle = openSync(name, "wx", 0o600);
    const key = keyOf(fstatSync(handle, { bigint: true }));
    closeSync(handle);
    return key;
  } catch (error) {
    if (errnoOf(error) === "EEXIST") return undefined;
    throw error;
  }
}

function runAndRelease<T>(name: string, own: string, step: () => T): T {
  try {
    return step();
  } finally {
    if (readClaim(name) === own) rmSync(name, { force: true });
  }
}

function readClaim(name: string): string | undefined {
  const stats = lstatSync(name, { bigint: true, throwIfNoEntry: false });
  if (stats === undefined) return undefined;
  if (!stats.isFile()) throw claimBlocked(basename(name), "it is not a regular file");
  return keyOf(stats);
}

/** Returns a key that is different for each claim. */
function keyOf({ ino, mtimeNs }: BigIntStats): string {
  return `${ino.toString(16)}${mtimeNs.toString(16)}`;
}

/** Removes a stale claim. A process that dies in here leaves a temp file behind, which the sweep removes later. */
async function removeStale(file: string, name: string, key: string): Promise<void> {
  const permit = temporaryName(file, key);
  if (makeClaim(permit) === undefined) {
    await sweepTemporary(file);
    return;
  }
  try {
    if (readClaim(name) === key) rmSync(name, { force: true });
  } finally {
    rmSync(permit, { force: true });
  }
}

/** Returns the name of a temp file next to a file, made unique by hexadecimal digits. */
export function temporaryName(file: string, digits: string): string {
  return join(dirname(file), `${prefixOf(file)}${digits}${ENDING}`);
}

/** Returns the name of the claim on a file; see {@link whileClaimed}. */
export function claimName(file: string): string {
  return join(dirname(file), `${prefixOf(file)}phasegate.claim`);
}

/** Removes temp files that killed writers left next to a file, but none that may still be written. */
export async function sweepTemporary(file: string, now = Date.now()): Promise<void> {
  const folder = dirname(file);
  const names = (await readdir(folder)).filter((name) => isTemporary(name, file));
  for (const path of names.map((name) => join(folder, name))) {
    const stats = await unlessGone(() => lstat(path));
    if (stats?.isFile() && now - stats.mtimeMs > LEFT_BEHIND) await rm(path, { force: true });
  }
}

function isTemporary(name: string, file: string): boolean {
  const prefix = prefixOf(file);
  if (!name.startsWith(prefix) || !name.endsWith(ENDING)) return false;
  return /^[\da-f]+$/.test(name.slice(prefix.length, -ENDING.length));
}

function prefixOf(file: string): string {
  return `.${[...basename(file)].slice(0, NAME_MAX).join("")}.`;
}
