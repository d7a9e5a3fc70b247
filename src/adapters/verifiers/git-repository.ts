import { lstat, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { isPhasegateError } from "../../errors.js";
import { openWall } from "../../walls/open-wall.js";
import { isMissing } from "../../walls/wall-refusals.js";

/** Where a repository keeps what is needed of it. */
export interface GitRepository {
  /** The folder with `.git` in it. */
  readonly workTree: string;
  readonly objects: string;
  /** The commit that is checked out; undefined where there is none yet, or it can't be read. */
  readonly head: string | undefined;
}

const HASH = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;
const SMALL = 4096;
/** Refs of a large repository, packed. */
const PACKED_MAX = 16 * 2 ** 20;

/**
 * Finds the repository that a folder lies in, by reading its files: git itself would read the repository's
 * configuration first, which whoever works in it can write, and which names commands to run. Undefined if
 * there is none.
 */
export async function findRepository(folder: string): Promise<GitRepository | undefined> {
  for (let workTree = folder; ; workTree = dirname(workTree)) {
    const repository = await repositoryAt(workTree);
    if (repository !== undefined || dirname(workTree) === workTree) return repository;
  }
}

/** Reads the repository whose work tree a folder is; undefined if it is none. */
export async function repositoryAt(workTree: string): Promise<GitRepository | undefined> {
  const gitDir = await gitDirOf(workTree);
  if (gitDir === undefined) return undefined;
  const common = await commonDirOf(gitDir);
  return { workTree, objects: join(common, "objects"), head: await headOf(gitDir, common) };
}

/** `.git`, or where a `.git` file of a linked work tree or a submodule leads. */
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

/** Linked work trees share the objects and refs of another folder. */
async function commonDirOf(gitDir: string): Promise<string> {
  const common = (await readSmall(gitDir, "commondir"))?.trimEnd();
  return common === undefined || common === "" ? gitDir : resolve(gitDir, common);
}

async function headOf(gitDir: string, common: string): Promise<string | undefined> {
  const head = (await readSmall(gitDir, "HEAD"))?.trim() ?? "";
  if (HASH.test(head)) return head;
  const [, ref] = /^ref: (refs\/[^\s\0]+)$/.exec(head) ?? [];
  if (ref === undefined || ref.split("/").includes("..")) return undefined;
  const loose = (await readSmall(common, ref))?.trim() ?? "";
  if (HASH.test(loose)) return loose;
  const packed = (await readSmall(common, "packed-refs", PACKED_MAX)) ?? "";
  const hash = packed
    .split("\n")
    .find((line) => line.endsWith(` ${ref}`))
    ?.split(" ")[0];
  return hash !== undefined && HASH.test(hash) ? hash : undefined;
}

/** A file's text; undefined if there is none, or nothing that could be read as one. */
async function readSmall(folder: string, path: string, maxBytes = SMALL): Promise<string | undefined> {
  try {
    return (await (await openWall(folder)).read(path, { maxBytes })).text;
  } catch (error) {
    if (isPhasegateError(error)) return undefined;
    throw error;
  }
}
