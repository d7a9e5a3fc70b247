/**
 * Reads the workflows in a folder, phased and routed ones, for `validate` and `gate freeze`. Verifiers in gates are checked
 * against the built-in ones, which are those of `serve`.
 */
import { realpath } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { FileTexts } from "../content/file-plans.js";
import { workflowNames } from "../content/files.js";
import { WorkflowFolder } from "../content/workflow-folder.js";
import { isPhasegateError } from "../errors.js";
import { checksOf } from "../gate/check-gate.js";
import { openSandbox, type Sandbox } from "../sandbox/sandbox.js";
import { VERIFIER_NAMES } from "../verifiers/create-verifiers.js";
import { loadVerifierRules, ruleParam } from "../verifiers/define-verifier.js";
import { type Diagnostic, unreadable } from "../workflow/diagnostic.js";
import { METADATA_FILE, type ReadWorkflow } from "../workflow/files/read-workflow.js";
import { type ReadRoutedWorkflow, RoutedFolders } from "../workflow/files/routed-workflow.js";
import { FILE_MAX, withoutMark } from "../workflow/files/workflow-files.js";
import { nearest, secretIn, shown } from "../workflow/names.js";
import type { GateDefinition, WorkflowStructure } from "../workflow/structure.js";

/** A workflow of either kind. */
export interface FoundFiles {
  readonly type: string;
  /** Its folder below the given one; `""` if the given folder is the workflow itself. */
  readonly folder: string;
  readonly read: Pick<ReadWorkflow, "diagnostics" | "inferred"> & Partial<Pick<ReadRoutedWorkflow, "taken">>;
  /** Reads one of its files. Returns undefined if it cannot be read. */
  source(file: string): Promise<string | undefined>;
}

/** A phased workflow. */
export interface FoundWorkflow extends FoundFiles {
  readonly read: ReadWorkflow;
}

/** Reads the phased workflow in a folder, or those in its subfolders. */
export async function findWorkflows(folder: string): Promise<FoundWorkflow[]> {
  const path = await realpath(folder);
  const inside = await openSandbox(path, { refuse: secretIn });
  // Even an unreadable metadata.json makes the folder a workflow.
  if ((await inside.list(".")).some((entry) => entry.path === METADATA_FILE)) {
    const found = await readFolder(await openSandbox(dirname(path), { refuse: secretIn }), basename(path), "");
    return found === undefined ? [] : [found];
  }
  const workflows: FoundWorkflow[] = [];
  for (const type of await workflowNames(inside)) {
    const found = await readFolder(inside, type, type).catch((error: unknown) => failed(type, error));
    if (found !== undefined) workflows.push(found);
  }
  return workflows;
}

/** Returns a workflow whose reading has failed, so that the others are still checked. */
function failed(type: string, error: unknown): FoundWorkflow {
  const read = { diagnostics: [unreadable(error, METADATA_FILE)] };
  return { type, folder: type, read, source: () => Promise.resolve(undefined) };
}

/** Reads a folder. Returns undefined if it is not a phased workflow. */
async function readFolder(sandbox: Sandbox, type: string, folder: string): Promise<FoundWorkflow | undefined> {
  const read = await new WorkflowFolder(sandbox, type).read();
  if (read === undefined) return undefined;
  const source = (file: string) => sourceOf(sandbox, `${type}/${file}`);
  const { structure } = read.definition ?? {};
  const ofVerifiers =
    structure === undefined ? [] : [...unknownVerifiers(structure), ...(await verifierRuleFaults(structure, source))];
  return { type, folder, read: { ...read, diagnostics: [...read.diagnostics, ...ofVerifiers] }, source };
}

async function sourceOf(sandbox: Sandbox, path: string): Promise<string | undefined> {
  try {
    return withoutMark((await sandbox.read(path, { maxBytes: FILE_MAX })).text);
  } catch (error) {
    if (isPhasegateError(error)) return undefined;
    throw error;
  }
}

/**
 * Reads the routed workflow in a folder, or those in its subfolders, except folders that are phased workflows.
 * `includeRoots` are relative to the folder that contains the workflows.
 */
export async function findRouted(
  folder: string,
  includeRoots: readonly string[],
  phased: ReadonlySet<string>,
): Promise<FoundFiles[]> {
  const path = await realpath(folder);
  const inside = await openSandbox(path);
  if (phased.size === 0 && (await isRouted(inside, "."))) {
    const source = new FileTexts({ root: dirname(path) });
    return [await readRouted(new RoutedFolders({ source, includeRoots }), source, basename(path), "")];
  }
  const source = new FileTexts({ root: path });
  const folders = new RoutedFolders({ source, includeRoots });
  const found: FoundFiles[] = [];
  for (const name of await workflowNames(inside)) {
    if (phased.has(name) || !(await isRouted(inside, name))) continue;
    found.push(await readRouted(folders, source, name, name).catch((error: unknown) => failed(name, error)));
  }
  return found;
}

/** Checks that a folder looks like a routed workflow. One that cannot be listed does not. */
async function isRouted(sandbox: Sandbox, folder: string): Promise<boolean> {
  try {
    const entries = await sandbox.list(folder);
    return entries.some(({ path, kind }) => {
      const name = path.slice(path.lastIndexOf("/") + 1);
      return name === "index.md" || (name === "steps" && kind === "folder");
    });
  } catch (error) {
    if (isPhasegateError(error)) return false;
    throw error;
  }
}

async function readRouted(
  folders: RoutedFolders,
  source: FileTexts,
  name: string,
  folder: string,
): Promise<FoundFiles> {
  const { definition, diagnostics, taken } = await folders.read(name);
  const unknown = (definition?.steps ?? []).flatMap(({ name: step, file = "index.md", gate }) =>
    gate === undefined ? [] : unknownInGates(gate, `the step ${step}`, file),
  );
  return {
    type: name,
    folder,
    read: { diagnostics: [...diagnostics, ...unknown], taken },
    source: async (file) => {
      const text = await source.read(pathOf(name, file));
      return text === undefined ? undefined : withoutMark(text);
    },
  };
}

/** Returns the path of a diagnostic's file: an included file may be outside the workflow's folder. */
function pathOf(name: string, file: string): string {
  return file.startsWith("../") ? file.slice(3) : `${name}/${file}`;
}

/** Returns a warning for each verifier in gates that `phasegate serve` does not have: another host may have it. */
function unknownVerifiers({ phases }: WorkflowStructure): Diagnostic[] {
  return phases.flatMap(({ number, gate }) =>
    unknownInGates(gate, `phase ${number}`, `phases/${number}/gate-definition.yaml`),
  );
}

/** Returns the warnings for one gate. `where` names its owner in messages. */
function unknownInGates(gate: GateDefinition, where: string, file: string): Diagnostic[] {
  const names = new Set(checksOf(gate).map(({ verifier }) => verifier));
  return [...names].filter((name) => !KNOWN.includes(name)).map((name) => warning(where, file, name));
}

const KNOWN: readonly string[] = VERIFIER_NAMES;

function warning(where: string, file: string, name: string): Diagnostic {
  const similar = nearest(name, KNOWN);
  const meant = similar === undefined ? "" : `Did you mean ${shown(similar)}? `;
  return {
    file,
    severity: "warning",
    code: "VERIFIER_UNKNOWN",
    message: `${where} names the verifier ${shown(name)}, which phasegate serve does not have`,
    hint: `${meant}Only a host that registers it can start this workflow.`,
  };
}

/** Returns an error for each rule in the parameters of a built-in verifier that cannot be run. */
async function verifierRuleFaults(
  { phases }: WorkflowStructure,
  source: (file: string) => Promise<string | undefined>,
): Promise<Diagnostic[]> {
  const found: Diagnostic[] = [];
  for (const { number, gate } of phases) {
    for (const { verifier, params } of checksOf(gate)) {
      const fault = await faultOf(verifier, params);
      if (fault === undefined) continue;
      const file = `phases/${number}/gate-definition.yaml`;
      const place = placeOf(fault.rule, await source(file));
      const hint = "docs/verifiers.md describes the rules.";
      found.push({ file, ...place, severity: "error", code: "RULE_INVALID", message: fault.message, hint });
    }
  }
  return found;
}

async function faultOf(verifier: string, params: Parameters<typeof ruleParam>[1]) {
  const given = ruleParam(verifier, params);
  if (given === undefined) return undefined;
  try {
    (await loadVerifierRules()).read(verifier, given.param, given.rule, given.variables);
    return undefined;
  } catch (error) {
    if (isPhasegateError(error)) return { rule: given.rule, message: error.message };
    throw error;
  }
}

/** Returns the position of a rule in its file, if the file has it literally. */
function placeOf(rule: string, text: string | undefined): { line?: number; column?: number } {
  const at = text?.indexOf(rule) ?? -1;
  if (text === undefined || at < 0) return {};
  const before = text.slice(0, at).split("\n");
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}
