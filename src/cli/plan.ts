/** `phasegate plan`: reads a plan of tasks, and prints its phases, its order and everything that is unclear in it. */
import { realpath, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Writable } from "node:stream";
import { isPhasegateError, type PhasegateError } from "../errors.js";
import { DIALECT_NAMES } from "../plan/dialects.js";
import { planMermaid, planOrder } from "../plan/order.js";
import { builtInParsers } from "../plan/parse-plan.js";
import {
  PLAN_MAX,
  type PlanItem,
  type PlanPhase,
  type PlanReading,
  type PlanTask,
  planError,
  type SourceParser,
} from "../plan/plan.js";
import { type LineRole, planRoles } from "../plan/roles.js";
import { findRegions, SourceText } from "../plan/source.js";
import { openChecked, readBounded } from "../sandbox/read.js";
import { type Diagnostic, hasErrors } from "../workflow/diagnostic.js";
import { argument, choice, command, flag, type Values } from "./command.js";
import { diagnosticLines, shownDiagnostics, sourceLines } from "./diagnostics.js";
import { CommandFailure, EXIT } from "./exit-codes.js";
import { columnsOf, cut, USUAL_COLUMNS } from "./layout.js";
import { jsonOption } from "./options.js";
import { counted, phaseTitle, print, printable, printJson, printLines, styled, type Terminal } from "./terminal.js";

const planOptions = () => ({
  json: jsonOption(),
  mermaid: flag("--mermaid", "print a graph of phases and dependencies, as Mermaid"),
  explain: flag("--explain", "print the file, with what became of each line").conflicts(["json", "mermaid"]),
  dialect: choice("--dialect <name>", "dialect of the plan; detected if not given", [...DIALECT_NAMES, "task-master"]),
});
type PlanOptions = Values<ReturnType<typeof planOptions>>;

export const planCommand = command({
  name: "plan",
  description:
    "Prints the phases and tasks of a plan, which tasks can be done in parallel, and everything that could not be read.",
  arguments: [argument("<file>", "a tasks.md, a tasks.json of task-master, or a folder with a tasks.md")],
  options: planOptions(),
  help: "\nThe exit code is 1 if there are errors. A plan with warnings only can be used.",
  async run(options, terminal, given) {
    let text = "";
    try {
      const found = await readPlanFile(given);
      text = found.text;
      const reading = parserOf(options).parse(text, found.file);
      printPlan(reading, text, options, terminal);
      return hasErrors(reading.diagnostics) ? EXIT.problems : EXIT.ok;
    } catch (error) {
      if (!isPhasegateError(error, "PLAN_PARSE")) throw error;
      printFailure(error, text, options, terminal);
      return EXIT.problems;
    }
  },
});

function parserOf({ dialect: name = "markdown" }: PlanOptions): SourceParser {
  const parser = builtInParsers[name];
  if (parser === undefined) throw new Error(`no parser ${name}`);
  return parser;
}

function printFailure(
  { message, remedy: hint, details, url }: PhasegateError<"PLAN_PARSE">,
  text: string,
  { json }: PlanOptions,
  terminal: Terminal,
): void {
  const { file = "", line, column } = details;
  const shown = { error: "parse_error", message, hint, url, source_path: file, line_number: line };
  if (json) return printJson(terminal, shown);
  const diagnostic: Diagnostic = { severity: "error", code: "PLAN_PARSE", message, hint, file, line, column };
  printLines(terminal, diagnosticLines(diagnostic, file, sourceLines(text), terminal.stdout));
}

function printPlan(reading: PlanReading, text: string, options: PlanOptions, terminal: Terminal): void {
  const { stdout } = terminal;
  const graph = options.mermaid ? planMermaid(reading.plan) : undefined;
  if (options.json) return printJson(terminal, { ...planJson(reading, text), mermaid: graph });
  if (graph !== undefined) return print(terminal, printable(graph, { lines: true }));
  const columns = columnsOf(stdout) ?? USUAL_COLUMNS;
  if (options.explain) return printLines(terminal, explainedLines(text, reading, columns));
  const source = sourceLines(text);
  const { shown, more } = shownDiagnostics(reading.diagnostics);
  for (const one of shown) printLines(terminal, diagnosticLines(one, one.file, source, stdout));
  if (more !== undefined) print(terminal, `${more}\n`);
  printLines(terminal, planLines(reading, stdout));
}

const MARKS = {
  pending: "[ ]",
  in_progress: "[-]",
  queued: "[~]",
  blocked: "[!]",
  done: "[x]",
  dropped: "~~~",
} as const;

function planLines({ plan, diagnostics }: PlanReading, stream: Writable): string[] {
  const { waves } = planOrder(plan);
  const tasks = plan.phases.flatMap((phase) => phase.tasks);
  const count = (state: PlanTask["state"]) => tasks.filter((task) => task.state === state).length;
  const lines = plan.phases.flatMap(({ number, written, name, estimatedDuration, tasks: own, validationGate }) => {
    const here = new Set(own.map(({ id }) => id));
    const side = waves.filter((wave) => wave.some((id) => here.has(id)));
    const title = `${phaseTitle(number, name, written)}${estimatedDuration === undefined ? "" : ` (${estimatedDuration})`}`;
    return [
      styled(stream, "bold", printable(title)),
      ...own.map((task) => `  ${taskLine(task)}`),
      ...(validationGate.length === 0 ? [] : [`  gate: ${counted(validationGate.length, "item")}`]),
      ...(own.length < 2 ? [] : [`  waves: ${printable(side.map((wave) => wave.join(", ")).join(" | "))}`]),
      "",
    ];
  });
  const errors = diagnostics.filter(({ severity }) => severity === "error").length;
  const problems = `${counted(errors, "error")}, ${counted(diagnostics.length - errors, "warning")}`;
  const dropped = count("dropped") === 0 ? "" : `, ${count("dropped")} dropped`;
  const sizes = `${counted(plan.phases.length, "phase")}, ${counted(tasks.length, "task")}`;
  return [...lines, `${plan.dialect}: ${sizes}, ${count("done")} done${dropped}; ${problems}`];
}

function taskLine({ id, name, state, dependencies, optional, acceptanceCriteria }: PlanTask): string {
  const after = dependencies.length === 0 ? "" : ` (after ${dependencies.join(", ")})`;
  const criteria =
    acceptanceCriteria.length === 0 ? "" : ` · ${counted(acceptanceCriteria.length, "criterion", "criteria")}`;
  const about = `${optional ? " (optional)" : ""}${state === "dropped" ? " (dropped)" : ""}`;
  return printable(`${MARKS[state]} ${id} ${name}${about}${after}${criteria}`);
}

function planJson(reading: PlanReading, text: string) {
  const { plan, diagnostics } = reading;
  return {
    dialect: plan.dialect,
    phases: plan.phases.map(({ number, written, name, goal, estimatedDuration, tasks, validationGate, position }) => ({
      ...{ number, written, name, goal, estimatedDuration, line: position.line },
      tasks: tasks.map(taskJson),
      validationGate: validationGate.map(itemJson),
    })),
    waves: planOrder(plan).waves,
    checkboxes: planRoles(text, reading).filter(({ mark }) => mark !== undefined),
    diagnostics: diagnostics.map(({ file: _, ...shown }) => shown),
  };
}

function taskJson({ position, acceptanceCriteria, checkbox: _, status: __, ...task }: PlanTask) {
  return { ...task, line: position.line, acceptanceCriteria: acceptanceCriteria.map(itemJson) };
}

function itemJson({ text, checked, details, position }: PlanItem) {
  return { text, checked, line: position.line, details };
}

/** A pipe or a device is refused: reading it may never end. */
async function readPlanFile(given: string) {
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

const ROLE_MAX = 28;

function explainedLines(text: string, reading: PlanReading, width: number): string[] {
  const source = new SourceText(text);
  const count = source.text(source.lines.length - 1) === "" ? source.lines.length - 1 : source.lines.length;
  const roles = lineRoles(source, text, reading);
  const shown = Array.from({ length: count }, (_, line) => cut(printable(roles.get(line + 1) ?? ""), ROLE_MAX));
  const roleWidth = Math.max(0, ...shown.map((role) => role.length));
  const numberWidth = `${count}`.length;
  const left = Math.max(10, width - numberWidth - roleWidth - 5);
  return shown.map((role, line) => {
    const own = printable(source.text(line).replaceAll("\t", "    "), { lines: true });
    return `${`${line + 1}`.padStart(numberWidth)}  ${role.padEnd(roleWidth)} │ ${cut(own, left)}`.trimEnd();
  });
}

/** Returns what became of each line, from 1; nothing for a line without a meaning for the plan. */
function lineRoles(source: SourceText, text: string, reading: PlanReading): Map<number, string> {
  const { phases } = reading.plan;
  const found = new Map<number, Set<string>>();
  for (const role of planRoles(text, reading)) {
    found.set(role.line, (found.get(role.line) ?? new Set()).add(roleText(role, phases)));
  }
  const roles = new Map([...found].map(([line, texts]) => [line, [...texts].join(", ")]));
  for (const { kind, start, end } of findRegions(source)) {
    for (let line = start + 1; line <= end; line += 1) if (!roles.has(line)) roles.set(line, kind);
  }
  const starts = new Map<number, PlanPhase | PlanTask>(
    phases.flatMap((phase) => [phase, ...phase.tasks].map((one) => [one.position.line, one] as const)),
  );
  let told: (line: string) => string | undefined = () => undefined;
  for (let line = 1; line <= source.lines.length; line += 1) {
    const start = starts.get(line);
    if (start !== undefined) told = tellerOf(start);
    const role = roles.has(line) ? undefined : told(source.text(line - 1).trim());
    if (role !== undefined) roles.set(line, role);
  }
  return roles;
}

/** Returns a function that says what of a phase or task a line is that has no position in the plan. */
function tellerOf(start: PlanPhase | PlanTask): (line: string) => string | undefined {
  if ("tasks" in start) {
    const { goal, validationGate } = start;
    const details = detailsOf(validationGate);
    return (line) => (details.has(bare(line)) ? "detail" : goal && line.endsWith(goal) ? "goal" : undefined);
  }
  const lines = new Set(start.description?.split("\n").flatMap((line) => line.trim() || []));
  const [first] = lines;
  const details = detailsOf(start.acceptanceCriteria);
  return (line) => {
    // The label before a description is not part of it.
    if (lines.has(line) || (first !== undefined && line.endsWith(first))) return "description";
    return details.has(bare(line)) ? "detail" : undefined;
  };
}

function detailsOf(items: PlanPhase["validationGate"]): ReadonlySet<string> {
  return new Set(items.flatMap(({ details = [] }) => details));
}

function bare(line: string): string {
  return line.replace(/^(?:[-*+]|\d{1,9}[.)])[ \t]+/, "");
}

function roleText({ role, phase, task }: LineRole, phases: readonly PlanPhase[]): string {
  switch (role) {
    case "phase": {
      const written = phases.find(({ number }) => number === phase)?.written;
      return `phase ${phase}${written === undefined ? "" : ` (${written} in the plan)`}`;
    }
    case "task":
      return `task ${task}`;
    case "criterion":
      return `criterion of ${task}`;
    case "gate":
      return `gate of phase ${phase}`;
    case "unplaced":
      return "not placed";
    case "repeated":
      return "repeats a task";
  }
}
