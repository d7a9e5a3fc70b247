/**
 * Finds the repository of a project and runs git on it with our configuration: settings in `.git/config` can name
 * commands, and an agent can write them. All of git is run here. Commits, tags and folders are read with the content that their
 * ids stand for: git itself believes the name of an object's file, and the index of a pack, and an agent can write both.
 */
import { createHash } from "node:crypto";
import { lstat, mkdir, mkdtemp, readdir, rm, stat, symlink, writeFile } from "node:fs/promises";
import { devNull, tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { isPhasegateError } from "../errors.js";
import { isMissing } from "../sandbox/refusals.js";
import { openSandbox } from "../sandbox/sandbox.js";
import { type Asked, CheckFailed } from "./define-verifier.js";
import { type ProcessResult, runProcess } from "./run-process.js";
import { harmless, outputLines, shortened, withoutEscapes } from "./subject.js";

/** The folders and the head of a repository. */
export interface GitRepository {
  /** The folder with `.git` in it. */
  readonly workTree: string;
  /** The folder of its refs, which linked work trees share. */
  readonly common: string;
  /** The folder of its objects. */
  readonly objects: string;
  /** The commit that is checked out; undefined if there is none, or it can't be read. */
  readonly head: string | undefined;
}

/**
 * Finds the repository of a folder by reading its files, because git itself would read the repository's configuration
 * first. Returns undefined if there is none.
 */
export async function findRepository(folder: string): Promise<GitRepository | undefined> {
  for (let workTree = folder; ; workTree = dirname(workTree)) {
    const repository = await repositoryAt(workTree);
    if (repository !== undefined || dirname(workTree) === workTree) return repository;
  }
}

/** Reads the repository whose work tree is this folder; undefined if there is none. */
export async function repositoryAt(workTree: string): Promise<GitRepository | undefined> {
  const gitDir = await gitDirOf(workTree);
  if (gitDir === undefined) return undefined;
  const common = await commonDirOf(gitDir);
  return { workTree, common, objects: join(common, "objects"), head: await headOf(gitDir, common) };
}

/** A work tree, and the way to run git on it. */
export interface WorkTree {
  /** The folder with `.git` in it. */
  readonly root: string;
  readonly signal: AbortSignal;
  /** Runs git; `cwd` is a folder of the work tree, `input` what git reads from stdin. */
  git(args: readonly string[], at?: { readonly cwd?: string; readonly input?: string }): Promise<ProcessResult>;
  /** Returns the error for git that was stopped or failed. */
  failure(result: ProcessResult): CheckFailed;
}

/** The project whose repository is looked for. */
export type Looking = Pick<Asked, "project" | "signal">;

/** Returns git's stdout. Throws `CheckFailed` if it fails, or warns: its exit code does not tell what it can't read. */
export async function output(
  tree: WorkTree,
  args: readonly string[],
  at: { readonly cwd?: string; readonly input?: string } = {},
): Promise<Buffer> {
  const result = await tree.git(args, at);
  if (result.exit !== 0 || result.stopped !== undefined) throw tree.failure(result);
  if (result.output.length > result.stdout.length) {
    const [, warning = "it does not say what"] =
      /^(?:warning|error): (.+)$/m.exec(result.output.toString("utf8")) ?? [];
    throw new CheckFailed(`git could not read all of the repository: ${shortened(harmless(warning), 200)}`);
  }
  return result.stdout;
}

/** Maximum size of a list of files in bytes: some 500,000 files. */
const LISTING_MAX = 64 * 2 ** 20;

/** The settings that are switched off, also for versions of git that find others in ways that are unknown here. */
const OFF = [
  ...["core.fsmonitor=false", `core.hooksPath=${devNull}`, "core.untrackedCache=false", "protocol.allow=never"],
  // What these say of objects need not be true.
  ...["core.commitGraph=false", "core.multiPackIndex=false"],
];

const HARDENED = ["--no-pager", "--no-optional-locks", ...OFF.flatMap((setting) => ["-c", setting])];

/**
 * Runs git on a repository without its configuration. Settings in `.git/config` (`core.fsmonitor`, filters, lazy fetches,
 * hooks) name commands that git runs even for `status`; `core.worktree` and the flags of the index make it read other
 * files. So git gets a folder of its own, with our configuration, an empty index and HEAD as a hash, and of the
 * repository only its objects and files: no cached graph of commits, no replaced parents, no objects of other repositories.
 * Throws `CheckFailed` for a repository that needs the objects of another one.
 */
export async function withGitView<T>(
  { project, signal }: Looking,
  { workTree, objects, head }: GitRepository,
  use: (tree: WorkTree) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "phasegate-git-"));
  try {
    await mkdir(join(folder, "refs"));
    await linkObjects(objects, join(folder, "objects"));
    await writeFile(join(folder, "HEAD"), `${head ?? "ref: refs/heads/none"}\n`);
    await writeFile(join(folder, "config"), configuration(head));
    const env = {
      PATH: ["/usr/bin", "/bin"].join(delimiter),
      HOME: folder,
      XDG_CONFIG_HOME: folder,
      LC_ALL: "C",
      GIT_DIR: folder,
      GIT_WORK_TREE: workTree,
      GIT_INDEX_FILE: join(folder, "index"),
      GIT_CONFIG_NOSYSTEM: "1",
      GIT_CONFIG_GLOBAL: devNull,
      GIT_ATTR_NOSYSTEM: "1",
      GIT_NO_LAZY_FETCH: "1",
      GIT_NO_REPLACE_OBJECTS: "1",
      GIT_LITERAL_PATHSPECS: "1",
      GIT_TERMINAL_PROMPT: "0",
    };
    const { git: executable = "git", limits } = project;
    return await use({
      root: workTree,
      signal,
      git: (args, { cwd = workTree, input } = {}) =>
        runProcess({
          ...{ executable, args: [...HARDENED, ...args], cwd, env, signal, input: input ?? "" },
          timeoutMs: limits.commandTimeoutMs,
          maxOutputBytes: Math.max(limits.maxOutputBytes, LISTING_MAX),
        }),
      failure({ exit, stopped, output: said }) {
        const why = stopped === undefined ? "could not read the repository" : `was stopped (${stopped})`;
        const lines = outputLines(project.withoutRoot(withoutEscapes(said.toString("utf8"))));
        return new CheckFailed(`git ${why}`, { ran: "git", exit, output: lines });
      },
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Runs a check on the work tree around a project. Throws `CheckFailed` if there is none. */
export async function onRepository<T>(
  looking: Looking,
  check: (tree: WorkTree, repository: GitRepository) => Promise<T>,
): Promise<T> {
  const repository = await findRepository(looking.project.root);
  if (repository === undefined) throw new CheckFailed("the project is not in a git repository");
  return withGitView(looking, repository, (tree) => check(tree, repository));
}

/** Links packs and folders of single objects, but not `info`: it names other repositories, and caches a graph. */
async function linkObjects(objects: string, folder: string): Promise<void> {
  if (((await readSmall(objects, "info/alternates")) ?? "") !== "") {
    const remedy = "run git repack -a -d, and delete that file";
    throw new CheckFailed(`the git repository uses objects of another one (objects/info/alternates); ${remedy}`);
  }
  await mkdir(folder);
  const names = (await readdir(objects)).filter((name) => name === "pack" || /^[0-9a-f]{2}$/.test(name));
  // Windows lets everybody make junctions.
  await Promise.all(names.map((name) => symlink(join(objects, name), join(folder, name), "junction")));
}

/** Returns `.git`, or the folder that the `.git` file of a linked work tree or a submodule names. */
async function gitDirOf(workTree: string): Promise<string | undefined> {
  const place = join(workTree, ".git");
  try {
    await lstat(place);
    if ((await stat(place)).isDirectory()) return place;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
  const [, target] = /^gitdir: ([^\n\0]+)\n?$/.exec((await readSmall(workTree, ".git")) ?? "") ?? [];
  return target === undefined ? undefined : resolve(workTree, target);
}

const SMALL = 4096;

/** Returns the text of a small file; undefined if it is missing or can't be read. */
async function readSmall(folder: string, path: string, maxBytes = SMALL): Promise<string | undefined> {
  try {
    return (await (await openSandbox(folder)).read(path, { maxBytes })).text;
  } catch (error) {
    if (isPhasegateError(error)) return undefined;
    throw error;
  }
}

async function commonDirOf(gitDir: string): Promise<string> {
  const common = (await readSmall(gitDir, "commondir"))?.trimEnd();
  return common === undefined || common === "" ? gitDir : resolve(gitDir, common);
}

const HASH = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;

/** Maximum size of packed refs, in bytes: enough for a large repository. */
const PACKED_MAX = 16 * 2 ** 20;

async function headOf(gitDir: string, common: string): Promise<string | undefined> {
  const head = (await readSmall(gitDir, "HEAD"))?.trim() ?? "";
  if (HASH.test(head)) return head;
  const [, ref] = /^ref: (refs\/[^\s\0]+)$/.exec(head) ?? [];
  return ref === undefined ? undefined : readRef(common, ref);
}

/** Returns the object that a ref such as `refs/tags/v1.0.0` names; undefined if there is no such ref. */
export async function readRef(common: string, ref: string): Promise<string | undefined> {
  if (ref.split("/").includes("..")) return undefined;
  const loose = (await readSmall(common, ref))?.trim() ?? "";
  if (HASH.test(loose)) return loose;
  const packed = (await readSmall(common, "packed-refs", PACKED_MAX)) ?? "";
  const hash = packed
    .split("\n")
    .find((line) => line.endsWith(` ${ref}`))
    ?.split(" ")[0];
  return hash !== undefined && HASH.test(hash) ? hash : undefined;
}

/** Returns our configuration for a repository. The length of a hash gives its object format. */
function configuration(head: string | undefined): string {
  const core = (version: number) => `[core]\n\trepositoryFormatVersion = ${version}\n\tbare = false\n`;
  return head?.length === 64 ? `${core(1)}[extensions]\n\tobjectFormat = sha256\n` : core(0);
}

/** An object whose content is that of its id. */
interface GitObject {
  readonly id: string;
  readonly type: string;
  readonly bytes: Buffer;
}

/** Maximum number of objects that are read at once; commits and folders have a few hundred bytes each. */
const AT_ONCE = 10_000;

/** Returns the objects of these names, in their order; undefined for a name that has none. Throws `CheckFailed`. */
export async function objectsAt(tree: WorkTree, names: readonly string[]): Promise<(GitObject | undefined)[]> {
  const found: (GitObject | undefined)[] = [];
  for (let start = 0; start < names.length; start += AT_ONCE) {
    const asked = names.slice(start, start + AT_ONCE);
    const stdout = await output(tree, ["cat-file", "--batch"], { input: `${asked.join("\n")}\n` });
    for (let at = 0; at < stdout.length; ) {
      const end = stdout.indexOf(10, at);
      const [id = "", type = "", size] = stdout.toString("latin1", at, end).split(" ");
      at = end + 1;
      if (size === undefined) {
        found.push(undefined);
        continue;
      }
      const bytes = stdout.subarray(at, at + Number(size));
      at += Number(size) + 1;
      if (objectHash(id, type, bytes.length).update(bytes).digest("hex") !== id) {
        throw new CheckFailed(`the object ${id} of the git repository has other content than its id says`);
      }
      found.push({ id, type, bytes });
    }
  }
  return found;
}

/** Returns the hash of an object to which its bytes are added, by the algorithm of an id of this length. */
export function objectHash(id: string, type: string, size: number) {
  return createHash(id.length === 64 ? "sha256" : "sha1").update(`${type} ${size}\0`);
}

/** The first lines of a commit or a tag, which name other objects. */
function named(object: GitObject, key: "tree" | "parent" | "object"): string[] {
  const text = object.bytes.toString("latin1");
  const head = text.slice(0, text.indexOf("\n\n") + 1);
  return [...head.matchAll(/^(tree|parent|object) ([0-9a-f]+)$/gm)].flatMap(([, found, id = ""]) =>
    found === key ? [id] : [],
  );
}

/** Maximum number of tags that lead to one another. */
const TAGS_MAX = 10;

/** Returns the id of the commit that a name of an object is, or that its tag leads to; undefined if there is none. */
export async function commitAt(tree: WorkTree, name: string): Promise<string | undefined> {
  let [object] = await objectsAt(tree, [name]);
  for (let tags = 0; object?.type === "tag" && tags < TAGS_MAX; tags += 1) {
    [object] = await objectsAt(tree, named(object, "object").slice(0, 1));
  }
  return object?.type === "commit" ? object.id : undefined;
}

/** Throws `CheckFailed` if a commit, or one of its folders, has other content than its id says. */
export async function requireIntactTree(tree: WorkTree, commit: string): Promise<void> {
  const [object] = await objectsAt(tree, [commit]);
  const roots = object === undefined ? [] : named(object, "tree");
  const listing = await output(tree, ["ls-tree", "-r", "-d", "-z", commit]);
  const below = [...listing.toString("latin1").matchAll(/(?:^|\0)040000 tree ([0-9a-f]+)\t/g)];
  await objectsAt(tree, [...new Set([...roots, ...below.map(([, id = ""]) => id)])]);
}

/** Throws `CheckFailed` unless parents lead from one commit to another. Only the commits between both are read. */
export async function requireAncestor(tree: WorkTree, ancestor: string, commit: string): Promise<void> {
  const listed = await output(tree, ["rev-list", commit, `^${ancestor}`]);
  const ids = listed.toString("latin1").split("\n").filter(Boolean);
  const parents = new Map<string, readonly string[]>();
  for (const object of await objectsAt(tree, [...new Set([...ids, commit])])) {
    if (object !== undefined) parents.set(object.id, named(object, "parent"));
  }
  const reached = new Set([commit]);
  // Those that are added here are visited, too.
  for (const id of reached) for (const parent of parents.get(id) ?? []) reached.add(parent);
  if (!reached.has(ancestor)) throw new CheckFailed(`${ancestor} is not a commit before ${commit}`);
}
