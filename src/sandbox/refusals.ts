/**
 * What a wall throws. A message names the path as it was asked for, relative to its root, and never
 * where the root lies.
 */

import { PhasegateError } from "../errors.js";
import { shown } from "../workflow/names.js";
/** A path that must not be followed. */
export function pathRefused(path: string, reason: string): PhasegateError<"PATH_REFUSED"> {
  return new PhasegateError("PATH_REFUSED", `the path ${shown(path)} is refused: ${reason}`, {
    remedy: "Give the path of a regular file or folder that lies inside the root, without links that lead out of it.",
    details: { reason },
  });
}

/** A file or folder that isn't there. */
export function notFound(path: string): PhasegateError<"FILE_NOT_FOUND"> {
  return new PhasegateError("FILE_NOT_FOUND", `there is no ${shown(path)}`, {
    remedy: "Check the name, and that it is given relative to the root.",
    details: { file: path },
  });
}

/** A file over its limit, in bytes. */
export function tooLarge(path: string, bytes: number, limit: number): PhasegateError<"TOO_LARGE"> {
  return new PhasegateError("TOO_LARGE", `${shown(path)} is larger than ${limit} bytes`, {
    remedy: `Make the file smaller, or split it: at most ${limit} bytes are taken.`,
    details: { file: path, bytes, limit },
  });
}

/** A file whose bytes are not UTF-8. */
export function notText(path: string): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", `${shown(path)} is not UTF-8 text`, {
    remedy: "Save the file as UTF-8.",
    details: { field: path, expected: "UTF-8 text" },
  });
}

/** A file that the file system won't give, for a reason of its own: rights, too many open files, a broken disk. */
export function unreadable(path: string, error: unknown): PhasegateError<"STORAGE_FAILED"> {
  const cause = codeOf(error) ?? "unknown";
  return new PhasegateError("STORAGE_FAILED", `${shown(path)} can't be read (${cause})`, {
    remedy: "Check that the process may read the file, then call again.",
    details: { operation: "read", cause },
  });
}

/** A file that the file system won't let be replaced. */
export function unwritable(path: string, error: unknown): PhasegateError<"STORAGE_FAILED"> {
  const cause = codeOf(error) ?? "unknown";
  return new PhasegateError("STORAGE_FAILED", `${shown(path)} can't be replaced (${cause})`, {
    remedy: "Check that the process may write into the file's folder, then call again.",
    details: { operation: "replace", cause },
  });
}

/** A file with hard links: another text under one of its names would leave the others with the old one. */
export function severalNames(path: string): PhasegateError<"STORAGE_FAILED"> {
  const cause = "it has several names (hard links)";
  return new PhasegateError("STORAGE_FAILED", `${shown(path)} can't be replaced: ${cause}`, {
    remedy: "Make it a file of its own: a copy.",
    details: { operation: "replace", cause },
  });
}

/** What lies under the name of a claim, beside the file that is to be replaced, and keeps everybody from replacing it. */
export function claimBlocked(name: string, reason: string): PhasegateError<"STORAGE_FAILED"> {
  const cause = `${shown(name)} beside it is in the way: ${reason}`;
  return new PhasegateError("STORAGE_FAILED", `the file can't be replaced: ${cause}`, {
    remedy: `Remove ${shown(name)}, and find out who made it: only phasegate makes files of this name, for an instant.`,
    details: { operation: "replace", cause },
  });
}

/** The code of a failure of the file system, such as `ENOENT`. */
export function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

/** Whether a failure of the file system says that something isn't there. */
export function isMissing(error: unknown): boolean {
  const code = codeOf(error);
  return code === "ENOENT" || code === "ENOTDIR";
}
