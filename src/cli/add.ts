/**
 * `phasegate add`, `update` and `remove`: packs of a project. A pack is looked at in a folder apart. Only after a yes it is installed
 * in the project, pinned in the record of init, and named in the configuration of clients.
 */
import { join } from "node:path";
import { isConfirmed, readOwnRecord } from "../setup/own-record.js";
import type { PinnedPack } from "../setup/packs.js";
import { isOutside, type Roots, WORKFLOWS } from "../setup/places.js";
import { type FileFact, planSetup } from "../setup/plan.js";
import { applyPlan, isFolder, readCheckFacts, readFiles, readFolders, readRecord } from "../setup/project.js";
import { findPack, type Pack } from "../setup/read-pack.js";
import { RECORD_PATH, RECORD_REMEDY, type SetupRecord } from "../setup/record.js";
import { parseObject, pathsOf, serverEntries } from "../setup/wanted.js";
import { formatDiagnostic, weakerGates } from "../workflow/diagnostic.js";
import { isJsonObject } from "../workflow/json.js";
import { argument, command, flag, parsed, repeated, text, type Values } from "./command.js";
import { CommandFailure, EXIT, type ExitCode, usage } from "./exit-codes.js";
import { chooseSetup, reportKept, reportPlan, requireProject } from "./init.js";
import { copyWorkflows, installedPack, packIn } from "./open-packs.js";
import { startersFolder } from "./options.js";
import { changesOf, reportChanges } from "./pack-changes.js";
import { gatesOf, type PackWants, wantsOf } from "./pack-wants.js";
import { installApart, installIn, specOf, uninstallIn } from "./package-manager.js";
import { confirm, counted, inShell, isInteractive, print, printable, styled, type Terminal } from "./terminal.js";

const projectOption = () => text("--project <dir>", "the project; if not given, the one that the current folder is in");
const grantOptions = () => ({
  allowCommand: parsed(
    "--allow-command <command>",
    "a command that gates of the pack may run, as it is shown; may be repeated",
    repeated,
  ),
  allowHost: parsed("--allow-host <host>", "a server that gates of the pack may ask; may be repeated", repeated),
  yes: flag("--yes", "ask nothing: what is not allowed by an option stays forbidden"),
  project: projectOption(),
});
type Grants = Omit<Values<ReturnType<typeof grantOptions>>, "project">;

const ADD_HELP = `
The pack is a package of npm, with the field "phasegate" in its package.json. It is installed by the package manager of the
project, and no script of it is run. Before that, its workflows are checked, and add shows what its gates want: commands, servers,
approvers, and verifiers of its own, which are code that runs with the rights of the server. It gets what you allow, and nothing else.

The version and a digest of its files are pinned in ${RECORD_PATH}. A pack whose files differ from that is not served.

Examples:
  phasegate add acme-gates
  phasegate add ./acme-gates-1.0.0.tgz --yes --allow-command "npm test"`;

export const addCommand = command({
  name: "add",
  description: "Installs a pack, pins it, and lets the server of the project serve it.",
  arguments: [argument("<pack>", "NAME, NAME@VERSION, a tarball or a folder")],
  options: grantOptions(),
  help: ADD_HELP,
  run: add,
});

const UPDATE_HELP = `
Shows how each gate differs from the version that you have confirmed, and what is wanted anew. Nothing is installed before a yes:
without it everything stays as it is. If another version is installed already, that one is compared and confirmed.

Examples:
  phasegate update --dry-run
  phasegate update acme-gates@2.0.0`;

export const updateCommand = command({
  name: "update",
  description: "Updates one pack, or all packs of the project, to the newest version.",
  arguments: [argument("[pack]", "NAME, NAME@VERSION, a tarball or a folder; all packs if not given")],
  options: { ...grantOptions(), dryRun: flag("--dry-run", "show what would change, and change nothing") },
  help: UPDATE_HELP,
  run: update,
});

export const removeCommand = command({
  name: "remove",
  description: "Takes a pack out of the record, the clients' configuration and package.json.",
  arguments: [argument("<name>", "the name of the pack")],
  options: { project: projectOption() },
  async run(options, terminal, name) {
    const project = await openPackProject(options.project);
    const pin = requirePin(project, name);
    const failed = await keep(
      project,
      project.packs.filter((one) => one !== pin),
      terminal,
    );
    if (pin.installed) await uninstallIn(project.roots, name);
    print(terminal, `${name} is taken out.`);
    return failed;
  },
});

interface PackProject {
  readonly roots: Roots;
  readonly record: SetupRecord;
  readonly fact: FileFact;
  readonly packs: readonly PinnedPack[];
  /** The text of its package.json. */
  readonly manifest: string;
}

/** Opens a project that this user has set up: a package manager runs in it, and what its record grants is kept. */
async function openPackProject(folder: string | undefined): Promise<PackProject> {
  const roots = await requireProject(folder);
  const { fact, record, problem } = await readRecord(roots);
  if (problem !== undefined) {
    throw new CommandFailure(`${RECORD_PATH} can't be used: ${problem}`, EXIT.problems, RECORD_REMEDY);
  }
  if (record === undefined) {
    throw new CommandFailure(`there is no ${RECORD_PATH} in ${roots.root}`, EXIT.problems, "Run phasegate init first.");
  }
  if (!isConfirmed(record, await readOwnRecord(roots))) {
    const hint = "Run phasegate init: it shows what the record says. If the project is yours, give it --trust.";
    throw new CommandFailure(`your init did not write ${RECORD_PATH}: nothing was changed`, EXIT.problems, hint);
  }
  const manifest = (await readCheckFacts(roots))["package.json"];
  if (manifest === undefined) {
    const hint = 'Packs are packages of npm. Run "npm init --yes" first.';
    throw new CommandFailure(`there is no package.json in ${roots.root}`, EXIT.environment, hint);
  }
  return { roots, record, fact, packs: record.packs ?? [], manifest };
}

function requirePin({ packs }: PackProject, name: string): PinnedPack {
  const pin = packs.find((one) => one.name === name);
  if (pin !== undefined) return pin;
  const there = packs.map((one) => one.name).join(", ");
  throw usage(`there is no pack ${name} in this project`, there === "" ? "It has none." : `There are ${there}.`);
}

async function add(
  { project: folder, ...grants }: Grants & { readonly project?: string },
  terminal: Terminal,
  given: string,
): Promise<ExitCode> {
  requireAnswers(grants, terminal);
  const project = await openPackProject(folder);
  const spec = await specOf(given);
  const isThere = rangeOf(project, given) !== undefined && (await findPack(project.roots.root, given)) !== undefined;
  const looked = isThere ? { folder: undefined, close: async () => {} } : await installApart(project.roots, spec);
  try {
    const { roots } = project;
    const pack = looked.folder === undefined ? await installedPack(roots, given) : await packIn(looked.folder, given);
    if (project.packs.some(({ name }) => name === pack.name)) {
      throw usage(`the pack ${pack.name} is added already`, `Run phasegate update ${pack.name}.`);
    }
    if (!isThere && rangeOf(project, pack.name) !== undefined) {
      const hint = `Uninstall it first, or add it as it is installed: phasegate add ${pack.name}`;
      throw new CommandFailure(`package.json names ${pack.name} already`, EXIT.problems, hint);
    }
    const look = await lookInto(pack, project, terminal);
    const granted = await grant(pack, look.wants, { commands: [], hosts: [] }, project, grants, terminal);
    if (!grants.yes && !(await confirm(terminal, `Add ${pack.name} ${pack.version}?`))) {
      print(terminal, "Nothing was changed.");
      return EXIT.problems;
    }
    if (!isThere) await installAs(pack, spec, project);
    const pin = pinOf(pack, look, granted, isThere ? undefined : true);
    return await keep(project, [...project.packs, pin], terminal);
  } finally {
    await looked.close();
  }
}

async function update(
  { project: folder, dryRun, ...grants }: Grants & { readonly project?: string; readonly dryRun?: true },
  terminal: Terminal,
  given: string | undefined,
): Promise<ExitCode> {
  if (!dryRun) requireAnswers(grants, terminal);
  const { packs } = await openPackProject(folder);
  if (given === undefined && packs.length === 0) print(terminal, "The project has no packs.");
  let worst: ExitCode = EXIT.ok;
  for (const one of given === undefined ? packs.map(({ name }) => name) : [given]) {
    const code = await updateOne(await openPackProject(folder), one, grants, dryRun === true, terminal);
    if (code !== EXIT.ok) worst = code;
  }
  return worst;
}

async function updateOne(
  project: PackProject,
  given: string,
  grants: Grants,
  dryRun: boolean,
  terminal: Terminal,
): Promise<ExitCode> {
  const { roots } = project;
  const found = await candidate(project, given);
  try {
    const { pack, spec } = found;
    const pin = requirePin(project, pack.name);
    if (pack.hash === pin.hash && pack.version === pin.version) {
      print(terminal, `${pack.name} ${pack.version} is what you have confirmed: nothing changes.`);
      return EXIT.ok;
    }
    const look = await lookInto(pack, project, terminal);
    print(terminal, `${pack.name}: from ${printable(pin.version)} to ${printable(pack.version)}`);
    reportChanges(changesOf(pin.gates, look.gates), terminal);
    if (pack.code !== pin.code) {
      const what = pin.code === undefined ? "It has code of its own now" : "Its code has changed";
      const told =
        pack.code === undefined ? "It has no code of its own any more." : `${what}: no gate says what it does.`;
      print(terminal, `  ${styled(terminal.stdout, "yellow", told)}`);
    }
    const granted = await grant(
      pack,
      look.wants,
      pin,
      project,
      { ...grants, yes: dryRun ? true : grants.yes },
      terminal,
    );
    if (dryRun) return EXIT.ok;
    if (!grants.yes && !(await confirm(terminal, `Update ${pack.name} to ${pack.version}?`))) {
      print(terminal, spec === undefined ? notServed(pin) : "Nothing was changed.");
      return EXIT.problems;
    }
    if (spec !== undefined) await installAs(pack, spec, { roots });
    const next = pinOf(pack, look, granted, pin.installed);
    return await keep(
      project,
      project.packs.map((one) => (one === pin ? next : one)),
      terminal,
    );
  } finally {
    await found.close();
  }
}

function notServed({ name, version }: PinnedPack): string {
  return `Nothing was changed. ${name} is not served as it is installed: install ${name}@${version} again, or confirm the update.`;
}

interface Candidate {
  readonly pack: Pack;
  /** How to install it; missing if it is installed already. */
  readonly spec?: string;
  close(): Promise<void>;
}

/** Returns what a pack is updated to: what is installed, if that is not what is pinned; else the newest, or the version that is given. */
async function candidate(project: PackProject, given: string): Promise<Candidate> {
  const { roots, packs } = project;
  const pin = packs.find(({ name }) => name === given);
  const apart = async (spec: string) => {
    const { folder, close } = await installApart(roots, spec);
    try {
      return { pack: await packIn(folder, given), spec, close };
    } catch (error) {
      await close();
      throw error;
    }
  };
  if (pin === undefined) {
    const name = given.lastIndexOf("@") > 0 ? given.slice(0, given.lastIndexOf("@")) : given;
    const spec = await specOf(given);
    if (!spec.startsWith("file:")) requirePin(project, name);
    return apart(spec);
  }
  const pack = await installedPack(roots, given);
  const close = async () => {};
  if (pack.hash !== pin.hash) return { pack, close };
  const range = rangeOf(project, given) ?? "latest";
  // Of another place than a registry, there is what is installed.
  if (!/^(?:npm:)?[\w.*^~<>=| -]+$/.test(range)) return { pack, close };
  return apart(await specOf(given));
}

/** Returns what package.json says of a package; undefined if it does not name it. */
function rangeOf({ manifest }: PackProject, name: string): string | undefined {
  const { dependencies, devDependencies } = parseObject(manifest) ?? {};
  const ranges = [devDependencies, dependencies].map((packages) => isJsonObject(packages) && packages[name]);
  return ranges.find((range) => typeof range === "string");
}

/** Without a terminal nobody can be asked, and code is added only after a yes. */
function requireAnswers({ yes }: Grants, terminal: Terminal): void {
  if (yes || isInteractive(terminal)) return;
  throw usage(
    "there is no terminal to ask you",
    "Give --yes, and --allow-command and --allow-host for what you allow.",
  );
}

/** Installs a pack that was looked at. Throws `CommandFailure` if something else is installed then. */
async function installAs(pack: Pack, spec: string, { roots }: Pick<PackProject, "roots">): Promise<void> {
  await installIn(roots, pack.name, pack.version, spec);
  const installed = await installedPack(roots, pack.name);
  if (installed.hash === pack.hash) return;
  const message = `another version of ${pack.name} was installed than you have seen: it is not served`;
  throw new CommandFailure(message, EXIT.problems, `Look at it with phasegate add ${pack.name}, or uninstall it.`);
}

interface Look {
  readonly gates: PinnedPack["gates"];
  readonly wants: PackWants;
}

/** Checks the workflows of a pack, and prints what is in it. Throws `CommandFailure` if one has an error. */
async function lookInto(pack: Pack, { roots }: PackProject, terminal: Terminal): Promise<Look> {
  const { name, version, field } = pack;
  const { basesIn, findWorkflows } = await import("./find-workflows.js");
  const copy = await copyWorkflows([pack]);
  try {
    const ofPack = copy.workflows.map(({ folder }) => ({ folder, shown: name }));
    const bases = await basesIn([...ofPack, { folder: startersFolder(), shown: "the starters" }]);
    const found = (await Promise.all(ofPack.map(({ folder }) => findWorkflows(folder, { bases })))).flat();
    const errors = found.flatMap(({ type, read }) =>
      read.diagnostics.flatMap((one) => (one.severity === "error" ? [`${type}: ${formatDiagnostic(one)}`] : [])),
    );
    if (errors.length > 0 || (field.workflows !== undefined && found.length === 0)) {
      const message = `the pack ${name} is broken: ${errors.join("; ") || `there is no workflow in ${field.workflows}`}`;
      throw new CommandFailure(message, EXIT.problems, "Nothing was changed. Tell the author of the pack.");
    }
    const structures = found.flatMap(({ read }) => read.definition?.structure ?? []);
    const wants = wantsOf(structures);
    if (field.verifiers === undefined && wants.verifiers.length > 0) {
      const message = `gates of the pack ${name} name verifiers that it does not bring: ${wants.verifiers.join(", ")}`;
      throw new CommandFailure(message, EXIT.problems, "Nothing was changed. Tell the author of the pack.");
    }
    print(terminal, `${printable(name)} ${printable(version)}:`);
    for (const structure of structures) {
      const { type, phases, extends: from } = structure;
      const own = await isFolder(join(roots.root, WORKFLOWS, type));
      const isStarter = await isFolder(join(startersFolder(), type));
      const starter = isStarter
        ? "; it takes the place of the starter of this name, also where another workflow extends that"
        : "";
      const hidden = own ? `; ${WORKFLOWS}/${type} of this project counts in its place` : starter;
      const base = from === undefined ? "" : `, extends ${printable(from.type)}`;
      print(terminal, `  workflow ${printable(type)}: ${counted(phases.length, "phase")}${base}${hidden}`);
      for (const { message, hint = "" } of weakerGates(structure)) {
        print(terminal, `    ${styled(terminal.stdout, "red", printable(`weaker    ${message}. ${hint}`))}`);
      }
    }
    reportWants(pack, wants, terminal);
    return { gates: gatesOf(structures), wants };
  } finally {
    await copy.close();
  }
}

function reportWants({ field }: Pack, wants: PackWants, terminal: Terminal): void {
  const { commands, hosts, chosen, approvers, verifiers } = wants;
  const line = (what: string, values: readonly string[]) => {
    if (values.length > 0) print(terminal, `  ${what}: ${printable(values.join(", "))}`);
  };
  line("its gates want to run", commands);
  line("its gates want to ask the servers", hosts);
  line("a command that you allow is chosen by", chosen);
  line("approvers that its gates need", approvers);
  if (field.verifiers === undefined) return;
  const code = `code of its own, which runs with the rights of the server: ${field.verifiers}`;
  print(terminal, `  ${styled(terminal.stdout, "yellow", printable(code))}`);
  line("its gates use of that", verifiers);
}

type Granted = Pick<PinnedPack, "commands" | "hosts">;

/** Returns what the user allows of what a pack wants: what was allowed before, what options allow, and what is said at the terminal. */
async function grant(
  { name }: Pack,
  wants: PackWants,
  before: Granted,
  { record }: PackProject,
  { allowCommand = [], allowHost = [], yes }: Grants,
  terminal: Terminal,
): Promise<Granted> {
  const { testCommand } = record.choices;
  const decide = async (flag: string, wanted: readonly string[], had: readonly string[], given: readonly string[]) => {
    const other = given.find((one) => !wanted.includes(one));
    if (other !== undefined) {
      const there = wanted.length === 0 ? "They want nothing of that kind." : `They want ${wanted.join(", ")}.`;
      throw usage(`no gate of ${name} wants ${flag} ${inShell(other)}`, there);
    }
    const granted: string[] = [];
    for (const one of wanted) {
      const isAllowed = had.includes(one) || given.includes(one);
      const asked = `Allow ${flag === "--allow-host" ? "requests to" : "its gates to run"} ${printable(one)}?`;
      if (isAllowed || (!yes && (await confirm(terminal, asked)))) granted.push(one);
      else print(terminal, `  not allowed: ${printable(one)} (${flag} ${printable(inShell(one))})`);
    }
    return granted;
  };
  const commands = wants.commands.filter((one) => one !== testCommand);
  return {
    commands: await decide(
      "--allow-command",
      commands,
      before.commands,
      allowCommand.filter((one) => one !== testCommand),
    ),
    hosts: await decide("--allow-host", wants.hosts, before.hosts, allowHost),
  };
}

function pinOf({ name, version, hash, code }: Pack, { gates }: Look, granted: Granted, installed?: true): PinnedPack {
  return { name, version, installed, hash, code, ...granted, gates };
}

/** Writes the packs into the record and the entries of clients. */
async function keep(
  { roots, record, fact }: PackProject,
  packs: readonly PinnedPack[],
  terminal: Terminal,
): Promise<ExitCode> {
  const { choices } = record;
  const setup = { ...(await chooseSetup({}, roots, record, undefined)), testCommand: choices.testCommand, packs };
  const paths = [...pathsOf(setup), ...record.pieces.map(({ path }) => path)];
  const files = await readFiles(roots, new Set(paths));
  files.set(RECORD_PATH, fact);
  const folders = await readFolders(roots, [...paths, `${WORKFLOWS}/any`]);
  const entries = serverEntries({ ...setup, files, folders });
  const outside = record.pieces.some(({ path }) => isOutside(path));
  const plan = planSetup({
    mode: "add",
    pieces: entries,
    renewed: entries,
    choices,
    packs,
    outside,
    files,
    folders,
    record,
  });
  reportPlan(plan, roots, terminal, false);
  reportKept(await applyPlan(roots, plan), terminal);
  const started = "Done. Clients that are open start the server again.";
  print(terminal, plan.refused.length > 0 ? "Done, but for what is above." : started);
  return plan.refused.length > 0 ? EXIT.problems : EXIT.ok;
}
