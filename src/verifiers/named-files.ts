/**
 * The files that the parameters `path`, `paths` and `except` name, and the moment that `since` names: for the two
 * verifiers that compare files with their state at an earlier time. A path names a file, or all files in a folder. A
 * glob names files: `*` stands for any characters of a name, `?` for one, and `**` for any folders.
 */
import * as z from "zod";
import { isPhasegateError, PhasegateError } from "../errors.js";
import { hasPlaceholder } from "../gate/fill-params.js";
import { isFolder, type Sandbox } from "../sandbox/sandbox.js";
import { parseRelativePath } from "../workflow/names.js";
import { isGlob, pathsParam, textParam } from "./params.js";
import { isProduct } from "./products.js";

/** Parameters of the verifiers that compare files with their state at an earlier time. */
export const namedFilesParams = {
  path: textParam.optional().describe("A file, a folder, or a glob, relative to the project."),
  paths: pathsParam.describe("Files, folders and globs, relative to the project."),
  since: z
    .union([z.strictObject({ phase: z.int().describe("The number of an earlier phase.") }), z.literal("start")])
    .optional()
    .describe(
      "An earlier phase: the state at its end is compared with; `start`: the state when the session was started. Default: the state when the gate's own phase was entered.",
    ),
};

type SinceParams = Pick<z.infer<z.ZodObject<typeof namedFilesParams>>, "since">;

/** Returns the moment that files are compared with, as the end of a sentence. */
export function sinceWords({ since }: SinceParams, takenAt: string | undefined): string {
  const moment = momentOf(since);
  return takenAt === undefined ? moment : `${moment} (recorded late, at ${takenAt}: earlier changes are not seen)`;
}

function momentOf(since: SinceParams["since"]): string {
  if (since === "start") return "since the session was started";
  return since === undefined ? "since this phase was entered" : `since phase ${since.phase} was passed`;
}

/** Returns the paths that are compared. */
export function namedPaths(given: { path?: string; paths?: string[]; within?: string }): readonly string[] {
  return (given.paths ?? [given.path ?? given.within ?? ""]).map(plainPath);
}

/** Maximum number of files that a message names. */
export const LISTED_MAX = 5;

/** Returns the first texts, and the number of the others. */
export function listed(texts: readonly string[]): string {
  const more = texts.length - LISTED_MAX;
  return [...texts.slice(0, LISTED_MAX), ...(more > 0 ? [`${more} more`] : [])].join(", ");
}

export function pathsIn({ paths = [], except = [] }: { paths?: string[]; except?: string[] }): readonly string[] {
  return [...paths, ...except];
}

/** Returns a path without `.` segments; one with a placeholder as it is. */
export function plainPath(path: string): string {
  return hasPlaceholder(path) ? path : parseRelativePath(path);
}

/** Checks whether a path is another one or below it; `.` is above all. Both are results of `parseRelativePath`. */
export function isAtOrBelow(above: string, path: string): boolean {
  return above === "." || path === above || path.startsWith(`${above}/`);
}

/** Checks whether a path, a folder above it, or a glob names a file. */
export function isNamedBy(pattern: string, path: string): boolean {
  return isGlob(pattern) ? matches(pattern.split("/"), path.split("/"), segmentMatches) : isAtOrBelow(pattern, path);
}

/** A file in a folder, or something in its place. */
export interface FoundEntry {
  readonly path: string;
  /** `skipped` is a folder that is not read. `other` can't be read as a file: a device, or a name that is not a path. */
  readonly kind: "file" | "link" | "skipped" | "other";
}

interface Walk {
  readonly sandbox: Sandbox;
  readonly except: readonly string[];
  readonly found: Map<string, FoundEntry>;
  folders: number;
}

/**
 * Returns what paths and globs name, in the order of the paths, each entry once. A path that doesn't exist gives
 * nothing. Throws `TOO_LARGE` for more folders or files than are compared, and `PATH_REFUSED`.
 */
export async function findNamed(
  sandbox: Sandbox,
  patterns: readonly string[],
  except: readonly string[] = [],
): Promise<readonly FoundEntry[]> {
  const walk: Walk = { sandbox, except, found: new Map(), folders: 0 };
  for (const pattern of patterns) {
    const base = isGlob(pattern) ? baseOf(pattern) : pattern;
    if (await isFolder(sandbox, base)) await addFolder(walk, base, pattern);
    else if (base === pattern) await addNamed(walk, pattern);
  }
  return [...walk.found.values()];
}

/** Returns the folder that a glob begins with. */
function baseOf(glob: string): string {
  const names = glob.split("/");
  return names.slice(0, names.findIndex(isGlob)).join("/") || ".";
}

async function addNamed(walk: Walk, path: string): Promise<void> {
  if (await walk.sandbox.isLink(path)) return add(walk, { path, kind: "link" });
  const signature = await orIfRefused(walk.sandbox.signature(path), "other");
  if (signature !== undefined) add(walk, { path, kind: signature === "other" ? "other" : "file" });
}

/** Limits of what is compared. */
const FOLDERS_MAX = 20_000;
const FILES_MAX = 2_000;
const ALL_BYTES_MAX = 256 * 2 ** 20;
const FILE_BYTES_MAX = 64 * 2 ** 20;

/** Folders that are skipped: they change by themselves, or are not work. */
const SKIPPED = new Set([".git", "node_modules", ".venv"]);

async function addFolder(walk: Walk, folder: string, pattern: string): Promise<void> {
  walk.folders += 1;
  if (walk.folders > FOLDERS_MAX) throw tooMuch(`more than ${FOLDERS_MAX} folders`, FOLDERS_MAX);
  for (const { path, kind } of await walk.sandbox.list(folder)) {
    if (walk.except.some((other) => isNamedBy(other, path))) continue;
    // A product is compared if a path names it.
    if (await isProduct(path, namesIn(walk.sandbox))) continue;
    const isPlainFolder = kind === "folder" && !(await walk.sandbox.isLink(path));
    if (isPlainFolder && !SKIPPED.has(nameOf(path))) {
      await addFolder(walk, path, pattern);
      continue;
    }
    if (!isNamedBy(pattern, path)) continue;
    if (isPlainFolder) add(walk, { path, kind: "skipped" });
    else if (kind === "file") add(walk, { path, kind: (await walk.sandbox.isLink(path)) ? "link" : "file" });
    else
      add(walk, {
        path,
        kind: kind === "folder" || (await orIfRefused(walk.sandbox.isLink(path), false)) ? "link" : "other",
      });
  }
}

/** Returns what the sandbox answers; `other` if it refuses the path: that of a folder, a device, or a name that is not a path. */
export async function orIfRefused<T, U>(answer: Promise<T>, other: U): Promise<T | U> {
  try {
    return await answer;
  } catch (error) {
    if (isPhasegateError(error, "PATH_REFUSED")) return other;
    throw error;
  }
}

function namesIn(sandbox: Sandbox) {
  return async (path: string) =>
    (await isFolder(sandbox, path)) ? (await sandbox.list(path)).map((entry) => nameOf(entry.path)) : [];
}

/** Returns the product of a tool that a path is, or is in; undefined if there is none. Walks of folders and globs leave it out. */
export async function productAt(sandbox: Sandbox, path: string): Promise<string | undefined> {
  const names = path.split("/");
  for (const index of names.keys()) {
    const place = names.slice(0, index + 1).join("/");
    if (await isProduct(place, namesIn(sandbox))) return place;
  }
  return undefined;
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

function add({ found, except }: Walk, entry: FoundEntry): void {
  if (except.some((other) => isNamedBy(other, entry.path))) return;
  found.set(entry.path, entry);
  if (found.size > FILES_MAX) throw tooMuch(`more than ${FILES_MAX} files`, FILES_MAX);
}

/** Returns the bytes of files, within one limit for all. Throws `TOO_LARGE` above it. */
export function boundedReader(sandbox: Sandbox, signal: AbortSignal | undefined) {
  let all = 0;
  return async (path: string): Promise<Uint8Array> => {
    signal?.throwIfAborted();
    const size = (await sandbox.signature(path))?.size ?? 0;
    all += size;
    if (all > ALL_BYTES_MAX) throw tooMuch(`more than ${ALL_BYTES_MAX} bytes`, ALL_BYTES_MAX);
    return (await sandbox.readBytes(path, { maxBytes: FILE_BYTES_MAX })).bytes;
  };
}

function tooMuch(what: string, limit: number): PhasegateError<"TOO_LARGE"> {
  return new PhasegateError("TOO_LARGE", `${what} would have to be hashed`, {
    remedy: "Name a smaller folder in the gate, or the files.",
    details: { bytes: limit + 1, limit },
  });
}

function segmentMatches(pattern: string, name: string): boolean {
  if (!isGlob(pattern)) return pattern === name;
  return matches([...pattern], [...name], (one, other) => one === "?" || one === other, "*");
}

/**
 * Matches a list against a pattern in which `star` stands for any elements. It goes back to the last star only, so its
 * time is at most the product of both lengths.
 */
function matches(
  pattern: readonly string[],
  items: readonly string[],
  isMatch: (pattern: string, item: string) => boolean,
  star = "**",
): boolean {
  let [at, item, lastStar, from] = [0, 0, -1, 0];
  while (item < items.length) {
    const part = pattern[at];
    if (part === star) {
      lastStar = at;
      from = item;
      at += 1;
    } else if (part !== undefined && isMatch(part, items[item] ?? "")) {
      at += 1;
      item += 1;
    } else if (lastStar >= 0) {
      from += 1;
      item = from;
      at = lastStar + 1;
    } else return false;
  }
  return pattern.slice(at).every((part) => part === star);
}
