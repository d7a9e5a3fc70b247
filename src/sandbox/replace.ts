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
import { liesInside, openChecked, readBounded } from "./read.js";
import { claimBlocked, codeOf, isMissing, pathRefused, severalNames, tooLarge } from "./refusals.js";
import { resolveInside } from "./resolve.js";

/** What to put in the place of a file's text, and which text that must be. */
interface Replacement {
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

/**
 * One writer at a time for a file, among those that know of this: a claim is a file of its own beside it, which
 * only one can make. It is held without a turn of the event loop, so that no process of ours waits for long, and a
 * reader never waits at all.
 *
 * A process that dies in that instant leaves its claim behind. Whoever has seen one and the same claim for as long as
 * the patience lasts takes it away: seen by its own clock, since another machine's may be wrong. To take away *this*
 * claim, and not the one that somebody made in its place, is a right that only one has, and looks once more with.
 * What is left is a process that was stopped while it held a claim, for longer than anybody's patience.
 *
 * Anybody who may write into the folder can put something else under the claim's name, or make claims without end.
 * Neither may make a caller wait for ever: what is no regular file is no claim of ours, and is refused at once.
 */

/** How long one claim may be seen before it counts as left behind, in milliseconds. */
const PATIENCE = 5000;
/** How long claims of others are waited for in all, in milliseconds. */
const LIMIT = 20_000;
/** The longest pause between two looks, in milliseconds. */
const PAUSE_MAX = 20;

/**
 * Does one step while nobody else does one for this file. `wanted` is asked between two looks at somebody else's
 * claim: where it says no, the step isn't done, and the answer is undefined. Throws `STORAGE_FAILED` where something else
 * lies under the claim's name, or others have claimed the file for longer than the limit.
 */
export async function whileClaimed<T>(
  file: string,
  step: () => T,
  wanted: () => boolean = () => true,
  patience = PATIENCE,
  limit = LIMIT,
): Promise<T | undefined> {
  const name = claimName(file);
  const begun = performance.now();
  let seen: { readonly key: string; readonly since: number } | undefined;
  for (;;) {
    const own = makeClaim(name);
    if (own !== undefined) return released(name, own, step);
    if (!wanted()) return undefined;
    const key = claimAt(name);
    if (key !== seen?.key) seen = key === undefined ? undefined : { key, since: performance.now() };
    else if (seen !== undefined && performance.now() - seen.since > patience) await takeAway(file, name, seen.key);
    if (performance.now() - begun > limit) throw claimBlocked(basename(name), "others hold it all the time");
    await delay(Math.random() * PAUSE_MAX);
  }
}

/** Makes a file that isn't there yet, and gives what it is known by; undefined if there is one. */
function makeClaim(name: string): string | undefined {
  try {
    const handle = openSync(name, "wx", 0o600);
    const key = keyOf(fstatSync(handle, { bigint: true }));
    closeSync(handle);
    return key;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return undefined;
    throw error;
  }
}

function released<T>(name: string, own: string, step: () => T): T {
  try {
    return step();
  } finally {
    if (claimAt(name) === own) rmSync(name, { force: true });
  }
}

function claimAt(name: string): string | undefined {
  const stats = lstatSync(name, { bigint: true, throwIfNoEntry: false });
  if (stats === undefined) return undefined;
  if (!stats.isFile()) throw claimBlocked(basename(name), "it is not a regular file");
  return keyOf(stats);
}

/** What tells one claim from all others. */
function keyOf({ ino, mtimeNs }: BigIntStats): string {
  return `${ino.toString(16)}${mtimeNs.toString(16)}`;
}

/**
 * Takes a claim away that was left behind, if it is this one. A process that dies in here leaves a right behind, which the
 * sweep removes once it is old enough.
 */
async function takeAway(file: string, name: string, key: string): Promise<void> {
  const right = temporaryName(file, key);
  if (makeClaim(right) === undefined) {
    await sweepBeside(file);
    return;
  }
  try {
    if (claimAt(name) === key) rmSync(name, { force: true });
  } finally {
    rmSync(right, { force: true });
  }
}

/** What is written beside a file while it is replaced: under names by which it can be told from what is the user's. */

/** Older than this, in milliseconds, nobody writes on it any more. Who does finds it gone, and tries again. */
const LEFT_BEHIND = 60_000;
/** So much of a file's name is in theirs: a name has 255 bytes at the most, and a character up to four. */
const NAME_MAX = 40;
const ENDING = ".phasegate.tmp";

/** A file of ours beside another one, told from others by hexadecimal digits. */
export function temporaryName(file: string, digits: string): string {
  return join(dirname(file), `${prefixOf(file)}${digits}${ENDING}`);
}

/** The claim on a file: see {@link whileClaimed}. */
export function claimName(file: string): string {
  return join(dirname(file), `${prefixOf(file)}phasegate.claim`);
}

/** Takes away what writers that were killed left beside a file, and nothing that may still be written. */
export async function sweepBeside(file: string, now = Date.now()): Promise<void> {
  const folder = dirname(file);
  const names = (await readdir(folder)).filter((name) => isTemporary(name, file));
  for (const path of names.map((name) => join(folder, name))) {
    const stats = await lstat(path);
    if (stats.isFile() && now - stats.mtimeMs > LEFT_BEHIND) await rm(path, { force: true });
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
