import { parseRelativePath } from "../../definition/relative-path.js";
import { isPhasegateError } from "../../errors.js";

/** Where a path leads, or why it may not lead there. */
export type ResolvedPath = { readonly path: string } | { readonly reason: string };

/**
 * Where a path leads that stands in a file: relative to that file's folder, `/` as separator, from the root that all
 * texts lie below. It may climb with `..`, but not out of the root. Pure; whoever reads it looks for links as well.
 */
export function resolvePath(file: string, path: string): ResolvedPath {
  if (/^[\\/~]|^[A-Za-z][A-Za-z0-9+.-]*:/.test(path)) return { reason: "it is absolute" };
  if (path.includes("\\")) return { reason: "it holds a '\\'; write '/'" };
  const parts = file.split("/").slice(0, -1);
  for (const part of path.split("/")) {
    if (part === "" || part === ".") continue;
    if (part !== "..") parts.push(part);
    else if (parts.pop() === undefined) return { reason: "it leads out of the folder of workflows" };
  }
  try {
    return { path: parseRelativePath(parts.join("/")) };
  } catch (error) {
    if (!isPhasegateError(error, "PATH_REFUSED")) throw error;
    return { reason: error.details.reason };
  }
}
