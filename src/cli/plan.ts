/** `phasegate plan`: reads a plan of tasks, and prints its phases, its order and everything that is unclear in it. */
import { realpath, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Writable } from "node:stream";
import { Command, Option } from "commander";
import { isPhasegateError, type PhasegateError } from "../errors.js";
import { DIALECT_NAMES } from "../plan/dialects.js";
import { planMermaid, planOrder } from "../plan/order.js";
import { builtInParsers } from "../plan/parse-plan.js";
import {
  PLAN_MAX,
  type PlanItem,
  type PlanReading,
  type PlanTask,
  planError,
  type SourceParser,
} from "../plan/plan.js";
import { planRoles } from "../plan/roles.js";
import { openChecked, readBounded } from "../sandbox/read.js";
import { hasErrors } from "../workflow/diagnostic.js";
import { CommandFailure, EXIT, type SetExitCode } from "./exit-codes.js";
import { explainedLines } from "./explain.js";
import { jsonOption, logLevelOption } from "./options.js";
import {
  counted,
  diagnosticLines,
  phaseTitle,
  print,
  printable,
  printJson,
  shownDiagnostics,
  sourceLines,
  styled,
  type Terminal,
} from "./terminal.js";

interface PlanOptions {
  readonly json?: true;
  readonly mermaid?: true;
  readonly explain?: true;
  readonly dialect?: string;
}

/** Creates `phasegate plan`. */
export function planCommand(terminal: Terminal, setExitCode: SetExitCode): Command {
  const dialect = new Option("--dialect <name>", "dialect of the plan; detected if not given").choices([
    ...DIALECT_NAMES,
    "task-master",
  ]);
  return new Command("plan")
    .summary("show how a plan is read, and what could not be read")
    .description(
      "Prints the phases and tasks of a plan, which tasks can be done in parallel, and everything that could not be read.",
    )
    .argument("<file>", "a tasks.md, a tasks.json of task-master, or a folder with a tasks.md")
    .addOption(jsonOption())
    .option("--mermaid", "print a graph of phases and dependencies, as Mermaid")
    .addOption(new Option("--explain", "print the file, with what became of each line").conflicts(["json", "mermaid"]))
    .addOption(dialect)
    .addOption(logLevelOption())
    .addHelpText("after", "\nThe exit code is 1 if there are errors. A plan with warnings only can be used.")
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

/** Prints why a file is not a plan: a diagnostic with the code around it, or JSON with the keys of a parse error. */
function printFailure(
  { message, remedy, details, url }: PhasegateError<"PLAN_PARSE">,
  text: string,
  { json }: PlanOptions,
  terminal: Terminal,
): void {
  const { file = "", line, column } = details;
  if (json) {
    const body = { error: "parse_error", message, hint: remedy, url, source_path: file, line_number: line };
    printJson(terminal, body);
    return;
  }
  const place = { ...(line === undefined ? {} : { line }), ...(column === undefined ? {} : { column }) };
  const diagnostic = { severity: "error", code: "PLAN_PARSE", message, hint: remedy, file, ...place } as const;
  for (const shown of diagnosticLines(diagnostic, file, sourceLines(text), terminal.stdout)) print(terminal, shown);
}

function printPlan(reading: PlanReading, text: string, options: PlanOptions, terminal: Terminal): void {
  const { json, mermaid, explain } = options;
  const { plan, diagnostics } = reading;
  const graph = mermaid ? planMermaid(plan) : undefined;
  if (json) {
    printJson(terminal, { ...planJson(reading, text), ...(graph === undefined ? {} : { mermaid: graph }) });
    return;
  }
  if (graph !== undefined) {
    print(terminal, printable(graph, { lines: true }));
    return;
  }
  if (explain) {
    for (const line of explainedLines(text, reading, columnsOf(terminal.stdout))) print(terminal, line);
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

/** The columns of a terminal; of one that is usual where the output is a pipe. */
function columnsOf(stream: Writable): number {
  return "columns" in stream && typeof stream.columns === "number" ? stream.columns : 80;
}

const MARKS = {
  pending: "[ ]",
  in_progress: "[-]",
  queued: "[~]",
  blocked: "[!]",
  done: "[x]",
  dropped: "~~~",
} as const;

/** Returns a plan as lines. */
function planLines({ plan, diagnostics }: PlanReading, stream: Writable): string[] {
  const { waves } = planOrder(plan);
  const tasks = plan.phases.flatMap((phase) => phase.tasks);
  const done = tasks.filter(({ state }) => state === "done").length;
  const dropped = tasks.filter(({ state }) => state === "dropped").length;
  const lines = plan.phases.flatMap(({ number, written, name, estimatedDuration, tasks: own, validationGate }) => {
    const here = new Set(own.map(({ id }) => id));
    const side = waves.filter((wave) => wave.some((id) => here.has(id)));
    return [
      styled(
        stream,
        "bold",
        printable(
          `${phaseTitle(number, name, written)}${estimatedDuration === undefined ? "" : ` (${estimatedDuration})`}`,
        ),
      ),
      ...own.map((task) => `  ${taskLine(task)}`),
      ...(validationGate.length === 0 ? [] : [`  gate: ${counted(validationGate.length, "item")}`]),
      ...(own.length < 2 ? [] : [`  waves: ${printable(side.map((wave) => wave.join(", ")).join(" | "))}`]),
      "",
    ];
  });
  const errors = diagnostics.filter(({ severity }) => severity === "error").length;
  const warnings = counted(diagnostics.length - errors, "warning");
  const summary = `${counted(plan.phases.length, "phase")}, ${counted(tasks.length, "task")}, ${done} done${dropped === 0 ? "" : `, ${dropped} dropped`}`;
  return [...lines, `${plan.dialect}: ${summary}; ${counted(errors, "error")}, ${warnings}`];
}

function taskLine({ id, name, state, dependencies, optional, acceptanceCriteria }: PlanTask): string {
  const after = dependencies.length === 0 ? "" : ` (after ${dependencies.join(", ")})`;
  const criteria =
    acceptanceCriteria.length === 0 ? "" : ` · ${counted(acceptanceCriteria.length, "criterion", "criteria")}`;
  const about = `${optional ? " (optional)" : ""}${state === "dropped" ? " (dropped)" : ""}`;
  return printable(`${MARKS[state]} ${id} ${name}${about}${after}${criteria}`);
}

/** Returns a plan as JSON. */
function planJson(reading: PlanReading, text: string) {
  const { plan, diagnostics } = reading;
  const { waves } = planOrder(plan);
  return {
    dialect: plan.dialect,
    phases: plan.phases.map(({ number, written, name, goal, estimatedDuration, tasks, validationGate, position }) => ({
      number,
      written,
      name,
      goal,
      estimatedDuration,
      line: position.line,
      tasks: tasks.map(taskJson),
      validationGate: validationGate.map(itemJson),
    })),
    waves,
    checkboxes: planRoles(text, reading).filter(({ mark }) => mark !== undefined),
    diagnostics: diagnostics.map(({ code, severity, message, line, column, hint }) => ({
      code,
      severity,
      message,
      line,
      column,
      hint,
    })),
  };
}

function taskJson({ position, acceptanceCriteria, checkbox: _, status: __, ...task }: PlanTask) {
  return { ...task, line: position.line, acceptanceCriteria: acceptanceCriteria.map(itemJson) };
}

function itemJson({ text, checked, details, position }: PlanItem) {
  return { text, checked, line: position.line, ...(details === undefined ? {} : { details }) };
}

/** A plan's file. */
interface PlanFile {
  readonly file: string;
  readonly text: string;
}

/**
 * Reads a file, or the `tasks.md` of a folder. A pipe or a device is refused before it is opened, since reading it may
 * never end. Throws `PLAN_PARSE` for a file over the size limit of plans.
 */
async function readPlanFile(given: string): Promise<PlanFile> {
  try {
    const file = (await stat(given)).isDirectory() ? join(given, "tasks.md") : given;
    return { file, text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(await readBytes(file)) };
  } catch (cause) {
    if (isPhasegateError(cause, "PLAN_PARSE")) throw cause;
    if (cause instanceof TypeError) {
      throw new CommandFailure(`${given} is not valid UTF-8`, EXIT.problems, "Save it as UTF-8.", { cause });
    }
    const hint = "Name a tasks.md, or the folder that it is in.";
    throw new CommandFailure(`the plan ${given} can't be read`, EXIT.environment, hint, { cause });
  }
}

async function readBytes(file: string): Promise<Uint8Array> {
  const real = await realpath(file);
  const { handle, stats } = await openChecked(dirname(real), basename(real));
  try {
    return await readBounded(handle, file, Number(stats.size), PLAN_MAX);
  } catch (error) {
    if (!isPhasegateError(error, "TOO_LARGE")) throw error;
    throw planError({ file }, `it has more than ${PLAN_MAX} bytes`, "Split it into several plans.");
  } finally {
    await handle.close();
  }
}
