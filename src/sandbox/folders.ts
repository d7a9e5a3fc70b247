import { constants } from "node:fs";
import { type FileHandle, mkdir, open, readlink } from "node:fs/promises";
import { join, posix } from "node:path";
import { HANDLES, liesInside } from "./read.js";
import { codeOf, isMissing, notFound, pathRefused } from "./refusals.js";
import { resolveInside } from "./resolve.js";

/** A folder that is open: what is done at its place is done in it, whatever becomes of its name meanwhile. */
interface HeldFolder {
  /** A path to it for the next few calls. */
  readonly place: string;
  /** Brings its names to the disk. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** What a test has otherwise than the system that it runs on. */
interface Holding {
  readonly resolve?: typeof resolveInside;
  readonly handles?: string;
  readonly platform?: string;
}

/**
 * Opens a folder below a real root to write in it. Nothing on the way may be a link: what is written under a name lies
 * there, and nowhere else. Where the kernel shows open folders as paths (Linux), a folder that is swapped afterwards
 * changes nothing; elsewhere each file is looked at again once it is open. Throws `FILE_NOT_FOUND` and `PATH_REFUSED`.
 */
export async function holdFolder(root: string, path: string, holding: Holding = {}): Promise<HeldFolder> {
  const { resolve = resolveInside, handles = HANDLES, platform = process.platform } = holding;
  const { real, exists } = await resolve(root, path);
  if (!exists) throw notFound(path);
  if (real !== join(root, path)) throw pathRefused(path, "it goes through a link, or is written otherwise on the disk");
  // Windows opens no folders, and brings their names to the disk by itself.
  if (platform === "win32") return { place: real, sync: async () => {}, close: async () => {} };
  const handle = await openFolder(real, path);
  let held: HeldFolder | undefined;
  try {
    if (!(await liesInside(root, real, handle, await handle.stat({ bigint: true }), handles))) {
      throw pathRefused(path, "it was exchanged while it was being opened");
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

/** Makes a folder below a real root, and those that it lies in, for their owner alone. Does nothing where it is there. */
export async function makeFolders(root: string, path: string, resolve = resolveInside): Promise<void> {
  if (path === "." || (await resolve(root, path)).exists) return;
  await makeFolders(root, posix.dirname(path), resolve);
  await makeFolder(root, path, resolve);
}

/** Makes a folder in one that is there; false if something has that name already. Of several that make it, one does. */
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
