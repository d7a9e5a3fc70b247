/**
 * Reads the workflows in a folder, phased and routed ones, for `validate` and `gate freeze`. Verifiers in gates are checked
 * against the built-in ones, which are those of `serve`.
 */
import { realpath } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname } from "node:path";
import process from "node:process";
import { Bases } from "../content/bases.js";
import { FileTexts } from "../content/file-plans.js";
import { FileContent, workflowNames } from "../content/files.js";
import { WorkflowFolder } from "../content/workflow-folder.js";
import { isPhasegateError, type SourcePosition } from "../errors.js";
import { checksOf } from "../gate/check-gate.js";
import { ruleFaults } from "../gate/judge.js";
import { type Children, faultOf, placedGates } from "../phased/start-checks.js";
import type { BaseWorkflows } from "../ports/content-provider.js";
import type { Verifier } from "../ports/verifier.js";
import { childOptionFaults } from "../rules/options.js";
import { openIfThere, openSandbox, type Sandbox } from "../sandbox/sandbox.js";
import { BUILT_IN, createVerifiers } from "../verifiers/create-verifiers.js";
import { ruleFault } from "../verifiers/rules.js";
import { CHILD_CHECK, childWorkflowOf } from "../workflow/child-workflow.js";
import { type Diagnostic, type DiagnosticCode, unreadable, weakerGates } from "../workflow/diagnostic.js";
import type { ReadWorkflow } from "../workflow/files/read-workflow.js";
import { type ReadRoutedWorkflow, RoutedFolders } from "../workflow/files/routed-workflow.js";
import { FILE_MAX, GATE_FILES, METADATA_FILE, withoutMark } from "../workflow/files/workflow-files.js";
import { nearest, secretIn, shown } from "../workflow/names.js";
import type { GateDefinition } from "../workflow/structure.js";
import type { Workflow } from "../workflow/workflow-input.js";

export interface FoundFiles {
  readonly type: string;
  /** Its folder below the given one; `""` if the given folder is the workflow itself. */
  readonly folder: string;
  readonly read: Pick<ReadWorkflow, "diagnostics" | "inferred"> & Partial<Pick<ReadRoutedWorkflow, "taken">>;
  readonly gates?: readonly PlacedGate[];
  source(file: string): Promise<string | undefined>;
}

interface PlacedGate {
  readonly gate: GateDefinition;
  /** Such as `phase 2`. */
  readonly where: string;
  readonly file: string;
}

export function hasVerifiers({ gates = [] }: FoundFiles): boolean {
  return gates.some(({ gate }) => checksOf(gate).some(({ verifier }) => verifier !== CHILD_CHECK));
}

export interface FoundWorkflow extends FoundFiles {
  readonly read: ReadWorkflow;
}

type Verifiers = Readonly<Record<string, Verifier>>;

/** Who runs the gates. */
export interface GateHost {
  /** All verifiers of the host, by name; undefined if they are not known. */
  readonly verifiers?: Verifiers | undefined;
  /** The verifiers of packs that any host has besides. */
  readonly packs?: Verifiers | undefined;
  /** The names of verifiers of its own. */
  readonly own?: readonly string[];
  /** The workflows that others may extend. Default: those of the folder. */
  readonly bases?: BaseWorkflows;
}

/** Returns the workflows in some folders, or in those around them, for others that extend them. A missing folder has none. */
export async function basesIn(
  folders: readonly { readonly folder: string; readonly shown: string }[],
): Promise<BaseWorkflows> {
  const sources = folders.map(async ({ folder, shown }) => {
    const inside = await openIfThere(folder);
    if (inside === undefined) return [];
    const path = await realpath(folder);
    return [{ content: new FileContent({ roots: [(await isWorkflow(inside)) ? dirname(path) : path] }), name: shown }];
  });
  return new Bases((await Promise.all(sources)).flat());
}

/** Even an unreadable metadata.json makes a folder a workflow. */
async function isWorkflow(inside: Sandbox): Promise<boolean> {
  return (await inside.list(".")).some(({ path }) => path === METADATA_FILE);
}

/** Reads the phased workflow in a folder, or those in its subfolders, as the host has them. */
export async function findWorkflows(folder: string, given: GateHost = {}): Promise<FoundWorkflow[]> {
  const path = await realpath(folder);
  const inside = await openSandbox(path, { refuse: secretIn });
  const host = { ...given, bases: given.bases ?? (await basesIn([{ folder, shown: folder }])) };
  if (await isWorkflow(inside)) {
    const sandbox = await openSandbox(dirname(path), { refuse: secretIn });
    const found = await readFolder(sandbox, basename(path), "", host);
    return found === undefined ? [] : [found];
  }
  const workflows: FoundWorkflow[] = [];
  for (const type of await workflowNames(inside)) {
    const found = await readFolder(inside, type, type, host).catch((error: unknown) => failed(type, error));
    if (found !== undefined) workflows.push(found);
  }
  return workflows;
}

/** Returns a workflow whose reading has failed, so that the others are still checked. */
function failed(type: string, error: unknown): FoundWorkflow {
  const read = { diagnostics: [unreadable(error, METADATA_FILE)] };
  return { type, folder: type, read, source: () => Promise.resolve(undefined) };
}

/** Returns undefined if the folder is not a phased workflow. */
async function readFolder(
  sandbox: Sandbox,
  type: string,
  folder: string,
  host: GateHost & { readonly bases: BaseWorkflows },
): Promise<FoundWorkflow | undefined> {
  const read = await new WorkflowFolder(sandbox, type).read(host.bases);
  if (read === undefined) return undefined;
  const source = (file: string) =>
    sandbox.read(`${type}/${file}`, { maxBytes: FILE_MAX }).then(({ text }) => withoutMark(text), ofRefused(undefined));
  const gates: PlacedGate[] = (read.definition?.structure.phases ?? []).map(({ number, gate }) => {
    const usual = `phases/${number}/${GATE_FILES[0]}`;
    // The gates of a base are not in this folder.
    const file = read.extension === undefined ? usual : (read.extension.own.get(usual) ?? METADATA_FILE);
    return { gate, where: `phase ${number}`, file };
  });
  const verify = read.definition?.structure.dynamic?.verify;
  if (verify !== undefined) {
    const gate: GateDefinition = { kind: "plan", tasks: [], items: [], verify };
    gates.push({ gate, where: "each phase of a plan", file: METADATA_FILE });
  }
  const found = [
    ...(await weakerIn(read, source)),
    ...(await childrenIn(type, gates, source, host.bases, read.definition)),
    ...(await verifierFaults(gates, source, host)),
  ];
  return { type, folder, read: { ...read, diagnostics: [...read.diagnostics, ...found] }, gates, source };
}

/** Returns the warnings about gates that ask for less than the base's, at the reasons that metadata.json gives. */
async function weakerIn({ definition }: ReadWorkflow, source: FoundFiles["source"]): Promise<Diagnostic[]> {
  const reasons = definition?.structure.extends?.weaker ?? [];
  if (definition === undefined || reasons.length === 0) return [];
  const text = await source(METADATA_FILE);
  return weakerGates(definition.structure).map((warning, at) => ({
    ...{ ...warning, file: METADATA_FILE },
    ...placeOf(JSON.stringify(reasons[at]?.reason), text),
  }));
}

/** Returns what is wrong with phases that are workflows: none of the folders has them, or they don't take the options. */
async function childrenIn(
  by: string,
  gates: readonly PlacedGate[],
  source: FoundFiles["source"],
  folders: BaseWorkflows,
  definition: Workflow["definition"] | undefined,
): Promise<Diagnostic[]> {
  const children = gates.flatMap(({ gate, ...place }) => {
    const child = childWorkflowOf(gate);
    return child === undefined ? [] : [{ ...place, child }];
  });
  const types = children.length === 0 ? [] : await folders.types();
  const found: Diagnostic[] = [];
  const others = new Map<string, Workflow["definition"]>();
  for (const { child, where, file } of children) {
    const place = { file, ...placeOf(child.type, await source(file)) };
    const phase = `${where} is the workflow ${shown(child.type)}, which`;
    if (!types.includes(child.type)) {
      const message = `${phase} is not in ${folders.place}`;
      const hint = "Name its folder, too, or give --starters, or --pack: without it, no session can be started.";
      found.push({ ...place, severity: "warning", code: "CHILD_MISSING" satisfies DiagnosticCode, message, hint });
    }
    // What is wrong with the other workflow is said where that one is.
    const other = await folders.find(child.type, by).catch(ofRefused(undefined));
    if (other !== undefined) others.set(child.type, other.definition);
    for (const fault of other === undefined ? [] : childOptionFaults(child, other.definition.structure)) {
      const message = `${phase} can't be started so: ${fault}`;
      const hint = "Give the options that it reads, with values or rules.";
      found.push({ ...place, severity: "error", code: "WORKFLOW_PHASE_WRONG" satisfies DiagnosticCode, message, hint });
    }
  }
  return [...found, ...(await rulesOverChildren(definition, others))];
}

/** Returns what is wrong with rules that read the artifacts of children: what the reading of one workflow alone can't find. */
async function rulesOverChildren(
  definition: Workflow["definition"] | undefined,
  others: Children,
): Promise<Diagnostic[]> {
  if (definition === undefined || others.size === 0) return [];
  const found: Diagnostic[] = [];
  for (const { number, gate, place } of placedGates(definition, others)) {
    const faults = await ruleFaults(gate, place);
    found.push(
      ...faults.map(({ message }): Diagnostic => {
        const file = `phases/${number}/${GATE_FILES[0]}`;
        return { file, severity: "error", code: "RULE_INVALID" satisfies DiagnosticCode, message };
      }),
    );
  }
  return found;
}

/** Returns a value in place of what a refused path has. */
function ofRefused<T>(value: T): (error: unknown) => T {
  return (error) => {
    if (isPhasegateError(error)) return value;
    throw error;
  };
}

/** Reads routed workflows likewise, except phased ones. `includeRoots` are relative to the folder around them. */
export async function findRouted(
  folder: string,
  includeRoots: readonly string[],
  phased: ReadonlySet<string>,
  host: GateHost = {},
): Promise<FoundFiles[]> {
  const path = await realpath(folder);
  const inside = await openSandbox(path);
  if (phased.size === 0 && (await isRouted(inside, "."))) {
    const source = new FileTexts({ root: dirname(path) });
    return [await readRouted(new RoutedFolders({ source, includeRoots }), source, [basename(path), ""], host)];
  }
  const source = new FileTexts({ root: path });
  const folders = new RoutedFolders({ source, includeRoots });
  const found: FoundFiles[] = [];
  for (const name of await workflowNames(inside)) {
    if (phased.has(name) || !(await isRouted(inside, name))) continue;
    found.push(await readRouted(folders, source, [name, name], host).catch((error: unknown) => failed(name, error)));
  }
  return found;
}

/** Checks that a folder looks like a routed workflow. One that cannot be listed does not. */
async function isRouted(sandbox: Sandbox, folder: string): Promise<boolean> {
  const entries = await sandbox.list(folder).catch(ofRefused([]));
  return entries.some(({ path, kind }) => {
    const name = path.slice(path.lastIndexOf("/") + 1);
    return name === "index.md" || (name === "steps" && kind === "folder");
  });
}

async function readRouted(
  folders: RoutedFolders,
  source: FileTexts,
  [name, folder]: readonly [name: string, folder: string],
  host: GateHost,
): Promise<FoundFiles> {
  const { definition, diagnostics, taken } = await folders.read(name);
  const textOf = async (file: string) => {
    const text = await source.read(pathOf(name, file));
    return text === undefined ? undefined : withoutMark(text);
  };
  const gates = (definition?.steps ?? []).flatMap(({ name: step, file = "index.md", gate }) =>
    gate === undefined ? [] : [{ gate, where: `the step ${step}`, file }],
  );
  const ofVerifiers = await verifierFaults(gates, textOf, host);
  return { type: name, folder, read: { diagnostics: [...diagnostics, ...ofVerifiers], taken }, gates, source: textOf };
}

/** Returns the path of a diagnostic's file: an included file may be outside the workflow's folder. */
export function pathOf(name: string, file: string): string {
  return file.startsWith("../") ? file.slice(3) : `${name}/${file}`;
}

/** Returns what is wrong with verifiers of gates. An unknown one only warns, unless the host's verifiers are known. */
async function verifierFaults(
  gates: readonly PlacedGate[],
  source: (file: string) => Promise<string | undefined>,
  { verifiers, packs, own = [] }: GateHost,
): Promise<Diagnostic[]> {
  const found: Diagnostic[] = [];
  if (gates.every(({ gate }) => checksOf(gate).length === 0)) return found;
  const allowing = { ...(verifiers ?? (await allowingAll(gates))), ...packs };
  for (const { gate, where, file } of gates) {
    const unknown = new Set<string>();
    const text = checksOf(gate).length === 0 ? undefined : await source(file);
    const add = (at: string, diagnostic: Omit<Diagnostic, keyof SourcePosition>) =>
      found.push({ file, ...placeOf(at, text), ...diagnostic });
    for (const check of checksOf(gate)) {
      const { verifier, params } = check;
      // The engine makes the check of a phase that is a workflow.
      if (own.includes(verifier) || verifier === CHILD_CHECK) continue;
      if (!Object.hasOwn(allowing, verifier)) {
        if (!unknown.has(verifier)) add(verifier, unknownVerifier(where, verifier, own, verifiers === undefined));
        unknown.add(verifier);
        continue;
      }
      const rule = await ruleFault(verifier, params);
      if (rule !== undefined) {
        const hint = "docs/verifiers.md describes the rules.";
        add(rule.rule, { severity: "error", code: "RULE_INVALID", message: rule.message, hint });
        continue;
      }
      const fault = await faultOf(check, allowing);
      if (fault === undefined) continue;
      const hint =
        verifiers === undefined
          ? "Correct the parameters: docs/verifiers.md lists them."
          : "Correct the parameters, or allow what they ask for, with --allow-command or --allow-host.";
      const message = `${where} can't be started: ${fault}`;
      add(verifier, { severity: "error", code: "VERIFIER_REFUSED", message, hint });
    }
  }
  return found;
}

/** Returns verifiers that allow every command and server that the gates name: what they refuse, every host refuses. */
async function allowingAll(gates: readonly PlacedGate[]): Promise<Readonly<Record<string, Verifier>>> {
  const commands: Record<string, string> = {};
  const hosts: { readonly host: string; readonly private: true }[] = [];
  for (const { verifier, params } of gates.flatMap(({ gate }) => checksOf(gate))) {
    const [name] = Array.isArray(params.argv) ? params.argv : [];
    if (verifier === "command" && typeof name === "string" && /^[\w.+-]+$/.test(name))
      commands[name] = process.execPath;
    if (verifier === "command" && typeof params.line === "string" && /^[^{}"'&|;<>$`\\()]+$/.test(params.line))
      commands[params.line] = process.execPath;
    const url = verifier === "http_ok" && typeof params.url === "string" ? params.url : "";
    if (URL.canParse(url) && new URL(url).hostname !== "") hosts.push({ host: new URL(url).host, private: true });
  }
  return createVerifiers({ projectRoot: tmpdir(), commands, hosts });
}

const KNOWN: readonly string[] = Object.keys(BUILT_IN);

function unknownVerifier(where: string, name: string, own: readonly string[], mayExist: boolean) {
  const similar = nearest(name, [...own, ...KNOWN]);
  const meant = similar === undefined ? "" : `Did you mean ${shown(similar)}? `;
  return {
    severity: mayExist ? ("warning" as const) : ("error" as const),
    code: "VERIFIER_UNKNOWN",
    message: `${where} names the verifier ${shown(name)}, which phasegate serve does not have`,
    hint: `${meant}Only a host that registers it can start this workflow. If yours does, give --verifier ${name}.`,
  };
}

/** Returns the position of a text in its file, if the file has it literally. */
function placeOf(wanted: string, text: string | undefined): { line?: number; column?: number } {
  const at = text?.indexOf(wanted) ?? -1;
  if (text === undefined || at < 0) return {};
  const before = text.slice(0, at).split("\n");
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}
