/**
 * The errors of the sandbox. A message names the path as it was given, relative to the root, and never the root's
 * location.
 */
import { errnoOf, PhasegateError } from "../errors.js";
import { shown } from "../workflow/names.js";

/** Builds the error for a path that must not be followed. */
export function pathRefused(path: string, reason: string): PhasegateError<"PATH_REFUSED"> {
  return new PhasegateError("PATH_REFUSED", `the path ${shown(path)} is refused: ${reason}`, {
    remedy: "Give the path of a regular file or folder inside the root, without links that lead out of it.",
    details: { reason },
  });
}

/** Builds the error for a file or folder that does not exist. */
export function notFound(path: string): PhasegateError<"FILE_NOT_FOUND"> {
  return new PhasegateError("FILE_NOT_FOUND", `there is no ${shown(path)}`, {
    remedy: "Check the name. The path must be relative to the root.",
    details: { file: path },
  });
}

/** Builds the error for a file over its limit in bytes. */
export function tooLarge(path: string, bytes: number, limit: number): PhasegateError<"TOO_LARGE"> {
  return new PhasegateError("TOO_LARGE", `${shown(path)} is larger than ${limit} bytes`, {
    remedy: `Make the file smaller, or split it: the limit is ${limit} bytes.`,
    details: { file: path, bytes, limit },
  });
}

/** Builds the error for a file that is not UTF-8. */
export function notText(path: string): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", `${shown(path)} is not UTF-8 text`, {
    remedy: "Save the file as UTF-8.",
    details: { field: path, expected: "UTF-8 text" },
  });
}

/** Builds the error for a failed read, such as missing rights, too many open files or a broken disk. */
export function unreadable(path: string, error: unknown): PhasegateError<"STORAGE_FAILED"> {
  const cause = errnoOf(error) ?? "unknown";
  return new PhasegateError("STORAGE_FAILED", `${shown(path)} can't be read (${cause})`, {
    remedy: "Check that the process may read the file, then call again.",
    details: { operation: "read", cause },
  });
}

/** Builds the error for a failed write. */
export function unwritable(path: string, error: unknown): PhasegateError<"STORAGE_FAILED"> {
  const cause = errnoOf(error) ?? "unknown";
  return new PhasegateError("STORAGE_FAILED", `${shown(path)} can't be replaced (${cause})`, {
    remedy: "Check that the process may write into the file's folder, then call again.",
    details: { operation: "replace", cause },
  });
}

/**
 * Builds the error for a file with hard links: replacing it under one name would leave the old text under the others.
 */
export function severalNames(path: string): PhasegateError<"STORAGE_FAILED"> {
  const cause = "it has several names (hard links)";
  return new PhasegateError("STORAGE_FAILED", `${shown(path)} can't be replaced: ${cause}`, {
    remedy: "Replace it by a copy, so that it has only one name.",
    details: { operation: "replace", cause },
  });
}

/** Builds the error for a claim file that cannot be obtained: another file has its name, or others hold it too long. */
export function claimBlocked(name: string, reason: string): PhasegateError<"STORAGE_FAILED"> {
  const cause = `${shown(name)} next to it blocks the write: ${reason}`;
  return new PhasegateError("STORAGE_FAILED", `the file can't be replaced: ${cause}`, {
    remedy: `Remove ${shown(name)}, and find out which process made it: phasegate makes such files only for an instant.`,
    details: { operation: "replace", cause },
  });
}

/** Returns true if a file system error means that the path does not exist. */
export function isMissing(error: unknown): boolean {
  const code = errnoOf(error);
  return code === "ENOENT" || code === "ENOTDIR";
}
