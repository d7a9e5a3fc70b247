import * as z from "zod";
import { hasPlaceholder } from "../../gate/placeholders.js";
import type { Verifier } from "../../ports/verifier.js";
import { defineVerifier } from "./define-verifier.js";
import { notRun, requireGit } from "./git-clean.js";
import { findRepository } from "./git-repository.js";
import { type GitHost, withGitView } from "./git-view.js";
import { textParam, wrongParam } from "./parse-params.js";

const params = z.strictObject({
  /** The id of a commit in hexadecimal digits, 7 at least; the value of the evidence field without it. */
  commit: textParam.optional(),
});

const NAME = "git_commit_exists";
/** No branch, no tag, no `HEAD~1`, and above all no option. */
const COMMIT = /^[0-9a-f]{7,64}$/i;

/** Whether a commit is in the repository. `root` is the project's real path. */
export function gitCommitExists(root: string, host: GitHost | undefined): Verifier {
  return defineVerifier({
    name: NAME,
    params,
    checkParams({ commit }) {
      requireGit(NAME, host);
      if (commit !== undefined && !hasPlaceholder(commit)) commitId(commit);
    },
    async verify({ commit }, { value }, signal) {
      const id = commitId(commit ?? value);
      const repository = await findRepository(root);
      if (repository === undefined) return { ok: false, message: "the project lies in no git repository" };
      const gitHost = requireGit(NAME, host);
      return withGitView(gitHost, repository, async (git) => {
        const found = await git(["rev-parse", "--verify", "--quiet", `${id}^{commit}`], root, signal);
        if (found.exit === undefined || found.stopped !== undefined) return notRun(gitHost, found);
        // A tag leads to a commit too, whose id is another one.
        const full = found.stdout.toString("utf8").trim();
        const ok = found.exit === 0 && full.startsWith(id);
        const message = ok ? `${full} is a commit` : `there is no commit ${id} in this repository`;
        return { ok, message, ran: `git rev-parse ${id}^{commit}`, exit: found.exit };
      });
    },
  });
}

function commitId(value: unknown): string {
  if (typeof value === "string" && COMMIT.test(value)) return value.toLowerCase();
  throw wrongParam(NAME, "commit", "the id of a commit has 7 to 64 hexadecimal digits; no branch and no tag is taken");
}
