/** Reads files. Each is checked before it is opened and once it is open: somebody may swap it, or a parent folder. */
import { type BigIntStats, constants, fstatSync, lstatSync, readlinkSync } from "node:fs";
import { type FileHandle, lstat, open, realpath } from "node:fs/promises";
import { errnoOf } from "../errors.js";
import { isMissing, notFound, pathRefused, REMEDIES, tooLarge } from "./refusals.js";
import { isInside, type Resolve, resolveInside } from "./resolve.js";

/** An open regular file that is inside the root. */
export interface CheckedFile {
  readonly handle: FileHandle;
  readonly stats: BigIntStats;
  /** Its real path, with links resolved. */
  readonly real: string;
}

/** Identifies one state of a file without its content. */
export interface FileSignature {
  /** Made of device, inode, size, mtime and ctime; equal for an unchanged file. */
  readonly key: string;
  /** In bytes. */
  readonly size: number;
  /** Milliseconds since 1970. A second change right after it may leave the key the same. */
  readonly changedAt: number;
}

interface Part {
  readonly offset: number;
  readonly length: number;
}

/** Attempts to open a changing file: an editor that saves by renaming looks like an attacker who swaps it. */
const OPEN_ATTEMPTS = 5;

/** The folder in which Linux shows the real path of each open file. */
export const HANDLES = "/proc/self/fd";

/** Opens a file below a real root for reading; the caller closes it. Tests give another `resolve`. */
export async function openChecked(root: string, path: string, resolve: Resolve = resolveInside): Promise<CheckedFile> {
  for (let attempt = 0; attempt < OPEN_ATTEMPTS; attempt += 1) {
    const { real, exists } = await resolve(root, path);
    if (!exists) throw notFound(path);
    const checked = await checkRegular(real, path);
    const file = checked && (await openSame(root, real, checked));
    if (file !== undefined) return file;
  }
  throw pathRefused(path, "it changed while it was being opened", REMEDIES.again);
}

/** Returns a regular file's stats; undefined if it is gone. Checks it first, since to open a device has effects. */
export async function checkRegular(real: string, path: string): Promise<BigIntStats | undefined> {
  // Synchronous: the name was just resolved, so its inode is cached, and a thread pool round trip costs more.
  const stats = await unlessGone(() => lstatSync(real, { bigint: true }));
  if (stats === undefined || stats.isSymbolicLink() || stats.isFile()) return stats;
  if (stats.isDirectory()) throw pathRefused(path, "it is a folder, not a file", REMEDIES.file);
  throw pathRefused(path, "it is not a regular file");
}

/** Opens a real path. Returns undefined unless the opened file is surely the one that was checked. */
export async function openSame(
  root: string,
  real: string,
  checked: BigIntStats,
  handles = HANDLES,
): Promise<CheckedFile | undefined> {
  // O_NOFOLLOW: the last name may have become a link. O_NONBLOCK: it may be a FIFO nobody writes to.
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const handle = await unlessGone(() => open(real, flags));
  if (handle === undefined) return undefined;
  let file: CheckedFile | undefined;
  try {
    // Synchronous: the kernel answers for an open file without disk access.
    const stats = fstatSync(handle.fd, { bigint: true });
    const isSafe = await (isSameFile(stats, checked)
      ? isOpenInside(root, real, handle, handles)
      : isAt(real, handle, handles));
    if (stats.isFile() && isSafe) file = { handle, stats, real };
  } finally {
    if (file === undefined) await handle.close();
  }
  return file;
}

/**
 * Checks that an open file is inside the root: a parent folder may have been a link for a moment. Linux tells the
 * real path of the handle. Elsewhere the path is resolved a second time, which only somebody who swaps the folder
 * four times at the right moments can defeat.
 */
export async function isOpenInside(
  root: string,
  real: string,
  handle: FileHandle,
  handles = HANDLES,
): Promise<boolean> {
  const opened = await unlessGone(() => readlinkSync(`${handles}/${handle.fd}`));
  if (opened !== undefined) return isInside(root, opened);
  const again = await unlessGone(() => lstat(real, { bigint: true }));
  const isSame = again !== undefined && isSameFile(again, fstatSync(handle.fd, { bigint: true }));
  return isSame && (await unlessGone(() => realpath(real))) === real;
}

/** The handle may have the checked path and another inode: a process has replaced the file by a rename. */
async function isAt(real: string, handle: FileHandle, handles: string): Promise<boolean> {
  const opened = await unlessGone(() => readlinkSync(`${handles}/${handle.fd}`));
  return opened === real || opened === `${real} (deleted)`;
}

/** Returns undefined for a path that is gone, or has become a link, since it was checked. */
export async function unlessGone<T>(step: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await step();
  } catch (error) {
    if (isMissing(error) || errnoOf(error) === "ELOOP") return undefined;
    throw error;
  }
}

async function withFile<T>(
  root: string,
  path: string,
  resolve: Resolve,
  step: (file: CheckedFile) => Promise<T>,
): Promise<T> {
  const file = await openChecked(root, path, resolve);
  try {
    return await step(file);
  } finally {
    await file.handle.close();
  }
}

/** Reads a range of a file below a real root. The buffer is never larger than the file. */
export function readPart(root: string, path: string, { offset, length }: Part, resolve: Resolve) {
  return withFile(root, path, resolve, async ({ handle, stats }) => {
    const signature = signatureOf(stats);
    const bytes = new Uint8Array(Math.max(0, Math.min(length, signature.size - offset)));
    return { bytes: bytes.subarray(0, await fill(handle, bytes, offset)), signature };
  });
}

/** Reads a whole file below a real root. Throws `TOO_LARGE`. */
export function readWhole(root: string, path: string, maxBytes: number, resolve: Resolve) {
  return withFile(root, path, resolve, async ({ handle, stats, real }) => {
    const bytes = await readBounded(handle, path, Number(stats.size), maxBytes);
    return { bytes, signature: signatureOf(stats), stats, real };
  });
}

/** Decodes UTF-8; undefined if it is not valid. A byte order mark stays. */
export function utf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** Fills a buffer from an open file. Returns the number of bytes read, which is smaller if the file was truncated. */
export async function fill(handle: FileHandle, bytes: Uint8Array, offset: number): Promise<number> {
  let filled = 0;
  for (;;) {
    // A full buffer has no room for more: nothing is read, without a system call.
    const { bytesRead } = await handle.read(bytes, filled, bytes.length - filled, offset + filled);
    if (bytesRead === 0) return filled;
    filled += bytesRead;
  }
}

/** Reads an open file to its end, also one that has grown or reports no size, up to `limit`. Throws `TOO_LARGE`. */
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
    // A short read at the expected size is the end. Kernel files report size 0 and are read until a read returns 0.
    if (length === size) return buffer.subarray(0, length);
    if (length === buffer.length) buffer = grown(buffer, limit);
  }
}

function grown(buffer: Uint8Array<ArrayBuffer>, limit: number): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(Math.min(buffer.length * 2, limit + 1));
  larger.set(buffer);
  return larger;
}

/** Returns a file's signature without reading its content; undefined if there is no file. Throws `PATH_REFUSED`. */
export async function signFile(root: string, path: string, resolve: Resolve): Promise<FileSignature | undefined> {
  const { real, exists } = await resolve(root, path);
  const stats = exists ? await checkRegular(real, path) : undefined;
  return stats && signatureOf(stats);
}

/** Builds a signature from a `stat`. It includes ctime because tools can set mtime back. */
export function signatureOf(stats: BigIntStats): FileSignature {
  const { dev, ino, size, mtimeNs, ctimeNs, mtimeMs, ctimeMs } = stats;
  return {
    key: [dev, ino, size, mtimeNs, ctimeNs].join(":"),
    size: Number(size),
    changedAt: Math.max(Number(mtimeMs), Number(ctimeMs)),
  };
}

/** Returns a file's identity under any name; undefined if the file system has no inode numbers. */
export function identityOf({ key }: FileSignature): string | undefined {
  const [dev, ino] = key.split(":");
  return ino === undefined || ino === "0" ? undefined : `${dev}:${ino}`;
}

export function isSameFile(a: BigIntStats, b: BigIntStats): boolean {
  return a.dev === b.dev && a.ino === b.ino;
}
