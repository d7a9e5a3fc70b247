/**
 * Creates the built-in verifiers of a project. This is the entry file of the folder.
 *
 * What is decided where:
 * - file-exists.ts, lines.ts, json-value.ts: checks of files, and which places in files count as named
 * - markdown.ts, judge-markdown.ts: which headings count, and which files are plans
 * - changed-since-phase-start.ts: which changes count as work; unchanged-since-phase-start.ts: what counts as a change
 *   at all; named-files.ts: which files both compare
 * - allowed-commands.ts, run-process.ts: which commands run, with which environment and limits
 * - command.ts: when a command has ended as expected
 * - git.ts: commits, tags and changes; committed-files.ts: when a file is as a commit has it; uncommitted.ts: which files are not,
 *   what they were like when a phase was entered, and what the commands of checks have written
 * - git-repository.ts: how git is run, what of a repository it gets, and which of its objects are believed
 * - fails-without.ts, project-copy.ts: whether certain changes make the difference; products.ts: what tools write by themselves
 * - tasks-shown.ts: what shows that a task of a plan is done
 * - tests-kept.ts: what a test is, and when one is weaker than before
 * - http-ok.ts: which servers may be called
 * - subject.ts: which path is checked, and how texts appear in results
 * - define-verifier.ts: which errors of a verifier are problems at the gate, and what of a host a verifier may use
 * - params.ts: which error a wrong parameter is, and which paths must be known when a phase begins; rules.ts: rules in parameters
 */
import { realpath } from "node:fs/promises";
import type { Verifier } from "../ports/verifier.js";
import { withoutFolders } from "../sandbox/refusals.js";
import { openSandbox } from "../sandbox/sandbox.js";
import type { VerifierName } from "../workflow/built-in-verifiers.js";
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
import { type AllowedCommands, findCommand, resolveCommands } from "./allowed-commands.js";
import { changedSincePhaseStart } from "./changed-since-phase-start.js";
import { command } from "./command.js";
import type { BuiltIn, Project, VerifierLimits } from "./define-verifier.js";
import { failsWithout } from "./fails-without.js";
import { directoryExists, fileContains, fileExists, fileMatches } from "./file-exists.js";
import {
  gitChangedSincePhaseStart,
  gitChanges,
  gitClean,
  gitCleanSincePhaseStart,
  gitCommitExists,
  gitTagExists,
} from "./git.js";
import { type AllowedHost, httpOk, readHosts } from "./http-ok.js";
import { jsonValue } from "./json-value.js";
import { lineExists } from "./lines.js";
import { markdownHeadings, planParses } from "./markdown.js";
import { tasksShown } from "./tasks-shown.js";
import { testsKept } from "./tests-kept.js";
import { unchangedSincePhaseStart } from "./unchanged-since-phase-start.js";

/** The files, commands and servers that verifiers may use. */
export interface VerifiersOptions {
  /** The root of all paths. No path may leave it. */
  readonly projectRoot: string;
  /** The commands that `command` may run. Default: none. */
  readonly commands?: AllowedCommands;
  /**
   * The environment of commands; nothing else is inherited. Without a `PATH` they get the folder of their executable,
   * `/usr/bin` and `/bin`; and Python writes no caches unless `PYTHONDONTWRITEBYTECODE` is empty here.
   */
  readonly env?: Readonly<Record<string, string>>;
  /** The servers that `http_ok` may ask. Default: none. */
  readonly hosts?: readonly AllowedHost[];
  /** The absolute path of git. Default: the one on the host's PATH, outside the project. */
  readonly git?: string;
  /** Limits; each has a default. */
  readonly limits?: Partial<VerifierLimits>;
}

export const BUILT_IN: Readonly<Record<VerifierName, BuiltIn>> = {
  file_exists: fileExists,
  directory_exists: directoryExists,
  file_matches: fileMatches,
  file_contains: fileContains,
  markdown_headings: markdownHeadings,
  json_value: jsonValue,
  line_exists: lineExists,
  plan_parses: planParses,
  changed_since_phase_start: changedSincePhaseStart,
  unchanged_since_phase_start: unchangedSincePhaseStart,
  git_clean: gitClean,
  git_clean_since_phase_start: gitCleanSincePhaseStart,
  git_changed_since_phase_start: gitChangedSincePhaseStart,
  git_tag_exists: gitTagExists,
  git_changes: gitChanges,
  git_commit_exists: gitCommitExists,
  command,
  fails_without: failsWithout,
  tasks_shown: tasksShown,
  tests_kept: testsKept,
  http_ok: httpOk,
};

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
  const { projectRoot, env = {}, hosts = [], limits = {} } = options;
  const { commandTimeoutMs = 60_000, maxCommandTimeoutMs = 600_000 } = limits;
  const sandbox = await openSandbox(projectRoot);
  const root = await realpath(projectRoot);
  const path = process.env.PATH ?? "";
  const project: Project = {
    root,
    sandbox,
    limits: {
      maxFileBytes: limits.maxFileBytes ?? MIB,
      maxOutputBytes: limits.maxOutputBytes ?? MIB,
      commandTimeoutMs,
      maxCommandTimeoutMs: Math.max(commandTimeoutMs, maxCommandTimeoutMs),
    },
    commands: await resolveCommands(options.commands ?? [], root, path),
    env,
    hosts: readHosts(hosts),
    git: options.git ?? (await findCommand("git", root, path)),
    written: new Map(),
    withoutRoot: withoutFolders([root, projectRoot]),
  };
  const verifiers = Object.entries(BUILT_IN).map(([name, verifier]) => [name, verifier.of(name, project)]);
  // The keys are those of the table.
  return Object.fromEntries(verifiers) as Record<VerifierName, Verifier>;
}
