import { lstat, realpath } from "node:fs/promises";
import { dirname, isAbsolute, join, posix, relative, sep } from "node:path";
import { isMissing, notFound, pathRefused } from "./refusals.js";

/** Where a path leads: a real path inside the root, or nothing that exists yet. */
interface Resolved {
  readonly real: string;
  /** False if `real` is only the nearest ancestor that exists. */
  readonly exists: boolean;
}

/**
 * One reason for every link that can't be followed, whether its end exists or not: two would tell
 * a caller what there is outside the root.
 */
const LEADS_OUT = "it does not lead to a place inside its root";

/**
 * Follows a relative path (checked for its form already) below a real root. Throws `PATH_REFUSED`
 * if it ends outside, at a link that leads nowhere, or in a loop; `FILE_NOT_FOUND` if the root has gone.
 */
export async function resolveInside(root: string, path: string): Promise<Resolved> {
  const full = join(root, path);
  let candidate = full;
  for (;;) {
    const real = await realPathOf(candidate, path);
    if (real !== undefined) {
      if (!isInside(root, real)) throw pathRefused(path, LEADS_OUT);
      return { real, exists: candidate === full };
    }
    if (candidate === root) throw notFound(".");
    candidate = dirname(candidate);
  }
}

/** Why a path inside its root is refused all the same; undefined if it isn't. Relative to the root, with `/`. */
export type Refuse = (path: string) => string | undefined;

/** How paths are followed. */
export interface Resolve {
  (root: string, path: string): Promise<Resolved>;
  /** Why a path is refused whose real place is known already; undefined if it isn't. Missing where following is all. */
  readonly refusal?: (root: string, path: string, real: string) => string | undefined;
}

/** Follows paths as {@link resolveInside} does; asked about each as it was given, and as the place that it leads to. */
export function resolveUnless(refuse: Refuse): Resolve {
  const led = (root: string, real: string) => refuse(relative(root, real).replaceAll(sep, "/") || ".");
  const resolve = async (root: string, path: string) => {
    const asked = refuse(path);
    if (asked !== undefined) throw pathRefused(path, asked);
    const resolved = await resolveInside(root, path);
    const reason = led(root, resolved.real);
    if (reason !== undefined) throw pathRefused(path, reason);
    return resolved;
  };
  return Object.assign(resolve, {
    refusal: (root: string, path: string, real: string) => refuse(path) ?? led(root, real),
  });
}

/** Whether a real path is a root or lies below it; a sibling with the root's name as prefix doesn't. */
export function isInside(root: string, real: string): boolean {
  const way = relative(root, real);
  return way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

/** The real path, or undefined if nothing has that name. */
async function realPathOf(candidate: string, path: string): Promise<string | undefined> {
  try {
    return await realpath(candidate);
  } catch (error) {
    // A name that is there although it has no real path is a link into nothing: whatever is
    // written through it would be made at its end, wherever that is.
    if (isMissing(error) && !(await nameExists(candidate))) return undefined;
    throw pathRefused(path, LEADS_OUT);
  }
}

async function nameExists(candidate: string): Promise<boolean> {
  try {
    await lstat(candidate);
    return true;
  } catch {
    return false;
  }
}

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

/**
 * Follows a path once for all who ask for it in one go, without waiting in between: many files of a few folders are looked
 * at side by side. Whoever asks after a wait, however short, is told what is there then.
 */
export function onceInTurn(resolve: typeof resolveInside): typeof resolveInside {
  const asked = new Map<string, Promise<Resolved>>();
  return (root, path) => {
    if (asked.size === 0) queueMicrotask(() => asked.clear());
    const key = `${root}\0${path}`;
    const resolving = asked.get(key) ?? resolve(root, path);
    asked.set(key, resolving);
    return resolving;
  };
}
