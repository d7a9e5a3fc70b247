/**
 * The verifier `command`, how all verifiers run a command of the host's list, and when its end and its output are as expected.
 */
import * as z from "zod";
import { workingFolder } from "../sandbox/sandbox.js";
import type { JsonObject } from "../workflow/json.js";
import { shown } from "../workflow/names.js";
import { checkCommand, commandOf, minimalPath } from "./allowed-commands.js";
import { type Asked, defineVerifier, type Outcome, type Project } from "./define-verifier.js";
import { checkPattern, countMatches, isOftenEnough, linesOf, patternParams } from "./lines.js";
import { checkPath, textParam, WrongParam } from "./params.js";
import { COMMAND_VARIABLES, compileRule } from "./rules.js";
import { type ProcessResult, runProcess } from "./run-process.js";
import { harmless, outputLines, sha256, shownCommand, shownPath, shownPaths, withoutEscapes } from "./subject.js";
import { noteWritten } from "./uncommitted.js";

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

/** The parameters of the verifiers that run a command. */
export const runParams = {
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
};

type RunParams = z.infer<z.ZodObject<typeof runParams>>;

/** Throws `WrongParam` for a command that can't be run, and for a check of its output that can't be made. */
export async function checkRun(given: RunParams, project: Project): Promise<void> {
  checkCommand(given, project);
  checkPath(given.cwd);
  if ((given.timeout_ms ?? 0) > project.limits.maxCommandTimeoutMs) {
    throw new WrongParam("timeout_ms", `the host allows ${project.limits.maxCommandTimeoutMs} ms`);
  }
  for (const output of outputsOf(given)) {
    if (output.rule !== undefined) await compileRule("output.rule", output.rule, COMMAND_VARIABLES);
    else checkPattern(output);
  }
}

interface CommandRun {
  readonly words: readonly string[];
  readonly result: ProcessResult;
  /** Its output, without the absolute path of the project. */
  readonly text: string;
}

/** The place where a command runs, instead of in the project. */
interface Elsewhere {
  readonly root: string;
  readonly env: Readonly<Record<string, string>>;
  withoutRoot(text: string): string;
  /** Called with the number of the process's group. */
  started(group: number): void;
}

/** A check leaves the project as it was: Python would write a `__pycache__` beside each file that it reads. */
const NO_CACHES = { PYTHONDONTWRITEBYTECODE: "1" };

export async function runCommand(
  given: RunParams,
  { project, signal }: Pick<Asked, "project" | "signal">,
  { root = project.root, env = {}, withoutRoot = project.withoutRoot, started }: Partial<Elsewhere> = {},
): Promise<CommandRun> {
  const { words, executable } = commandOf(given, project);
  const result = await runProcess({
    executable,
    args: words.slice(1),
    cwd: await workingFolder(root, given.cwd ?? "."),
    env: { ...NO_CACHES, ...env, PATH: minimalPath(executable), ...project.env },
    timeoutMs: given.timeout_ms ?? project.limits.commandTimeoutMs,
    maxOutputBytes: project.limits.maxOutputBytes,
    signal,
    started,
  });
  return { words, result, text: withoutRoot(result.output.toString("utf8")) };
}

type OutputParams = z.infer<typeof outputParams>;

function outputsOf({ output = [] }: RunParams): readonly OutputParams[] {
  return [output].flat();
}

export function faultOfEnd(
  { result: { exit, killedBy, stopped } }: CommandRun,
  wanted: number | "nonzero",
  given: RunParams,
  { limits }: Project,
): string | undefined {
  if (stopped === "timeout") return `it was stopped after ${given.timeout_ms ?? limits.commandTimeoutMs} ms`;
  if (stopped === "output") return `it was stopped: it wrote more than ${limits.maxOutputBytes} bytes`;
  if (exit === undefined) return `it was killed by ${killedBy}`;
  if (wanted === "nonzero") return exit === 0 ? "exit code 0, expected another one" : undefined;
  return exit === wanted ? undefined : `exit code ${exit}, expected ${wanted}; see its output`;
}

export async function faultOfOutput(
  { result, text }: CommandRun,
  given: RunParams,
  asked: Asked,
): Promise<string | undefined> {
  const variables = { output: text, exit: result.exit ?? 0, evidence: asked.evidence };
  for (const output of outputsOf(given)) {
    const wrong = await judgeOutput(output, variables, asked);
    if (wrong !== undefined) return wrong;
  }
  return undefined;
}

async function judgeOutput(
  params: OutputParams,
  variables: { readonly output: string; readonly exit: number; readonly evidence: JsonObject },
  { signal }: Asked,
): Promise<string | undefined> {
  if (params.rule !== undefined) {
    const faultOf = await compileRule("output.rule", params.rule, COMMAND_VARIABLES);
    const fault = faultOf(variables);
    return fault === undefined ? undefined : `on its output, the rule ${harmless(params.rule)} ${fault}`;
  }
  const { output, evidence } = variables;
  const text = params.with === undefined ? undefined : wantedText(params.with, evidence);
  const lines = text === undefined ? output : linesWith(text, output);
  const found = await countMatches(params, lines, signal);
  const { ok, expected } = isOftenEnough(found, params);
  if (ok) return undefined;
  const what = text === undefined ? "its output matches" : `of its output, the lines with ${shown(text)} match`;
  return `${what} ${shownPath(params.pattern)} ${found} times; expected: ${expected}`;
}

/** Returns the text of an evidence field. Throws `WrongParam`. */
function wantedText(field: string, evidence: JsonObject): string {
  const value = Object.hasOwn(evidence, field) ? evidence[field] : undefined;
  if (typeof value === "string" && value.trim() !== "") return value.trim();
  throw new WrongParam("output", `the evidence needs a text in ${shown(field)}`);
}

function linesWith(text: string, output: string): string {
  const lines = linesOf(withoutEscapes(output));
  return lines.filter((line) => line.includes(text)).join("\n");
}

export function saidOf({ words, result, text }: CommandRun): Omit<Outcome, "ok" | "message"> {
  return {
    ran: shownCommand(words),
    exit: result.exit,
    digest: sha256(result.output),
    output: outputLines(withoutEscapes(text)),
  };
}

export const command = defineVerifier({
  about: "A command that the host allows ends as expected.",
  params: z.strictObject({
    ...runParams,
    exit: z
      .union([z.int().min(0).max(255), z.literal("nonzero")])
      .optional()
      .describe("The expected exit code; `nonzero` for any other than 0. Default: 0."),
  }),
  verbatim: ["output"],
  mayWrite: true,
  check: checkRun,
  async verify(given, asked) {
    const { exit = 0 } = given;
    const { done: run, wrote } = await noteWritten(asked, () => runCommand(given, asked));
    const wrong = faultOfEnd(run, exit, given, asked.project) ?? (await faultOfOutput(run, given, asked));
    const ran = shownCommand(run.words);
    const ended = wrong === undefined ? `${ran} ${exit === 0 ? "passed" : "failed, as it must"}` : `${ran}: ${wrong}`;
    const message = wrote.length === 0 ? ended : `${ended}; it wrote ${shownPaths(wrote, 5)}`;
    return { ok: wrong === undefined, message, ...saidOf(run) };
  },
});
