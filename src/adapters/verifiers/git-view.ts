import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { devNull, tmpdir } from "node:os";
import { join } from "node:path";
import type { GitRepository } from "./git-repository.js";
import { type ProcessResult, runProcess } from "./run-process.js";

/** How git is run. */
export interface GitHost {
  /** The absolute path of git. */
  readonly executable: string;
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly maxOutputBytes: number;
  /** A text in which the project's place on this machine doesn't stand. */
  withoutRoot(text: string): string;
}

/** Runs git on a repository; `cwd` is a folder of its work tree. */
export type RunGit = (args: readonly string[], cwd: string, signal: AbortSignal) => Promise<ProcessResult>;

/** How much git may write where it lists files: some 500,000 of them. */
const LISTING_MAX = 64 * 2 ** 20;

/** In case that a version of git comes to other settings in ways that this one doesn't know. */
const HARDENED = [
  "--no-pager",
  "--no-optional-locks",
  ...["core.fsmonitor=false", `core.hooksPath=${devNull}`, "core.untrackedCache=false", "protocol.allow=never"].flatMap(
    (setting) => ["-c", setting],
  ),
];

/**
 * Looks at a repository without its configuration. Settings in `.git/config` (`core.fsmonitor`, filters,
 * lazy fetches, hooks) name commands that git runs even to answer `status`, `core.worktree` and the
 * index's flags make it look elsewhere, and who works in a project can write them all. So git is given a
 * folder of its own, with our configuration, an empty index and HEAD by its hash, and of the repository
 * nothing but its objects and its files.
 */
export async function withGitView<T>(
  host: GitHost,
  { workTree, objects, head }: GitRepository,
  use: (git: RunGit) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "phasegate-git-"));
  try {
    await Promise.all([mkdir(join(folder, "objects")), mkdir(join(folder, "refs"))]);
    await writeFile(join(folder, "HEAD"), `${head ?? "ref: refs/heads/none"}\n`);
    await writeFile(join(folder, "config"), configuration(head));
    const env = {
      ...host.env,
      HOME: folder,
      XDG_CONFIG_HOME: folder,
      LC_ALL: "C",
      GIT_DIR: folder,
      GIT_WORK_TREE: workTree,
      GIT_OBJECT_DIRECTORY: objects,
      GIT_INDEX_FILE: join(folder, "index"),
      GIT_CONFIG_NOSYSTEM: "1",
      GIT_CONFIG_GLOBAL: devNull,
      GIT_ATTR_NOSYSTEM: "1",
      GIT_NO_LAZY_FETCH: "1",
      GIT_NO_REPLACE_OBJECTS: "1",
      GIT_LITERAL_PATHSPECS: "1",
      GIT_TERMINAL_PROMPT: "0",
    };
    const { executable, timeoutMs } = host;
    const maxOutputBytes = Math.max(host.maxOutputBytes, LISTING_MAX);
    return await use((args, cwd, signal) =>
      runProcess({ executable, args: [...HARDENED, ...args], cwd, env, timeoutMs, maxOutputBytes, signal }),
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The length of a hash tells which kind of objects a repository has. */
function configuration(head: string | undefined): string {
  const core = (version: number) => `[core]\n\trepositoryFormatVersion = ${version}\n\tbare = false\n`;
  return head?.length === 64 ? `${core(1)}[extensions]\n\tobjectFormat = sha256\n` : core(0);
}
