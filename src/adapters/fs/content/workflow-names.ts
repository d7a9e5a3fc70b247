import { parseRelativePath } from "../../../definition/relative-path.js";
import { isPhasegateError } from "../../../errors.js";
import type { Wall } from "../../../walls/wall.js";

/**
 * The names of the folders in a root, the very same on every file system, or the `wanted` one of them. A
 * link that leads out or nowhere is one of them: it is read as a broken workflow, where it would vanish.
 */
export async function workflowNames(wall: Wall, wanted?: string): Promise<string[]> {
  const entries = (await wall.list(".")).filter(
    ({ path }) => !path.startsWith(".") && (wanted === undefined || path === wanted),
  );
  const names = entries.map(async ({ path, kind }) => {
    return kind === "folder" || (kind === "refused" && (await leadsOut(wall, path))) ? [path] : [];
  });
  return (await Promise.all(names)).flat();
}

/** What else is refused, a FIFO or a name that no path may have, is no folder that somebody has put there. */
async function leadsOut(wall: Wall, path: string): Promise<boolean> {
  try {
    parseRelativePath(path);
  } catch {
    return false;
  }
  try {
    await wall.check(path);
    return false;
  } catch (error) {
    if (isPhasegateError(error, "PATH_REFUSED")) return true;
    throw error;
  }
}
