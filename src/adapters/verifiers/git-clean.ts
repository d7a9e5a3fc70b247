import * as z from "zod";
import { parseRelativePath } from "../../definition/relative-path.js";
import { hasPlaceholder } from "../../gate/placeholders.js";
import type { Verifier, VerifyResult } from "../../ports/verifier.js";
import { workingFolder } from "../../walls/working-folder.js";
import { defineVerifier } from "./define-verifier.js";
import { findRepository } from "./git-repository.js";
import { type GitHost, withGitView } from "./git-view.js";
import { textParam, wrongParam } from "./parse-params.js";
import type { ProcessResult } from "./run-process.js";
import { outputLines, shownPath } from "./shown-text.js";
import { sha256 } from "./subject.js";

const params = z.strictObject({
  /** The folder that must be clean; the whole project without it. */
  path: textParam.optional(),
  /** Whether files that are neither committed nor ignored count too; true without it. */
  untracked: z.boolean().optional(),
});

const NAME = "git_clean";
const STATUS = ["status", "--porcelain=v1", "-z", "--no-renames", "--ignore-submodules=dirty"];
/** Files named `.gitignore` that are ignored themselves: of all that is ignored, which may be a lot, no more. */
const IGNORES = [
  ...["--no-literal-pathspecs", ...STATUS, "--untracked-files=all", "--ignored=matching"],
  ...["--", ":(glob)**/.gitignore"],
];

/** Whether all files are as the last commit has them. `root` is the project's real path. */
export function gitClean(root: string, host: GitHost | undefined): Verifier {
  return defineVerifier({
    name: NAME,
    params,
    checkParams({ path }) {
      requireGit(NAME, host);
      if (path !== undefined && !hasPlaceholder(path)) parseRelativePath(path);
    },
    async verify({ path = ".", untracked = true }, _, signal) {
      const folder = await workingFolder(root, path);
      const repository = await findRepository(folder);
      if (repository === undefined) return { ok: false, message: "the project lies in no git repository" };
      if (repository.head === undefined)
        return { ok: false, message: "the git repository has no commit that can be read" };
      return withGitView(requireGit(NAME, host), repository, async (git) => {
        // A new index has none of the flags that hide a changed file from git.
        const filled = await git(["read-tree", "HEAD"], folder, signal);
        if (filled.exit !== 0) return notRun(filled);
        const files = `--untracked-files=${untracked ? "all" : "no"}`;
        const status = await git([...STATUS, files, "--", "."], folder, signal);
        if (!isWhole(status)) return notRun(status);
        const ignored = untracked ? await git(IGNORES, folder, signal) : undefined;
        if (ignored !== undefined && !isWhole(ignored)) return notRun(ignored);
        return resultOf(status, [...entriesOf(status), ...hidingIn(ignored)]);
      });
    },
  });
}

/** Throws `INVALID_INPUT` where the host has no git. */
export function requireGit(verifier: string, host: GitHost | undefined): GitHost {
  if (host !== undefined) return host;
  throw wrongParam(verifier, "", "this host has no git");
}

/** What is known where git itself did not get through. */
export function notRun({ exit, stopped, output }: ProcessResult): VerifyResult {
  const why = stopped === undefined ? "could not read the repository" : `was stopped (${stopped})`;
  const lines = outputLines(output.toString("utf8"));
  return { ok: false, message: `git ${why}`, ran: "git", ...(exit === undefined ? {} : { exit }), output: lines };
}

function isWhole({ exit, stopped }: ProcessResult): boolean {
  return exit === 0 && stopped === undefined;
}

function entriesOf({ stdout }: ProcessResult): string[] {
  return stdout
    .toString("utf8")
    .split("\0")
    .filter((entry) => entry !== "");
}

/** What nobody has committed hides nothing, also if it hides itself. */
function hidingIn(ignored: ProcessResult | undefined): string[] {
  return ignored === undefined ? [] : entriesOf(ignored).filter((entry) => /^!! (?:.*\/)?\.gitignore$/s.test(entry));
}

function resultOf({ stdout }: ProcessResult, entries: readonly string[]): VerifyResult {
  const first = entries.slice(0, 5).map((entry) => shownPath(entry.slice(3)));
  const more = entries.length > first.length ? `, and ${entries.length - first.length} more` : "";
  return {
    ok: entries.length === 0,
    message:
      entries.length === 0
        ? "all files are as the last commit has them"
        : `${entries.length} files are not as the last commit has them: ${first.join(", ")}${more}; commit them, or take them away`,
    ran: "git status",
    exit: 0,
    digest: sha256(stdout),
    output: outputLines(entries.join("\n")),
  };
}
