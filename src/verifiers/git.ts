/**
 * The verifiers `git_clean` (there are no uncommitted files) and `git_commit_exists` (a commit is in the repository).
 * Git's configuration and uncommitted ignore files can't hide changes.
 */
import { join, relative, sep } from "node:path";
import * as z from "zod";
import { hasPlaceholder } from "../gate/fill-params.js";
import { workingFolder } from "../sandbox/sandbox.js";
import { parseRelativePath } from "../workflow/names.js";
import {
  type CommittedFile,
  changedFiles,
  committedFiles,
  fileName,
  folderCheck,
  inFolder,
  isEmptyFolder,
  isSubmodule,
  namesIn,
  notComparable,
  parentOf,
  pathsAndFolders,
  statOf,
  UNTRACKED,
} from "./committed-files.js";
import { CheckFailed, defineVerifier, type Outcome } from "./define-verifier.js";
import { commitAt, requireIntactTree } from "./git-objects.js";
import {
  findRepository,
  type GitRepository,
  type Looking,
  output,
  repositoryAt,
  type WorkTree,
  withGitView,
} from "./git-repository.js";
import { checkPath, pathsParam, textParam, WrongParam } from "./params.js";
import { withoutProducts } from "./products.js";
import { outputLines, sha256, shownPath, shownPaths } from "./subject.js";
import { withoutWritten } from "./written-files.js";

/** Checks that there are no uncommitted files. */
export const gitClean = defineVerifier({
  about: "There are no uncommitted files.",
  params: z.strictObject({
    path: textParam.optional().describe("The folder that must be clean. Default: the whole project."),
    untracked: z
      .boolean()
      .optional()
      .describe("True if files that are neither committed nor ignored count too. Default: true."),
  }),
  usesGit: true,
  async verify({ path = ".", untracked = true }, { project, signal }) {
    const found = await uncommittedIn({ project, signal, untracked }, path);
    return uncommittedResult(await withoutWritten(project, [...found.keys()]));
  },
});

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

export const gitCommitExists = defineVerifier({
  about: "A commit is in the repository.",
  params: z.strictObject({
    commit: textParam
      .optional()
      .describe("The id of a commit, at least 7 hexadecimal digits. Default: the value of the evidence field."),
    at_head: z.boolean().optional().describe("True if it must be the commit that is checked out. Default: false."),
    files: pathsParam.describe("Files that the commit must have. Default: none."),
  }),
  usesGit: true,
  check({ commit, files = [] }) {
    if (commit !== undefined && !hasPlaceholder(commit)) commitId(commit);
    for (const file of files) checkPath(file);
  },
  verify({ commit, at_head, files = [] }, asked) {
    const id = commitId(commit ?? asked.value);
    return onRepository(asked, async (tree, repository) => {
      // A tag leads to a commit too, but with another id.
      const full = await commitAt(tree, id);
      const ran = `git cat-file ${id}`;
      if (full?.startsWith(id) !== true) {
        return { ok: false, message: `there is no commit ${id} in this repository`, ran };
      }
      if (at_head === true && full !== repository.head) {
        return { ok: false, message: `${full} is not the commit that is checked out, ${repository.head}`, ran };
      }
      if (files.length > 0) await requireIntactTree(tree, full);
      for (const file of files.map(parseRelativePath)) {
        const listed = await output(tree, ["ls-tree", "-z", "--name-only", full, "--", file], {
          cwd: asked.project.root,
        });
        if (listed.length === 0) return { ok: false, message: `${full} has no ${shownPath(file)}`, ran };
      }
      return { ok: true, message: `${full} is a commit`, ran };
    });
  },
});

/** Runs a check on the work tree around a project. Throws `CheckFailed` if there is none. */
export async function onRepository(
  looking: Looking,
  check: (tree: WorkTree, repository: GitRepository) => Promise<Outcome>,
): Promise<Outcome> {
  const repository = await findRepository(looking.project.root);
  if (repository === undefined) throw new CheckFailed("the project is not in a git repository");
  return withGitView(looking, repository, (tree) => check(tree, repository));
}

/**
 * Returns the project's repository and that of the folder: an agent could make the folder a repository of its own, in
 * which everything is committed.
 */
async function repositoriesOf(root: string, folder: string): Promise<GitRepository[]> {
  const [ofRoot, ofFolder] = [await findRepository(root), await findRepository(folder)];
  const all = [ofRoot, ofFolder].filter((repository) => repository !== undefined);
  return ofRoot?.workTree === ofFolder?.workTree ? all.slice(0, 1) : all;
}

/** How uncommitted files are looked for. */
interface Uncommitted extends Looking {
  readonly untracked: boolean;
}

const LIST = ["ls-files", "--stage", "-z"];
/** Lists `.gitignore` files that are ignored themselves, and nothing else of what is ignored. */
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
    if (repository.head !== undefined) {
      // A new index has none of the flags that hide a changed file from git.
      await output(tree, ["read-tree", "HEAD"]);
      await requireIntactTree(tree, repository.head);
    }
    const files = committedFiles(await output(tree, LIST));
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
    const hiding = hidingIn(await output(tree, IGNORED_RULES, { cwd: folder }));
    return [...found, ...(await withoutProducts(workTree, hiding, committed))];
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

/** Returns the ignored .gitignore files. Uncommitted rules must not hide changes, or themselves. */
function hidingIn(ignored: Buffer): string[] {
  return namesIn(ignored).flatMap((entry) => (/^!! (?:.*\/)?\.gitignore$/is.test(entry) ? [entry.slice(3)] : []));
}

/** Returns the result for the uncommitted files that there should not be. */
export function uncommittedResult(paths: readonly string[]): Outcome {
  const rules = paths.some((path) => /(?:^|\/)\.git(?:ignore|attributes)$/i.test(path))
    ? "; the rules in .gitignore and .gitattributes apply once they are committed"
    : "";
  return {
    ok: paths.length === 0,
    message:
      paths.length === 0
        ? "no uncommitted files"
        : `${paths.length} uncommitted ${paths.length === 1 ? "file" : "files"}: ${shownPaths(paths, 5)}; commit or remove ${paths.length === 1 ? "it" : "them"}${rules}`,
    ran: "git ls-files",
    exit: 0,
    digest: sha256(Buffer.from(paths.join("\0"))),
    output: outputLines(paths.map(shownPath).join("\n")),
  };
}

/** Matches no branch, no tag, no `HEAD~1` and no option. */
const COMMIT = /^[0-9a-f]{7,64}$/i;

function commitId(value: unknown): string {
  if (typeof value === "string" && COMMIT.test(value)) return value.toLowerCase();
  throw new WrongParam("commit", "a commit id has 7 to 64 hexadecimal digits; branches and tags are not accepted");
}
