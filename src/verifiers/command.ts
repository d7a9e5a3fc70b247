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
import { nearest, parseRelativePath, shown } from "../workflow/names.js";
import { COMMAND_VARIABLES, defineVerifier, textParam, type VerifierRules, wrongParam } from "./define-verifier.js";
import { checkPattern, countMatches, isOftenEnough, patternParams } from "./lines.js";
import { type ProcessResult, runProcess } from "./run-process.js";
import { harmless, outputLines, sha256, shownCommand, shownPath, withoutEscapes } from "./subject.js";

/** The commands that the host allows, and their limits. */
interface CommandHost {
  /** The real path of the project. */
  readonly root: string;
  /** Absolute paths by the names that gates may use. */
  readonly commands: ReadonlyMap<string, string>;
  readonly timeoutMs: number;
  readonly maxTimeoutMs: number;
  readonly maxOutputBytes: number;
  /** Returns the whole environment of a command. */
  environmentFor(executable: string): Record<string, string>;
  /** Returns a text without the absolute path of the project. */
  withoutRoot(text: string): string;
}

const NAME = "command";

/** The check of a command's output: a pattern and its number of matches, or a rule. */
const outputParams = z
  .strictObject({
    ...patternParams,
    pattern: patternParams.pattern.optional(),
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
    .describe("The command and its arguments, one element each. There is no shell."),
  cwd: textParam.optional().describe("The working folder, inside the project. Default: the root of the project."),
  exit: z.int().min(0).max(255).optional().describe("The expected exit code. Default: 0."),
  timeout_ms: z
    .int()
    .min(1)
    .optional()
    .describe("Time limit in milliseconds, up to the host's maximum. Default: the host's, 60,000 if it sets none."),
  output: outputParams
    .optional()
    .describe("The check of its output: a pattern, with or without its number of matches, or a rule."),
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
      executableOf(given, host);
      if (given.cwd !== undefined && !hasPlaceholder(given.cwd)) parseRelativePath(given.cwd);
      if ((given.timeout_ms ?? 0) > host.maxTimeoutMs) {
        throw wrongParam(NAME, "timeout_ms", `the host allows ${host.maxTimeoutMs} ms`);
      }
      if (given.output !== undefined) checkOutput(NAME, given.output, rules);
    },
    async verify(given, { evidence }, signal) {
      if (given.argv.some((word) => word.includes("\0")))
        throw wrongParam(NAME, "argv", "an argument contains a NUL character");
      const executable = executableOf(given, host);
      const result = await runProcess({
        executable,
        args: given.argv.slice(1),
        cwd: await workingFolder(host.root, given.cwd ?? "."),
        env: host.environmentFor(executable),
        timeoutMs: given.timeout_ms ?? host.timeoutMs,
        maxOutputBytes: host.maxOutputBytes,
        signal,
      });
      const text = host.withoutRoot(result.output.toString("utf8"));
      const wrong = faultOfEnd(result, given, host);
      const judged =
        wrong === undefined && given.output !== undefined
          ? await judgeOutput(NAME, given.output, { output: text, exit: result.exit ?? 0, evidence }, rules, signal)
          : wrong;
      return resultOf(given, result, host.withoutRoot(withoutEscapes(text)), judged);
    },
  });
}

/** The host's options. */
interface CommandHostOptions {
  readonly commands: ReadonlyMap<string, string>;
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
 * The executables that gates may run: names, which are looked up on the host's PATH when the verifiers are created,
 * absolute paths, or names with absolute paths.
 */
export type AllowedCommands = readonly string[] | Readonly<Record<string, string>>;

/**
 * Returns the absolute path of each allowed command. A name is never looked up in the project, where an agent could
 * replace it; an absolute path is used as the host gives it. Throws `INVALID_INPUT`.
 */
export async function resolveCommands(
  allowed: AllowedCommands,
  root: string,
  path: string,
): Promise<ReadonlyMap<string, string>> {
  const entries = Array.isArray(allowed) ? allowed.map((name: string) => [name, name]) : Object.entries(allowed);
  const resolved = new Map<string, string>();
  for (const [name = "", place = ""] of entries) {
    const found = isAbsolute(place) ? await executable(place) : await findCommand(place, root, path);
    if (found === undefined) throw noCommand(name);
    resolved.set(name, found);
  }
  return resolved;
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

function executableOf({ argv }: Params, { commands }: CommandHost): string {
  const [name = ""] = argv;
  if (hasPlaceholder(name)) throw wrongParam(NAME, "argv", "the command itself can't be a placeholder");
  const executable = commands.get(name);
  if (executable !== undefined) return executable;
  const near = nearest(name, commands.keys());
  const list = [...commands.keys()].join(", ") || "none";
  const hint = near === undefined ? "" : `; did you mean '${near}'?`;
  throw wrongParam(NAME, "argv", `${shown(name)} is not on the host's list of commands (${list})${hint}${howTo(name)}`);
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

/** Throws `INVALID_INPUT` for a pattern or a rule that can't be used. */
function checkOutput(verifier: string, params: OutputParams, rules: VerifierRules): void {
  if ("rule" in params) rules.read(verifier, "output.rule", params.rule, COMMAND_VARIABLES);
  else checkPattern(verifier, params);
}

/** Returns why the way in which a command ended is wrong; undefined if it isn't. */
function faultOfEnd({ exit, killedBy, stopped }: ProcessResult, given: Params, host: CommandHost): string | undefined {
  const wanted = given.exit ?? 0;
  if (stopped === "timeout") return `it was stopped after ${given.timeout_ms ?? host.timeoutMs} ms`;
  if (stopped === "output") return `it was stopped: it wrote more than ${host.maxOutputBytes} bytes`;
  if (exit === undefined) return `it was killed by ${killedBy}`;
  return exit === wanted ? undefined : `exit code ${exit}, expected ${wanted}; see its output`;
}

/** Returns why the output of a command is wrong; undefined if it isn't. */
async function judgeOutput(
  verifier: string,
  params: OutputParams,
  variables: { readonly output: string; readonly exit: number; readonly evidence: JsonObject },
  rules: VerifierRules,
  signal: AbortSignal,
): Promise<string | undefined> {
  if ("rule" in params) {
    const fault = rules.read(verifier, "output.rule", params.rule, COMMAND_VARIABLES).fault({ ...variables });
    return fault === undefined ? undefined : `on its output, the rule ${harmless(params.rule)} ${fault}`;
  }
  const found = await countMatches(verifier, params, variables.output, signal);
  const { ok, expected } = isOftenEnough(found, params);
  return ok ? undefined : `its output matches ${shownPath(params.pattern)} ${found} times; expected: ${expected}`;
}

function resultOf({ argv }: Params, result: ProcessResult, shownText: string, wrong: string | undefined): VerifyResult {
  const ran = shownCommand(argv);
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
