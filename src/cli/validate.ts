/**
 * `phasegate validate`: checks workflow definitions, and prints diagnostics with the code around them. `phasegate gate
 * freeze`: writes the gates that are read from the texts of phases into gate files.
 */
import { mkdir, realpath, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import process from "node:process";
import { openSandbox } from "../sandbox/sandbox.js";
import { type Diagnostic, type DiagnosticCode, hasErrors } from "../workflow/diagnostic.js";
import { frozenGate } from "../workflow/files/write-gate.js";
import { shown } from "../workflow/names.js";
import { FINISH } from "../workflow/routed-definition.js";
import type { FieldGate } from "../workflow/structure.js";
import { argument, command, flag, group, logLevelOption, parsed, repeated, wholeNumber } from "./command.js";
import { diagnosticLines, shownDiagnostics, sourceLines } from "./diagnostics.js";
import { CommandFailure, EXIT, usage } from "./exit-codes.js";
import {
  basesIn,
  type FoundFiles,
  type FoundWorkflow,
  findRouted,
  findWorkflows,
  type GateHost,
  hasVerifiers,
} from "./find-workflows.js";
import type { OpenedPacks } from "./open-packs.js";
import {
  includeRootOption,
  jsonOption,
  requireFolder,
  startersFolder,
  startersOption,
  workflowFolders,
} from "./options.js";
import { openPacks, packOption } from "./packs.js";
import { counted, print, printable, printJson, printLines, styled, type Terminal } from "./terminal.js";
import { openVerifiers, projectOption, type VerifierOptions, verifierOptions } from "./trust.js";

/** A workflow with the path that is printed for its folder. */
interface Placed extends FoundFiles {
  readonly place: string;
}

/** A folder to check, and how its files are named. */
interface CheckedFolder {
  readonly folder: string;
  readonly shown: string;
}

/** Returns the folders to check, in the order in which serve has them; those of packs if no other is given. */
function foldersOf(given: readonly string[], starters: true | undefined, packs: OpenedPacks): CheckedFolder[] {
  const named = workflowFolders({ workflows: given, starters });
  if (named.length > 0) return named.map((folder) => ({ folder, shown: folder }));
  if (packs.workflows.length > 0) return packs.workflows.map(({ pack, folder }) => ({ folder, shown: pack }));
  throw usage(
    "the folder is missing",
    "Name a workflow's folder or a folder of workflows, or give --starters, or --pack with a pack that has workflows.",
  );
}

const HELP = `
The exit code is 1 if there are errors; with --strict, also if there are warnings. A workflow with warnings only can be
started.

Give --project, --allow-command, --allow-host and --allow-env as for serve: gates are then checked as serve checks them
when a session is started, so "ok" means that it starts. Without --project, only what no server accepts is an error.
--verifier names what another host registers: it counts as known, and its params are not checked.

--pack alone checks the workflows of packs, with a folder it checks that folder with the verifiers of the packs. A workflow
that extends another one finds it in all of these folders, in those beside it, and in the packs; with --pack alone, in
the starters, too.`;

export const validateCommand = command({
  name: "validate",
  description: "Checks the workflow in a folder, or all workflows in a folder of them, phased and routed ones alike.",
  arguments: [argument("[dir...]", "workflows' folders, or folders of workflows, in the order that serve has them in")],
  options: {
    starters: startersOption(),
    pack: packOption(),
    strict: flag("--strict", "let warnings count as errors, such as a phase that requires nothing"),
    json: jsonOption(),
    includeRoot: includeRootOption(),
    logLevel: logLevelOption(),
    project: projectOption(),
    ...verifierOptions(),
    verifier: parsed("--verifier <name>", "a verifier that your own host registers; may be repeated", repeated),
  },
  help: HELP,
  async run({ json, includeRoot = [], starters, pack, strict, verifier: own = [], ...options }, terminal, given) {
    const packs = await openPacks(options.project ?? process.cwd(), pack);
    try {
      const folders = foldersOf(given, starters, packs);
      const ofPacks = packs.workflows.map(({ pack, folder }) => ({ folder, shown: pack }));
      const others = ofPacks.filter((pack) => !folders.some(({ folder }) => folder === pack.folder));
      // Packs alone are read as `add` reads them.
      const starter = others.length < ofPacks.length ? [{ folder: startersFolder(), shown: "the starters" }] : [];
      const bases = await basesIn([...folders, ...others, ...starter]);
      const host = { verifiers: await hostVerifiers(options), packs: packs.verifiers, own, bases };
      const found: Placed[] = [];
      for (const folder of folders) {
        found.push(...withHidden(found, await findAll(folder, includeRoot, host)));
      }
      found.sort((one, other) => (one.type < other.type ? -1 : 1));
      if (json) printJson(terminal, asJson(found));
      else await printAll(found, terminal, host.verifiers !== undefined);
      const refused = count(found, "error") + (strict ? count(found, "warning") : 0);
      return refused > 0 ? EXIT.problems : EXIT.ok;
    } finally {
      await packs.close();
    }
  },
});

/** Returns the workflows in a folder. Throws if it holds no workflow. */
async function findAll(
  { folder, shown }: CheckedFolder,
  includeRoot: readonly string[],
  host: GateHost,
): Promise<Placed[]> {
  const path = await requireFolder(folder, "the workflow folder");
  const phased = await findWorkflows(path, host);
  const routed = await findRouted(path, includeRoot, new Set(phased.map(({ type }) => type)), host);
  const found = [...phased, ...routed];
  if (found.length > 0) return found.map((one) => ({ ...one, place: join(shown, one.folder) }));
  const hint = "A workflow is a folder with a metadata.json or an index.md: name one, or a folder that contains some.";
  throw new CommandFailure(`there is no workflow in ${shown}`, EXIT.problems, hint);
}

/** Adds a warning to each workflow of a later folder that an earlier one hides. */
function withHidden(before: readonly Placed[], found: readonly Placed[]): Placed[] {
  return found.map((one) => {
    const first = before.find(({ type }) => type === one.type);
    if (first === undefined) return one;
    const warning: Diagnostic = {
      file: ".",
      severity: "warning",
      code: "WORKFLOW_HIDDEN" satisfies DiagnosticCode,
      message: `serve does not use this workflow: ${first.place} has the same type, and comes first`,
      hint: "Rename one of them, or remove it.",
    };
    return { ...one, read: { ...one.read, diagnostics: [...one.read.diagnostics, warning] } };
  });
}

/** The verifiers that serve would have with these options; undefined without a project. */
async function hostVerifiers(options: VerifierOptions) {
  const project = options.project === undefined ? undefined : await requireFolder(options.project, "the project");
  const verifiers = await openVerifiers({ ...options, project }, process.env);
  return project === undefined ? undefined : verifiers;
}

async function printAll(found: readonly Placed[], terminal: Terminal, isHostKnown: boolean): Promise<void> {
  for (const workflow of found) {
    const { place } = workflow;
    await printDiagnostics(workflow, place, terminal);
    printInferred(workflow, place, terminal);
    printTaken(workflow, place, terminal);
  }
  for (const { type, read } of found) {
    const { diagnostics } = read;
    const [style, status] = hasErrors(diagnostics) ? (["red", "broken"] as const) : (["green", "ok"] as const);
    print(terminal, `${styled(terminal.stdout, style, status.padEnd(6))}  ${printable(type)}`);
  }
  const unchecked = isHostKnown ? [] : found.filter(hasVerifiers).map(({ type }) => printable(type));
  if (unchecked.length > 0) {
    const whose = `the verifiers of ${unchecked.join(", ")}`;
    print(terminal, `${whose}: give --project, --allow-command and --allow-host as for serve to check what it allows`);
  }
  const problems = `${counted(count(found, "error"), "error")}, ${counted(count(found, "warning"), "warning")}`;
  print(terminal, `${counted(found.length, "workflow")}: ${problems}`);
}

async function printDiagnostics({ read, source }: FoundFiles, folder: string, terminal: Terminal): Promise<void> {
  const { shown, more } = shownDiagnostics(read.diagnostics);
  const sources = new Map<string, readonly string[] | undefined>();
  for (const diagnostic of shown) {
    const { file } = diagnostic;
    if (!sources.has(file)) {
      const text = await source(file);
      sources.set(file, text === undefined ? undefined : sourceLines(text));
    }
    printLines(terminal, diagnosticLines(diagnostic, join(folder, file), sources.get(file), terminal.stdout));
  }
  if (more !== undefined) print(terminal, `${printable(folder)}: ${more}\n`);
}

/** Prints the requirements that were read from texts of phases without a gate file, with their positions. */
function printInferred({ read }: FoundFiles, folder: string, terminal: Terminal): void {
  for (const { file, line, column, phase, name, type, required, validators, from, certainty } of read.inferred ?? []) {
    const place = printable(`${join(folder, file)}:${line}:${column}`);
    const asked = [type, ...(required ? [] : ["optional"]), ...validators].join(", ");
    const how = certainty === "sure" ? `in a ${from}` : `in a ${from}, guessed from its words`;
    print(terminal, `${place}: read: phase ${phase} asks for ${printable(name)} (${printable(asked)}), ${how}`);
  }
}

/** Prints what names such as "Finish" in the texts of a routed workflow mean, each spelling once. */
function printTaken({ read }: FoundFiles, folder: string, terminal: Terminal): void {
  const { taken = [] } = read;
  for (const name of new Set(taken.map((one) => one.name))) {
    const [first, ...others] = taken.filter((one) => one.name === name);
    if (first === undefined) continue;
    const position = [join(folder, first.file), first.line, first.column].filter((part) => part !== undefined);
    const isEnd = first.means === FINISH;
    const means = isEnd
      ? `${FINISH}, the end of the work: no step has this name`
      : `the step ${shown(first.means)}: only ${FINISH} ends the work`;
    const again = others.length === 0 ? "" : `, and in ${counted(others.length, "other place")}`;
    print(terminal, `${printable(position.join(":"))}: read: ${printable(shown(name))} means ${means}${again}`);
  }
}

function asJson(found: readonly FoundFiles[]) {
  const workflows = found.map(({ type, read: { diagnostics, inferred = [], taken = [] } }) => ({
    type,
    status: hasErrors(diagnostics) ? "broken" : "ready",
    diagnostics,
    inferred,
    taken,
  }));
  return { workflows, errors: count(found, "error"), warnings: count(found, "warning") };
}

function count(found: readonly FoundFiles[], severity: "error" | "warning"): number {
  return found.flatMap(({ read }) => read.diagnostics).filter((diagnostic) => diagnostic.severity === severity).length;
}

const freezeCommand = command({
  name: "freeze",
  summary: "write the requirements in the texts of phases into gate files",
  description: "Writes a gate-definition.yaml for each phase whose gate is read from its text.",
  arguments: [argument("<workflow-dir>", "a workflow's folder")],
  options: { phase: parsed("--phase <number>", "only this phase", wholeNumber(0)) },
  help: "\nAn existing gate file is never changed. Check the guesses, which are listed at the top of each file.",
  async run({ phase }, terminal, folder) {
    const workflow = await requireWorkflow(folder);
    const phases = gatesToFreeze(workflow, phase);
    const root = await realpath(folder);
    for (const { number, gate } of phases) {
      const path = await writeGate(root, number, gate, workflow);
      print(terminal, `wrote ${printable(join(folder, path))}: ${gate.fields.length} fields`);
    }
    return EXIT.ok;
  },
});

export const gateCommand = group({ name: "gate", description: "Writes gate files from the texts of phases." }, [
  freezeCommand,
]);

async function requireWorkflow(folder: string): Promise<FoundWorkflow> {
  const [workflow, other] = await findWorkflows(await requireFolder(folder, "the workflow folder"));
  if (workflow === undefined || other !== undefined || workflow.folder !== "") {
    const hint = "Name the folder of one workflow, which has its metadata.json.";
    throw new CommandFailure(`there is no workflow in ${folder}`, EXIT.problems, hint);
  }
  if (workflow.read.extends) {
    const hint = "Freeze the gates of that one, or write gate files for the phases that this one inserts.";
    throw new CommandFailure(`the workflow in ${folder} extends another one`, EXIT.problems, hint);
  }
  if (!hasErrors(workflow.read.diagnostics)) return workflow;
  const hint = `Fix the errors that "phasegate validate ${folder}" shows.`;
  throw new CommandFailure(`the workflow in ${folder} is broken`, EXIT.problems, hint);
}

function gatesToFreeze({ read }: FoundWorkflow, wanted: number | undefined) {
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
  const inferred = (read.inferred ?? []).filter((requirement) => requirement.phase === phase);
  const text = await frozenGate(gate, inferred);
  await mkdir(dirname(join(root, path)), { recursive: true });
  // "wx" fails if the file exists by now.
  await writeFile(join(root, path), text, { flag: "wx" });
  return path;
}
