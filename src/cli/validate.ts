import { mkdir, realpath, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Command } from "commander";
import { openSandbox } from "../sandbox/sandbox.js";
import { hasErrors } from "../workflow/diagnostic.js";
import { gateFileText } from "../workflow/infer/document-gate.js";
import type { FieldGate, PhaseDefinition } from "../workflow/structure.js";
import { CommandFailure, EXIT, type SetExitCode } from "./exit-codes.js";
import { type FoundFiles, type FoundWorkflow, findRouted, findWorkflows } from "./find-workflows.js";
import { includeRootOption, jsonOption, logLevelOption, requireFolder, wholeNumber } from "./options.js";
import {
  counted,
  diagnosticLines,
  print,
  printable,
  printJson,
  type SourceLines,
  shownDiagnostics,
  sourceLines,
  styled,
  type Terminal,
} from "./terminal.js";

interface ValidateOptions {
  readonly json?: true;
  readonly includeRoot?: readonly string[];
}

/** `phasegate validate`. */
export function validateCommand(terminal: Terminal, setExitCode: SetExitCode): Command {
  return new Command("validate")
    .summary("check workflow definitions")
    .description("Checks the workflow in a folder, or all workflows in a folder of them, phased and routed ones alike.")
    .argument("<dir>", "a workflow's folder, or a folder of workflows")
    .addOption(jsonOption())
    .addOption(includeRootOption())
    .addOption(logLevelOption())
    .addHelpText("after", "\nExit code 1 says that there are errors. Warnings keep no workflow from being started.")
    .action(async (folder: string, { json, includeRoot = [] }: ValidateOptions) => {
      const path = await requireFolder(folder, "the workflow folder");
      const phased = await findWorkflows(path);
      const routed = await findRouted(path, includeRoot, new Set(phased.map(({ type }) => type)));
      const found: FoundFiles[] = [...phased, ...routed];
      found.sort((one, other) => (one.type < other.type ? -1 : 1));
      if (found.length === 0) throw noWorkflow(folder);
      if (json) printJson(terminal, asJson(found));
      else await printAll(found, folder, terminal);
      setExitCode(count(found, "error") > 0 ? EXIT.problems : EXIT.ok);
    });
}

async function printAll(found: readonly FoundFiles[], folder: string, terminal: Terminal): Promise<void> {
  for (const workflow of found) {
    await printDiagnostics(workflow, join(folder, workflow.folder), terminal);
    printInferred(workflow, join(folder, workflow.folder), terminal);
  }
  for (const { type, read } of found) {
    const { diagnostics } = read;
    const [style, word] = hasErrors(diagnostics) ? (["red", "broken"] as const) : (["green", "ok"] as const);
    print(terminal, `${styled(terminal.stdout, style, word.padEnd(6))}  ${printable(type)}`);
  }
  print(terminal, `${counted(found.length, "workflow")}: ${problemCount(found)}`);
}

async function printDiagnostics({ read, source }: FoundFiles, folder: string, terminal: Terminal): Promise<void> {
  const { shown, more } = shownDiagnostics(read.diagnostics);
  const sources = new Map<string, SourceLines | undefined>();
  for (const diagnostic of shown) {
    const { file } = diagnostic;
    if (!sources.has(file)) {
      const text = await source(file);
      sources.set(file, text === undefined ? undefined : sourceLines(text));
    }
    const lines = diagnosticLines(diagnostic, join(folder, file), sources.get(file), terminal.stdout);
    for (const line of lines) print(terminal, line);
  }
  if (more !== undefined) print(terminal, `${printable(folder)}: ${more}\n`);
}

/** What the gates of phases without a gate file rest on, by the lines that it was read from. */
function printInferred({ read }: FoundFiles, folder: string, terminal: Terminal): void {
  for (const { file, line, column, phase, name, type, required, validators, from, certainty } of read.inferred ?? []) {
    const place = printable(`${join(folder, file)}:${line}:${column}`);
    const asked = [type, ...(required ? [] : ["optional"]), ...validators].join(", ");
    const how = certainty === "sure" ? `in a ${from}` : `in a ${from}, guessed from its words`;
    print(terminal, `${place}: read: phase ${phase} asks for ${printable(name)} (${printable(asked)}), ${how}`);
  }
}

function asJson(found: readonly FoundFiles[]) {
  const workflows = found.map(({ type, read: { diagnostics, inferred = [] } }) => ({
    type,
    status: hasErrors(diagnostics) ? "broken" : "ready",
    diagnostics,
    inferred,
  }));
  return { workflows, errors: count(found, "error"), warnings: count(found, "warning") };
}

function problemCount(found: readonly FoundFiles[]): string {
  return `${counted(count(found, "error"), "error")}, ${counted(count(found, "warning"), "warning")}`;
}

function count(found: readonly FoundFiles[], severity: "error" | "warning"): number {
  return found.flatMap(({ read }) => read.diagnostics).filter((diagnostic) => diagnostic.severity === severity).length;
}

function noWorkflow(folder: string): CommandFailure {
  const hint =
    "A workflow is a folder with a metadata.json, or with an index.md: name one, or the folder that holds them.";
  return new CommandFailure(`there is no workflow in ${folder}`, EXIT.problems, hint);
}

/** `phasegate gate`. */
export function gateCommand(terminal: Terminal, setExitCode: SetExitCode): Command {
  return new Command("gate").summary("write gate files").addCommand(freezeCommand(terminal, setExitCode));
}

/** `phasegate gate freeze`. */
function freezeCommand(terminal: Terminal, setExitCode: SetExitCode): Command {
  return new Command("freeze")
    .summary("write what phases' texts ask for into gate files")
    .description("Writes a gate-definition.yaml for each phase whose gate is read out of its text.")
    .argument("<workflow-dir>", "a workflow's folder")
    .option("--phase <number>", "only this phase", wholeNumber(0))
    .addOption(logLevelOption())
    .addHelpText(
      "after",
      "\nA gate file that is there is never changed. Look over what was guessed: it says so at its top.",
    )
    .action(async (folder: string, { phase }: { readonly phase?: number }) => {
      const workflow = await requireWorkflow(folder);
      const phases = gatesToFreeze(workflow, phase);
      const root = await realpath(folder);
      for (const { number, gate } of phases) {
        const path = await writeGate(root, number, gate, workflow);
        print(terminal, `wrote ${printable(join(folder, path))}: ${gate.fields.length} fields`);
      }
      setExitCode(EXIT.ok);
    });
}

async function requireWorkflow(folder: string): Promise<FoundWorkflow> {
  const [workflow, other] = await findWorkflows(await requireFolder(folder, "the workflow folder"));
  if (workflow === undefined || other !== undefined || workflow.folder !== "") {
    const hint = "Name the folder of one workflow, the one with its metadata.json.";
    throw new CommandFailure(`there is no workflow in ${folder}`, EXIT.problems, hint);
  }
  if (!hasErrors(workflow.read.diagnostics)) return workflow;
  const hint = `Mend what "phasegate validate ${folder}" shows.`;
  throw new CommandFailure(`the workflow in ${folder} is broken`, EXIT.problems, hint);
}

type DocumentPhase = Pick<PhaseDefinition, "number"> & { readonly gate: FieldGate };

function gatesToFreeze({ read }: FoundWorkflow, wanted: number | undefined): DocumentPhase[] {
  const phases = (read.definition?.structure.phases ?? []).flatMap(({ number, gate }) => {
    return gate.kind === "fields" && gate.source === "document" ? [{ number, gate }] : [];
  });
  const chosen = phases.filter(({ number }) => wanted === undefined || number === wanted);
  if (chosen.length > 0) return chosen;
  const which = wanted === undefined ? "no phase" : `phase ${wanted} is none that`;
  const hint = '"phasegate validate" shows what was read out of which text.';
  throw new CommandFailure(`${which} has its gate from its text: there is nothing to write`, EXIT.problems, hint);
}

async function writeGate(root: string, phase: number, gate: FieldGate, { read }: FoundWorkflow): Promise<string> {
  const path = `phases/${phase}/gate-definition.yaml`;
  await (await openSandbox(root)).check(path);
  const text = await gateFileText(
    gate,
    (read.inferred ?? []).filter((requirement) => requirement.phase === phase),
  );
  await mkdir(dirname(join(root, path)), { recursive: true });
  // Fails where there is one by now.
  await writeFile(join(root, path), text, { flag: "wx" });
  return path;
}
