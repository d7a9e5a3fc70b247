import { openWall } from "./open-wall.js";

/** A folder that session targets must lie in: a `TargetGuard` for an engine. */
export interface ProjectRoot {
  /** Resolves for a path inside the folder, whether or not it is there; throws `PATH_REFUSED`. */
  check(path: string): Promise<void>;
}

/**
 * A guard for session targets (a `TargetGuard`) that knows a folder's real state: a link in it that
 * leads out is refused. Throws `FILE_NOT_FOUND` if there is no such folder.
 */
export async function createProjectRoot(folder: string): Promise<ProjectRoot> {
  const { check } = await openWall(folder);
  return { check };
}
