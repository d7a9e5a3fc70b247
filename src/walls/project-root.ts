import { openWall } from "./open-wall.js";
import type { Wall } from "./wall.js";

/**
 * A guard for session targets (a `TargetGuard`) that knows a folder's real state: a link in it that
 * leads out is refused. Throws `FILE_NOT_FOUND` if there is no such folder.
 */
export async function createProjectRoot(folder: string): Promise<Pick<Wall, "check">> {
  const { check } = await openWall(folder);
  return { check };
}
