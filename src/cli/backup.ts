/** `phasegate backup`: copies the sessions of a state into a folder, while they are in use. */
import { readdir } from "node:fs/promises";
import { resolve } from "node:path";
import { Command } from "commander";
import { type CopyReport, copyLogs } from "../phased/log-copy.js";
import type { StorageAdapter } from "../ports/storage-adapter.js";
import { CommandFailure, EXIT, type ExitCode, type SetExitCode } from "./exit-codes.js";
import { logLevelOption, notEmpty, stateOption } from "./options.js";
import { openState } from "./state.js";
import { counted, print, printable, type Terminal } from "./terminal.js";
import { KINDS } from "./transfer-lines.js";
import { hashKeyOption, KEY_HINT, readHashKey } from "./trust.js";

/** Options of `backup` and `restore`. */
export interface BackupOptions {
  readonly state: string;
  readonly hashKeyFile?: string;
}

const HELP = `
Servers may use the sessions meanwhile: each session is copied as it is at one instant. Each commit is checked before
it is written. The folder is itself a state (phasegate sessions --state <to>); the next backup into it adds only what
is new. Sessions that were deleted since then stay in it. If a session cannot be copied, it is listed, and the exit
code is 1.`;

/** Creates `phasegate backup`. */
export function backupCommand(terminal: Terminal, setExitCode: SetExitCode): Command {
  return new Command("backup")
    .summary("copy all sessions into a folder, or update such a copy")
    .description("Copies the sessions of a state of any kind into a folder, while they are in use.")
    .argument("<to>", "the folder: a new one, or the folder of an earlier backup", notEmpty)
    .addOption(stateOption().makeOptionMandatory())
    .addOption(hashKeyOption())
    .addOption(logLevelOption())
    .addHelpText("after", HELP)
    .action(async (to: string, options: BackupOptions) => {
      setExitCode(await backUp(to, options, terminal));
    });
}

async function backUp(to: string, options: BackupOptions, terminal: Terminal): Promise<ExitCode> {
  const key = await readHashKey(options);
  return betweenStates(
    () => openState(options.state),
    () => openBackup(to, options.state),
    async (from, folder) => {
      const report = await copyLogs(from, folder, { ...key, kinds: KINDS, passes: 1 });
      return printCopied("backed up", "new ", report, [], key.hashKey !== undefined, terminal);
    },
  );
}

/** Opens the folder of a backup. A folder with other files is not changed. */
async function openBackup(to: string, state: string): Promise<StorageAdapter> {
  const folder = resolve(to);
  const hint = "Name a new folder, or the folder of an earlier backup.";
  if (folder === resolve(state)) throw new CommandFailure(`${to} is the state itself`, EXIT.usage, hint);
  // A folder that does not exist has no names.
  const names = await readdir(folder).catch((): string[] => []);
  if (names.length > 0 && !names.includes("format.json")) {
    throw new CommandFailure(`${folder} contains other files`, EXIT.environment, hint);
  }
  return openState(to, { create: true });
}

/** Opens two storages, uses them, and closes what was opened. */
export async function betweenStates<T>(
  openFrom: () => Promise<StorageAdapter>,
  openTo: () => Promise<StorageAdapter>,
  use: (from: StorageAdapter, to: StorageAdapter) => Promise<T>,
): Promise<T> {
  const from = await openFrom();
  try {
    const to = await openTo();
    try {
      return await use(from, to);
    } finally {
      await to.close?.();
    }
  } finally {
    await from.close?.();
  }
}

/** Prints the result of a copy, and returns the exit code. */
export function printCopied(
  done: string,
  which: string,
  { sessions, commits, refused }: CopyReport,
  damaged: readonly string[],
  isKeyed: boolean,
  terminal: Terminal,
): ExitCode {
  for (const { sessionId, message } of refused) {
    print(terminal, printable(`session ${sessionId} was skipped: ${message}`));
  }
  for (const line of damaged) print(terminal, printable(line));
  if (!isKeyed && refused.some(({ reason }) => reason === "unreadable")) print(terminal, KEY_HINT);
  print(terminal, `${done} ${counted(sessions - damaged.length, "session")}, ${counted(commits, `${which}commit`)}`);
  return refused.length + damaged.length === 0 ? EXIT.ok : EXIT.problems;
}
