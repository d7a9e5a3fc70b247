import { Command, Option } from "commander";
import { hasErrors } from "../definition/diagnostic.js";
import { isPhasegateError, type PhasegateError } from "../errors.js";
import { DIALECT_NAMES } from "../plan/dialects.js";
import type { PlanReading } from "../plan/plan.js";
import { planMermaid } from "../plan/plan-mermaid.js";
import type { SourceParser } from "../plan/source-parser.js";
import { builtInParsers } from "../plan/source-parsers.js";
import { diagnosticLines, shownDiagnostics, sourceLines } from "./diagnostic-lines.js";
import { EXIT, type SetExitCode } from "./exit-codes.js";
import { jsonOption, logLevelOption } from "./option-values.js";
import { planJson, planLines } from "./plan-report.js";
import { readPlanFile } from "./read-plan-file.js";
import { print, printable, printJson, type Terminal } from "./terminal.js";

interface PlanOptions {
  readonly json?: true;
  readonly mermaid?: true;
  readonly dialect?: string;
}

/** `phasegate plan`. */
export function planCommand(terminal: Terminal, setExitCode: SetExitCode): Command {
  const dialect = new Option("--dialect <name>", "how to read it; recognised if not given").choices([
    ...DIALECT_NAMES,
    "task-master",
  ]);
  return new Command("plan")
    .summary("read a tasks.md, and say what is unsure")
    .description("Prints the phases and tasks of a plan, what can be done side by side, and all that found no place.")
    .argument("<file>", "a tasks.md, a tasks.json of task-master, or a folder with a tasks.md")
    .addOption(jsonOption())
    .option("--mermaid", "print a graph of phases and dependencies, as Mermaid")
    .addOption(dialect)
    .addOption(logLevelOption())
    .addHelpText("after", "\nExit code 1 says that there are errors. Warnings keep no plan from being worked on.")
    .action(async (given: string, options: PlanOptions) => {
      let text = "";
      try {
        const found = await readPlanFile(given);
        text = found.text;
        const reading = parserOf(found.file, options).parse(text, found.file);
        printPlan(reading, text, options, terminal);
        setExitCode(hasErrors(reading.diagnostics) ? EXIT.problems : EXIT.ok);
      } catch (error) {
        if (!isPhasegateError(error, "PLAN_PARSE")) throw error;
        printFailure(error, text, options, terminal);
        setExitCode(EXIT.problems);
      }
    });
}

function parserOf(file: string, { dialect }: PlanOptions): SourceParser {
  const name = dialect ?? (/\.json$/i.test(file) ? "task-master" : "markdown");
  const parser = builtInParsers[name];
  if (parser === undefined) throw new Error(`no parser ${name}`);
  return parser;
}

/** What can't be a plan: as a diagnostic with the code around it, or as JSON in the words of specification 001. */
function printFailure(
  { message, remedy, details }: PhasegateError<"PLAN_PARSE">,
  text: string,
  { json }: PlanOptions,
  terminal: Terminal,
): void {
  const { file = "", line, column } = details;
  if (json) {
    const body = { error: "parse_error", message, hint: remedy, source_path: file, line_number: line };
    printJson(terminal, body);
    return;
  }
  const place = { ...(line === undefined ? {} : { line }), ...(column === undefined ? {} : { column }) };
  const diagnostic = { severity: "error", code: "PLAN_PARSE", message, hint: remedy, file, ...place } as const;
  for (const shown of diagnosticLines(diagnostic, file, sourceLines(text), terminal.stdout)) print(terminal, shown);
}

function printPlan(reading: PlanReading, text: string, { json, mermaid }: PlanOptions, terminal: Terminal): void {
  const { plan, diagnostics } = reading;
  const graph = mermaid ? planMermaid(plan) : undefined;
  if (json) {
    printJson(terminal, { ...planJson(reading), ...(graph === undefined ? {} : { mermaid: graph }) });
    return;
  }
  if (graph !== undefined) {
    print(terminal, printable(graph, { lines: true }));
    return;
  }
  const source = sourceLines(text);
  const { shown, more } = shownDiagnostics(diagnostics);
  for (const diagnostic of shown) {
    for (const line of diagnosticLines(diagnostic, diagnostic.file, source, terminal.stdout)) print(terminal, line);
  }
  if (more !== undefined) print(terminal, `${more}\n`);
  for (const line of planLines(reading, terminal.stdout)) print(terminal, line);
}
