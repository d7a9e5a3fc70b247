/**
 * Tells whether git would commit a path. git is not asked: the configuration of a repository can name programs, which git then
 * runs, and a person who has cloned the repository has not read its configuration.
 */
import { homedir } from "node:os";
import { dirname, join, relative, resolve, sep } from "node:path";
import ignore, { type Ignore } from "ignore";
import { isPhasegateError } from "../errors.js";
import { openIfThere } from "../sandbox/sandbox.js";
import type { Roots } from "./places.js";
import { exists, isFolder } from "./project.js";

/** A list of ignored files has some kB. */
const LIST_MAX = 1024 * 1024;

/**
 * Returns true if a path is in a git repository that does not ignore it: by the `.gitignore` of each folder, `.git/info/exclude`
 * and the user's own list. Lists behind links count as empty, as they do for git.
 */
export async function isUnignored(path: string, project: string): Promise<boolean> {
  const repository = await repositoryAround(project);
  if (repository === undefined) return false;
  const whole = resolve(project, path);
  const inside = relative(repository, whole).split(sep).join("/");
  if (inside === "" || inside.startsWith("../")) return false;
  const names = inside.split("/");
  const lists = [await listIn(repository, ".git/info/exclude"), await listIn(homedir(), ".config/git/ignore")];
  // What a list of a deeper folder says counts more. Nothing is looked for in a folder that is ignored.
  const found = lists.flatMap((rules) => (rules === undefined ? [] : [{ below: 0, rules }]));
  for (const depth of names.keys()) {
    const rules = await listIn(join(repository, ...names.slice(0, depth)), ".gitignore");
    if (rules !== undefined) found.unshift({ below: depth, rules });
    const isLast = depth === names.length - 1;
    const end = isLast && !(await isFolder(whole)) ? "" : "/";
    const tested = found.map(({ below, rules: one }) => one.test(`${names.slice(below, depth + 1).join("/")}${end}`));
    if (tested.find(({ ignored, unignored }) => ignored || unignored)?.ignored === true) return false;
  }
  return true;
}

export async function commitsPackages({ root }: Roots): Promise<boolean> {
  return (await exists(join(root, "node_modules"))) && (await isUnignored("node_modules", root));
}

async function repositoryAround(folder: string): Promise<string | undefined> {
  if (await exists(join(folder, ".git"))) return folder;
  return dirname(folder) === folder ? undefined : repositoryAround(dirname(folder));
}

async function listIn(folder: string, path: string): Promise<Ignore | undefined> {
  const sandbox = await openIfThere(folder);
  if (sandbox === undefined || (await sandbox.isLink(path))) return undefined;
  try {
    return ignore({ ignorecase: process.platform !== "linux" }).add(
      (await sandbox.read(path, { maxBytes: LIST_MAX })).text,
    );
  } catch (error) {
    if (isPhasegateError(error)) return undefined;
    throw error;
  }
}
