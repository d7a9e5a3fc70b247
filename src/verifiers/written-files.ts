/**
 * What the commands of checks write into a project themselves, such as a report of its tests: known by comparing the uncommitted
 * files before a command and after it. No check asks for such a file or blames it, as long as it is as a command has left it.
 */
import { join, relative } from "node:path";
import { namesIn, statOf, UNTRACKED } from "./committed-files.js";
import { type Asked, CheckFailed, type Project } from "./define-verifier.js";
import { findRepository, type Looking, output, withGitView } from "./git-repository.js";
import { withoutProducts } from "./products.js";

/** Maximum number of uncommitted files that are compared. */
const FILES_MAX = 5_000;

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

async function workTreeOf(root: string): Promise<string> {
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
