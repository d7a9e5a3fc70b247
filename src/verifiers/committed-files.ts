/**
 * Compares files with a commit, byte by byte, because git's own comparison skips what attributes and the flags of the
 * index tell it to skip.
 */
import { isUtf8 } from "node:buffer";
import { constants, type Stats } from "node:fs";
import { type FileHandle, lstat, mkdtemp, open, readdir, readlink, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { errnoOf } from "../errors.js";
import { isMissing } from "../sandbox/refusals.js";
import { CheckFailed } from "./define-verifier.js";
import { objectHash, output, repositoryAt, type WorkTree } from "./git-repository.js";
import { shownPath } from "./subject.js";

export interface CommittedFile {
  /** The file mode in octal digits. */
  readonly mode: string;
  /** The hash of its blob; of a submodule, its commit. */
  readonly id: string;
  /** Relative to the work tree, with `/`. */
  readonly path: string;
  /** The path as bytes: git has names that are not UTF-8. */
  readonly bytes: Buffer;
}

/** Reads a commit into git's index, and returns its files. */
export async function filesOf(tree: WorkTree, commit: string): Promise<CommittedFile[]> {
  await output(tree, ["read-tree", commit]);
  return entriesIn(await output(tree, ["ls-files", "--stage", "-z"])).map((entry) => {
    const tab = entry.indexOf("\t");
    const [mode = "", id = ""] = entry.slice(0, tab).split(" ");
    const bytes = Buffer.from(entry.slice(tab + 1), "latin1");
    return { mode, id, bytes, path: bytes.toString("utf8") };
  });
}

/** Returns the paths of files, and of all folders above them. */
export function pathsAndFolders(files: readonly Pick<CommittedFile, "path">[]): ReadonlySet<string> {
  const all = new Set<string>();
  for (const file of files) {
    for (let path = file.path; path !== "" && !all.has(path); path = parentOf(path)) all.add(path);
  }
  return all;
}

export function isSubmodule({ mode }: CommittedFile): boolean {
  return mode === "160000";
}

type FileState = "same" | "changed" | "other bytes";

/**
 * Returns the files that differ from the commit: missing, of another kind or mode, or with other bytes than a checkout
 * writes. A checkout may change line ends, `$Id$` and the encoding by the attributes in the work tree, which the caller
 * has compared with the commit.
 */
export async function changedFiles(tree: WorkTree, files: readonly CommittedFile[]): Promise<CommittedFile[]> {
  const isFolder = folderCheck(tree.root);
  const states = await inTurn(files, tree.signal, async (file) => {
    return (await isFolder(parentOf(file.path))) ? stateOf(tree.root, file) : "changed";
  });
  const withState = (wanted: FileState) => files.filter((_, index) => states[index] === wanted);
  const others = withState("other bytes");
  await requireIntact(tree, others);
  // Without `eol=` in the attributes, line ends depend on the platform: LF or CRLF in the whole file.
  const notLf = await otherThanCheckout(tree, others, "lf");
  const notCrlf = await otherThanCheckout(tree, notLf, "crlf");
  const changed = new Set([...withState("changed"), ...notCrlf]);
  return files.filter((file) => changed.has(file));
}

/** Checks whether a folder exists and is empty, like that of a submodule that isn't checked out. */
export async function isEmptyFolder(folder: string): Promise<boolean> {
  try {
    return (await lstat(folder)).isDirectory() && (await readdir(folder)).length === 0;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

/** Returns a check of whether a path of the work tree is a folder and not a link. Each path is checked once. */
export function folderCheck(root: string): (path: string) => Promise<boolean> {
  const known = new Map<string, Promise<boolean>>();
  const check = (path: string): Promise<boolean> => {
    const answer = known.get(path) ?? inspect(path);
    known.set(path, answer);
    return answer;
  };
  const inspect = async (path: string): Promise<boolean> => {
    if (path === "") return true;
    if (!(await check(parentOf(path)))) return false;
    return (await statOf(join(root, path)))?.isDirectory() === true;
  };
  return check;
}

/** Returns the path of a name in a folder; the empty text is the work tree. */
export function inFolder(folder: string, name: string): string {
  return folder === "" ? name : `${folder}/${name}`;
}

export function parentOf(path: string): string {
  return path.slice(0, Math.max(path.lastIndexOf("/"), 0));
}

/** Returns the stats of a path without following links; undefined if it doesn't exist. */
export async function statOf(path: string | Buffer): Promise<Stats | undefined> {
  try {
    return await lstat(path);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** Maximum number of files that are read at once. */
const AT_ONCE = 32;

/** Runs a step for each item, some at once. The results are in the order of the items. */
export async function inTurn<T, R>(
  items: readonly T[],
  signal: AbortSignal,
  step: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  for (let start = 0; start < items.length; start += AT_ONCE) {
    signal.throwIfAborted();
    results.push(...(await Promise.all(items.slice(start, start + AT_ONCE).map(step))));
  }
  return results;
}

/** The modes of a link and of an executable file. */
export const LINK = "120000";

export const EXECUTABLE = "100755";

/** Maximum size of a file whose checkout is compared. A larger file must have the bytes of the blob. */
const FORM_MAX = 16 * 2 ** 20;

async function stateOf(root: string, { mode, id, bytes }: CommittedFile): Promise<FileState> {
  const place = Buffer.concat([Buffer.from(`${root}/`), bytes]);
  const stats = await statOf(place);
  if (mode === LINK) {
    if (stats?.isSymbolicLink() !== true) return "changed";
    const target = await readlink(place, { encoding: "buffer" });
    const found = objectHash(id, "blob", target.length).update(target).digest("hex");
    return found === id ? "same" : "changed";
  }
  if (stats?.isFile() !== true) return "changed";
  // Windows has no executable bit.
  const isExecutable = process.platform === "win32" ? mode === EXECUTABLE : (stats.mode & 0o100) !== 0;
  if (isExecutable !== (mode === EXECUTABLE)) return "changed";
  const found = await withFile(place, (file, { size }) => hashOf(file, size, id));
  if (found === id) return "same";
  return found === undefined || stats.size > FORM_MAX ? "changed" : "other bytes";
}

/** Returns the hash of a file, or the kind of what is in its place. Throws `CheckFailed` for what can't be read. */
export async function contentOf(path: string, name: string): Promise<string> {
  const stats = await statOf(path);
  if (stats === undefined) return "missing";
  if (stats.isSymbolicLink()) return `link ${(await readlink(path, { encoding: "buffer" })).toString("hex")}`;
  if (stats.isDirectory()) {
    const repository = await repositoryAt(path);
    return repository === undefined ? "folder" : `repository at ${repository.head ?? "no commit"}`;
  }
  if (!stats.isFile()) throw notComparable(name, "it is no file");
  const hash = await withFile(Buffer.from(path), (file, { size }) => hashOf(file, size, SHA256));
  if (hash === undefined) throw notComparable(name, "it can't be read");
  return `${hash} ${(stats.mode & 0o100) === 0 ? "file" : "executable"}`;
}

export function notComparable(name: string, reason: string): CheckFailed {
  return new CheckFailed(`${shownPath(name)} can't be compared: ${reason}`);
}

/** Returns a name of a file as text. Throws `CheckFailed` for one that is not UTF-8: another one could be shown the same. */
export function fileName(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString("utf8");
  const shownBytes = bytes.toString("latin1").replace(/[^ -~]/g, (char) => `\\x${char.charCodeAt(0).toString(16)}`);
  throw new CheckFailed(`${shownBytes} can't be compared: its name is not UTF-8; rename it`);
}

/** An id of the length by which git chooses SHA-256. */
const SHA256 = "0".repeat(64);

/** Opens a regular file, and returns the result of `use`; undefined if there is no such file, or it can't be read. */
async function withFile<T>(path: Buffer, use: (file: FileHandle, stats: Stats) => Promise<T>): Promise<T | undefined> {
  let file: FileHandle | undefined;
  try {
    // A pipe that replaces the file must not block; Windows has neither flag.
    const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;
    file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    const stats = await file.stat();
    return stats.isFile() ? await use(file, stats) : undefined;
  } catch (error) {
    if (isMissing(error) || ["EACCES", "EPERM", "ELOOP", "EISDIR", "ENXIO"].includes(errnoOf(error) ?? ""))
      return undefined;
    throw error;
  } finally {
    await file?.close();
  }
}

/** Returns the id that git would give to a file. */
async function hashOf(file: FileHandle, size: number, id: string): Promise<string> {
  const hash = objectHash(id, "blob", size);
  for await (const chunk of file.createReadStream({ autoClose: false, highWaterMark: 2 ** 18 })) hash.update(chunk);
  return hash.digest("hex");
}

/** Throws if the bytes of a blob don't match its id: git writes a blob into a checkout without a check. */
async function requireIntact(tree: WorkTree, files: readonly CommittedFile[]): Promise<void> {
  for (const ids of inChunks(files.map(({ id }) => id))) {
    await output(tree, ["rev-list", "--objects", "--no-walk", "--verify-objects", ...ids]);
  }
}

/** Maximum length of the names in one command line; Windows accepts 32,767 characters. */
const NAMES_MAX = 24_000;

function inChunks(paths: readonly string[]): string[][] {
  const chunks: string[][] = [];
  let length = Number.POSITIVE_INFINITY;
  for (const path of paths) {
    length += path.length + 3;
    if (length > NAMES_MAX) {
      chunks.push([]);
      length = path.length + 3;
    }
    chunks.at(-1)?.push(path);
  }
  return chunks;
}

/** Returns the files whose bytes differ from a checkout with these line ends. */
async function otherThanCheckout(
  { root, git, signal, failure }: WorkTree,
  files: readonly CommittedFile[],
  eol: "lf" | "crlf",
): Promise<CommittedFile[]> {
  if (files.length === 0) return [];
  const folder = await mkdtemp(join(tmpdir(), "phasegate-checkout-"));
  try {
    const checkout = ["-c", `core.eol=${eol}`, "checkout-index", "--quiet", `--prefix=${folder}/`, "--"];
    for (const paths of inChunks(files.map(({ path }) => path))) {
      // A file that git can't write is missing afterwards, and counts as changed.
      const done = await git([...checkout, ...paths]);
      if (done.stopped !== undefined) throw failure(done);
    }
    const same = await inTurn(files, signal, async ({ path, id }) => {
      const [expected, found] = await Promise.all([readWhole(join(folder, path)), readWhole(join(root, path))]);
      return expected !== undefined && found !== undefined && isSameText(expected, found, id);
    });
    return files.filter((_, index) => same[index] !== true);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Returns the bytes of a file of up to `FORM_MAX`; undefined if it is larger, not a file, or can't be read. */
export async function readWhole(path: string): Promise<Buffer | undefined> {
  return withFile(Buffer.from(path), async (file, { size }) => (size > FORM_MAX ? undefined : file.readFile()));
}

/** Checks whether bytes are equal, apart from the ids in `$Id$`, which git doesn't update in a file after a commit. */
function isSameText(expected: Buffer, found: Buffer, id: string): boolean {
  if (expected.equals(found)) return true;
  const mark = `$Id: ${id} $`;
  if (!expected.includes(mark)) return false;
  return found.toString("latin1").replace(/\$Id(?:: [0-9a-f]{40,64} )?\$/g, () => mark) === expected.toString("latin1");
}

/** Returns the names in an output of git with NULs. Throws `CheckFailed` for one that is not UTF-8. */
export function namesIn(stdout: Buffer): string[] {
  return entriesIn(stdout).map((entry) => fileName(Buffer.from(entry, "latin1")));
}

/** Returns the entries that NULs separate, with each byte as a character. */
function entriesIn(stdout: Buffer): string[] {
  return stdout.toString("latin1").split("\0").filter(Boolean);
}
