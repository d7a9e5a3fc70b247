import { type BigIntStats, constants, fstatSync, lstatSync, readlinkSync } from "node:fs";
import { type FileHandle, lstat, open, realpath } from "node:fs/promises";
import { isSameFile } from "./file-signature.js";
import { isInside, resolveInside } from "./resolve-inside.js";
import { codeOf, isMissing, notFound, pathRefused } from "./wall-refusals.js";

/** An open regular file that is known to lie inside the root. */
export interface CheckedFile {
  readonly handle: FileHandle;
  readonly stats: BigIntStats;
  /** Where it lies, links followed. */
  readonly real: string;
}

/** An editor that replaces a file looks like somebody who swaps it: look again so often before it is refused. */
const LOOKS = 5;
/** Where Linux shows what a handle has open. */
export const HANDLES = "/proc/self/fd";

/** Opens a file below a real root for reading; the caller closes it. `resolve` is another one in tests. */
export async function openChecked(root: string, path: string, resolve = resolveInside): Promise<CheckedFile> {
  for (let look = 0; look < LOOKS; look += 1) {
    const { real, exists } = await resolve(root, path);
    if (!exists) throw notFound(path);
    const checked = await checkRegular(real, path);
    const file = checked === undefined ? undefined : await openSame(root, real, checked);
    if (file !== undefined) return file;
  }
  throw pathRefused(path, "it was exchanged while it was being opened");
}

/** Asked before the file is opened: opening a device can set it in motion. Undefined if it has gone since. */
export async function checkRegular(real: string, path: string): Promise<BigIntStats | undefined> {
  // Without a turn of the event loop: the name was looked up a moment ago, and reading it must not cost another one.
  const stats = await unlessGone(lookedAt(real));
  if (stats === undefined || stats.isSymbolicLink() || stats.isFile()) return stats;
  throw pathRefused(path, stats.isDirectory() ? "it is a folder, not a file" : "it is not a regular file");
}

/** Opens a real path; undefined if it isn't, or isn't surely, the file that was checked. */
export async function openSame(
  root: string,
  real: string,
  checked: BigIntStats,
  handles = HANDLES,
): Promise<CheckedFile | undefined> {
  // O_NOFOLLOW: the last name may have become a link. O_NONBLOCK: it may be a FIFO nobody writes to.
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const handle = await unlessGone(open(real, flags));
  if (handle === undefined) return undefined;
  let file: CheckedFile | undefined;
  try {
    // What the kernel knows of an open file is asked without a turn of the event loop: no disk is waited for.
    const stats = fstatSync(handle.fd, { bigint: true });
    const isSafe = isSameFile(stats, checked)
      ? await liesInside(root, real, handle, stats, handles)
      : await isAt(real, handle, handles);
    if (stats.isFile() && isSafe) file = { handle, stats, real };
  } finally {
    if (file === undefined) await handle.close();
  }
  return file;
}

/**
 * Whether what is open lies where it was looked for: a folder on the way may have been a link while
 * it was checked and opened. The kernel's own word where there is one; else a second look, which
 * only somebody who swaps the folder four times at the right moments gets past.
 */
export async function liesInside(
  root: string,
  real: string,
  handle: FileHandle,
  stats: BigIntStats,
  handles = HANDLES,
): Promise<boolean> {
  const opened = await unlessGone(shownAs(`${handles}/${handle.fd}`));
  if (opened !== undefined) return isInside(root, opened);
  const again = await unlessGone(lstat(real, { bigint: true }));
  return again !== undefined && isSameFile(again, stats) && (await unlessGone(realpath(real))) === real;
}

/**
 * Whether the kernel says that what is open has the path that was checked: then it was put there since, in the place of
 * another file, as by an editor or another process that saves the same file.
 */
async function isAt(real: string, handle: FileHandle, handles: string): Promise<boolean> {
  const opened = await unlessGone(shownAs(`${handles}/${handle.fd}`));
  return opened === real || opened === `${real} (deleted)`;
}

async function lookedAt(real: string): Promise<BigIntStats> {
  return lstatSync(real, { bigint: true });
}

async function shownAs(place: string): Promise<string> {
  return readlinkSync(place);
}

/** Undefined for what is gone, or has become a link, since it was checked. */
async function unlessGone<T>(step: Promise<T>): Promise<T | undefined> {
  try {
    return await step;
  } catch (error) {
    if (isMissing(error) || codeOf(error) === "ELOOP") return undefined;
    throw error;
  }
}
