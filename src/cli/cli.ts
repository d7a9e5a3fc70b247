/**
 * The command `phasegate`: its subcommands, and how a failure is printed. This is the entry file of the folder. Each
 * subcommand is in the file of its name (`keygen`, `waive` and `deny` in approve.ts, `update` and `remove` in add.ts,
 * `restore`, `repair` and `compact` in backup.ts, `gate` in validate.ts, `cleanup` in operate.ts); the other files have
 * what several of them share:
 *
 * - exit-codes.ts: the exit codes, which error ends with which of them, and what a signal does to a server
 * - command.ts: how a command is defined: its words, its options with the types of their values, and what it does
 * - options.ts: options of several commands; what the project of the current folder has in place of `--state`
 * - trust.ts: options for approvers, the hash key, and what verifiers may run
 * - shared-file.ts: reads and changes a file of approvers or tokens while others use it
 * - state.ts: opens what `--state` names; opened.ts: an engine for a session of any kind; looker.ts: reads sessions for a list
 *   without one; engine-options.ts: the options of both
 * - operate.ts: `retry`, `resume`, `suspend`, `skip`, `override`, `sync`, `assign` and `delete`, by which an operator sets sessions
 *   going
 * - attempts.ts: how attempts at gates are printed, with their evidence; standing-styles.ts: the colours of how sessions stand
 * - answer-command.ts: the commands that answer what waits; own-key.ts: the key with which the person at the terminal answers
 * - session-id.ts: which session the end of an id names; layout.ts: columns and paragraphs that fit the terminal
 * - checkboxes.ts: a list of which a person chooses some; progress.ts: how far long work has come
 * - terminal.ts: output that cannot steer the terminal or show a password; diagnostics.ts: diagnostics with the code
 *   around them
 * - content-in.ts: the workflows in the folders of `--workflows`, and the starters after them
 * - find-workflows.ts: reads the workflows in a folder, for `validate` and `gate freeze`
 * - packs.ts: the option for packs; open-packs.ts: which are opened, and how their workflows are read
 * - pack-wants.ts: what the gates of a pack ask for; pack-changes.ts: how they change; package-manager.ts: installs packages,
 *   without running their scripts
 * - doctor-clients.ts, doctor-checks.ts: what `doctor` reads and checks; mcp-probe.ts: starts a server, and lists its tools
 * - export.ts: also the file format of `export` and `import`; import-from.ts: what `import --from` takes from other tools
 * - server.ts: runs what `serve` serves; http-server.ts: over HTTP; products.ts: phased, routed and workspace
 * - listen.ts: serves MCP over HTTP, for `serve --listen`; serve-options.ts: the options of `serve`, one by one
 * - log.ts: the log of `serve`; announce.ts: which workflows it says are there; rotating-file.ts: its files; free-memory.ts: gives
 *   back what the start took
 */
import { Command, CommanderError } from "commander";
import { isPhasegateError } from "../errors.js";
import type { CreateCommand } from "./command.js";
import { CommandFailure, EXIT, exitCodeOf, hintOf, messageOf, packageVersion, type SetExitCode } from "./exit-codes.js";
import type { OperationName } from "./operate.js";
import { printable, styled, type Terminal, withoutPasswords } from "./terminal.js";

/** Runs `phasegate` with these arguments, and returns its exit code. Never rejects. */
export async function runCli(given: readonly string[], terminal: Terminal): Promise<number> {
  const args = withNames(given);
  let exitCode: number = EXIT.ok;
  try {
    const commands = await loadCommands(args);
    const program = createProgram(commands, terminal, (code) => {
      exitCode = code;
    });
    if (commands.size > 0) await (await import("./options.js")).useOwnProject(program, args, terminal);
    await program.parseAsync([...args], { from: "user" });
    return exitCode;
  } catch (error) {
    // Commander has printed the error. Its code is 1 for wrong usage, and 0 for --help and --version.
    if (error instanceof CommanderError) {
      // A client takes another code of a hook as a ban on the agent's end.
      return error.exitCode === 0 || args[0] === "hook" ? EXIT.ok : EXIT.usage;
    }
    const stack = wantsStack(args);
    printError(terminal, error, { stack, url: stack || args.includes("--json") });
    return exitCodeOf(error);
  }
}

const EXIT_CODES = `
Exit codes:
  0  done
  1  problems were found, or the session does not exist
  2  wrong usage: an option is missing, unknown or has the wrong type
  3  the environment failed: a folder, a disk, a package that is not installed`;

const EXAMPLES = `
Examples:
  phasegate init
  phasegate serve --starters --state .phasegate --project . --allow-command "npm test"
  phasegate inbox
  phasegate sessions --status active
  phasegate show k3f9abcd

In a project that init has set up, commands find the sessions by themselves. The end of a session's id
stands for the whole. list and ls mean sessions, waiting means inbox, log means show.`;

/** What the help says of a command, and how it is loaded: all of them take several times as long as one. */
interface Entry {
  readonly summary: string;
  readonly load: () => Promise<CreateCommand>;
}

const entry = (summary: string, load: Entry["load"]): Entry => ({ summary, load });
const operation = (name: OperationName, summary: string) =>
  entry(summary, async () => (await import("./operate.js")).operateCommand(name));
const decision = (name: "approve" | "waive" | "deny", summary: string) =>
  entry(summary, async () => (await import("./approve.js")).decideCommand(name));

/** The commands by the headings of the help. */
const GROUPS: Readonly<Record<string, Readonly<Record<string, Entry>>>> = {
  "Set up:": {
    init: entry(
      "add phasegate to a project and its agents' clients",
      async () => (await import("./init.js")).initCommand,
    ),
    add: entry(
      "add a pack of workflows and verifiers to the project",
      async () => (await import("./add.js")).addCommand,
    ),
    update: entry("update packs, after a look at what changes", async () => (await import("./add.js")).updateCommand),
    remove: entry("take a pack out of the project", async () => (await import("./add.js")).removeCommand),
    new: entry("write a new workflow to begin with", async () => (await import("./new.js")).newCommand),
    validate: entry("check workflow definitions", async () => (await import("./validate.js")).validateCommand),
    gate: entry("write gate files", async () => (await import("./validate.js")).gateCommand),
    plan: entry(
      "show how a plan is read, and what could not be read",
      async () => (await import("./plan.js")).planCommand,
    ),
    keygen: entry("make an approver's pair of keys", async () => (await import("./approve.js")).keygenCommand),
    approvers: entry(
      "add, invite, list and remove approvers",
      async () => (await import("./approvers.js")).approversCommand,
    ),
    tokens: entry(
      "make, list and revoke tokens for a server over HTTP",
      async () => (await import("./tokens.js")).tokensCommand,
    ),
    doctor: entry("check Node, clients, state and workflows", async () => (await import("./doctor.js")).doctorCommand),
    completion: entry("print completions for a shell", async () => (await import("./completion.js")).completionCommand),
  },
  "Run:": {
    serve: entry(
      "serve workflows over MCP on stdio, or over HTTP",
      async () => (await import("./serve.js")).serveCommand,
    ),
    hook: entry("answer hooks of agents' clients", async () => (await import("./hook.js")).hookCommand),
  },
  "Look:": {
    inbox: entry(
      "list what waits for a person, each with the command that answers",
      async () => (await import("./inbox.js")).inboxCommand,
    ),
    sessions: entry(
      "list the sessions of a state, or find those that are stuck",
      async () => (await import("./sessions.js")).sessionsCommand,
    ),
    show: entry(
      "show one session: its phases or steps, attempts and problems",
      async () => (await import("./show.js")).showCommand,
    ),
    stats: entry("sum up the sessions of a state", async () => (await import("./stats.js")).statsCommand),
    inspect: entry(
      "look at sessions and workflows in a browser, and answer what waits for a person",
      async () => (await import("./inspect.js")).inspectCommand,
    ),
    graph: entry(
      "print a workflow, or the way of a session through it, as a graph",
      async () => (await import("./inspect.js")).graphCommand,
    ),
    audit: entry("check that a session's log was not changed", async () => (await import("./audit.js")).auditCommand),
  },
  "Answer:": {
    approve: decision("approve", "approve the evidence that a session waits on"),
    waive: decision("waive", "grant the waiver that a session waits on"),
    deny: decision("deny", "deny the evidence or the waiver that a session waits on"),
  },
  "Repair:": {
    retry: operation("retry", "grant more attempts to sessions that have failed or used them up"),
    resume: operation("resume", "resume sessions that are paused or suspended"),
    suspend: operation("suspend", "pause sessions until they are resumed"),
    skip: operation("skip", "skip the current phase of sessions, where the workflow allows it"),
    override: operation("override", "pass the current gate of sessions without evidence, where the gate allows it"),
    sync: operation("sync", "adopt the edited plan of sessions, also one that asks for less"),
    assign: operation("assign", "hand sessions over to another owner"),
    migrate: entry(
      "move sessions to the newest definition of their workflow",
      async () => (await import("./migrate.js")).migrateCommand,
    ),
    delete: operation("delete", "delete sessions; their ids are never used again"),
    cleanup: entry(
      "delete phased sessions that nobody has touched for long",
      async () => (await import("./operate.js")).cleanupCommand,
    ),
    repair: entry(
      "rebuild the lists of sessions, and report damaged sessions",
      async () => (await import("./backup.js")).repairCommand,
    ),
    compact: entry(
      "store the commits of sessions in less space",
      async () => (await import("./backup.js")).compactCommand,
    ),
    "test-storage": entry(
      "test your own storage adapter",
      async () => (await import("./test-storage.js")).testStorageCommand,
    ),
  },
  "Move data:": {
    export: entry("write sessions as lines of JSON", async () => (await import("./export.js")).exportCommand),
    import: entry(
      "add exported sessions to a state, or begin one on another tool's plan",
      async () => (await import("./import.js")).importCommand,
    ),
    backup: entry(
      "copy all sessions into a folder, or update such a copy",
      async () => (await import("./backup.js")).backupCommand,
    ),
    restore: entry(
      "copy the sessions of a backup into a state, and check them there",
      async () => (await import("./backup.js")).restoreCommand,
    ),
  },
};
const COMMANDS = new Map(Object.values(GROUPS).flatMap((group) => Object.entries(group)));

/** Words of other programs for the same. */
const NEAR: ReadonlyMap<string, string> = new Map([
  ["list", "sessions"],
  ["ls", "sessions"],
  ["waiting", "inbox"],
  ["log", "show"],
  ["stuck", "sessions --stuck"],
  ["waived", "sessions --status waived"],
]);

/** Returns the arguments with the command that is meant. */
function withNames(args: readonly string[]): readonly string[] {
  const at = args[0] === "help" ? 1 : 0;
  return args.flatMap((arg, index) => (index === at ? (NEAR.get(arg)?.split(" ") ?? arg) : arg));
}

/** Returns the name of the command that the arguments are for, or whose help is asked for; undefined if there is none. */
function nameIn(args: readonly string[]): string | undefined {
  const name = args.filter((arg) => !arg.startsWith("-")).find((arg, index) => index > 0 || arg !== "help");
  return name !== undefined && COMMANDS.has(name) ? name : undefined;
}

/** Loads the command that is asked for. Completions need all of them; the help, and a mistake, only their names. */
async function loadCommands(args: readonly string[]): Promise<ReadonlyMap<string, CreateCommand>> {
  const name = nameIn(args);
  const wanted = name === "completion" ? [...COMMANDS.keys()] : [name ?? []].flat();
  const load = async (one: string) => [one, await COMMANDS.get(one)?.load()] as const;
  const loaded = await Promise.all(wanted.map(load));
  return new Map(loaded.flatMap(([one, create]) => (create === undefined ? [] : [[one, create]])));
}

/** The commands throw a `CommanderError` where commander would end the process. */
function createProgram(
  commands: ReadonlyMap<string, CreateCommand>,
  terminal: Terminal,
  setExitCode: SetExitCode,
): Command {
  const program = new Command("phasegate")
    .description("Phase-gated workflows for AI agents: work done in order, and proved at every gate.")
    .version(packageVersion(), "-V, --version", "print the version")
    .configureHelp({ subcommandTerm: (command) => command.name() })
    .addHelpText("after", `${EXAMPLES}\n${EXIT_CODES}`);
  program.hook("preAction", async (_, command) => (await import("./options.js")).splitVariables(command));
  for (const [heading, entries] of Object.entries(GROUPS)) {
    for (const [name, { summary }] of Object.entries(entries)) {
      const made = commands.get(name)?.(terminal, setExitCode) ?? new Command(name);
      program.addCommand(made.summary(summary).helpGroup(heading));
    }
  }
  program.commandsGroup("Look:"); // of `help`, which commander adds
  for (const command of withSubcommands(program)) configure(command, terminal);
  return program;
}

function withSubcommands(command: Command): Command[] {
  return [command, ...command.commands.flatMap(withSubcommands)];
}

/** Sets where a command writes and how it ends: added commands do not inherit this from their program. */
function configure(command: Command, { stdout, stderr }: Terminal): void {
  command.helpOption("-h, --help", "print help");
  if (command.commands.length > 0) command.helpCommand("help [command]", "print the help of a command");
  command.exitOverride().showHelpAfterError("(use --help to list the options)");
  command.configureOutput({
    writeOut: (text) => void stdout.write(text),
    writeErr: (text) => void stderr.write(text),
    outputError: (text, write) => write(withoutPasswords(`phasegate: ${text}`)),
  });
}

/** Reads the log level by hand: an error may occur before the options are parsed, or be about them. */
function wantsStack(args: readonly string[]): boolean {
  const at = args.lastIndexOf("--log-level");
  const joined = args.findLast((arg) => arg.startsWith("--log-level="))?.slice("--log-level=".length);
  const level = joined ?? (at === -1 ? process.env.PHASEGATE_LOG_LEVEL : args[at + 1]);
  return level === "debug" || level === "trace";
}

export function printError(
  { stderr }: Terminal,
  error: unknown,
  { stack, url = stack }: { readonly stack: boolean; readonly url?: boolean },
): void {
  const message = messageOf(error);
  stderr.write(`${styled(stderr, "red", "phasegate: error:")} ${shown(message)}\n`);
  const reason = storageCause(error);
  if (reason !== undefined && !message.includes(reason)) {
    stderr.write(`${styled(stderr, "cyan", "  cause:")} ${shown(reason)}\n`);
  }
  const isKnown = error instanceof CommandFailure || isPhasegateError(error);
  const hint = isKnown ? hintOf(error) : "Run it again with --log-level debug to see where the error occurred.";
  if (hint !== undefined) stderr.write(`${styled(stderr, "cyan", "  hint:")} ${shown(hint)}\n`);
  for (const command of error instanceof CommandFailure ? error.commands : []) stderr.write(`    ${shown(command)}\n`);
  const address = url ? urlOf(error) : undefined;
  if (address !== undefined) stderr.write(`${styled(stderr, "cyan", "  docs:")} ${address}\n`);
  if (!stack) return;
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    stderr.write(`${shown(cause.stack ?? cause.message, { lines: true })}\n`);
  }
}

/** Returns the address of an error's documentation. */
function urlOf(error: unknown): string | undefined {
  const coded = codedIn(error);
  return isPhasegateError(coded) ? coded.url : undefined;
}

/** Returns why a storage failed; not every storage says it in its message. */
function storageCause(error: unknown): string | undefined {
  const coded = codedIn(error);
  return isPhasegateError(coded, "STORAGE_FAILED") ? coded.details.cause : undefined;
}

/** Returns an error; for a command's own failure, the error that caused it. */
function codedIn(error: unknown): unknown {
  return error instanceof CommandFailure ? error.cause : error;
}

/** Removes passwords: a driver's message may quote the address that it was given. */
function shown(text: string, options?: { readonly lines: boolean }): string {
  return printable(withoutPasswords(text), options);
}
