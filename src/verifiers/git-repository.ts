/**
 * Finds the repository of a project and runs git on it with our configuration: settings in `.git/config` can name
 * commands, and an agent can write them. All of git is run here.
 */
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

/** Where a repository is looked for, and by which git. */
export type Looking = Pick<Asked, "project" | "signal">;

/**
 * Returns what git writes to stdout. Throws `CheckFailed` if it fails, or warns that it could not read something, which its exit code does not tell.
 */
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
    throw new CheckFailed(`git could not read all of the repository: ${shortened(harmless(warning), WARNING_MAX)}`);
  }
  return result.stdout;
}

/** Maximum number of characters of a warning that are shown. */
const WARNING_MAX = 200;

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

/**
 * Makes a folder of objects with links to the packs and the folders of single objects. The folder `info` is left out: it
 * names other repositories, and caches the graph of commits.
 */
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

/** Returns the folder of the objects and refs, which linked work trees share. */
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
