/** `phasegate gate freeze`: writes the gates that are read from the texts of phases into gate files. */
import { mkdir, realpath, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Command } from "commander";
import { openSandbox } from "../sandbox/sandbox.js";
import { hasErrors } from "../workflow/diagnostic.js";
import { gateFileText } from "../workflow/infer/document-gate.js";
import type { FieldGate, PhaseDefinition } from "../workflow/structure.js";
import { CommandFailure, EXIT, type SetExitCode } from "./exit-codes.js";
import { type FoundWorkflow, findWorkflows } from "./find-workflows.js";
import { logLevelOption, requireFolder, wholeNumber } from "./options.js";
import { print, printable, type Terminal } from "./terminal.js";

/** Creates `phasegate gate` with its subcommand `freeze`. */
export function gateCommand(terminal: Terminal, setExitCode: SetExitCode): Command {
  return new Command("gate")
    .summary("write gate files")
    .description("Writes gate files from the texts of phases.")
    .addCommand(freezeCommand(terminal, setExitCode));
}

function freezeCommand(terminal: Terminal, setExitCode: SetExitCode): Command {
  return new Command("freeze")
    .summary("write the requirements in the texts of phases into gate files")
    .description("Writes a gate-definition.yaml for each phase whose gate is read from its text.")
    .argument("<workflow-dir>", "a workflow's folder")
    .option("--phase <number>", "only this phase", wholeNumber(0))
    .addOption(logLevelOption())
    .addHelpText(
      "after",
      "\nAn existing gate file is never changed. Check the guesses, which are listed at the top of each file.",
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
    const hint = "Name the folder of one workflow, which has its metadata.json.";
    throw new CommandFailure(`there is no workflow in ${folder}`, EXIT.problems, hint);
  }
  if (!hasErrors(workflow.read.diagnostics)) return workflow;
  const hint = `Fix the errors that "phasegate validate ${folder}" shows.`;
  throw new CommandFailure(`the workflow in ${folder} is broken`, EXIT.problems, hint);
}

type DocumentPhase = Pick<PhaseDefinition, "number"> & { readonly gate: FieldGate };

function gatesToFreeze({ read }: FoundWorkflow, wanted: number | undefined): DocumentPhase[] {
  const phases = (read.definition?.structure.phases ?? []).flatMap(({ number, gate }) => {
    return gate.kind === "fields" && gate.source === "document" ? [{ number, gate }] : [];
  });
  const chosen = phases.filter(({ number }) => wanted === undefined || number === wanted);
  if (chosen.length > 0) return chosen;
  const which =
    wanted === undefined
      ? "no gate is read from the text of its phase"
      : `the gate of phase ${wanted} is not read from its text`;
  const hint = '"phasegate validate" shows what was read from which text.';
  throw new CommandFailure(`${which}: there is nothing to write`, EXIT.problems, hint);
}

async function writeGate(root: string, phase: number, gate: FieldGate, { read }: FoundWorkflow): Promise<string> {
  const path = `phases/${phase}/gate-definition.yaml`;
  await (await openSandbox(root)).check(path);
  const text = await gateFileText(
    gate,
    (read.inferred ?? []).filter((requirement) => requirement.phase === phase),
  );
  await mkdir(dirname(join(root, path)), { recursive: true });
  // "wx" fails if the file exists by now.
  await writeFile(join(root, path), text, { flag: "wx" });
  return path;
}
