/** The verifier `plan_parses`: a file is a plan that a session can be started on. */
import * as z from "zod";
import { isPhasegateError } from "../errors.js";
import { builtInParsers } from "../plan/parse-plan.js";
import type { PlanReading, SourceParser } from "../plan/plan.js";
import type { Verifier, VerifyResult } from "../ports/verifier.js";
import type { Sandbox } from "../sandbox/sandbox.js";
import { type Diagnostic, formatDiagnostic } from "../workflow/diagnostic.js";
import { countParam, defineVerifier } from "./define-verifier.js";
import { checkSubject, outputLines, readSubject, shownPath, subjectParams } from "./subject.js";

const NAME = "plan_parses";

export const params = z.strictObject({
  ...subjectParams,
  min_tasks: countParam.optional().describe("Minimum number of tasks. Default: 1."),
  min_phases: countParam.optional().describe("Minimum number of phases. Default: 1."),
  no_warnings: z.boolean().optional().describe("True if warnings count as errors. Default: false."),
});

/** Checks whether a file is read as a plan without errors, with phases and tasks. */
export function planParses(sandbox: Sandbox, maxBytes: number): Verifier {
  return defineVerifier({
    name: NAME,
    params,
    checkParams: checkSubject,
    async verify(given, { value }) {
      const { path, text, digest } = await readSubject(sandbox, given, value, maxBytes);
      try {
        return { ...judge(parserOf(path).parse(text, path), given, path), ran: shownPath(path), digest };
      } catch (error) {
        if (!isPhasegateError(error, "PLAN_PARSE")) throw error;
        return { ok: false, message: `${error.message}. ${error.remedy}`, ran: shownPath(path), digest };
      }
    },
  });
}

/** Returns the parser that a session on this file would use. */
function parserOf(path: string): SourceParser {
  const parser = builtInParsers[/\.json$/i.test(path) ? "task-master" : "markdown"];
  if (parser === undefined) throw new Error("the built-in parsers are missing");
  return parser;
}

function judge({ plan, diagnostics }: PlanReading, given: z.infer<typeof params>, path: string): VerifyResult {
  const wrong = diagnostics.filter(({ severity }) => severity === "error" || given.no_warnings === true);
  if (wrong.length > 0)
    return { ok: false, message: listed(wrong), output: outputLines(wrong.map(formatDiagnostic).join("\n")) };
  const tasks = plan.phases.reduce((sum, phase) => sum + phase.tasks.length, 0);
  const { min_phases: phases = 1, min_tasks: least = 1 } = given;
  const found = `${shownPath(path)} has ${plan.phases.length} phases and ${tasks} tasks`;
  const ok = plan.phases.length >= phases && tasks >= least;
  return { ok, message: ok ? found : `${found}; expected: at least ${phases} phases and ${least} tasks` };
}

function listed([first, ...others]: readonly Diagnostic[]): string {
  const hint = first?.hint === undefined ? "" : `; ${first.hint}`;
  const more = others.length === 0 ? "" : ` (and ${others.length} more)`;
  return `the plan has problems: ${first === undefined ? "" : formatDiagnostic(first)}${hint}${more}`;
}
