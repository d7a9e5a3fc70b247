/**
 * Options that several commands have, the checks of their values, and the files and folders that they name. A wrong value ends the
 * command with exit code 2, a missing file or folder with 3. The sessions, the workflows and the project that no option and no
 * variable names are those of the project around the current folder, if `phasegate init` has set it up. An option alone names the
 * commands that gates may run.
 */
import { readFile, stat } from "node:fs/promises";
import { createRequire } from "node:module";
import { delimiter, dirname, join, relative, resolve } from "node:path";
import process from "node:process";
import { type Command, InvalidArgumentError } from "commander";
import type { SessionChoice } from "../phased/log-copy.js";
import { LIVING } from "../phased/options.js";
import { linkIn } from "../sandbox/change.js";
import {
  argument,
  flag,
  type Given,
  parsed,
  preset,
  repeated,
  repeatedChoice,
  text,
  type Values,
  wholeNumber,
} from "./command.js";
import { CommandFailure, EXIT } from "./exit-codes.js";
import { printable, type Terminal } from "./terminal.js";

/** Splits what a variable says of several folders at ':' (';' on Windows): only the command line can repeat it. */
export function splitVariables(command: Command): void {
  for (const option of command.options) {
    const name = option.attributeName();
    if (!option.variadic || command.getOptionValueSource(name) !== "env") continue;
    const joined: readonly string[] = command.getOptionValue(name);
    const folders = joined.flatMap((folder) => folder.split(delimiter)).filter((folder) => folder !== "");
    command.setOptionValueWithSource(name, folders, "env");
  }
}

export function workflowsOption(description = "folders of phased workflows"): Given<readonly string[] | undefined> {
  return parsed("--workflows <dir...>", description, repeated).env("PHASEGATE_WORKFLOWS");
}

export function routedOption(): Given<string | undefined> {
  return text("--routed <dir>", "folder of routed workflows").env("WORKFLOW_DEFINITIONS_DIR");
}

/** Returns `--state`. A password in the environment variable appears in no list of processes. */
export function stateOption(): Given<string | undefined> {
  const where = "where the sessions are: a folder, sqlite:FILE, postgres://… or module:FILE";
  return text("--state <where>", where).env("PHASEGATE_STATE");
}

export function approversOption(): Given<string | undefined> {
  const what = 'a JSON file of approvers: {"name": "ed25519:…"}; passkeys are in it, too';
  return text("--approvers <file>", what).env("PHASEGATE_APPROVERS");
}

export function sessionArgument() {
  return argument("<session>", "id of the session, or the end of it, as `phasegate sessions` lists it");
}

export function sessionsArgument<const F extends "<session...>" | "[session...]">(flags: F) {
  return argument(flags, "ids of the sessions, or the ends of them, as `phasegate sessions` lists them");
}

export function startersOption(): Given<true | undefined> {
  return flag("--starters", "the workflows that come with phasegate: bug_fix, plan_execution, …");
}

/** Returns a folder of this package. It is found by the package's name: the path differs from build to build. */
export function packageFolder(name: string): string {
  return join(dirname(createRequire(import.meta.url).resolve("phasegate/package.json")), name);
}

export function startersFolder(): string {
  return packageFolder("starters");
}

/** Returns the folders of phased workflows in their order: of two workflows of the same type, that of the first counts. */
export function workflowFolders(given: {
  readonly workflows?: readonly string[] | undefined;
  readonly starters?: true | undefined;
}): string[] {
  return [...(given.workflows ?? []), ...(given.starters ? [startersFolder()] : [])];
}

export function jsonOption(): Given<true | undefined> {
  return flag("--json", "print JSON");
}

export function includeRootOption(): Given<readonly string[] | undefined> {
  const which =
    "folders that routed workflows may include files from, relative to the folder of workflows; '.' for that folder";
  return parsed("--include-root <folder...>", which, repeated);
}

/** Returns the absolute path. Messages call the folder `what`. */
export async function requireFolder(path: string, what: string): Promise<string> {
  const folder = resolve(path);
  const found = await stat(folder).catch((cause: unknown) => unreadable(folder, what, cause));
  if (found.isDirectory()) return folder;
  throw new CommandFailure(`${what} is not a folder: ${folder}`, EXIT.environment, "Name a folder.");
}

/** A file that others can read is not secret, and is refused. */
export async function readSecret(file: string, what: string): Promise<string> {
  const failed = (cause: unknown) => unreadable(file, what, cause);
  const { mode } = await stat(file).catch(failed);
  // Windows has no such bits: its access lists say who may read a file.
  if (process.platform !== "win32" && (mode & 0o077) !== 0) {
    const hint = `Run chmod 600 ${file} first.`;
    throw new CommandFailure(`${what} can be read by others: ${file}`, EXIT.environment, hint);
  }
  return readFile(file, "utf8").catch(failed);
}

/** Returns undefined if the file is not JSON. */
export async function readJsonFile(file: string, what: string): Promise<unknown> {
  return jsonIn(await readFile(file, "utf8").catch((cause: unknown) => unreadable(file, what, cause)));
}

/** Returns undefined if a text is not JSON. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function unreadable(file: string, what: string, cause: unknown): never {
  throw new CommandFailure(`${what} can't be read: ${file}`, EXIT.environment, "Check the path.", { cause });
}

export function filterOptions() {
  return {
    session: parsed("--session <id>", "only this session, by its id or the end of it; may be repeated", repeated),
    status: repeatedChoice("--status <status>", "only sessions of this status", LIVING),
    workflow: text("--workflow <type>", "only sessions on this workflow"),
    target: text("--target <path>", "only sessions on this target"),
  };
}
export type FilterOptions = Values<ReturnType<typeof filterOptions>>;

/** If ids are given, the filters are ignored. `meant` returns the whole id for one that is given. */
export async function choiceOf(
  { session, status, workflow, target }: FilterOptions,
  meant: (given: string) => string | Promise<string>,
): Promise<SessionChoice> {
  if (session !== undefined) {
    const sessionIds: string[] = [];
    for (const given of session) sessionIds.push(await meant(given));
    return { sessionIds };
  }
  return { query: { status, workflowType: workflow, target } };
}

/** An option for a number. Its variable has the name of the option. */
export function limit(flags: string, description: string, value: number, least = 1): Given<number> {
  const option = parsed(flags, description, wholeNumber(least));
  const variable = option.name().replaceAll("-", "_").toUpperCase();
  return preset(option.env(`PHASEGATE_${variable}`), value);
}

/** A denial needs them as well as the server. */
export function attemptOptions() {
  return {
    maxAttempts: limit("--max-attempts <n>", "failures in a row before a session fails", 3),
    maxAttemptsTotal: limit("--max-attempts-total <n>", "total failures at one phase before a session fails", 12),
  };
}

/** 0 stands for any free port. */
export function port(value: string): number {
  const number = wholeNumber(0)(value);
  if (number < 65_536) return number;
  throw new InvalidArgumentError("It must be less than 65536; 0 picks any free port.");
}

/** A project that init has set up, with absolute paths. */
export interface OwnProject {
  readonly root: string;
  readonly state: string;
  readonly workflows?: string;
}

/** Finds the project that init has set up in the current folder, or in the nearest folder above it. */
export async function findOwnProject(): Promise<OwnProject | undefined> {
  // Loaded here: most commands are given --state.
  const [setup, { STATE, WORKFLOWS }] = await Promise.all([
    import("../setup/project.js"),
    import("../setup/places.js"),
  ]);
  const found = await setup.findOwnProject(process.cwd());
  if (found === undefined) return undefined;
  const { root } = found;
  const workflows = join(root, WORKFLOWS);
  const hasWorkflows = (await stat(workflows).catch(() => undefined))?.isDirectory() === true;
  return { root, state: join(root, STATE), workflows: hasWorkflows ? workflows : undefined };
}

/** Refuses a path in a project that goes through a link: the project's maker would decide what is written where. */
export function refuseLinkedState(project: string, path: string, option = "--state"): void {
  const link = linkIn(project, path);
  if (link === undefined) return;
  const hint = `If you have made the link, give ${option} the place where it leads; if not, delete it.`;
  const message = `the folder of ${option} is refused: ${link} in the project is a link`;
  throw new CommandFailure(message, EXIT.environment, hint);
}

/** Lets a command without its `--state` work on the project of the current folder, and prints which one that is. */
export async function useOwnProject(program: Command, args: readonly string[], terminal: Terminal): Promise<void> {
  const command = program.commands.find((one) => one.name() === args[0]);
  // A graph may be of a workflow that is given by its folder.
  const isOfProject =
    command?.name() === "graph" && !args.some((arg) => /^--(?:workflows|starters|routed)(?:=|$)/.test(arg));
  const needs =
    command?.options.some(({ long, mandatory }) => long === "--state" && (mandatory || isOfProject)) === true;
  const isGiven = process.env.PHASEGATE_STATE !== undefined || args.some((arg) => /^--state(?:=|$)/.test(arg));
  if (command === undefined || !needs || isGiven) return;
  const project = await findOwnProject();
  if (project === undefined) return;
  refuseLinkedState(project.root, relative(project.root, project.state));
  const takesPacks = command.options.some(({ long }) => long === "--pack");
  const packs = takesPacks ? await (await import("./open-packs.js")).packsOf(project.root) : [];
  useProject(command, project, packs, terminal);
}

/** Options and variables win. If the sessions are elsewhere, the workflows and the project are not assumed to be here. */
function useProject(
  command: Command,
  { root, state, workflows }: OwnProject,
  pack: readonly string[],
  { stderr }: Terminal,
): void {
  command.setOptionValueWithSource("state", state, "config");
  command.hook("preAction", () => {
    if (command.getOptionValueSource("state") !== "config") return;
    for (const [name, value] of Object.entries({ project: root, workflows: workflows && [workflows], pack })) {
      const has = command.options.some((option) => option.attributeName() === name);
      if (has && command.getOptionValue(name) === undefined) command.setOptionValueWithSource(name, value, "config");
    }
    stderr.write(`phasegate: the project is ${printable(root)}\n`);
  });
}
