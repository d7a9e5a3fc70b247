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
 * - state.ts: opens what `--state` names; opened.ts: an engine for a session of any kind
 * - operate.ts: `retry`, `resume`, `suspend`, `skip`, `override`, `sync`, `assign` and `delete`, by which an operator sets sessions
 *   going
 * - attempts.ts: how attempts at gates are printed, with their evidence
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
 * - log.ts: the log of `serve`; announce.ts: which workflows it says are there; rotating-file.ts: its files
 */
import { Command, CommanderError } from "commander";
import { isPhasegateError } from "../errors.js";
import type { CreateCommand } from "./command.js";
import { CommandFailure, EXIT, exitCodeOf, hintOf, messageOf, packageVersion, type SetExitCode } from "./exit-codes.js";
import type { OperationName } from "./operate.js";
import { splitVariables, useOwnProject } from "./options.js";
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
    await useOwnProject(program, args, terminal);
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

type Load = () => Promise<CreateCommand>;
const operation =
  (name: OperationName): Load =>
  async () =>
    (await import("./operate.js")).operateCommand(name);
const decision =
  (name: "approve" | "waive" | "deny"): Load =>
  async () =>
    (await import("./approve.js")).decideCommand(name);

/** The commands by the headings of the help. */
const GROUPS: Readonly<Record<string, Readonly<Record<string, Load>>>> = {
  "Set up:": {
    init: async () => (await import("./init.js")).initCommand,
    add: async () => (await import("./add.js")).addCommand,
    update: async () => (await import("./add.js")).updateCommand,
    remove: async () => (await import("./add.js")).removeCommand,
    new: async () => (await import("./new.js")).newCommand,
    validate: async () => (await import("./validate.js")).validateCommand,
    gate: async () => (await import("./validate.js")).gateCommand,
    plan: async () => (await import("./plan.js")).planCommand,
    keygen: async () => (await import("./approve.js")).keygenCommand,
    approvers: async () => (await import("./approvers.js")).approversCommand,
    tokens: async () => (await import("./tokens.js")).tokensCommand,
    doctor: async () => (await import("./doctor.js")).doctorCommand,
    completion: async () => (await import("./completion.js")).completionCommand,
  },
  "Run:": {
    serve: async () => (await import("./serve.js")).serveCommand,
    hook: async () => (await import("./hook.js")).hookCommand,
  },
  "Look:": {
    inbox: async () => (await import("./inbox.js")).inboxCommand,
    sessions: async () => (await import("./sessions.js")).sessionsCommand,
    show: async () => (await import("./show.js")).showCommand,
    stats: async () => (await import("./stats.js")).statsCommand,
    inspect: async () => (await import("./inspect.js")).inspectCommand,
    graph: async () => (await import("./inspect.js")).graphCommand,
    audit: async () => (await import("./audit.js")).auditCommand,
  },
  "Answer:": { approve: decision("approve"), waive: decision("waive"), deny: decision("deny") },
  "Repair:": {
    retry: operation("retry"),
    resume: operation("resume"),
    suspend: operation("suspend"),
    skip: operation("skip"),
    override: operation("override"),
    sync: operation("sync"),
    assign: operation("assign"),
    migrate: async () => (await import("./migrate.js")).migrateCommand,
    delete: operation("delete"),
    cleanup: async () => (await import("./operate.js")).cleanupCommand,
    repair: async () => (await import("./backup.js")).repairCommand,
    compact: async () => (await import("./backup.js")).compactCommand,
    "test-storage": async () => (await import("./test-storage.js")).testStorageCommand,
  },
  "Move data:": {
    export: async () => (await import("./export.js")).exportCommand,
    import: async () => (await import("./import.js")).importCommand,
    backup: async () => (await import("./backup.js")).backupCommand,
    restore: async () => (await import("./backup.js")).restoreCommand,
  },
};
const COMMANDS = new Map(Object.values(GROUPS).flatMap((group) => Object.entries(group)));

/** Words of other programs for the same. */
const NEAR: ReadonlyMap<string, string> = new Map([
  ["list", "sessions"],
  ["ls", "sessions"],
  ["waiting", "inbox"],
  ["log", "show"],
]);

/** Returns the arguments with the name of the command that is meant. */
function withNames(args: readonly string[]): readonly string[] {
  const at = args[0] === "help" ? 1 : 0;
  return args.map((arg, index) => (index === at ? (NEAR.get(arg) ?? arg) : arg));
}

/** Loads the command that is asked for: all of them take several times as long. Help, mistakes and completions need them all. */
async function loadCommands([name = ""]: readonly string[]): Promise<CreateCommand[]> {
  if (name === "--version" || name === "-V") return [];
  const asked = name === "completion" ? undefined : COMMANDS.get(name);
  return Promise.all((asked === undefined ? [...COMMANDS.values()] : [asked]).map((load) => load()));
}

/** The commands throw a `CommanderError` where commander would end the process. */
function createProgram(commands: readonly CreateCommand[], terminal: Terminal, setExitCode: SetExitCode): Command {
  const program = new Command("phasegate")
    .description("Phase-gated workflows for AI agents: work done in order, and proved at every gate.")
    .version(packageVersion(), "-V, --version", "print the version")
    .addHelpText("after", `${EXAMPLES}\n${EXIT_CODES}`);
  program.hook("preAction", (_, command) => splitVariables(command));
  for (const create of commands) {
    const made = create(terminal, setExitCode);
    const group = Object.entries(GROUPS).find(([, loads]) => Object.hasOwn(loads, made.name()));
    program.addCommand(made.helpGroup(group?.[0] ?? ""));
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
