/**
 * Makes folders below a real root, and holds a folder open while something is written in it, so that swapping its
 * name for a link has no effect.
 */
import { constants } from "node:fs";
import { type FileHandle, mkdir, open, readlink } from "node:fs/promises";
import { join, posix } from "node:path";
import { HANDLES, isOpenInside } from "./read.js";
import { codeOf, isMissing, notFound, pathRefused } from "./refusals.js";
import { resolveInside } from "./resolve.js";

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
  readonly resolve?: typeof resolveInside;
  readonly handles?: string;
  readonly platform?: string;
}

/** Makes a folder below a real root and its missing parents, for their owner only. Does nothing if it exists. */
export async function makeFolders(root: string, path: string, resolve = resolveInside): Promise<void> {
  if (path === "." || (await resolve(root, path)).exists) return;
  await makeFolders(root, posix.dirname(path), resolve);
  await makeFolder(root, path, resolve);
}

/** Makes a folder in an existing one. Returns false if the name is taken, also by a concurrent caller. */
export async function makeFolder(root: string, path: string, resolve = resolveInside): Promise<boolean> {
  const parent = await holdFolder(root, posix.dirname(path), { resolve });
  try {
    await mkdir(join(parent.place, posix.basename(path)), { mode: 0o700 });
    await parent.sync();
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
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
    if (!(await isOpenInside(root, real, handle, await handle.stat({ bigint: true }), handles))) {
      throw pathRefused(path, "it changed while it was being opened");
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
    if (codeOf(error) === "ENOENT") throw notFound(path);
    if (isMissing(error) || codeOf(error) === "ELOOP") throw pathRefused(path, "it is a file or a link, not a folder");
    throw error;
  }
}
