/** Resolves a path inside a root. Links are followed if they end inside; all else throws `PATH_REFUSED`. */
import { lstat, realpath } from "node:fs/promises";
import { dirname, isAbsolute, join, posix, relative, sep } from "node:path";
import { isMissing, notFound, pathRefused, REMEDIES } from "./refusals.js";

/** The real path inside the root to which a path leads. */
interface Resolved {
  readonly real: string;
  /** False if `real` is only the nearest existing ancestor. */
  readonly exists: boolean;
}

/** Returns why a path inside the root is refused, or undefined. The path is relative to the root, with `/`. */
export type Refuse = (path: string) => string | undefined;

export interface Resolve {
  (root: string, path: string): Promise<Resolved>;
  /** Returns why a path is refused whose real path is known already. Missing if nothing further is refused. */
  readonly refusal?: (root: string, path: string, real: string) => string | undefined;
}

/** The same for every link that can't be followed: two reasons would tell what exists outside the root. */
const LEADS_OUT = "it does not lead to a place inside its root";

/** Throws `PATH_REFUSED` for an end outside, a dangling link or a loop, and `FILE_NOT_FOUND` if the root is gone. */
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

/** Resolves paths as {@link resolveInside} does, and asks `refuse` about each, as it is given and as it is resolved. */
export function resolveUnless(refuse: Refuse): Resolve {
  const refuseReal = (root: string, real: string) => refuse(relative(root, real).replaceAll(sep, "/") || ".");
  const resolve = async (root: string, path: string) => {
    const given = refuse(path);
    if (given !== undefined) throw pathRefused(path, given, REMEDIES.keptBack);
    const resolved = await resolveInside(root, path);
    const reason = refuseReal(root, resolved.real);
    if (reason !== undefined) throw pathRefused(path, reason, REMEDIES.keptBack);
    return resolved;
  };
  return Object.assign(resolve, {
    refusal: (root: string, path: string, real: string) => refuse(path) ?? refuseReal(root, real),
  });
}

/** Returns true if the last name of a path (its form is already checked) below a real root is a link. */
export async function isLink(root: string, path: string): Promise<boolean> {
  const { real, exists } = await resolveInside(root, posix.dirname(path));
  if (!exists) return false;
  const stats = await lstat(join(real, posix.basename(path))).catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });
  return stats?.isSymbolicLink() ?? false;
}

/** Returns true if a real path is the root or below it; false for a sibling whose name begins with the root's. */
export function isInside(root: string, real: string): boolean {
  const way = relative(root, real);
  return way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

async function realPathOf(candidate: string, path: string): Promise<string | undefined> {
  try {
    return await realpath(candidate);
  } catch (error) {
    if (!isMissing(error)) throw pathRefused(path, LEADS_OUT);
    const stats = await lstat(candidate).catch(() => undefined);
    if (stats === undefined) return undefined;
    // A link without a real path is dangling: writing through it would create its target, wherever that is.
    if (stats.isSymbolicLink()) throw pathRefused(path, LEADS_OUT);
    // Another process has created it since.
    return realPathOf(candidate, path);
  }
}
