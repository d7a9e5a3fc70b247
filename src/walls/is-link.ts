import { lstat } from "node:fs/promises";
import { join, posix } from "node:path";
import { resolveInside } from "./resolve-inside.js";
import { isMissing } from "./wall-refusals.js";

/** Whether the last name of a path (checked for its form already) below a real root is a link. */
export async function isLink(root: string, path: string): Promise<boolean> {
  if (path === ".") return false;
  const { real, exists } = await resolveInside(root, posix.dirname(path));
  if (!exists) return false;
  const stats = await lstat(join(real, posix.basename(path))).catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });
  return stats?.isSymbolicLink() ?? false;
}
