/**
 * Creates the built-in verifiers of a project. This is the entry file of the folder.
 *
 * What is decided where:
 * - file-exists.ts, lines.ts, json-value.ts: checks of files, and which places in files count as named
 * - markdown.ts: which headings count, and which files are plans
 * - changed-since-phase-start.ts: which changes count as work; unchanged-since-phase-start.ts: what counts as a change
 *   at all; named-files.ts: which files both compare
 * - allowed-commands.ts, run-process.ts: which commands run, with which environment and limits
 * - command.ts, command-runs.ts: when a command has ended as expected
 * - git.ts, committed-files.ts: commits and uncommitted files
 * - git-repository.ts: how git is run, and what of a repository it gets; git-objects.ts: which of its objects are believed
 * - fails-without.ts, project-copy.ts: whether certain changes make the difference; products.ts: what tools write by themselves;
 *   written-files.ts: what the commands of checks write
 * - git-state.ts: what is recorded of a repository; git-changes.ts: tags, the files that differ between two commits, and what has changed since a phase was entered
 * - tasks-shown.ts: what shows that a task of a plan is done
 * - tests-kept.ts: what a test is, and when one is weaker than before
 * - http-ok.ts: which servers may be called
 * - subject.ts: which path is checked, and how texts appear in results
 * - define-verifier.ts: which errors of a verifier are problems at the gate, and rules in the parameters of verifiers
 */
import { realpath } from "node:fs/promises";
import { delimiter } from "node:path";
import type { Verifier } from "../ports/verifier.js";
import { withoutFolders } from "../sandbox/refusals.js";
import { openSandbox } from "../sandbox/sandbox.js";
import {
  check,
  checkOptions,
  either,
  fromOne,
  group,
  having,
  type OptionChecks,
  optionally,
  text,
  texts,
} from "../workflow/host-options.js";
import { type AllowedCommands, commandHost, findCommand, resolveCommands } from "./allowed-commands.js";
import { changedSincePhaseStart } from "./changed-since-phase-start.js";
import { command } from "./command.js";
import { loadVerifierRules } from "./define-verifier.js";
import { failsWithout } from "./fails-without.js";
import { directoryExists, fileContains, fileExists, fileMatches } from "./file-exists.js";
import { gitClean, gitCommitExists } from "./git.js";
import { gitChangedSincePhaseStart, gitChanges, gitCleanSincePhaseStart, gitTagExists } from "./git-changes.js";
import { type AllowedHost, httpOk, readHosts } from "./http-ok.js";
import { jsonValue } from "./json-value.js";
import { lineExists } from "./lines.js";
import { markdownHeadings, planParses } from "./markdown.js";
import { tasksShown } from "./tasks-shown.js";
import { testsKept } from "./tests-kept.js";
import { unchangedSincePhaseStart } from "./unchanged-since-phase-start.js";

/** Limits of verifiers. */
export interface VerifierLimits {
  /** Maximum size of a file that is read, in bytes. Default 1 MiB. */
  readonly maxFileBytes: number;
  /** Maximum size of a command's output or a server's answer, in bytes. Default 1 MiB. */
  readonly maxOutputBytes: number;
  /** Maximum time of a command whose gate sets none, in milliseconds. Default 60,000. */
  readonly commandTimeoutMs: number;
  /** Maximum time that a gate may set for a command, in milliseconds. Default 600,000. */
  readonly maxCommandTimeoutMs: number;
}

/** The files, commands and servers that verifiers may use. */
export interface VerifiersOptions {
  /** The root of all paths. No path may leave it. */
  readonly projectRoot: string;
  /** The commands that `command` may run. Default: none. */
  readonly commands?: AllowedCommands;
  /**
   * The environment of commands; nothing else is inherited. Without a `PATH` they get the folder of their executable,
   * `/usr/bin` and `/bin`.
   */
  readonly env?: Readonly<Record<string, string>>;
  /** The servers that `http_ok` may ask. Default: none. */
  readonly hosts?: readonly AllowedHost[];
  /** The absolute path of git. Default: the one on the host's PATH, outside the project. */
  readonly git?: string;
  /** Limits; each has a default. */
  readonly limits?: Partial<VerifierLimits>;
}

/** The names of the built-in verifiers. */
export const VERIFIER_NAMES = [
  "file_exists",
  "directory_exists",
  "file_matches",
  "file_contains",
  "markdown_headings",
  "json_value",
  "line_exists",
  "plan_parses",
  "changed_since_phase_start",
  "unchanged_since_phase_start",
  "git_clean",
  "git_clean_since_phase_start",
  "git_changed_since_phase_start",
  "git_commit_exists",
  "git_tag_exists",
  "git_changes",
  "command",
  "fails_without",
  "tasks_shown",
  "tests_kept",
  "http_ok",
] as const satisfies readonly VerifierName[];

/** The name of a built-in verifier. */
export type VerifierName =
  | "file_exists"
  | "directory_exists"
  | "file_matches"
  | "file_contains"
  | "markdown_headings"
  | "json_value"
  | "line_exists"
  | "plan_parses"
  | "changed_since_phase_start"
  | "unchanged_since_phase_start"
  | "git_clean"
  | "git_clean_since_phase_start"
  | "git_changed_since_phase_start"
  | "git_commit_exists"
  | "git_tag_exists"
  | "git_changes"
  | "command"
  | "fails_without"
  | "tasks_shown"
  | "tests_kept"
  | "http_ok";

const MIB = 2 ** 20;

const LIMITS: OptionChecks<VerifierLimits> = {
  maxFileBytes: optionally(fromOne),
  maxOutputBytes: optionally(fromOne),
  commandTimeoutMs: optionally(fromOne),
  maxCommandTimeoutMs: optionally(fromOne),
};
const CHECKS: OptionChecks<VerifiersOptions> = {
  projectRoot: text,
  commands: optionally(either("a list of commands, or an object of them by name", texts, having(""))),
  env: optionally(having("an object of variables")),
  hosts: optionally(check("a list of servers", Array.isArray)),
  git: optionally(text),
  limits: optionally(group("an object of limits", LIMITS)),
};

/**
 * Creates the verifiers of a project, by the names that gates use.
 *
 * @throws {PhasegateError} `FILE_NOT_FOUND` or `PATH_REFUSED` when there is no such folder.
 * @throws {PhasegateError} `INVALID_INPUT` when a command or a host can't be used.
 */
export async function createVerifiers(options: VerifiersOptions): Promise<Readonly<Record<VerifierName, Verifier>>> {
  checkOptions("createVerifiers", options, CHECKS);
  const { projectRoot, commands = [], env = {}, hosts = [], limits = {} } = options;
  const { maxFileBytes = MIB, maxOutputBytes = MIB } = limits;
  const { commandTimeoutMs: timeoutMs = 60_000, maxCommandTimeoutMs = 600_000 } = limits;
  const sandbox = await openSandbox(projectRoot);
  const root = await realpath(projectRoot);
  const path = process.env.PATH ?? "";
  const maxTimeoutMs = Math.max(timeoutMs, maxCommandTimeoutMs);
  const resolved = await resolveCommands(commands, root, path);
  const withoutRoot = withoutFolders([root, projectRoot]);
  const limited = { timeoutMs, maxTimeoutMs, maxOutputBytes, withoutRoot };
  const host = commandHost(root, { commands: resolved, env, ...limited });
  const executable = options.git ?? (await findCommand("git", root, path));
  const git =
    executable === undefined
      ? undefined
      : {
          executable,
          env: { PATH: ["/usr/bin", "/bin"].join(delimiter) },
          written: new Map<string, string>(),
          ...limited,
        };
  const rules = await loadVerifierRules();
  const withoutPath = (verifier: Verifier) => withoutProjectPath(verifier, withoutRoot);
  return {
    file_exists: withoutPath(fileExists(sandbox, maxFileBytes)),
    directory_exists: withoutPath(directoryExists(sandbox)),
    file_matches: withoutPath(fileMatches(sandbox, maxFileBytes)),
    file_contains: withoutPath(fileContains(sandbox, maxFileBytes)),
    markdown_headings: withoutPath(markdownHeadings(sandbox, maxFileBytes)),
    json_value: withoutPath(jsonValue(sandbox, maxFileBytes, rules)),
    line_exists: withoutPath(lineExists(sandbox, maxFileBytes)),
    plan_parses: withoutPath(planParses(sandbox, maxFileBytes)),
    changed_since_phase_start: withoutPath(changedSincePhaseStart(sandbox)),
    unchanged_since_phase_start: withoutPath(unchangedSincePhaseStart(sandbox)),
    git_clean: withoutPath(gitClean(root, git)),
    git_clean_since_phase_start: withoutPath(gitCleanSincePhaseStart(root, git)),
    git_changed_since_phase_start: withoutPath(gitChangedSincePhaseStart(root, git)),
    git_commit_exists: withoutPath(gitCommitExists(root, git)),
    git_tag_exists: withoutPath(gitTagExists(root, git)),
    git_changes: withoutPath(gitChanges(root, git)),
    command: withoutPath(command(host, rules, git)),
    fails_without: withoutPath(failsWithout({ root, commands: host, git, rules })),
    tests_kept: withoutPath(testsKept(sandbox)),
    tasks_shown: withoutPath(tasksShown(root, sandbox, maxFileBytes, git)),
    http_ok: withoutPath(httpOk({ hosts: readHosts(hosts), maxBytes: maxOutputBytes })),
  };
}

/** Returns a verifier whose results don't show the absolute path of the project. */
function withoutProjectPath(verifier: Verifier, withoutRoot: (text: string) => string): Verifier {
  return {
    ...verifier,
    async verify(request, options) {
      const { message, ran, output, ...rest } = await verifier.verify(request, options);
      return {
        ...rest,
        message: withoutRoot(message),
        ...(ran === undefined ? {} : { ran: withoutRoot(ran) }),
        ...(output === undefined ? {} : { output: output.map(withoutRoot) }),
      };
    },
  };
}
