/**
 * The list of commands that a host allows, and what they get of its environment. Names are looked up outside the project, where
 * an agent can't replace them.
 */
import { constants } from "node:fs";
import { access, realpath, stat } from "node:fs/promises";
import { basename, delimiter, dirname, isAbsolute, join } from "node:path";
import { PhasegateError } from "../errors.js";
import { hasPlaceholder } from "../gate/fill-params.js";
import { isInside } from "../sandbox/resolve.js";
import { orNearest, shown } from "../workflow/names.js";
import type { CommandLine, Commands, Project } from "./define-verifier.js";
import { errorOf, WrongParam } from "./params.js";
import { shownCommand } from "./subject.js";

/**
 * The commands that gates may run. An executable is allowed with any arguments that a gate gives it: by a name, which is
 * looked up on the host's PATH when the verifiers are created, by an absolute path, or by a name with an absolute path. A
 * name with blanks, such as `npm test`, allows this command with exactly these arguments; the options of a session may
 * choose among such commands.
 */
export type AllowedCommands = readonly string[] | Readonly<Record<string, string>>;

/**
 * Returns the absolute path of each allowed command. A name is never looked up in the project, where an agent could
 * replace it; an absolute path is used as the host gives it. Throws `WrongParam`.
 */
export async function resolveCommands(allowed: AllowedCommands, root: string, path: string): Promise<Commands> {
  const entries = Array.isArray(allowed) ? allowed.map((name: string) => [name, name]) : Object.entries(allowed);
  const executables = new Map<string, string>();
  const lines = new Map<string, CommandLine>();
  for (const [name = "", place = ""] of entries) {
    // A path may contain blanks, too.
    const isPath = isAbsolute(name) && (await executable(name)) !== undefined;
    const words = isPath ? [name] : allowedWords(name);
    const target = place === name ? (words[0] ?? "") : place;
    const found = isAbsolute(target) ? await executable(target) : await findCommand(target, root, path);
    if (found === undefined) throw noCommand(isPath ? name : programOf(name));
    if (words.length < 2) executables.set(name, found);
    else lines.set(JSON.stringify(words), { words, executable: found });
  }
  return { executables, lines };
}

function allowedWords(name: string): readonly string[] {
  try {
    return wordsOf("commands", name, programOf(name));
  } catch (error) {
    throw errorOf("command", error);
  }
}

/** Returns the program of a command line, as far as it can be printed: its arguments, or a variable before it, may be secrets. */
function programOf(line: string): string {
  return /^[^\s=]*/.exec(line.trimStart())?.[0] ?? "";
}

/** Characters with a meaning for a shell, which does not run here. */
const SHELL = /[&|;<>$`\\()]/;

/**
 * Splits a command line at its blanks. Quotes keep a word with blanks together; there are no other rules of a shell.
 * Throws `WrongParam`, which names the line by `name`.
 */
function wordsOf(param: string, line: string, name = line): readonly string[] {
  const words = line.match(/(?:[^\s"']|"[^"]*"|'[^']*')+/g) ?? [];
  const plain = line.replaceAll(/"[^"]*"|'[^']*'/g, "");
  if (/["']/.test(plain)) throw new WrongParam(param, `${shown(name)} has a quotation mark without its partner`);
  if (SHELL.test(plain)) {
    throw new WrongParam(param, `${shown(name)} needs a shell, and there is none: put it into a script, and run that`);
  }
  if (words.length === 0) throw new WrongParam(param, "the command is empty");
  return words.map((word) => word.replaceAll(/"([^"]*)"|'([^']*)'/g, "$1$2"));
}

/** Returns the absolute path of a command on a PATH, outside the project; undefined if there is none. */
export async function findCommand(name: string, root: string, path: string): Promise<string | undefined> {
  if (name === "" || basename(name) !== name) return undefined;
  for (const folder of path.split(delimiter)) {
    if (!isAbsolute(folder)) continue;
    const found = await executable(join(folder, name));
    if (found !== undefined && !isInside(root, await realpath(folder)) && !isInside(root, await realpath(found))) {
      return found;
    }
  }
  return undefined;
}

/** A command in the parameters of a verifier: as a list, or as one text. */
interface CommandParams {
  readonly argv?: readonly string[];
  readonly line?: string;
}

/** Throws `WrongParam` for a command that can't be run. Placeholders may still be there. */
export function checkCommand({ argv, line }: CommandParams, project: Project): void {
  if ((argv === undefined) === (line === undefined)) throw new WrongParam("argv", "give either argv or line");
  if (argv !== undefined) executableOf(argv, project);
  else if (line !== undefined && !hasPlaceholder(line)) lineOf(line, project);
  else if (line !== undefined && !/^\{options\.[\w-]+\}$/.test(line)) {
    throw new WrongParam("line", "it is a command, or one option: {options.NAME}");
  }
}

export function commandOf({ argv, line = "" }: CommandParams, project: Project): CommandLine {
  const found = argv === undefined ? lineOf(line, project) : { words: argv, executable: executableOf(argv, project) };
  if (found.words.some((word) => word.includes("\0"))) {
    throw new WrongParam(argv === undefined ? "line" : "argv", "an argument contains a NUL character");
  }
  return found;
}

function executableOf(argv: readonly string[], { commands: { executables, lines } }: Project): string {
  const [name = ""] = argv;
  if (hasPlaceholder(name)) throw new WrongParam("argv", "the command itself can't be a placeholder");
  const executable = executables.get(name) ?? lines.get(JSON.stringify(argv))?.executable;
  if (executable !== undefined) return executable;
  const list = [...executables.keys(), ...[...lines.values()].map(({ words }) => shownCommand(words))].join(", ");
  const meant = orNearest(name, executables.keys(), (near) => `'${near}'`);
  const reason = `${shown(name)} is not on the host's list of commands (${list || "none"})${meant}`;
  throw new WrongParam("argv", `${reason}${howTo(name)}`);
}

/** Returns the command that the host allows as a whole: an executable with any arguments is not enough. */
function lineOf(line: string, { commands: { executables, lines } }: Project): CommandLine {
  const words = wordsOf("line", line);
  const [only = "", ...others] = words;
  const executable = others.length === 0 && !runsNothingAlone(only) ? executables.get(only) : undefined;
  const found = executable === undefined ? lines.get(JSON.stringify(words)) : { words, executable };
  if (found !== undefined) return found;
  const alone = [...executables.keys()].filter((name) => !runsNothingAlone(name));
  const list = [...lines.values()].map(({ words }) => shownCommand(words)).concat(alone);
  const flag = /^[\w@%+=:,./ -]{1,120}$/.test(line) ? ` (phasegate serve: --allow-command "${line}")` : "";
  const exactly = `it allows exactly these, with no other arguments: ${list.join(", ") || "none"}`;
  throw new WrongParam("line", `${shown(line)} is not a command that the host allows; ${exactly}${flag}`);
}

/** The programs that read a script from an empty input if they are given none, and succeed. */
const INTERPRETERS =
  /^(?:node|deno|bun|python[\d.]*|py|pypy[\d.]*|ruby|irb|perl|php|lua|Rscript|sh|bash|zsh|fish|dash|ksh|pwsh)$/;

/** Returns true for a command that checks nothing without arguments. A gate may name it with a script of its own. */
function runsNothingAlone(name: string): boolean {
  return INTERPRETERS.test(basename(name).replace(/\.exe$/i, ""));
}

async function executable(path: string): Promise<string | undefined> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile() ? path : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the flag that allows a command; nothing for a name that can't be one. */
function howTo(name: string): string {
  return /^[\w.+-]{1,60}$/.test(name) ? ` (phasegate serve: --allow-command ${name})` : "";
}

/** Returns a PATH with the executable's folder, because scripts such as `npm` call their neighbours, and the system's. */
export function minimalPath(executable: string): string {
  const system = process.platform === "win32" ? [] : ["/usr/bin", "/bin"];
  return [...new Set([dirname(executable), ...system])].join(delimiter);
}

function noCommand(name: string): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", `there is no executable command '${name}'`, {
    remedy: "List commands by a name on the host's PATH, outside the project, or by an absolute path.",
    details: { field: "commands", expected: "the name or the absolute path of an executable" },
  });
}
