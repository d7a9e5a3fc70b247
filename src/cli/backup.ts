/**
 * `phasegate backup` copies the sessions of a state into a folder, while they are in use; `phasegate restore` copies them
 * back into a state, then reads them there and checks them.
 */
import { readdir } from "node:fs/promises";
import { resolve } from "node:path";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { Command } from "commander";
import { isPhasegateError } from "../errors.js";
import { checkCommit, withPayloads } from "../phased/log-check.js";
import { type CopyReport, copyLogs } from "../phased/log-copy.js";
import type { Commit, StorageAdapter } from "../ports/storage-adapter.js";
import { parseSessionId } from "../workflow/names.js";
import { CommandFailure, EXIT, type ExitCode, type SetExitCode } from "./exit-codes.js";
import { logLevelOption, notEmpty, stateOption } from "./options.js";
import { openState } from "./state.js";
import { counted, print, printable, type Terminal } from "./terminal.js";
import { KINDS } from "./transfer-lines.js";
import { hashKeyOption, KEY_HINT, readHashKey } from "./trust.js";

interface CopyOptions {
  readonly state: string;
  readonly hashKeyFile?: string;
}

const BACKUP_HELP = `
Servers may use the sessions meanwhile: each session is copied as it is at one instant. Each commit is checked before
it is written. The folder is itself a state (phasegate sessions --state <to>); the next backup into it adds only what
is new. Sessions that were deleted since then stay in it. If a session cannot be copied, it is listed, and the exit
code is 1.`;

const RESTORE_HELP = `
Each commit is checked before it is written, and each log is read back and checked completely. If the state already
has the beginning of a session, the rest is added; if it has another session of that id, the session is refused, and
the exit code is 1.`;

/** Creates `phasegate backup`. */
export function backupCommand(terminal: Terminal, setExitCode: SetExitCode): Command {
  return copyCommand("backup")
    .summary("copy all sessions into a folder, or update such a copy")
    .description("Copies the sessions of a state of any kind into a folder, while they are in use.")
    .argument("<to>", "the folder: a new one, or the folder of an earlier backup", notEmpty)
    .addHelpText("after", BACKUP_HELP)
    .action(async (to: string, options: CopyOptions) => {
      setExitCode(await backUp(to, options, terminal));
    });
}

/** Creates `phasegate restore`. */
export function restoreCommand(terminal: Terminal, setExitCode: SetExitCode): Command {
  return copyCommand("restore")
    .summary("copy the sessions of a backup into a state, and check them there")
    .description("Copies all sessions of a backup into a state of any kind, which is created if it does not exist.")
    .argument("<from>", "the folder of a backup, or any other state", notEmpty)
    .addHelpText("after", RESTORE_HELP)
    .action(async (from: string, options: CopyOptions) => {
      setExitCode(await restore(from, options, terminal));
    });
}

/** Creates a command with the options that backup and restore share. */
function copyCommand(name: string): Command {
  return new Command(name)
    .addOption(stateOption().makeOptionMandatory())
    .addOption(hashKeyOption())
    .addOption(logLevelOption());
}

async function backUp(to: string, options: CopyOptions, terminal: Terminal): Promise<ExitCode> {
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

async function restore(from: string, options: CopyOptions, terminal: Terminal): Promise<ExitCode> {
  const key = await readHashKey(options);
  const hashKey = key.hashKey === undefined ? undefined : utf8ToBytes(key.hashKey);
  return betweenStates(
    () => openState(from),
    () => openState(options.state, { create: true }),
    async (backup, state) => {
      const ids: string[] = [];
      const onProgress = ({ sessionId }: { readonly sessionId: string }) => void ids.push(sessionId);
      const report = await copyLogs(backup, state, { ...key, kinds: KINDS, passes: 1, onProgress });
      const refused = new Set<string>(report.refused.map(({ sessionId }) => sessionId));
      const damaged: string[] = [];
      for (const id of ids.filter((one) => !refused.has(one))) {
        const fault = await readBack(state, id, hashKey);
        if (fault !== undefined) damaged.push(`session ${id} was written, but is damaged: ${fault}`);
      }
      return printCopied("restored and checked", "", report, damaged, key.hashKey !== undefined, terminal);
    },
  );
}

/** Reads a session's log from its first commit to its last one. Returns what is wrong with it, if anything is. */
async function readBack(storage: StorageAdapter, name: string, key: Uint8Array | undefined) {
  const id = parseSessionId(name);
  let previous: Commit | undefined;
  try {
    for await (const commit of storage.log(id)) {
      const hashes = checkCommit(id, commit, previous, key, KINDS);
      await withPayloads(commit, hashes, (session, hash) => storage.payload(session, hash));
      previous = commit;
    }
  } catch (error) {
    if (!isPhasegateError(error)) throw error;
    return error.message;
  }
  return previous === undefined ? "it does not exist" : undefined;
}

/** Opens two storages, uses them, and closes what was opened. */
async function betweenStates<T>(
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
function printCopied(
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
