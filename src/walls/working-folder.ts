import { lstat } from "node:fs/promises";
import { parseRelativePath } from "../definition/relative-path.js";
import { resolveInside } from "./resolve-inside.js";
import { isMissing, notFound, pathRefused } from "./wall-refusals.js";

/**
 * The real path of a folder below a real root, for a process that is to work in it: the one place
 * where such a path leaves the walls. Throws `FILE_NOT_FOUND` and `PATH_REFUSED`.
 */
export async function workingFolder(root: string, path: string): Promise<string> {
  const checked = parseRelativePath(path);
  const { real, exists } = await resolveInside(root, checked);
  if (!exists) throw notFound(checked);
  try {
    if ((await lstat(real)).isDirectory()) return real;
  } catch (error) {
    // Gone since it was found.
    if (isMissing(error)) throw notFound(checked);
    throw error;
  }
  throw pathRefused(checked, "it is a file, not a folder");
}
