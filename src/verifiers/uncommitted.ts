/**
 * The uncommitted files of a project: which there are, what they were like at an earlier moment, and which of them the
 * commands of checks have written themselves, such as a report of tests. No check asks for such a file or blames it, as long as
 * it is as a command has left it.
 */
import { join, relative, sep } from "node:path";
import * as z from "zod";
import { workingFolder } from "../sandbox/sandbox.js";
import {
  type CommittedFile,
  changedFiles,
  contentOf,
  fileName,
  filesOf,
  folderCheck,
  inFolder,
  isEmptyFolder,
  isSubmodule,
  namesIn,
  notComparable,
  parentOf,
  pathsAndFolders,
  statOf,
} from "./committed-files.js";
import { type Asked, CheckFailed, type Project } from "./define-verifier.js";
import {
  findRepository,
  type GitRepository,
  type Looking,
  output,
  repositoryAt,
  requireIntactTree,
  type WorkTree,
  withGitView,
} from "./git-repository.js";
import { withoutProducts } from "./products.js";

/** Maximum nesting depth of submodules. */
const DEPTH_MAX = 10;

/**
 * Returns the absolute paths of the uncommitted files at or below a folder, by their names. With `head`, those that differ from
 * this commit of the project's repository. Throws `CheckFailed`.
 */
export async function uncommittedIn(
  looking: Uncommitted,
  path: string,
  head?: string,
): Promise<ReadonlyMap<string, string>> {
  const { root } = looking.project;
  const folder = await workingFolder(root, path);
  const repositories = await repositoriesOf(root, folder);
  if (repositories.length === 0) throw new CheckFailed("the project is not in a git repository");
  const found = new Map<string, string>();
  for (const [index, each] of repositories.entries()) {
    const repository = index === 0 && head !== undefined ? { ...each, head } : each;
    if (repository.head === undefined) throw new CheckFailed("the git repository has no commit that can be read");
    for (const other of await uncommitted(looking, repository, folder, DEPTH_MAX)) {
      found.set(other, join(repository.workTree, other));
    }
  }
  return found;
}

/** Returns the repositories of project and folder: an agent could make a new one, in which everything is committed. */
async function repositoriesOf(root: string, folder: string): Promise<GitRepository[]> {
  const [ofRoot, ofFolder] = [await findRepository(root), await findRepository(folder)];
  const all = [ofRoot, ofFolder].filter((repository) => repository !== undefined);
  return ofRoot?.workTree === ofFolder?.workTree ? all.slice(0, 1) : all;
}

interface Uncommitted extends Looking {
  readonly untracked: boolean;
}

/** Lists the files that are neither committed nor ignored. */
const UNTRACKED = ["ls-files", "--others", "--exclude-standard", "-z", "--"];

/** Lists `.gitignore` files that are ignored themselves, without other ignored files. */
const IGNORED_RULES = [
  ...["--no-literal-pathspecs", "status", "--porcelain=v1", "-z", "--no-renames", "--ignore-submodules=all"],
  ...["--untracked-files=all", "--ignored=matching", "--", ":(glob,icase)**/.gitignore"],
];

/** Returns the uncommitted paths at or below a folder, relative to the repository's work tree. */
async function uncommitted(
  looking: Uncommitted,
  repository: GitRepository,
  folder: string,
  depth: number,
): Promise<string[]> {
  const { workTree } = repository;
  const below = relative(workTree, folder).split(sep).join("/");
  return withGitView(looking, repository, async (tree) => {
    // A new index has none of the flags that hide a changed file from git.
    const files = repository.head === undefined ? [] : await filesOf(tree, "HEAD");
    if (repository.head !== undefined) await requireIntactTree(tree, repository.head);
    const above = files.find((file) => isSubmodule(file) && isBelow(below, file.path));
    if (above !== undefined) return inSubmodule(looking, workTree, above, folder, depth);
    const wanted = files.filter(({ path }) => isBelow(path, below));
    const found = await changed(tree, files, wanted, below, looking.untracked);
    for (const submodule of wanted.filter(isSubmodule))
      found.push(...(await inSubmodule(looking, workTree, submodule, join(workTree, submodule.path), depth)));
    if (!looking.untracked) return found;
    const committed = pathsAndFolders(files);
    const others = namesIn(await output(tree, [...UNTRACKED, below === "" ? "." : below]));
    for (const name of await withoutProducts(workTree, others, committed)) {
      // Git doesn't look into a repository in this one.
      if (name.endsWith("/")) found.push(...(await inNested(looking, workTree, name.slice(0, -1), depth)));
      else found.push(name);
    }
    // Uncommitted rules must not hide changes, or themselves.
    const ignored = namesIn(await output(tree, IGNORED_RULES, { cwd: folder }));
    const rules = ignored.filter((entry) => /^!! (?:.*\/)?\.gitignore$/is.test(entry)).map((entry) => entry.slice(3));
    return [...found, ...(await withoutProducts(workTree, rules, committed))];
  });
}

function isBelow(path: string, folder: string): boolean {
  return folder === "" || path === folder || path.startsWith(`${folder}/`);
}

/** Returns a repository in another one that doesn't have it as a submodule, and its uncommitted paths. */
async function inNested(looking: Uncommitted, root: string, path: string, depth: number): Promise<string[]> {
  const place = join(root, path);
  const repository = await repositoryAt(place);
  if (repository === undefined || depth === 0) throw notComparable(path, "it is a repository that can't be read");
  const found = await uncommitted(looking, repository, place, depth - 1);
  return [path, ...found.map((each) => inFolder(path, each))];
}

/** Returns the uncommitted paths of a submodule. Git itself would read the submodule's configuration, which can hide them. */
async function inSubmodule(
  looking: Uncommitted,
  root: string,
  { bytes, id }: CommittedFile,
  folder: string,
  depth: number,
): Promise<string[]> {
  const path = fileName(bytes);
  const place = join(root, path);
  if (!(await folderCheck(root)(path))) return [path];
  const repository = await repositoryAt(place);
  // A submodule that isn't checked out is an empty folder. Git ignores what is in it.
  if (repository === undefined) {
    if (await isEmptyFolder(place)) return [];
    throw notComparable(path, "it is a submodule without its repository; check it out, or empty the folder");
  }
  if (depth === 0) throw notComparable(path, "it is nested too deeply");
  const found = await uncommitted(looking, repository, folder, depth - 1);
  return [...(repository.head === id ? [] : [path]), ...found.map((each) => inFolder(path, each))];
}

/**
 * Returns the changed files and the changed rules. The rules for a file, in `.gitattributes` and `.gitignore`, may be in
 * any folder above it, also above the folder that is checked.
 */
async function changed(
  tree: WorkTree,
  files: readonly CommittedFile[],
  wanted: readonly CommittedFile[],
  below: string,
  untracked: boolean,
): Promise<string[]> {
  const above = foldersAbove(below);
  const folders = new Set([...above, below, ...wanted.flatMap(({ path }) => foldersAbove(path))]);
  const rules = [...folders].map((folder) => inFolder(folder, ".gitattributes"));
  if (untracked) rules.push(...above.map((folder) => inFolder(folder, ".gitignore")));
  const committed = new Map(files.map((file) => [file.path, file]));
  const compared = new Set(wanted.filter((file) => !isSubmodule(file)));
  const found: string[] = [];
  const isFolder = folderCheck(tree.root);
  for (const path of rules) {
    const file = committed.get(path);
    if (file !== undefined) compared.add(file);
    // Git would read this file. Behind a link it wouldn't, and the committed file counts as changed.
    else if ((await isFolder(parentOf(path))) && (await statOf(join(tree.root, path)))?.isDirectory() === false)
      found.push(path);
  }
  return [...found, ...(await changedFiles(tree, [...compared])).map(({ bytes }) => fileName(bytes))];
}

/** Returns the folders above a path, up to the work tree, which is the empty text. */
function foldersAbove(path: string): string[] {
  const folders: string[] = [];
  for (let folder = path; folder !== ""; ) {
    folder = parentOf(folder);
    folders.push(folder);
  }
  return folders;
}

/** The contents of files, as `contentOf` tells them, by their names. */
type Contents = Readonly<Record<string, string>>;

/** The state of a repository: the commit that was checked out, and the files that differed from it. */
export const stateSchema = z.strictObject({ head: z.string(), files: z.record(z.string(), z.string()) });

/** Returns the state of the files at or below a folder. Throws `CheckFailed`. */
export async function stateOf(looking: Looking, path = "."): Promise<{ head: string; files: Record<string, string> }> {
  const head = (await findRepository(looking.project.root))?.head;
  const files = await contentsIn(looking, path, head);
  if (head === undefined) throw new CheckFailed("the git repository has no commit that can be read");
  return { head, files };
}

export function changesBetween(before: Contents, now: Contents): readonly string[] {
  const all = new Set([...Object.keys(before), ...Object.keys(now)]);
  return [...all].filter((file) => before[file] !== now[file]);
}

/** Maximum number of uncommitted files that are compared. */
const FILES_MAX = 5_000;

/** Returns the contents of the files that differ from a commit, by their names. Throws `CheckFailed`. */
export async function contentsIn(looking: Looking, path = ".", head?: string): Promise<Record<string, string>> {
  const found = await uncommittedIn({ ...looking, untracked: true }, path, head);
  if (found.size > FILES_MAX)
    throw new CheckFailed(`there are ${found.size} uncommitted files, at most ${FILES_MAX} are compared`);
  const contents: [string, string][] = [];
  for (const [name, place] of found) contents.push([name, await contentOf(place, name)]);
  return Object.fromEntries(contents);
}

/** Returns the names of the files that have changed since a state, apart from those that commands of checks have written. */
export async function changedSince(asked: Asked, { head, files }: z.infer<typeof stateSchema>) {
  return withoutWritten(asked.project, changesBetween(files, await contentsIn(asked, ".", head)));
}

/** Runs a command, and returns the names of the files that it has written, apart from committed ones. */
export async function noteWritten<T>(
  asked: Asked,
  run: () => Promise<T>,
): Promise<{ readonly done: T; readonly wrote: readonly string[] }> {
  const { git, written } = asked.project;
  if (git === undefined) return { done: await run(), wrote: [] };
  const before = await signatures(asked);
  const done = await run();
  const after = before === undefined ? undefined : await signatures(asked);
  const wrote = [...(after ?? [])].filter(([name, signature]) => before?.get(name) !== signature);
  for (const [name, signature] of wrote) written.set(name, signature);
  return { done, wrote: wrote.map(([name]) => name) };
}

/** Returns the files that are not as a command has left them. Names are those of git. */
export async function withoutWritten({ root, written }: Project, names: readonly string[]): Promise<readonly string[]> {
  if (written.size === 0) return names;
  const workTree = await workTreeOf(root);
  const kept: string[] = [];
  for (const name of names) {
    const left = written.get(name);
    if (left === undefined || left !== (await signatureOf(workTree, name))) kept.push(name);
  }
  return kept;
}

/** Returns how each uncommitted file is; undefined if that can't be told. */
async function signatures(looking: Looking) {
  try {
    const names = await untrackedIn(looking);
    if (names.length > FILES_MAX) return undefined;
    const workTree = await workTreeOf(looking.project.root);
    const found = new Map<string, string>();
    for (const name of names) found.set(name, await signatureOf(workTree, name));
    return found;
  } catch (error) {
    if (error instanceof CheckFailed) return undefined;
    throw error;
  }
}

/** Returns the work tree around a project; the project itself without a repository. */
export async function workTreeOf(root: string): Promise<string> {
  return (await findRepository(root))?.workTree ?? root;
}

/** Tells how a file is without reading it: each write changes one of these. */
async function signatureOf(workTree: string, name: string): Promise<string> {
  const stats = await statOf(join(workTree, name));
  return stats === undefined ? "" : `${stats.ino} ${stats.size} ${stats.mtimeMs} ${stats.ctimeMs}`;
}

/** Returns the names of the files that are neither committed nor ignored nor products of tools. Throws `CheckFailed`. */
async function untrackedIn(looking: Looking): Promise<readonly string[]> {
  const { root } = looking.project;
  const repository = await findRepository(root);
  if (repository?.head === undefined) return [];
  return withGitView(looking, repository, async (tree) => {
    await output(tree, ["read-tree", "HEAD"]);
    const found = namesIn(await output(tree, [...UNTRACKED, relative(repository.workTree, root) || "."]));
    return withoutProducts(repository.workTree, found, new Set());
  });
}
