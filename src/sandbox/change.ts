/**
 * Changes files and folders below a real root synchronously, as a step under a claim must. Nothing goes through a link:
 * on Linux the folder is held open meanwhile, so that swapping a name for a link has no effect. All throw
 * `PATH_REFUSED`, and the errors of the file system.
 */
import {
  chmodSync,
  closeSync,
  constants,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  type Stats,
  writeFileSync,
} from "node:fs";
import { join, posix } from "node:path";
import { errnoOf } from "../errors.js";
import { HANDLES } from "./read.js";
import { isMissing, pathRefused, REMEDIES } from "./refusals.js";
import { replaceable } from "./save.js";

/** Overrides for tests. */
interface System {
  readonly handles?: string;
  readonly platform?: string;
}

/** Returns the first part of a path that is a link: `a/b` for `a/b/c.md`, if `b` is one. Undefined if there is none. */
export function linkIn(root: string, path: string): string | undefined {
  const names = path.split("/");
  const parts = names.map((_, index) => names.slice(0, index + 1).join("/"));
  return parts.find((part) => statOf(join(root, part))?.isSymbolicLink() === true);
}

/** Returns the bytes of a file; undefined if there is none. Throws `PATH_REFUSED` for anything else than a file of one name. */
export function bytesBelow(root: string, path: string): Buffer | undefined {
  const folder = posix.dirname(path);
  if (statOf(join(root, folder)) === undefined) return undefined;
  return inFolder(root, folder, (place) => {
    const file = join(place, posix.basename(path));
    return replaceable(file, path) === undefined ? undefined : readFileSync(file);
  });
}

/** Writes a file, or deletes it without a text. Returns the mode that it had; `mode` is for a new one. */
export function writeBelow(
  root: string,
  path: string,
  text: string | undefined,
  mode?: number,
  on: System = {},
): number | undefined {
  const step = (place: string) => {
    const file = join(place, posix.basename(path));
    const temporary = `${file}.phasegate.tmp`;
    const before = replaceable(file, path);
    const old = before === undefined ? undefined : Number(before.mode) & 0o7777;
    const kept = old ?? mode;
    try {
      // A killed run has left it: no other one writes now.
      rmSync(temporary, { force: true });
      if (text === undefined) {
        rmSync(file);
        return old;
      }
      writeFileSync(temporary, text, { flag: "wx" });
      if (kept !== undefined) chmodSync(temporary, kept);
      renameSync(temporary, file);
      return old;
    } finally {
      rmSync(temporary, { force: true });
    }
  };
  return inFolder(root, posix.dirname(path), step, on);
}

export function makeFolderBelow(root: string, path: string, mode?: number): void {
  inFolder(root, posix.dirname(path), (place) => {
    mkdirSync(join(place, posix.basename(path)), mode);
  });
}

/** Removes an empty folder, and returns its mode; undefined for what is no folder, or not empty, by now. */
export function removeFolderBelow(root: string, path: string): number | undefined {
  if (statOf(join(root, path))?.isDirectory() !== true) return undefined;
  return inFolder(root, posix.dirname(path), (place) => {
    const folder = join(place, posix.basename(path));
    const { mode } = lstatSync(folder);
    if (readdirSync(folder).length > 0) return undefined;
    rmdirSync(folder);
    return mode & 0o7777;
  });
}

/** Undefined if there is nothing, or if a file stands where a folder should be. */
function statOf(file: string): Stats | undefined {
  try {
    return lstatSync(file);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** Runs a step with a path to a folder that is held open. No part of the folder's own path may be a link. */
function inFolder<T>(
  root: string,
  folder: string,
  step: (place: string) => T,
  { handles = HANDLES, platform = process.platform }: System = {},
): T {
  const real = join(root, folder);
  // Windows can't open folders.
  const handle = platform === "win32" ? undefined : openFolder(real, folder);
  try {
    // Without a handle there is no such place.
    const place = `${handles}/${handle}`;
    const opened = targetOf(place);
    if ((opened ?? realpathSync(real)) !== real) throw isLinked(folder);
    return step(opened === undefined ? real : place);
  } finally {
    if (handle !== undefined) closeSync(handle);
  }
}

function openFolder(real: string, folder: string): number {
  try {
    return openSync(real, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  } catch (error) {
    if (errnoOf(error) === "ELOOP" || errnoOf(error) === "ENOTDIR") throw isLinked(folder);
    throw error;
  }
}

/** Returns where an open folder is; undefined where the system does not show it. */
function targetOf(place: string): string | undefined {
  try {
    return readlinkSync(place);
  } catch {
    return undefined;
  }
}

function isLinked(folder: string) {
  return pathRefused(folder, "it is a link or a file, or goes through a link", REMEDIES.folder);
}
