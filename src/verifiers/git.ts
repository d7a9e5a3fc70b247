/**
 * The verifiers of git: `git_clean` (there are no uncommitted files), `git_commit_exists` and `git_tag_exists` (a commit or a tag
 * is in the repository), `git_changes` (the evidence names exactly the files that differ between two commits),
 * `git_clean_since_phase_start` (no file is uncommitted but those that were, as they were) and `git_changed_since_phase_start`
 * (no file has changed but those that the evidence names, committed or not). Git's configuration and uncommitted ignore files
 * can't hide changes; refs are read from the files of the repository.
 */
import * as z from "zod";
import { hasPlaceholder } from "../gate/fill-params.js";
import type { JsonValue } from "../workflow/json.js";
import { parseRelativePath, shown } from "../workflow/names.js";
import { namesIn } from "./committed-files.js";
import { CheckFailed, defineVerifier, type Outcome, recordedState } from "./define-verifier.js";
import {
  commitAt,
  findRepository,
  type GitRepository,
  onRepository,
  output,
  readRef,
  requireAncestor,
  requireIntactTree,
  type WorkTree,
} from "./git-repository.js";
import { isNamedBy, namedFilesParams, plainPath, sinceWords } from "./named-files.js";
import { checkFixedPaths, checkPath, pathsParam, textParam, WrongParam } from "./params.js";
import { outputLines, sha256, shownPath, shownPaths } from "./subject.js";
import { changesBetween, contentsIn, stateOf, stateSchema, uncommittedIn, withoutWritten } from "./uncommitted.js";

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
    if (commit !== undefined && !hasPlaceholder(commit)) commitId(commit, soughtIn(files));
    for (const file of files) checkPath(file);
  },
  verify({ commit, at_head, files = [] }, asked) {
    const sought = soughtIn(files);
    const id = commitId(commit ?? asked.value, sought);
    return onRepository(asked, async (tree, repository) => {
      // A tag leads to a commit too, but with another id.
      const full = await commitAt(tree, id);
      const ran = `git cat-file ${id}`;
      if (full?.startsWith(id) !== true) {
        return { ok: false, message: `${sought}there is no commit ${id} in this repository`, ran };
      }
      if (at_head === true && full !== repository.head) {
        return { ok: false, message: `${full} is not the commit that is checked out, ${repository.head}`, ran };
      }
      if (files.length > 0) await requireIntactTree(tree, full);
      for (const file of files.map(parseRelativePath)) {
        const listed = await output(tree, ["ls-tree", "-z", "--name-only", full, "--", file], {
          cwd: asked.project.root,
        });
        if (listed.length > 0) continue;
        const todo = "commit this file, and send the id of the commit that has it";
        return { ok: false, message: `${full} has no ${shownPath(file)}; ${todo}`, ran };
      }
      const has = files.length === 0 ? "is a commit" : `has ${shownPaths(files)}`;
      return { ok: true, message: `${full} ${has}`, ran };
    });
  },
});

/** Returns the result for the uncommitted files that there should not be. */
function uncommittedResult(paths: readonly string[]): Outcome {
  const rules = paths.some((path) => /(?:^|\/)\.git(?:ignore|attributes)$/i.test(path))
    ? "; the rules in .gitignore and .gitattributes apply once they are committed"
    : "";
  const [files, them] =
    paths.length === 1 ? ["1 uncommitted file", "it"] : [`${paths.length} uncommitted files`, "them"];
  const found = `${files}: ${shownPaths(paths, 5)}; commit or remove ${them}${rules}`;
  return {
    ok: paths.length === 0,
    message: paths.length === 0 ? "no uncommitted files; caches and other products of tools are not counted" : found,
    ran: "git ls-files",
    exit: 0,
    digest: sha256(Buffer.from(paths.join("\0"))),
    output: outputLines(paths.map(shownPath).join("\n")),
  };
}

/** Matches no branch, no tag, no `HEAD~1` and no option. */
const COMMIT = /^[0-9a-f]{7,64}$/i;

/** Says what can't be looked up without the commit: a field with a file may have its commit from another field. */
function soughtIn(files: readonly string[]): string {
  return files.length === 0 ? "" : `${shownPaths(files)} was not looked up: `;
}

/** Returns the id of a commit; `sought` says what is looked for in it. Throws `WrongParam`. */
function commitId(value: unknown, sought = ""): string {
  if (typeof value === "string" && COMMIT.test(value)) return value.toLowerCase();
  const form = "a commit id has 7 to 64 hexadecimal digits; branches and tags are not accepted";
  throw new WrongParam("commit", `${sought}${form}`);
}

export const gitTagExists = defineVerifier({
  about: "A tag is in the repository.",
  params: z.strictObject({
    tag: textParam.optional().describe("The tag's name. Default: the value of the evidence field."),
    at_head: z.boolean().optional().describe("True if it must lead to the commit that is checked out. Default: false."),
  }),
  usesGit: true,
  check({ tag }) {
    if (tag !== undefined && !hasPlaceholder(tag)) refName("tag", tag);
  },
  verify({ tag, at_head }, asked) {
    const name = refName("tag", tag ?? asked.value);
    return onRepository(asked, async (tree, repository) => {
      const ran = `refs/tags/${name}`;
      const object = await readRef(repository.common, ran);
      if (object === undefined) return { ok: false, message: `there is no tag ${name}`, ran };
      const found = await commitAt(tree, object);
      if (found === undefined) return { ok: false, message: `the tag ${name} leads to no commit`, ran };
      const ok = at_head !== true || found === repository.head;
      const message = ok ? `${name} is at ${found}` : `${name} is at ${found}, not at the commit that is checked out`;
      return { ok, message, ran, digest: found };
    });
  },
});

/** The two commits, as they were when the phase was entered: branches and tags can move. */
const rangeSchema = z.strictObject({ base: z.string(), head: z.string() });

export const gitChanges = defineVerifier({
  about: "The evidence names exactly the files that differ between two commits.",
  params: z.strictObject({
    base: textParam.describe(
      "The commit to compare with: an id, a tag or a branch. The changes begin at the last commit that it and `head` have in common.",
    ),
    head: textParam.optional().describe("The commit that they end at. Default: the one that is checked out."),
    since: namedFilesParams.since,
  }),
  usesGit: true,
  check({ base, head }) {
    for (const [param, ref] of Object.entries({ base, head })) {
      if (ref !== undefined && !hasPlaceholder(ref)) refName(param, ref);
    }
  },
  async snapshot({ base, head }, { project }): Promise<JsonValue> {
    const repository = await findRepository(project.root);
    if (repository === undefined) throw new WrongParam("", "the project is not in a git repository");
    const end = head === undefined ? repository.head : await refAt(repository, "head", head);
    if (end === undefined) throw new WrongParam("head", "the repository has no commit");
    return { base: await refAt(repository, "base", base), head: end };
  },
  async verify(_, asked) {
    const range = rangeSchema.safeParse(asked.snapshot);
    if (!range.success) return { ok: false, message: "the commits were not recorded when this phase was entered" };
    const named = namedFiles(asked.value);
    return onRepository(asked, async (tree) => resultOf(named, await changedBetween(tree, range.data), range.data));
  },
});

/** A name of a ref, or the id of a commit. */
const REF = /^[A-Za-z0-9_][\w./+-]{0,199}$/;

function refName(param: string, value: unknown): string {
  if (typeof value === "string" && REF.test(value) && !value.includes("..")) return value;
  throw new WrongParam(param, `${shown(value)} is not the name of a tag, a branch or a commit`);
}

const ID = /^[0-9a-f]{7,64}$/;

/** Returns the object that a name stands for; an id as it is. Throws `WrongParam` if there is none. */
async function refAt(repository: GitRepository, param: string, value: string): Promise<string> {
  const name = refName(param, value);
  for (const group of ["refs/tags", "refs/heads", "refs/remotes"]) {
    const found = await readRef(repository.common, `${group}/${name}`);
    if (found !== undefined) return found;
  }
  if (ID.test(name)) return name;
  throw new WrongParam(param, `there is no tag, branch or commit ${name}`);
}

/** Returns the files that differ between the last common commit and `head`. Throws `CheckFailed`. */
async function changedBetween(tree: WorkTree, range: z.infer<typeof rangeSchema>): Promise<string[]> {
  const [base, head] = [await commitAt(tree, range.base), await commitAt(tree, range.head)];
  const from = base === undefined || head === undefined ? undefined : await commonCommit(tree, base, head);
  if (base === undefined || head === undefined || from === undefined) {
    throw new CheckFailed("the commits have nothing in common, or are not in this repository");
  }
  for (const commit of [base, head]) await requireAncestor(tree, from, commit);
  for (const commit of [from, head]) await requireIntactTree(tree, commit);
  return namesIn(await output(tree, ["diff-tree", "-r", "-z", "--name-only", "--no-renames", from, head]));
}

/** Returns the last common commit of two; undefined if there is none. Throws `CheckFailed`. */
async function commonCommit({ git, failure }: WorkTree, base: string, head: string): Promise<string | undefined> {
  const result = await git(["merge-base", base, head]);
  if (result.stopped !== undefined || result.exit === undefined) throw failure(result);
  return result.exit === 0 ? result.stdout.toString("latin1").trim() : undefined;
}

const fileSchema = z.object({ file: z.string() });

/**
 * Reads a list of paths, or of objects with `file`. Throws `WrongParam`, also for a path that is not written as git writes it:
 * rules compare paths as texts.
 */
function namedFiles(value: JsonValue | undefined): ReadonlySet<string> {
  if (!Array.isArray(value)) throw new WrongParam("", "the evidence must be a list of files");
  return new Set(
    value.map((item) => {
      const object = fileSchema.safeParse(item);
      const file = object.success ? object.data.file : item;
      if (typeof file !== "string") throw new WrongParam("", `${shown(item)} is not a file`);
      const plain = parseRelativePath(file);
      if (plain === file) return file;
      throw new WrongParam("", `write ${shownPath(plain)} in place of ${shownPath(file)}`);
    }),
  );
}

function resultOf(
  named: ReadonlySet<string>,
  changed: readonly string[],
  { base, head }: z.infer<typeof rangeSchema>,
): Outcome {
  const ran = `git diff ${base.slice(0, 12)}...${head.slice(0, 12)}`;
  if (changed.length === 0) return { ok: false, message: `no file differs: ${ran} is empty`, ran };
  const missing = changed.filter((file) => !named.has(file));
  const extra = [...named].filter((file) => !changed.includes(file));
  const wrong = [
    ...told(`${missing.length} of ${changed.length} changed files are missing`, missing),
    ...told("not changed", extra),
  ];
  const message = wrong.length === 0 ? `all ${changed.length} changed files are named` : wrong.join("; ");
  return { ok: wrong.length === 0, message, ran };
}

function told(what: string, files: readonly string[]): string[] {
  return files.length === 0 ? [] : [`${what}: ${shownPaths(files)}`];
}

const sinceParams = z.strictObject({
  path: textParam.optional().describe("The folder that is looked at. Default: the whole project."),
  since: namedFilesParams.since,
});

export const gitCleanSincePhaseStart = defineVerifier({
  about: "No file is uncommitted but those that were when the phase was entered.",
  params: sinceParams,
  keepsSnapshot: true,
  usesGit: true,
  check: ({ path = "." }) => checkFixedPaths([path]),
  snapshot: ({ path }, looking) => stateOf(looking, path),
  async verify({ path, since }, asked) {
    const { files } = recordedState(stateSchema, asked.snapshot);
    const now = await contentsIn(asked, path);
    const other = Object.keys(now).filter((name) => files[name] !== now[name]);
    const result = uncommittedResult(await withoutWritten(asked.project, other));
    const besides = other.length < Object.keys(now).length ? ", besides those from before" : "";
    return { ...result, message: `${result.message}${besides} (${sinceWords({ since }, asked.snapshotTakenAt)})` };
  },
});

/** The evidence field must name all changed files, committed or not, and no other. Without a field none may change. */
export const gitChangedSincePhaseStart = defineVerifier({
  about: "There is a new commit, or other uncommitted files, since the phase was entered.",
  params: sinceParams.extend({
    except: pathsParam.describe("Files, folders and globs that may change without being named. Default: none."),
  }),
  keepsSnapshot: true,
  usesGit: true,
  fixedPaths: ({ except = [] }) => except,
  check: ({ path = "." }) => checkFixedPaths([path]),
  snapshot: ({ path }, looking) => stateOf(looking, path),
  async verify({ path, since, except = [] }, asked) {
    const { value, snapshot, snapshotTakenAt, project } = asked;
    const allowed = except.map(plainPath);
    const { head, files } = recordedState(stateSchema, snapshot);
    const named = value === undefined ? [] : [...namedFiles(value)];
    const differing = changesBetween(files, await contentsIn(asked, path, head));
    const changed = differing.filter((file) => {
      return named.includes(file) || !allowed.some((other) => isNamedBy(other, file));
    });
    const unnamed = await withoutWritten(
      project,
      changed.filter((file) => !named.includes(file)),
    );
    const unchanged = named.filter((file) => !changed.includes(file));
    const words = value === undefined ? "changed" : "changed, but not named";
    const wrong = [...told(words, unnamed), ...told("named, but not changed", unchanged)];
    const may = differing.length === 0 ? "no file has changed" : `changed, as they may: ${shownPaths(differing)}`;
    const found = changed.length === 0 ? may : `changed: ${shownPaths(changed)}`;
    const message = `${wrong.length === 0 ? found : wrong.join("; ")} (${sinceWords({ since }, snapshotTakenAt)})`;
    return { ok: wrong.length === 0, message, ran: "git diff" };
  },
});
