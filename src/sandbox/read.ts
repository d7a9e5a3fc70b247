import { type BigIntStats, constants, fstatSync, lstatSync, readlinkSync } from "node:fs";
import { type FileHandle, lstat, open, realpath } from "node:fs/promises";
import { join, posix } from "node:path";
import { codeOf, isMissing, notFound, pathRefused, tooLarge } from "./refusals.js";
import { isInside, type Resolve, resolveInside } from "./resolve.js";
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

/** Which bytes of a file are wanted. */
interface Part {
  readonly offset: number;
  readonly length: number;
}

/** Reads a part of a file below a real root. What is asked for is bounded by the file's size: no more is set aside. */
export async function readPart(root: string, path: string, { offset, length }: Part, resolve = resolveInside) {
  const { handle, stats } = await openChecked(root, path, resolve);
  try {
    const signature = signatureOf(stats);
    const bytes = new Uint8Array(Math.max(0, Math.min(length, signature.size - offset)));
    return { bytes: bytes.subarray(0, await fill(handle, bytes, offset)), signature };
  } finally {
    await handle.close();
  }
}

/** Fills a buffer from an open file, and says how far: the file may have been cut off since. */
export async function fill(handle: FileHandle, bytes: Uint8Array, offset: number): Promise<number> {
  let filled = 0;
  while (filled < bytes.length) {
    const { bytesRead } = await handle.read(bytes, filled, bytes.length - filled, offset + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return filled;
}

/**
 * Reads an open file to its end. `size` is what it seemed to hold: a file that has grown since, or
 * doesn't tell, is still read no further than the limit. Throws `TOO_LARGE`.
 */
export async function readBounded(handle: FileHandle, path: string, size: number, limit: number): Promise<Uint8Array> {
  if (size > limit) throw tooLarge(path, size, limit);
  // One byte more than expected, so that the end is seen without a second buffer.
  let buffer = new Uint8Array(size + 1);
  let length = 0;
  for (;;) {
    const { bytesRead } = await handle.read(buffer, length, buffer.length - length, length);
    if (bytesRead === 0) return buffer.subarray(0, length);
    length += bytesRead;
    if (length > limit) throw tooLarge(path, length, limit);
    // As much as it said, though more was asked for. A file of the kernel's says 0, and is read to its end.
    if (length === size) return buffer.subarray(0, length);
    if (length === buffer.length) buffer = grown(buffer, limit);
  }
}

function grown(buffer: Uint8Array<ArrayBuffer>, limit: number): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(Math.min(buffer.length * 2, limit + 1));
  larger.set(buffer);
  return larger;
}

/**
 * A file's signature without reading it; undefined if there is none. A plain file needs only its folder followed, which
 * `resolveFolder` may do once for several. Throws `PATH_REFUSED`.
 */
export async function signFile(
  root: string,
  path: string,
  resolve: Resolve,
  resolveFolder: typeof resolveInside,
): Promise<FileSignature | undefined> {
  // Whatever is no plain file is followed by its whole path below, which says what is wrong.
  const plain = await signPlain(root, path, resolve, resolveFolder).catch(() => undefined);
  if (plain !== undefined) return plain;
  const { real, exists } = await resolve(root, path);
  const stats = exists ? await checkRegular(real, path) : undefined;
  return stats === undefined ? undefined : signatureOf(stats);
}

async function signPlain(
  root: string,
  path: string,
  resolve: Resolve,
  resolveFolder: typeof resolveInside,
): Promise<FileSignature | undefined> {
  const folder = await resolveFolder(root, posix.dirname(path));
  const real = join(folder.real, posix.basename(path));
  if (!folder.exists || resolve.refusal?.(root, path, real) !== undefined) return undefined;
  const stats = await checkRegular(real, path);
  return stats?.isFile() === true ? signatureOf(stats) : undefined;
}

/** What tells one state of a file from another without reading it. */
export interface FileSignature {
  /** Equal for an unchanged file; made of device, inode, size and the times of its last change. */
  readonly key: string;
  readonly size: number;
  /** When it was last changed, in milliseconds since 1970: a very recent time says that the key may be blind. */
  readonly changedAt: number;
}

/** The signature of a file from its `stat`. The change time is in it since a tool can set the other one back. */
export function signatureOf(stats: BigIntStats): FileSignature {
  const { dev, ino, size, mtimeNs, ctimeNs } = stats;
  return {
    key: [dev, ino, size, mtimeNs, ctimeNs].join(":"),
    size: Number(size),
    changedAt: Number((mtimeNs > ctimeNs ? mtimeNs : ctimeNs) / 1_000_000n),
  };
}

/** Tells one file from another, under whatever name; undefined where the file system doesn't number its files. */
export function identityOf({ key }: FileSignature): string | undefined {
  const [dev, ino] = key.split(":");
  return ino === undefined || ino === "0" ? undefined : `${dev}:${ino}`;
}

/** Whether two `stat`s are of the same file. */
export function isSameFile(a: BigIntStats, b: BigIntStats): boolean {
  return a.dev === b.dev && a.ino === b.ino;
}
