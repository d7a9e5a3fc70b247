import { lstat } from "node:fs/promises";
import { join, posix } from "node:path";
import { resolveInside } from "./resolve-inside.js";
import { isMissing } from "./wall-refusals.js";

/** Whether the last name of a path (checked for its form already) below a real root is a link. */
export async function isLink(root: string, path: string): Promise<boolean> {
  if (path === ".") return false;
  const { real, exists } = await resolveInside(root, posix.dirname(path));
  if (!exists) return false;
  try {
    return (await lstat(join(real, posix.basename(path)))).isSymbolicLink();
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}
