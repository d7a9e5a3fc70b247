import * as z from "zod";
import { shown } from "../../definition/names.js";
import { nearest } from "../../definition/nearest.js";
import { parseRelativePath } from "../../definition/relative-path.js";
import { hasPlaceholder } from "../../gate/placeholders.js";
import type { Verifier, VerifyResult } from "../../ports/verifier.js";
import { workingFolder } from "../../walls/working-folder.js";
import type { CommandHost } from "./command-host.js";
import { checkOutput, judgeOutput, outputParams } from "./command-output.js";
import { defineVerifier } from "./define-verifier.js";
import { textParam, wrongParam } from "./parse-params.js";
import { type ProcessResult, runProcess } from "./run-process.js";
import { outputLines, shownCommand, withoutEscapes } from "./shown-text.js";
import { sha256 } from "./subject.js";
import type { VerifierRules } from "./verifier-rules.js";

const params = z.strictObject({
  /** The command and its arguments, each an element of its own: no shell reads them. */
  argv: z.array(z.string()).min(1).max(1000),
  /** A folder of the project to run in; the project's root without it. */
  cwd: textParam.optional(),
  /** The exit code that it must end with; 0 without it. */
  exit: z.int().min(0).max(255).optional(),
  /** How long it may take, in milliseconds, up to what the host allows. */
  timeout_ms: z.int().min(1).optional(),
  /** What its output must show. */
  output: outputParams.optional(),
  /** Whether evidence may make an option of an argument. */
  allow_options: z.boolean().optional(),
});
type Params = z.infer<typeof params>;

const NAME = "command";

/** How a command ends, and what it writes. Only commands on the host's list are run. */
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
      if (given.argv.some((word) => word.includes("\0"))) throw wrongParam(NAME, "argv", "an argument holds a NUL");
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
      const wrong = ending(result, given, host);
      const judged =
        wrong === undefined && given.output !== undefined
          ? await judgeOutput(NAME, given.output, { output: text, exit: result.exit ?? 0, evidence }, rules, signal)
          : wrong;
      return resultOf(given, result, host.withoutRoot(withoutEscapes(text)), judged);
    },
  });
}

function resultOf({ argv }: Params, result: ProcessResult, shownText: string, wrong: string | undefined): VerifyResult {
  const ran = shownCommand(argv);
  return {
    ok: wrong === undefined,
    message: wrong === undefined ? `${ran} ended as it should` : `${ran}: ${wrong}`,
    ran,
    ...(result.exit === undefined ? {} : { exit: result.exit }),
    digest: sha256(result.output),
    output: outputLines(shownText),
  };
}

/** What is wrong with how it ended; undefined if nothing is. */
function ending({ exit, killedBy, stopped }: ProcessResult, given: Params, host: CommandHost): string | undefined {
  const wanted = given.exit ?? 0;
  if (stopped === "timeout") return `it was stopped after ${given.timeout_ms ?? host.timeoutMs} ms`;
  if (stopped === "output") return `it was stopped: it wrote more than ${host.maxOutputBytes} bytes`;
  if (exit === undefined) return `it was ended by ${killedBy}`;
  return exit === wanted ? undefined : `it ended with exit code ${exit}, and ${wanted} is wanted; see its output`;
}

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

/** How a person allows a command; a name that no flag could hold is none. */
function howTo(name: string): string {
  return /^[\w.+-]{1,60}$/.test(name) ? ` (phasegate serve: --allow-command ${name})` : "";
}
