import { mkdir } from "node:fs/promises";
import { join, posix } from "node:path";
import { holdFolder } from "./hold-folder.js";
import { resolveInside } from "./resolve-inside.js";
import { codeOf } from "./wall-refusals.js";

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
