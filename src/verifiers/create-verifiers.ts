/**
 * Creates the built-in verifiers of a project. This is the entry file of the folder.
 *
 * Rules that are decided in this folder:
 * - file-exists.ts, lines.ts, markdown-headings.ts, json-value.ts: checks of files
 * - changed-since-phase-start.ts: which changes count as work
 * - command.ts, run-process.ts: which commands run, with which environment and limits
 * - git.ts, git-repository.ts, committed-files.ts: commits and uncommitted files
 * - http-ok.ts: which servers may be asked
 * - subject.ts: which path is checked, and how texts appear in results
 * - rules.ts: rules in the parameters of verifiers
 * - define-verifier.ts: how parameters and errors of a verifier are handled
 */
import { realpath } from "node:fs/promises";
import { delimiter } from "node:path";
import type { Verifier } from "../ports/verifier.js";
import { openSandbox } from "../sandbox/sandbox.js";
import { withoutFolders } from "../sandbox/without-folder.js";
import { changedSincePhaseStart } from "./changed-since-phase-start.js";
import { type AllowedCommands, command, commandHost, findCommand, resolveCommands } from "./command.js";
import { directoryExists, fileExists, fileMatches } from "./file-exists.js";
import { gitClean, gitCommitExists } from "./git.js";
import { type AllowedHost, httpOk, readHosts } from "./http-ok.js";
import { jsonValue } from "./json-value.js";
import { markdownHeadings } from "./markdown-headings.js";
import { loadVerifierRules } from "./rules.js";

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

/** What verifiers may read and run. */
export interface VerifiersOptions {
  /** The root of all paths. No path may leave it. */
  readonly projectRoot: string;
  /** The executables that `command` may run. Default: none. */
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

/** The names of the verifiers that phasegate brings along. */
export const VERIFIER_NAMES = [
  "file_exists",
  "directory_exists",
  "file_matches",
  "markdown_headings",
  "json_value",
  "changed_since_phase_start",
  "git_clean",
  "git_commit_exists",
  "command",
  "http_ok",
] as const;

/** The verifiers that phasegate brings along. */
export type VerifierName = (typeof VERIFIER_NAMES)[number];

const MIB = 2 ** 20;

/**
 * Creates the verifiers of a project, by the names that gates use.
 *
 * @throws {PhasegateError} `FILE_NOT_FOUND` or `PATH_REFUSED` when there is no such folder.
 * @throws {PhasegateError} `INVALID_INPUT` when a command or a host can't be used.
 */
export async function createVerifiers(options: VerifiersOptions): Promise<Readonly<Record<VerifierName, Verifier>>> {
  const { projectRoot, commands = [], env = {}, hosts = [], limits = {} } = options;
  const { maxFileBytes = MIB, maxOutputBytes = MIB } = limits;
  const { commandTimeoutMs: timeoutMs = 60_000, maxCommandTimeoutMs = 600_000 } = limits;
  const wall = await openSandbox(projectRoot);
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
      : { executable, env: { PATH: ["/usr/bin", "/bin"].join(delimiter) }, ...limited };
  const rules = await loadVerifierRules();
  const told = (verifier: Verifier) => withoutPlace(verifier, withoutRoot);
  return {
    file_exists: told(fileExists(wall, maxFileBytes)),
    directory_exists: told(directoryExists(wall)),
    file_matches: told(fileMatches(wall, maxFileBytes)),
    markdown_headings: told(markdownHeadings(wall, maxFileBytes)),
    json_value: told(jsonValue(wall, maxFileBytes, rules)),
    changed_since_phase_start: told(changedSincePhaseStart(wall)),
    git_clean: told(gitClean(root, git)),
    git_commit_exists: told(gitCommitExists(root, git)),
    command: told(command(host, rules)),
    http_ok: told(httpOk({ hosts: readHosts(hosts), maxBytes: maxOutputBytes })),
  };
}

/** Returns a verifier in whose results the project's place on this machine doesn't stand, whoever has brought it in. */
function withoutPlace(verifier: Verifier, withoutRoot: (text: string) => string): Verifier {
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
