import { isPhasegateError, PhasegateError } from "../../errors.js";
import type { Wall } from "../../walls/wall.js";
import { pathRefused } from "../../walls/wall-refusals.js";
import { shownPath } from "./shown-text.js";
import { sha256 } from "./subject.js";

/** How much is hashed. */
const FILES_MAX = 2_000;
const FOLDERS_MAX = 2_000;
const FILE_BYTES_MAX = 64 * 2 ** 20;
const ALL_BYTES_MAX = 256 * 2 ** 20;
/** What is never looked into: it changes by itself, or isn't anybody's work. */
const LEFT_OUT = new Set([".git", "node_modules"]);
/** Sixteen bytes tell two contents apart; whoever makes them meet has only proved nothing to have changed. */
const DIGITS = 32;

interface Hashing {
  readonly wall: Wall;
  readonly signal: AbortSignal | undefined;
  readonly digests: Map<string, string>;
  folders: number;
  bytes: number;
}

/**
 * The contents of files, and of all files below folders, by their paths. Links are neither taken nor
 * followed: one file has one name. What isn't there is left out, and so is an empty file, or one of NUL bytes alone, which is
 * as good as none. Throws `TOO_LARGE` for more than can be hashed at a gate, and `PATH_REFUSED`.
 */
export async function digestsOf(
  wall: Wall,
  paths: readonly string[],
  signal?: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  const hashing: Hashing = { wall, signal, digests: new Map(), folders: 0, bytes: 0 };
  for (const path of paths) {
    await refuseLinks(wall, path);
    if (await isFolder(wall, path)) await addFolder(hashing, path);
    else await addFile(hashing, path);
  }
  return hashing.digests;
}

async function addFolder(hashing: Hashing, folder: string): Promise<void> {
  hashing.folders += 1;
  if (hashing.folders > FOLDERS_MAX) throw tooMuch(`more than ${FOLDERS_MAX} folders`, FOLDERS_MAX);
  for (const { path, kind } of await hashing.wall.list(folder)) {
    if (kind === "refused" || LEFT_OUT.has(path.slice(path.lastIndexOf("/") + 1))) continue;
    if (await hashing.wall.isLink(path)) continue;
    if (kind === "folder") await addFolder(hashing, path);
    else await addFile(hashing, path);
  }
}

async function addFile(hashing: Hashing, path: string): Promise<void> {
  hashing.signal?.throwIfAborted();
  const signature = await hashing.wall.signature(path);
  if (signature === undefined || signature.size === 0) return;
  hashing.bytes += signature.size;
  if (hashing.digests.size >= FILES_MAX) throw tooMuch(`more than ${FILES_MAX} files`, FILES_MAX);
  if (hashing.bytes > ALL_BYTES_MAX) throw tooMuch(`more than ${ALL_BYTES_MAX} bytes`, ALL_BYTES_MAX);
  const { bytes } = await hashing.wall.readBytes(path, { maxBytes: FILE_BYTES_MAX });
  if (bytes.every((byte) => byte === 0)) return;
  hashing.digests.set(path, sha256(bytes).slice(0, DIGITS));
}

/** A link that is made after the phase has begun would show an old file under a new name. */
async function refuseLinks(wall: Wall, path: string): Promise<void> {
  const names = path.split("/");
  for (const index of names.keys()) {
    const part = names.slice(0, index + 1).join("/");
    if (await wall.isLink(part)) throw pathRefused(path, `${shownPath(part)} is a link to another place`);
  }
}

async function isFolder(wall: Wall, path: string): Promise<boolean> {
  try {
    await wall.list(path);
    return true;
  } catch (error) {
    if (isPhasegateError(error, "FILE_NOT_FOUND") || isPhasegateError(error, "PATH_REFUSED")) return false;
    throw error;
  }
}

function tooMuch(what: string, limit: number): PhasegateError<"TOO_LARGE"> {
  return new PhasegateError("TOO_LARGE", `there are ${what} to be hashed`, {
    remedy: "Let the gate name a smaller folder, or the files.",
    details: { bytes: limit + 1, limit },
  });
}
