import { randomUUID } from "node:crypto";
import { mkdir, open, readdir, rename, stat, unlink } from "node:fs/promises";
import { join } from "node:path";
import { isMissing } from "../../walls/wall-refusals.js";

/** How long a file that was not finished may be somebody's who is still at it, in milliseconds. */
const ABANDONED = 60 * 60 * 1000;
const TEMPORARY = ".tmp";

/**
 * Puts a file into a folder so that there is always a whole one, the old or the new: written beside it,
 * brought to the disk, renamed. Makes the folder. Only the owner can read either. Throws as the file system does.
 */
export async function writeWhole(folder: string, name: string, parts: readonly string[]): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await sweep(folder, name);
  const temporary = join(folder, `${name}.${randomUUID()}${TEMPORARY}`);
  const file = await open(temporary, "wx", 0o600);
  try {
    try {
      for (const part of parts) await file.writeFile(part);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, join(folder, name));
  } catch (error) {
    await unlink(temporary);
    throw error;
  }
}

/** Deletes what writers that were killed have left behind. */
async function sweep(folder: string, name: string): Promise<void> {
  const left = (await readdir(folder)).filter((file) => file.startsWith(`${name}.`) && file.endsWith(TEMPORARY));
  for (const file of left) {
    try {
      const { mtimeMs } = await stat(join(folder, file));
      if (mtimeMs < Date.now() - ABANDONED) await unlink(join(folder, file));
    } catch (error) {
      // Another process may have finished it, or swept it.
      if (!isMissing(error)) throw error;
    }
  }
}
