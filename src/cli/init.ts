/** `phasegate init`: adds phasegate to a project and to its agents' clients; updates that, and takes it out again. */

import { join } from "node:path";
import process from "node:process";
import { InvalidArgumentError } from "commander";
import { checksOf } from "../gate/check-gate.js";
import { changedLines } from "../read/differences.js";
import { linkIn } from "../sandbox/change.js";
import { CLIENT_IDS, CLIENTS, type ClientId, isClientId } from "../setup/clients.js";
import { commitsPackages } from "../setup/ignored.js";
import { isConfirmed, readOwnRecord, trusted } from "../setup/own-record.js";
import type { PinnedPack } from "../setup/packs.js";
import type { Piece } from "../setup/pieces.js";
import { type Roots, STATE, WORKFLOWS } from "../setup/places.js";
import { type FileFact, type Mode, planSetup, type SetupPlan } from "../setup/plan.js";
import {
  applyPlan,
  detectClients,
  findProject,
  type Installed,
  isFolder,
  openProject,
  readCheckFacts,
  readFiles,
  readFolders,
  readInstalled,
  readRecord,
  readStarters,
} from "../setup/project.js";
import { type Choices, RECORD_PATH, RECORD_REMEDY, type SetupRecord } from "../setup/record.js";
import {
  findCheck,
  type Launcher,
  pathsOf,
  type Starter,
  splitCommand,
  type Wanted,
  wantedPieces,
} from "../setup/wanted.js";
import type { GateDefinition } from "../workflow/structure.js";
import { chooseSome } from "./checkboxes.js";
import { command, flag, knownWords, nameList, negated, parsed, text, type Values } from "./command.js";
import { CommandFailure, EXIT, type ExitCode, packageVersion } from "./exit-codes.js";
import { requireFolder, startersFolder } from "./options.js";
import { ask, confirm, counted, isInteractive, print, printable, styled, type Terminal } from "./terminal.js";

const initOptions = () => ({
  client: parsed("--client <list>", `clients, joined by ',': ${CLIENT_IDS.join(", ")}`, clientList),
  starters: parsed("--starters <list>", "workflows to begin with, joined by ','; none for none", distinctNames),
  startersFrom: text("--starters-from <dir>", "a folder of other starters; those of the package if not given"),
  testCommand: parsed("--test-command <command>", "the command that checks the project; found if not given", shellless),
  hooks: flag("--hooks", "install a hook that reminds an agent of an unfinished session before it ends"),
  noHooks: negated("--no-hooks", "leave the hook out; with --update, take it out"),
  project: text("--project <dir>", "the project; if not given, the one that the current folder is in"),
  update: flag("--update", "renew what nobody has edited").conflicts("remove"),
  remove: flag("--remove", "take back what init wrote"),
  dryRun: flag("--dry-run", "show what would change, and change nothing"),
  yes: flag("--yes", "ask nothing"),
  trust: flag("--trust", `the project is yours: believe the ${RECORD_PATH} that is in it`),
});
type InitOptions = Omit<Values<ReturnType<typeof initOptions>>, "hooks"> & { readonly hooks?: boolean };

const HELP = `
In the project that the folder is in, init writes the starters into ${WORKFLOWS}/, adds the server "phasegate" to the
configuration of each client, tells agents about it in AGENTS.md, CLAUDE.md or GEMINI.md, and lets git ignore the sessions
in ${STATE}/. The rest of a file stays as it is. A file that can't be changed safely is left alone: init prints what
to add by hand, and ends with exit code 1.

init records in ${RECORD_PATH} what it wrote; commit that file. init again adds only what is missing.
--update also renews what nobody has edited; --remove takes back what init wrote and nobody has edited.

A record that came with the project is believed after --trust: it decides what gates may run, and which files are changed. In a
project of somebody else, init runs nothing, and writes through no link.

It asks only if input and output are a terminal. Without --client it takes the clients whose files are in the project.
Windsurf has no file in the project: ~/.codeium/windsurf/mcp_config.json is changed only if --client names windsurf.

Examples:
  phasegate init --dry-run
  phasegate init --yes --client claude,cursor --starters bug_fix --test-command "npm test" --hooks
  phasegate init --remove`;

/** The starters that are written if none are chosen. */
const USUAL_STARTERS: readonly string[] = ["bug_fix", "plan_execution"];

export const initCommand = command({
  name: "init",
  description: "Adds phasegate to a project: workflows, the configuration of clients, and instructions for agents.",
  options: initOptions(),
  help: HELP,
  run: init,
});

function clientList(value: string): ClientId[] {
  return knownWords(distinctNames(value), CLIENT_IDS);
}

function distinctNames(value: string): string[] {
  const names = nameList(value);
  if (names.every((name) => name !== "")) return [...new Set(names)];
  throw new InvalidArgumentError("Join the names by ','.");
}

function shellless(value: string): string {
  if (splitCommand(value) !== undefined) return value.trim();
  throw new InvalidArgumentError("Write a program and its arguments. Gates run it without a shell: no |, &, ; or $.");
}

async function init(options: InitOptions, terminal: Terminal): Promise<ExitCode> {
  const roots = await requireProject(options.project);
  const mode: Mode = options.remove ? "remove" : options.update ? "update" : "add";
  const { fact, record: found, problem } = await readRecord(roots);
  if (problem !== undefined) {
    throw new CommandFailure(`${RECORD_PATH} can't be used: ${problem}`, EXIT.problems, RECORD_REMEDY);
  }
  if (found === undefined && mode !== "add") {
    const hint = "It is written by `phasegate init`. Without it nobody knows what init wrote here.";
    throw new CommandFailure(`there is no ${RECORD_PATH} in ${roots.root}`, EXIT.problems, hint);
  }
  const asks = isInteractive(terminal) && options.yes !== true && options.dryRun !== true;
  const own = await readOwnRecord(roots);
  const record = found && (await believed(found, own, options.trust === true, asks, terminal));
  const setup = await chooseSetup(options, roots, record, asks && record === undefined ? terminal : undefined);
  const paths = [...pathsOf(setup), ...(record?.pieces ?? []).map(({ path }) => path)];
  const files = await readFiles(roots, new Set(paths));
  // As it was parsed: if another run has written it since, what is planned is refused.
  files.set(RECORD_PATH, fact);
  const folders = await readFolders(roots, [...paths, `${WORKFLOWS}/any`]);
  const pieces = mode === "remove" ? [] : wantedPieces({ ...setup, files, folders });
  const plan = planSetup({
    mode,
    pieces,
    choices: setup.choices,
    packs: setup.packs,
    // The configuration of Windsurf is changed only if the client is named.
    outside: options.client?.includes("windsurf") === true,
    files,
    folders,
    record,
  });
  reportPlan(plan, roots, terminal, options.dryRun === true);
  if (mode !== "remove") {
    await reportBrought(roots, pieces, files, record, terminal);
    if (plan.changes.length > 0) print(terminal, `  gates may run: ${printable(setup.testCommand ?? "nothing")}`);
  }
  const failed = plan.refused.length > 0 ? EXIT.problems : EXIT.ok;
  if (options.dryRun) return failed;
  if (plan.changes.length === 0) {
    if (options.trust) reportKept(await applyPlan(roots, plan), terminal);
    return failed;
  }
  if (asks && !(await confirm(terminal, "Write this?", { preset: true }))) {
    print(terminal, "Nothing was changed.");
    return EXIT.problems;
  }
  reportKept(await applyPlan(roots, plan), terminal);
  for (const line of closing(mode, setup)) print(terminal, line);
  return failed;
}

/** Returns a record as far as it is believed: as this user's init has left it, or as the user says that it is right. */
async function believed(
  record: SetupRecord,
  own: SetupRecord | undefined,
  trust: boolean,
  asks: boolean,
  terminal: Terminal,
): Promise<SetupRecord> {
  if (isConfirmed(record, own)) return record;
  if (!trust) {
    reportRecord(record, terminal);
    if (!asks || !(await confirm(terminal, "Is this project yours, and is that right?"))) {
      const hint = "If the project is yours and this is right, run it again with --trust.";
      throw new CommandFailure(`your init did not write ${RECORD_PATH}: nothing was changed`, EXIT.problems, hint);
    }
  }
  return trusted(record, own);
}

/** Without the record that is kept for the user, the next init asks for --trust again. */
export function reportKept(problem: string | undefined, terminal: Terminal): void {
  if (problem === undefined) return;
  const why = printable(problem);
  print(terminal, `  it can't be noted for you what init writes here (${why}): the next init needs --trust`);
}

export async function requireProject(folder: string | undefined): Promise<Roots> {
  const start = await requireFolder(folder ?? process.cwd(), "the project folder");
  const found = folder === undefined ? await findProject(start) : await openProject(start);
  if (found !== undefined) return found;
  const hint = "Run it in a project, which has .git or package.json, or name its folder with --project.";
  throw new CommandFailure(`${start} is in no project`, EXIT.environment, hint);
}

export interface Setup extends Omit<Wanted, "files" | "folders"> {
  readonly packs: readonly PinnedPack[];
  readonly installed: Installed;
  readonly commitsPackages: boolean;
  readonly choices: Choices;
}

/** Takes what is given, else what was chosen before, else what is found. Asks on a terminal. */
export async function chooseSetup(
  options: Pick<InitOptions, "client" | "starters" | "startersFrom" | "testCommand" | "hooks">,
  roots: Roots,
  record: SetupRecord | undefined,
  terminal: Terminal | undefined,
): Promise<Setup> {
  const { choices: before, packs = [] }: Partial<SetupRecord> = record ?? {};
  const facts = await readCheckFacts(roots);
  const installed = await readInstalled(roots, facts);
  const detected = await detectClients(roots);
  const likely = detected.length > 0 ? detected : (["claude"] as const);
  const named = options.client ?? (terminal && (await askClients(terminal, likely)));
  const known = before?.clients.filter(isClientId) ?? (named === undefined ? likely : []);

  const folder = options.startersFrom ?? startersFolder();
  const all = await readStarters(folder);
  const names = all.map(({ name }) => name);
  const usual = names.some((name) => USUAL_STARTERS.includes(name))
    ? USUAL_STARTERS.filter((name) => names.includes(name))
    : names;
  const asked = options.starters ?? (terminal && (await askStarters(terminal, all, usual)));
  const chosen = asked?.includes("none") ? [] : asked;
  const missing = chosen?.filter((name) => !names.includes(name)) ?? [];
  if (missing.length > 0) {
    const hint = names.length === 0 ? `There are none in ${folder}.` : `There are ${names.join(", ")}.`;
    throw new CommandFailure(`there is no starter ${missing.join(", ")}`, EXIT.usage, hint);
  }
  const starters = new Set([...(before?.starters ?? []), ...(chosen ?? (before === undefined ? usual : []))]);

  const found = findCheck(facts);
  const given = options.testCommand ?? before?.testCommand;
  const testCommand = given ?? (terminal ? await askCommand(terminal, found) : found);
  const hooks = options.hooks ?? before?.hooks ?? (terminal !== undefined && (await confirm(terminal, HOOK_QUESTION)));
  const clients = [...new Set([...known, ...(named ?? [])])];
  return {
    clients,
    starters: all.filter(({ name }) => starters.has(name)),
    hooks,
    testCommand,
    packs,
    launcher: launcherOf(installed, roots),
    installed,
    commitsPackages: await commitsPackages(roots),
    choices: { clients, starters: [...starters], hooks, testCommand },
  };
}

function launcherOf({ from, modules }: Installed, { root }: Roots): Launcher {
  return { from, modules, version: packageVersion(), windows: process.platform === "win32", root };
}

const HOOK_QUESTION = "Remind an agent of an unfinished session before it ends, by a hook of the client?";

async function askClients(terminal: Terminal, preset: readonly ClientId[]): Promise<ClientId[]> {
  const choices = CLIENT_IDS.map((name) => ({ name, about: CLIENTS[name].title }));
  return answered(await chooseSome(terminal, "Clients of your agents", choices, preset)).filter(isClientId);
}

async function askStarters(
  terminal: Terminal,
  starters: readonly Starter[],
  preset: readonly string[],
): Promise<readonly string[]> {
  if (starters.length === 0) return [];
  const choices = starters.map(({ name, description: about }) => ({ name, about }));
  return answered(await chooseSome(terminal, "Workflows to begin with", choices, preset));
}

async function askCommand(terminal: Terminal, found: string | undefined): Promise<string | undefined> {
  const proposed = found === undefined ? "" : ` [${printable(found)}]`;
  for (;;) {
    const answer = answered(await ask(terminal, `Command that checks the project, or none${proposed}: `));
    if (answer === "none") return undefined;
    const command = answer === "" ? found : answer;
    if (command !== undefined && splitCommand(command) !== undefined) return command;
    print(terminal, "Write a program and its arguments, such as npm test, without |, &, ; or $.");
  }
}

/** Returns an answer; throws if the person has ended the input instead. */
function answered<T>(answer: T | undefined): T {
  if (answer !== undefined) return answer;
  throw new CommandFailure("the input has ended: nothing was changed", EXIT.problems);
}

function closing(mode: Mode, { clients, starters, testCommand, packs, installed, commitsPackages }: Setup): string[] {
  if (mode === "remove") {
    const names = packs.map(({ name }) => name).join(", ");
    const left = names === "" ? [] : [`These packs are still installed: ${names}`];
    return [`Done. Sessions in ${STATE}/ were not touched.`, ...left];
  }
  const steps = [
    installed.lacksSdk && "Install the MCP SDK next to phasegate: @modelcontextprotocol/server. The server needs it.",
    testCommand === undefined &&
      "No command was found that checks the project. Workflows whose gates run one, such as bug_fix, need it: phasegate init --update --test-command COMMAND",
    commitsPackages &&
      "Write node_modules/ into .gitignore: git would commit it, and gates would compare each of its files.",
    `Commit what was written, ${RECORD_PATH} too.`,
    ...clients.map((id) => `${CLIENTS[id].title}: ${CLIENTS[id].next}`),
  ].filter((step) => step !== false);
  const [first] = starters;
  const say =
    first === undefined ? "Which workflows does phasegate have?" : `Use phasegate's workflow ${first.name} to …`;
  return [
    `Done. ${counted(steps.length, "step is", "steps are")} left:`,
    ...steps.map((step) => `  - ${step}`),
    `Then say to your agent: ${say}`,
  ];
}

export function reportPlan(plan: SetupPlan, { root }: Roots, terminal: Terminal, differences: boolean): void {
  const title = `${differences ? "Would change" : "Changes"} in ${printable(root)}:`;
  print(terminal, plan.changes.length > 0 ? title : "Nothing to change.");
  for (const { path, before, after } of plan.changes) {
    const word = before === undefined ? "create" : after === undefined ? "delete" : "change";
    print(terminal, `  ${word}  ${printable(path)}`);
    const isOwn = path === RECORD_PATH || (before === undefined && path.startsWith(`${WORKFLOWS}/`));
    if (differences && !isOwn) printLines(terminal, changedLines(before ?? "", after ?? ""));
  }
  for (const { path, text } of plan.notes) print(terminal, `  ${printable(path)} ${printable(text)}`);
  for (const { path, text, byHand } of plan.refused) {
    print(terminal, `${styled(terminal.stdout, "yellow", "not changed:")} ${printable(path)}: ${printable(text)}`);
    if (byHand === undefined) continue;
    print(terminal, "  add this by hand:");
    for (const line of byHand.split("\n")) print(terminal, `    ${printable(line, { lines: true })}`);
  }
}

function printLines(terminal: Terminal, lines: readonly string[]): void {
  for (const line of lines) {
    const colour = line.startsWith("+") ? "green" : line.startsWith("-") ? "red" : "dim";
    print(terminal, `    ${styled(terminal.stdout, colour, printable(line, { lines: true }))}`);
  }
}

/** Prints what a record says that nobody has confirmed on this machine. */
function reportRecord({ choices, packs = [], pieces }: SetupRecord, terminal: Terminal): void {
  const { clients, starters, hooks, testCommand } = choices;
  const files = [...new Set(pieces.map(({ path }) => path))];
  print(terminal, `${RECORD_PATH} came with the project, or was changed since your init wrote it. It says:`);
  for (const [what, said] of [
    ["clients", clients.join(", ")],
    ["starters", starters.join(", ")],
    ["hooks", hooks ? "yes" : "no"],
    ["gates may run", testCommand ?? "nothing"],
    ["packs", packs.map(packLine).join("; ")],
    ["written, so that update and remove may change it", files.join(", ")],
  ]) {
    print(terminal, `  ${what}: ${printable(said || "none")}`);
  }
}

function packLine({ name, version, commands, hosts, code }: PinnedPack): string {
  const may = [...commands, ...hosts, ...(code === undefined ? [] : ["its own code in the server"])];
  return `${name} ${version} (gates may use ${may.join(", ") || "nothing"})`;
}

/** More lines of one file than these are counted. */
const LINES_MAX = 60;

/** Prints the workflows that came with the project: what their gates run, and how they differ from starters. */
async function reportBrought(
  { root }: Roots,
  pieces: readonly Piece[],
  files: ReadonlyMap<string, FileFact>,
  record: SetupRecord | undefined,
  terminal: Terminal,
): Promise<void> {
  if (linkIn(root, WORKFLOWS) !== undefined) return;
  const folder = join(root, WORKFLOWS);
  if (!(await isFolder(folder))) return;
  // Loaded here: most projects have none, and it takes longer than all else that init loads.
  const { basesIn, findWorkflows } = await import("./find-workflows.js");
  const places = [folder, startersFolder()].map((one) => ({ folder: one, shown: one }));
  for (const { folder: name, gates = [], read } of await findWorkflows(folder, { bases: await basesIn(places) })) {
    const unit = `${WORKFLOWS}/${name}/`;
    if (record?.pieces.some(({ path }) => path.startsWith(unit)) === true) continue;
    const runs = gates.flatMap(({ gate, where }) => commandsOf(gate).map((command) => `${where}: ${command}`));
    const isKnown = read.definition !== undefined;
    const none = isKnown ? "Its gates run nothing." : "It can't be read here: `phasegate validate` says why.";
    const gatesRun = runs.length === 0 ? none : "Its gates run:";
    print(terminal, `  ${printable(unit)} came with the project. ${gatesRun}`);
    for (const run of runs) print(terminal, `    ${printable(run)}`);
    for (const piece of pieces) {
      if (piece.kind !== "file" || !piece.path.startsWith(unit)) continue;
      const { text = "" } = files.get(piece.path) ?? {};
      const starter = String(piece.value);
      if (text.replaceAll("\r\n", "\n") === starter) continue;
      print(terminal, `    ${printable(piece.path)} differs from the starter:`);
      const lines = changedLines(starter, text);
      printLines(terminal, lines.slice(0, LINES_MAX));
      if (lines.length > LINES_MAX) print(terminal, `    … ${counted(lines.length - LINES_MAX, "more line")}`);
    }
  }
}

function commandsOf(gate: GateDefinition): string[] {
  return checksOf(gate).flatMap(({ verifier, params }) => {
    if (verifier !== "command" && verifier !== "http_ok") return [];
    const { line, argv, url } = params;
    return `${verifier} ${JSON.stringify(line ?? argv ?? url ?? params)}`;
  });
}
