import { lstat } from "node:fs/promises";
import { parseRelativePath } from "../definition/relative-path.js";
import { resolveInside } from "./resolve-inside.js";
import { notFound, pathRefused } from "./wall-refusals.js";

/**
 * The real path of a folder below a real root, for a process that is to work in it: the one place
 * where such a path leaves the walls. Throws `FILE_NOT_FOUND` and `PATH_REFUSED`.
 */
export async function workingFolder(root: string, path: string): Promise<string> {
  const checked = parseRelativePath(path);
  const { real, exists } = await resolveInside(root, checked);
  if (!exists) throw notFound(checked);
  if (!(await lstat(real)).isDirectory()) throw pathRefused(checked, "it is a file, not a folder");
  return real;
}
