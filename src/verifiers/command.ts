/**
 * The verifier `command`, and the list of executables that a host allows. Names are looked up outside the project,
 * where an agent can't replace them.
 */
import { constants } from "node:fs";
import { access, realpath, stat } from "node:fs/promises";
import { basename, delimiter, dirname, isAbsolute, join } from "node:path";
import * as z from "zod";
import { PhasegateError } from "../errors.js";
import { hasPlaceholder } from "../gate/fill-params.js";
import type { Verifier, VerifyResult } from "../ports/verifier.js";
import { isInside } from "../sandbox/resolve.js";
import { workingFolder } from "../sandbox/sandbox.js";
import type { JsonObject } from "../workflow/json.js";
import { orNearest, parseRelativePath, shown } from "../workflow/names.js";
import { COMMAND_VARIABLES, defineVerifier, textParam, type VerifierRules, wrongParam } from "./define-verifier.js";
import { checkPattern, countMatches, isOftenEnough, linesOf, patternParams } from "./lines.js";
import { type ProcessResult, runProcess } from "./run-process.js";
import { harmless, outputLines, sha256, shownCommand, shownPath, withoutEscapes } from "./subject.js";

/** The commands that the host allows. */
interface Commands {
  /** Absolute paths of executables, by the names that gates may use; gates choose the arguments. */
  readonly executables: ReadonlyMap<string, string>;
  /** Commands with all of their arguments, by their words as JSON. */
  readonly lines: ReadonlyMap<string, CommandLine>;
}

/** A command with all of its arguments. */
interface CommandLine {
  readonly words: readonly string[];
  readonly executable: string;
}

/** The commands that the host allows, and their limits. */
interface CommandHost {
  /** The real path of the project. */
  readonly root: string;
  readonly commands: Commands;
  readonly timeoutMs: number;
  readonly maxTimeoutMs: number;
  readonly maxOutputBytes: number;
  /** Returns the whole environment of a command. */
  environmentFor(executable: string): Record<string, string>;
  /** Returns a text without the absolute path of the project. */
  withoutRoot(text: string): string;
}

const NAME = "command";

/** A check of a command's output: a pattern and its number of matches, or a rule. */
const outputParams = z
  .strictObject({
    ...patternParams,
    pattern: patternParams.pattern.optional(),
    with: textParam
      .optional()
      .describe("The name of an evidence field: only lines that contain its value count. Default: all lines."),
    rule: textParam
      .optional()
      .describe("A rule in CEL that must hold, with the variables `output` (a text), `exit` and `evidence`."),
  })
  .transform((params, context) => {
    const { rule, pattern, ...counts } = params;
    if (rule === undefined && pattern !== undefined) return { pattern, ...counts };
    if (rule !== undefined && Object.keys(params).length === 1) return { rule };
    const message = "output needs a pattern, with or without its number of matches, or a rule and nothing else";
    context.addIssue({ code: "custom", message });
    return z.NEVER;
  });

export const params = z.strictObject({
  argv: z
    .array(z.string())
    .min(1)
    .max(1000)
    .optional()
    .describe("The command and its arguments, one element each. There is no shell."),
  line: textParam
    .optional()
    .describe("A command with its arguments as one text, in place of `argv`. The host must allow exactly this one."),
  cwd: textParam.optional().describe("The working folder, inside the project. Default: the root of the project."),
  exit: z
    .union([z.int().min(0).max(255), z.literal("nonzero")])
    .optional()
    .describe("The expected exit code; `nonzero` for any other than 0. Default: 0."),
  timeout_ms: z
    .int()
    .min(1)
    .optional()
    .describe("Time limit in milliseconds, up to the host's maximum. Default: the host's, 60,000 if it sets none."),
  output: z
    .union([outputParams, z.array(outputParams).min(1).max(20)])
    .optional()
    .describe("The checks of its output, one or several: a pattern, with or without its number of matches, or a rule."),
  allow_options: z
    .boolean()
    .optional()
    .describe("True if an argument that is filled from evidence may be an option (`-…`). Default: false."),
});

/** Checks how a command ends and what it writes. Only commands on the host's list are run. */
export function command(host: CommandHost, rules: VerifierRules): Verifier {
  return defineVerifier({
    name: NAME,
    params,
    verbatim: ["output"],
    checkParams(given) {
      checkCommand(given, host);
      if (given.cwd !== undefined && !hasPlaceholder(given.cwd)) parseRelativePath(given.cwd);
      if ((given.timeout_ms ?? 0) > host.maxTimeoutMs) {
        throw wrongParam(NAME, "timeout_ms", `the host allows ${host.maxTimeoutMs} ms`);
      }
      for (const output of outputsOf(given)) checkOutput(output, rules);
    },
    async verify(given, { evidence }, signal) {
      const { words, executable } = commandOf(given, host);
      const result = await runProcess({
        executable,
        args: words.slice(1),
        cwd: await workingFolder(host.root, given.cwd ?? "."),
        env: host.environmentFor(executable),
        timeoutMs: given.timeout_ms ?? host.timeoutMs,
        maxOutputBytes: host.maxOutputBytes,
        signal,
      });
      const text = host.withoutRoot(result.output.toString("utf8"));
      let wrong = faultOfEnd(result, given, host);
      const variables = { output: text, exit: result.exit ?? 0, evidence };
      for (const output of outputsOf(given)) wrong ??= await judgeOutput(output, variables, rules, signal);
      return resultOf(words, result, host.withoutRoot(withoutEscapes(text)), wrong);
    },
  });
}

/** The host's options. */
interface CommandHostOptions {
  readonly commands: Commands;
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly maxTimeoutMs: number;
  readonly maxOutputBytes: number;
  withoutRoot(text: string): string;
}

/** Returns the host of commands for a project. `root` is a real path. */
export function commandHost(root: string, options: CommandHostOptions): CommandHost {
  const { env } = options;
  return {
    ...options,
    root,
    environmentFor: (executable) => ({ PATH: minimalPath(executable), ...env }),
  };
}

/**
 * The commands that gates may run. An executable is allowed with any arguments that a gate gives it: by a name, which is
 * looked up on the host's PATH when the verifiers are created, by an absolute path, or by a name with an absolute path. A
 * name with blanks, such as `npm test`, allows this command with exactly these arguments; the options of a session may
 * choose among such commands.
 */
export type AllowedCommands = readonly string[] | Readonly<Record<string, string>>;

/**
 * Returns the absolute path of each allowed command. A name is never looked up in the project, where an agent could
 * replace it; an absolute path is used as the host gives it. Throws `INVALID_INPUT`.
 */
export async function resolveCommands(allowed: AllowedCommands, root: string, path: string): Promise<Commands> {
  const entries = Array.isArray(allowed) ? allowed.map((name: string) => [name, name]) : Object.entries(allowed);
  const executables = new Map<string, string>();
  const lines = new Map<string, CommandLine>();
  for (const [name = "", place = ""] of entries) {
    // A path may contain blanks, too.
    const isPath = isAbsolute(name) && (await executable(name)) !== undefined;
    const words = isPath ? [name] : wordsOf("commands", name);
    const target = place === name ? (words[0] ?? "") : place;
    const found = isAbsolute(target) ? await executable(target) : await findCommand(target, root, path);
    if (found === undefined) throw noCommand(name);
    if (words.length < 2) executables.set(name, found);
    else lines.set(JSON.stringify(words), { words, executable: found });
  }
  return { executables, lines };
}

/** Characters with a meaning for a shell, which does not run here. */
const SHELL = /[&|;<>$`\\()]/;

/**
 * Splits a command line at its blanks. Quotes keep a word with blanks together; there are no other rules of a shell.
 * Throws `INVALID_INPUT`.
 */
function wordsOf(param: string, line: string): readonly string[] {
  const words = line.match(/(?:[^\s"']|"[^"]*"|'[^']*')+/g) ?? [];
  const plain = line.replaceAll(/"[^"]*"|'[^']*'/g, "");
  if (/["']/.test(plain)) throw wrongParam(NAME, param, `${shown(line)} has a quotation mark without its partner`);
  if (SHELL.test(plain)) {
    throw wrongParam(
      NAME,
      param,
      `${shown(line)} needs a shell, and there is none: put it into a script, and run that`,
    );
  }
  if (words.length === 0) throw wrongParam(NAME, param, "the command is empty");
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

type Params = z.infer<typeof params>;

/** Throws `INVALID_INPUT` for a command that can't be run. Placeholders may still be there. */
function checkCommand({ argv, line }: Params, host: CommandHost): void {
  if ((argv === undefined) === (line === undefined)) throw wrongParam(NAME, "argv", "give either argv or line");
  if (argv !== undefined) executableOf(argv, host);
  else if (line !== undefined && !hasPlaceholder(line)) lineOf(line, host);
  else if (line !== undefined && !/^\{options\.[\w-]+\}$/.test(line)) {
    throw wrongParam(NAME, "line", "it is a command, or one option: {options.NAME}");
  }
}

/** Returns the words of the command, and its executable. */
function commandOf({ argv, line = "" }: Params, host: CommandHost): CommandLine {
  const found = argv === undefined ? lineOf(line, host) : { words: argv, executable: executableOf(argv, host) };
  if (found.words.some((word) => word.includes("\0"))) {
    throw wrongParam(NAME, argv === undefined ? "line" : "argv", "an argument contains a NUL character");
  }
  return found;
}

function executableOf(argv: readonly string[], { commands: { executables, lines } }: CommandHost): string {
  const [name = ""] = argv;
  if (hasPlaceholder(name)) throw wrongParam(NAME, "argv", "the command itself can't be a placeholder");
  const executable = executables.get(name) ?? lines.get(JSON.stringify(argv))?.executable;
  if (executable !== undefined) return executable;
  const list = [...executables.keys(), ...[...lines.values()].map(({ words }) => shownCommand(words))].join(", ");
  const meant = orNearest(name, executables.keys(), (near) => `'${near}'`);
  const reason = `${shown(name)} is not on the host's list of commands (${list || "none"})${meant}`;
  throw wrongParam(NAME, "argv", `${reason}${howTo(name)}`);
}

/** Returns the command that the host allows as a whole: an executable with any arguments is not enough. */
function lineOf(line: string, { commands: { executables, lines } }: CommandHost): CommandLine {
  const words = wordsOf("line", line);
  const [only = "", ...others] = words;
  const executable = others.length === 0 ? executables.get(only) : undefined;
  const found = executable === undefined ? lines.get(JSON.stringify(words)) : { words, executable };
  if (found !== undefined) return found;
  const list = [...lines.values()].map(({ words }) => shownCommand(words)).concat(...executables.keys());
  const flag = /^[\w@%+=:,./ -]{1,120}$/.test(line) ? ` (phasegate serve: --allow-command "${line}")` : "";
  const reason = `${shown(line)} is not a command that the host allows; it allows ${list.join(", ") || "none"}${flag}`;
  throw wrongParam(NAME, "line", reason);
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

type OutputParams = z.infer<typeof outputParams>;

function outputsOf({ output = [] }: Params): readonly OutputParams[] {
  return Array.isArray(output) ? output : [output];
}

/** Throws `INVALID_INPUT` for a pattern or a rule that can't be used. */
function checkOutput(params: OutputParams, rules: VerifierRules): void {
  if ("rule" in params) rules.read(NAME, "output.rule", params.rule, COMMAND_VARIABLES);
  else checkPattern(NAME, params);
}

/** Returns why the way in which a command ended is wrong; undefined if it isn't. */
function faultOfEnd({ exit, killedBy, stopped }: ProcessResult, given: Params, host: CommandHost): string | undefined {
  const wanted = given.exit ?? 0;
  if (stopped === "timeout") return `it was stopped after ${given.timeout_ms ?? host.timeoutMs} ms`;
  if (stopped === "output") return `it was stopped: it wrote more than ${host.maxOutputBytes} bytes`;
  if (exit === undefined) return `it was killed by ${killedBy}`;
  if (wanted === "nonzero") return exit === 0 ? "exit code 0, expected another one" : undefined;
  return exit === wanted ? undefined : `exit code ${exit}, expected ${wanted}; see its output`;
}

/** Returns why the output of a command is wrong; undefined if it isn't. */
async function judgeOutput(
  params: OutputParams,
  variables: { readonly output: string; readonly exit: number; readonly evidence: JsonObject },
  rules: VerifierRules,
  signal: AbortSignal,
): Promise<string | undefined> {
  if ("rule" in params) {
    const fault = rules.read(NAME, "output.rule", params.rule, COMMAND_VARIABLES).fault({ ...variables });
    return fault === undefined ? undefined : `on its output, the rule ${harmless(params.rule)} ${fault}`;
  }
  const { output, evidence } = variables;
  const text = params.with === undefined ? undefined : wantedText(params.with, evidence);
  const lines = text === undefined ? output : linesWith(text, output);
  const found = await countMatches(NAME, params, lines, signal);
  const { ok, expected } = isOftenEnough(found, params);
  if (ok) return undefined;
  const what = text === undefined ? "its output matches" : `of its output, the lines with ${shown(text)} match`;
  return `${what} ${shownPath(params.pattern)} ${found} times; expected: ${expected}`;
}

/** Returns the text of an evidence field. Throws `INVALID_INPUT`. */
function wantedText(field: string, evidence: JsonObject): string {
  const value = Object.hasOwn(evidence, field) ? evidence[field] : undefined;
  if (typeof value === "string" && value.trim() !== "") return value.trim();
  throw wrongParam(NAME, "output", `the evidence needs a text in ${shown(field)}`);
}

function linesWith(text: string, output: string): string {
  const lines = linesOf(withoutEscapes(output));
  return lines.filter((line) => line.includes(text)).join("\n");
}

function resultOf(
  words: readonly string[],
  result: ProcessResult,
  shownText: string,
  wrong: string | undefined,
): VerifyResult {
  const ran = shownCommand(words);
  return {
    ok: wrong === undefined,
    message: wrong === undefined ? `${ran} exited as expected` : `${ran}: ${wrong}`,
    ran,
    ...(result.exit === undefined ? {} : { exit: result.exit }),
    digest: sha256(result.output),
    output: outputLines(shownText),
  };
}

/** Returns a PATH with the executable's folder, because scripts such as `npm` call their neighbours, and the system's. */
function minimalPath(executable: string): string {
  const system = process.platform === "win32" ? [] : ["/usr/bin", "/bin"];
  return [...new Set([dirname(executable), ...system])].join(delimiter);
}

function noCommand(name: string): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", `there is no executable command '${name}'`, {
    remedy: "List commands by a name on the host's PATH, outside the project, or by an absolute path.",
    details: { field: "commands", expected: "the name or the absolute path of an executable" },
  });
}
