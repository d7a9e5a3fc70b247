/**
 * The sandbox: the only way from a path given by a host, an agent or a file to a file on the disk. A path outside the
 * root throws `PATH_REFUSED`, and no message names the root's location. This is the entry file of the folder.
 *
 * What is decided where:
 * - ../workflow/names.ts (`parseRelativePath`): a path is relative to the root; `..`, drives and absolute paths are
 *   refused.
 * - resolve.ts: a path may follow links only if they end inside the root.
 * - read.ts: only regular files are opened, and the opened file must be the checked one.
 * - list.ts: a walk skips names that begin with `.` and does not follow cyclic links.
 * - replace.ts: a replacement is compare-and-swap by SHA-256; a claim file admits one writer at a time.
 * - save.ts: a save never writes through a link or to a file with several hard links.
 * - save.ts: new folders are made one level at a time, in a parent that is held open.
 * - refusals.ts: the errors of the sandbox; absolute paths are removed from texts that agents read.
 */
import { lstat, realpath } from "node:fs/promises";
import { basename, dirname, posix } from "node:path";
import { isPhasegateError } from "../errors.js";
import { parseRelativePath } from "../workflow/names.js";
import { listFolder, type SandboxEntry, type SandboxTree, walkFolder } from "./list.js";
import { type FileSignature, readPart, readWhole, signFile, utf8 } from "./read.js";
import {
  fileFailure,
  isMissing,
  noRoot,
  notFound,
  notText,
  pathRefused,
  REMEDIES,
  unreadable,
  unwritable,
} from "./refusals.js";
import { replaceFile } from "./replace.js";
import { isLink, type Refuse, type Resolve, resolveInside, resolveUnless } from "./resolve.js";
import { makeFolder, makeFolders, type Saved, saveFile } from "./save.js";

const MAX_ENTRIES = 10_000;
const MAX_DEPTH = 16;

/** Reads and writes files below a root. A path that leads out of it throws `PATH_REFUSED`. */
export interface Sandbox {
  /**
   * Reads a file's text. A byte order mark stays in the text. Throws `FILE_NOT_FOUND`, `PATH_REFUSED`, `TOO_LARGE`
   * (over `maxBytes`), and `INVALID_INPUT` if the file is not UTF-8.
   */
  read(
    path: string,
    options: { readonly maxBytes: number },
  ): Promise<{ readonly text: string; readonly signature: FileSignature }>;
  /** Reads a file's bytes. Throws as `read` does. */
  readBytes(
    path: string,
    options: { readonly maxBytes: number },
  ): Promise<{ readonly bytes: Uint8Array; readonly signature: FileSignature }>;
  /** Reads at most `length` bytes of any file from `offset` on. Throws as `read` does, except `TOO_LARGE`. */
  readPart(
    path: string,
    part: { readonly offset: number; readonly length: number },
  ): Promise<{ readonly bytes: Uint8Array; readonly signature: FileSignature }>;
  /**
   * Replaces a file's text completely or not at all. Returns false without a change if the SHA-256 of its bytes is
   * not `hash`. The mode stays; a link stays a link, and its target is replaced. If several processes replace the
   * same text, one succeeds. A write-protected file in a writable folder is replaced. Throws `FILE_NOT_FOUND`,
   * `PATH_REFUSED`, `TOO_LARGE`, and `STORAGE_FAILED` for a file with several hard links.
   */
  replace(
    path: string,
    replacement: { readonly text: string; readonly hash: string; readonly maxBytes: number },
  ): Promise<boolean>;
  /**
   * Saves a new or existing file completely or not at all, readable for its owner only, and makes missing parent
   * folders. Refuses links on the path and files with several hard links, so that no file under another name changes.
   * Throws `PATH_REFUSED`, `TOO_LARGE` and `STORAGE_FAILED`.
   */
  save(path: string, saving: { readonly text: string; readonly maxBytes: number }): Promise<Saved>;
  /** Makes a folder and its parents for their owner only. Returns false if it exists. Throws as `save` does. */
  makeFolder(path: string): Promise<boolean>;
  /** Lists a folder, sorted by path; `.` is the root. Throws `FILE_NOT_FOUND` and `PATH_REFUSED`. */
  list(folder: string): Promise<readonly SandboxEntry[]>;
  /** Lists all files below a folder, except names that begin with `.`. Throws as `list` does. */
  walk(folder: string, options?: { readonly maxEntries?: number; readonly maxDepth?: number }): Promise<SandboxTree>;
  /** Reads a file's signature without its content; undefined if there is no such file. Throws `PATH_REFUSED`. */
  signature(path: string): Promise<FileSignature | undefined>;
  /** Returns true if the last name is a link, wherever it points. Throws `PATH_REFUSED` if its folder leads out. */
  isLink(path: string): Promise<boolean>;
  /** Returns true while the root's path still leads to the folder that was opened. A link may have changed since. */
  isCurrent(): Promise<boolean>;
  /** Opens a folder as a root of its own. Throws `FILE_NOT_FOUND` and `PATH_REFUSED`. */
  within(folder: string, options?: SandboxOptions): Promise<Sandbox>;
  /** Resolves if the path, or its nearest existing parent, is inside the root. Throws `PATH_REFUSED` otherwise. */
  check(path: string): Promise<void>;
}

interface SandboxOptions {
  /** Returns why a path is refused. Called with each path as given and with its resolved path. */
  readonly refuse?: Refuse;
}

/** Opens a folder, or where a link leads now. Throws `FILE_NOT_FOUND`, and `PATH_REFUSED` if it is no folder. */
export async function openSandbox(folder: string, { refuse }: SandboxOptions = {}): Promise<Sandbox> {
  const root = await guarded(".", () => realRootOf(folder));
  const resolve = refuse === undefined ? resolveInside : resolveUnless(refuse);
  const on = <T>(path: string, step: (checked: string) => Promise<T>, failed?: typeof unreadable): Promise<T> =>
    guarded(path, async () => step(parseRelativePath(path)), failed);
  return {
    read: (path, { maxBytes }) => on(path, (checked) => readText(root, checked, maxBytes, resolve)),
    readBytes: (path, { maxBytes }) => on(path, (checked) => readWhole(root, checked, maxBytes, resolve)),
    readPart: (path, part) => on(path, (checked) => readPart(root, checked, part, resolve)),
    replace: (path, replacement) => on(path, (checked) => replaceFile(root, checked, replacement, resolve), unwritable),
    save: (path, saving) => on(path, (checked) => saveFile(root, checked, saving, resolve), unwritable),
    makeFolder: (path) => on(path, (checked) => makeNewFolder(root, checked, resolve), unwritable),
    list: (path) => on(path, async (checked) => (await listFolder(root, checked, resolve)).entries),
    walk: (path, { maxEntries = MAX_ENTRIES, maxDepth = MAX_DEPTH } = {}) =>
      on(path, (checked) => walkFolder(root, checked, { maxEntries, maxDepth }, resolve)),
    signature: (path) => on(path, (checked) => signFile(root, checked, resolve)),
    isLink: (path) => on(path, (checked) => isLink(root, checked)),
    isCurrent: () => guarded(".", () => leadsTo(folder, root)),
    within: (path, options) =>
      on(path, async (checked) => {
        const { real, exists } = await resolve(root, checked);
        // A missing folder is resolved as the one above it.
        if (!exists) throw notFound(checked);
        return openSandbox(real, options);
      }),
    check: (path) => on(path, async (checked) => void (await resolve(root, checked))),
  };
}

/** Opens a folder as {@link openSandbox} does. Returns undefined if it does not exist. */
export async function openIfThere(folder: string, options?: SandboxOptions): Promise<Sandbox | undefined> {
  try {
    return await openSandbox(folder, options);
  } catch (error) {
    if (isPhasegateError(error, "FILE_NOT_FOUND")) return undefined;
    throw error;
  }
}

/** Opens the folder around a folder. Returns it and its path with the name of the folder, where its links lead. Throws as {@link openSandbox}. */
export async function openAround(
  folder: string,
  options?: SandboxOptions,
): Promise<{ readonly sandbox: Sandbox; readonly around: string; readonly name: string }> {
  const root = await guarded(".", () => realRootOf(folder));
  const around = dirname(root);
  return { sandbox: await openSandbox(around, options), around, name: basename(root) };
}

/** Returns true if a path is a folder; false for everything else, also for refused paths. */
export async function isFolder(sandbox: Sandbox, path: string): Promise<boolean> {
  try {
    await sandbox.list(path);
    return true;
  } catch (error) {
    if (isPhasegateError(error, "PATH_REFUSED") || isPhasegateError(error, "FILE_NOT_FOUND")) return false;
    throw error;
  }
}

/** A folder that contains all session targets. It is a `TargetGuard` for an engine. */
export interface ProjectRoot {
  /**
   * Resolves for a path inside the folder, even if the path does not exist.
   *
   * @throws {PhasegateError} `PATH_REFUSED` when the path is not a valid relative path, or leads out of the folder.
   * @throws {PhasegateError} `FILE_NOT_FOUND` when the folder itself has been removed.
   */
  check(path: string): Promise<void>;
}

/**
 * Creates a guard for session targets (a `TargetGuard`) that checks paths on the disk, so that a link out of the
 * folder is refused.
 *
 * @param folder Path of the folder, absolute or relative to the process's working folder.
 * @throws {PhasegateError} `FILE_NOT_FOUND` when there is no such folder.
 * @throws {PhasegateError} `PATH_REFUSED` when it is not a folder.
 * @throws {PhasegateError} `STORAGE_FAILED` when the file system cannot read it.
 */
export async function createProjectRoot(folder: string): Promise<ProjectRoot> {
  const { check } = await openSandbox(folder);
  return { check };
}

/**
 * Returns a folder's real path, as the working folder of a child process: the only absolute path that leaves the
 * sandbox. Throws `FILE_NOT_FOUND` and `PATH_REFUSED`.
 */
export async function workingFolder(root: string, path: string): Promise<string> {
  const checked = parseRelativePath(path);
  const { real, exists } = await resolveInside(root, checked);
  if (!exists) throw notFound(checked);
  if (!(await lstat(real)).isDirectory()) throw pathRefused(checked, "it is a file, not a folder", REMEDIES.folder);
  return real;
}

async function realRootOf(folder: string): Promise<string> {
  const root = await realpath(folder).catch((error: unknown) => {
    throw isMissing(error) ? noRoot() : error;
  });
  if (!(await lstat(root)).isDirectory()) throw pathRefused(".", "the root is not a folder");
  return root;
}

async function leadsTo(folder: string, root: string): Promise<boolean> {
  try {
    return (await realpath(folder)) === root;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

async function readText(root: string, path: string, maxBytes: number, resolve: Resolve) {
  const { bytes, signature } = await readWhole(root, path, maxBytes, resolve);
  const text = utf8(bytes);
  if (text === undefined) throw notText(path);
  return { text, signature };
}

async function makeNewFolder(root: string, path: string, resolve: Resolve): Promise<boolean> {
  await makeFolders(root, posix.dirname(path), resolve);
  // Resolve first: a refused path must leave no folder behind.
  return (await resolve(root, path)).exists ? false : makeFolder(root, path);
}

/** Replaces errors of the file system: their messages hold absolute paths. */
async function guarded<T>(path: string, step: () => Promise<T>, failed = unreadable): Promise<T> {
  try {
    return await step();
  } catch (error) {
    if (isPhasegateError(error)) throw error;
    throw fileFailure(path, error, failed);
  }
}
