import { lstat, realpath } from "node:fs/promises";
import { posix } from "node:path";
import { isPhasegateError } from "../errors.js";
import { parseRelativePath } from "../workflow/names.js";
import { makeFolder, makeFolders } from "./folders.js";
import { listFolder, listNames, walkFolder } from "./list.js";
import { type CheckedFile, openChecked, readBounded, readPart, signatureOf, signFile } from "./read.js";
import { isMissing, notFound, notText, pathRefused, unreadable, unwritable } from "./refusals.js";
import { replaceFile } from "./replace.js";
import { isLink, onceInTurn, type Refuse, resolveInside, resolveUnless } from "./resolve.js";
import type { Wall } from "./sandbox.js";
import { saveFile } from "./save.js";

const MAX_ENTRIES = 10_000;
const MAX_DEPTH = 16;

/** What a wall keeps back of what lies inside it. */
interface WallOptions {
  /** Why a path is refused all the same; asked about each as it was given, and about the place that it leads to. */
  readonly refuse?: Refuse;
}

/**
 * Opens a folder as a root. It may be a link itself: where it leads now is where the wall stands.
 * Throws `FILE_NOT_FOUND` if it isn't there and `PATH_REFUSED` if it is no folder.
 */
export async function openWall(folder: string, { refuse }: WallOptions = {}): Promise<Wall> {
  const root = await guarded(".", () => realRootOf(folder));
  const resolve = refuse === undefined ? resolveInside : resolveUnless(refuse);
  const resolveFolder = onceInTurn(resolve);
  const on = <T>(path: string, step: (checked: string) => Promise<T>, failed?: typeof unreadable): Promise<T> =>
    guarded(path, async () => step(parseRelativePath(path)), failed);
  return {
    read: (path, { maxBytes }) => on(path, (checked) => readText(root, checked, maxBytes, resolve)),
    readBytes: (path, { maxBytes }) => on(path, (checked) => readFile(root, checked, maxBytes, resolve)),
    readPart: (path, part) => on(path, (checked) => readPart(root, checked, part, resolve)),
    replace: (path, replacement) => on(path, (checked) => replaceFile(root, checked, replacement, resolve), unwritable),
    save: (path, saving) => on(path, (checked) => saveFile(root, checked, saving, resolve), unwritable),
    makeFolder: (path) => on(path, (checked) => makeNewFolder(root, checked, resolve), unwritable),
    list: (path) => on(path, async (checked) => (await listFolder(root, checked, resolve)).entries),
    names: (path) => on(path, (checked) => listNames(root, checked, resolve)),
    walk: (path, { maxEntries = MAX_ENTRIES, maxDepth = MAX_DEPTH } = {}) =>
      on(path, (checked) => walkFolder(root, checked, { maxEntries, maxDepth }, resolve)),
    signature: (path) => on(path, (checked) => signFile(root, checked, resolve, resolveFolder)),
    isLink: (path) => on(path, (checked) => isLink(root, checked)),
    isCurrent: () => guarded(".", () => leadsTo(folder, root)),
    check: (path) => on(path, async (checked) => void (await resolve(root, checked))),
  };
}

async function makeNewFolder(root: string, path: string, resolve: typeof resolveInside): Promise<boolean> {
  await makeFolders(root, posix.dirname(path), resolve);
  // Asked first, so that what may not be made is refused before anything is there.
  return (await resolve(root, path)).exists ? false : makeFolder(root, path, resolve);
}

async function leadsTo(folder: string, root: string): Promise<boolean> {
  try {
    return (await realpath(folder)) === root;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

async function realRootOf(folder: string): Promise<string> {
  const root = await realpath(folder);
  if (!(await lstat(root)).isDirectory()) throw pathRefused(".", "the root is not a folder");
  return root;
}

async function readText(root: string, path: string, maxBytes: number, resolve: typeof resolveInside) {
  const { bytes, signature } = await readFile(root, path, maxBytes, resolve);
  try {
    return { text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes), signature };
  } catch {
    throw notText(path);
  }
}

async function readFile(root: string, path: string, maxBytes: number, resolve: typeof resolveInside) {
  const file = await openChecked(root, path, resolve);
  try {
    return await readOpen(file, path, maxBytes);
  } finally {
    await file.handle.close();
  }
}

async function readOpen({ handle, stats }: CheckedFile, path: string, maxBytes: number) {
  const signature = signatureOf(stats);
  return { bytes: await readBounded(handle, path, signature.size, maxBytes), signature };
}

/** Nothing of what the file system says reaches a caller as it is: its messages hold whole paths. */
async function guarded<T>(path: string, step: () => Promise<T>, failed = unreadable): Promise<T> {
  try {
    return await step();
  } catch (error) {
    if (isPhasegateError(error)) throw error;
    throw isMissing(error) ? notFound(path) : failed(path, error);
  }
}

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

/**
 * The real path of a folder below a real root, for a process that is to work in it: the one place
 * where such a path leaves the walls. Throws `FILE_NOT_FOUND` and `PATH_REFUSED`.
 */
export async function workingFolder(root: string, path: string): Promise<string> {
  const checked = parseRelativePath(path);
  const { real, exists } = await resolveInside(root, checked);
  if (!exists) throw notFound(checked);
  if (!(await lstat(real)).isDirectory()) throw pathRefused(checked, "it is a file, not a folder");
  return real;
}
