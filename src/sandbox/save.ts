/**
 * Saves a file below a root, new or over an old one: a temp file is written, synced and renamed. Readers see the old
 * text or the new one, complete; a crash or a full disk leaves the old one. Folders are made below a real root, and held open
 * while something is written in them, so that swapping a name for a link has no effect.
 */
import { randomBytes } from "node:crypto";
import { type BigIntStats, constants, lstatSync, renameSync } from "node:fs";
import { type FileHandle, mkdir, open, readlink, rm } from "node:fs/promises";
import { join, posix } from "node:path";
import { errnoOf } from "../errors.js";
import { HANDLES, isOpenInside, isSameFile } from "./read.js";
import { isMissing, notFound, pathRefused, REMEDIES, tooLarge } from "./refusals.js";
import { sha256, sweepTemporary, temporaryName, writeTemporary } from "./replace.js";
import { type Resolve, resolveInside } from "./resolve.js";

/** A text to save. */
interface Saving {
  readonly text: string;
  /** Limit for the text, in bytes. */
  readonly maxBytes: number;
}

export interface Saved {
  readonly bytes: number;
  /** SHA-256 of the bytes, in hexadecimal. */
  readonly hash: string;
  /** True if the file existed before. */
  readonly replaced: boolean;
}

/** Attempts to rename over a file that another save replaces at the same time: both saves must succeed. */
const RENAME_ATTEMPTS = 5;

export async function saveFile(
  root: string,
  path: string,
  { text, maxBytes }: Saving,
  resolve = resolveInside,
): Promise<Saved> {
  const data = Buffer.from(text);
  if (data.length > maxBytes) throw tooLarge(path, data.length, maxBytes);
  if (path === ".") throw pathRefused(path, "it is a folder, not a file", REMEDIES.file);
  // Resolve first: a refused path must leave no folders behind. Below, only the folder is checked.
  await resolve(root, path);
  const folder = posix.dirname(path);
  await makeFolders(root, folder, resolve);
  const held = await holdFolder(root, folder);
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
export function replaceable(target: string, path: string): BigIntStats | undefined {
  const stats = lstatSync(target, { bigint: true, throwIfNoEntry: false });
  if (stats === undefined) return undefined;
  if (stats.isSymbolicLink()) throw pathRefused(path, "it is a link");
  if (stats.isDirectory()) throw pathRefused(path, "it is a folder, not a file", REMEDIES.file);
  if (!stats.isFile()) throw pathRefused(path, "it is not a regular file");
  // Its other name may belong to somebody else.
  if (stats.nlink > 1n) throw pathRefused(path, "it has several names (hard links)", REMEDIES.oneName);
  return stats;
}

/** Renames a temp file over the checked one, or over what another save put there. Check and rename are synchronous. */
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
  throw pathRefused(path, "it changed while it was being replaced", REMEDIES.again);
}

function isUnchanged(before: BigIntStats | undefined, now: BigIntStats | undefined): boolean {
  if (before === undefined || now === undefined) return before === now;
  return isSameFile(before, now);
}

/** An open folder. Writes go to this folder even if its name is swapped meanwhile. */
interface HeldFolder {
  /** A path to the open folder, valid until it is closed. */
  readonly place: string;
  /** Syncs the folder's entries to the disk. */
  sync(): Promise<void>;
  /** Closes the folder. */
  close(): Promise<void>;
}

/** Overrides for tests. */
interface HoldOptions {
  readonly resolve?: Resolve;
  readonly handles?: string;
  readonly platform?: string;
}

/** Makes a folder below a real root and its missing parents, for their owner only. Does nothing if it exists. */
export async function makeFolders(root: string, path: string, resolve: Resolve): Promise<void> {
  if ((await resolve(root, path)).exists) return;
  await makeFolders(root, posix.dirname(path), resolve);
  await makeFolder(root, path);
}

/** Makes a folder in an existing one. Returns false if the name is taken, also by a concurrent caller. */
export async function makeFolder(root: string, path: string): Promise<boolean> {
  const parent = await holdFolder(root, posix.dirname(path));
  try {
    await mkdir(join(parent.place, posix.basename(path)), { mode: 0o700 });
    await parent.sync();
    return true;
  } catch (error) {
    if (errnoOf(error) === "EEXIST") return false;
    throw error;
  } finally {
    await parent.close();
  }
}

/**
 * Opens a folder below a real root to write in it. No part of its path may be a link. On Linux the returned path goes
 * through the open handle, so a later swap changes nothing; elsewhere each file is checked again once it is open.
 * Throws `FILE_NOT_FOUND` and `PATH_REFUSED`.
 */
export async function holdFolder(root: string, path: string, options: HoldOptions = {}): Promise<HeldFolder> {
  const { resolve = resolveInside, handles = HANDLES, platform = process.platform } = options;
  const { real, exists } = await resolve(root, path);
  if (!exists) throw notFound(path);
  if (real !== join(root, path))
    throw pathRefused(path, "it goes through a link, or its spelling differs from the disk");
  // Windows cannot open folders, and syncs their entries by itself.
  if (platform === "win32") return { place: real, sync: async () => {}, close: async () => {} };
  const handle = await openFolder(real, path);
  let held: HeldFolder | undefined;
  try {
    if (!(await isOpenInside(root, real, handle, handles))) {
      throw pathRefused(path, "it changed while it was being opened", REMEDIES.again);
    }
    const place = `${handles}/${handle.fd}`;
    const shown = await readlink(place).catch(() => undefined);
    held = {
      place: shown === undefined ? real : place,
      sync: () => handle.sync(),
      close: () => handle.close(),
    };
    return held;
  } finally {
    if (held === undefined) await handle.close();
  }
}

async function openFolder(real: string, path: string): Promise<FileHandle> {
  try {
    return await open(real, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  } catch (error) {
    if (errnoOf(error) === "ENOENT") throw notFound(path);
    if (isMissing(error) || errnoOf(error) === "ELOOP")
      throw pathRefused(path, "it is a file or a link, not a folder", REMEDIES.folder);
    throw error;
  }
}
