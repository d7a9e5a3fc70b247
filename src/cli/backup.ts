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

interface BackupOptions {
  readonly state: string;
  readonly hashKeyFile?: string;
}

const BACKUP_HELP = `
Servers may work on the sessions meanwhile: each session is copied as it is at one instant. Each commit is checked
before it is written. The folder is a state itself (phasegate sessions --state <to>); the next backup into it adds
only what is new. Sessions that were deleted since stay in it. A session that can't be copied is told of, and the
exit code is 1.`;

const RESTORE_HELP = `
Each commit is checked before it is written, and each log is read back and checked whole. A session that the state
has already is gone on with if it is the beginning of the one in the backup, and else refused, with exit code 1.`;

/** `phasegate backup`. */
export function backupCommand(terminal: Terminal, setExitCode: SetExitCode): Command {
  return new Command("backup")
    .summary("copy all sessions into a folder, or bring such a copy up to date")
    .description("Copies the sessions of a state of any kind into a folder, while they are in use.")
    .argument("<to>", "the folder: a new one, or that of an earlier backup", notEmpty)
    .addOption(stateOption().makeOptionMandatory())
    .addOption(hashKeyOption())
    .addOption(logLevelOption())
    .addHelpText("after", BACKUP_HELP)
    .action(async (to: string, options: BackupOptions) => {
      setExitCode(await backUp(to, options, terminal));
    });
}

/** `phasegate restore`. */
export function restoreCommand(terminal: Terminal, setExitCode: SetExitCode): Command {
  return new Command("restore")
    .summary("copy the sessions of a backup into a state, and check them there")
    .description("Copies all sessions of a backup into a state of any kind, which is made if it isn't there.")
    .argument("<from>", "the folder of a backup, or any other state", notEmpty)
    .addOption(stateOption().makeOptionMandatory())
    .addOption(hashKeyOption())
    .addOption(logLevelOption())
    .addHelpText("after", RESTORE_HELP)
    .action(async (from: string, options: BackupOptions) => {
      setExitCode(await restore(from, options, terminal));
    });
}

async function backUp(to: string, options: BackupOptions, terminal: Terminal): Promise<ExitCode> {
  const key = await readHashKey(options);
  return between(
    () => openState(options.state),
    () => openBackup(to, options.state),
    async (from, folder) => {
      const report = await copyLogs(from, folder, { ...key, kinds: KINDS, passes: 1 });
      return told("backed up", "new ", report, [], key.hashKey !== undefined, terminal);
    },
  );
}

async function restore(from: string, options: BackupOptions, terminal: Terminal): Promise<ExitCode> {
  const key = await readHashKey(options);
  return between(
    () => openState(from),
    () => openState(options.state, { create: true }),
    async (backup, state) => {
      const ids: string[] = [];
      const onProgress = ({ sessionId }: { readonly sessionId: string }) => void ids.push(sessionId);
      const report = await copyLogs(backup, state, { ...key, kinds: KINDS, passes: 1, onProgress });
      const refused = new Set<string>(report.refused.map(({ sessionId }) => sessionId));
      const damaged: string[] = [];
      for (const id of ids.filter((one) => !refused.has(one))) {
        const fault = await readBack(
          state,
          id,
          key.hashKey === undefined ? undefined : utf8ToBytes(String(key.hashKey)),
        );
        if (fault !== undefined) damaged.push(`session ${id} was written, and does not hold: ${fault}`);
      }
      return told("restored and checked", "", report, damaged, key.hashKey !== undefined, terminal);
    },
  );
}

/** Uses two storages, and closes what was opened. */
async function between<T>(
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

/** Opens the folder of a backup. One with other things in it is left as it is. */
async function openBackup(to: string, state: string): Promise<StorageAdapter> {
  const folder = resolve(to);
  const hint = "Name a new folder, or that of an earlier backup.";
  if (folder === resolve(state)) throw new CommandFailure(`${to} is the state itself`, EXIT.usage, hint);
  // If there is no such folder, it has no names.
  const names = await readdir(folder).catch((): string[] => []);
  if (names.length > 0 && !names.includes("format.json")) {
    throw new CommandFailure(`${folder} has other files in it`, EXIT.environment, hint);
  }
  return openState(to, { create: true });
}

/** What is wrong with a session's log, read from its first commit to its last one. */
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
  return previous === undefined ? "it is not there" : undefined;
}

function told(
  done: string,
  which: string,
  { sessions, commits, refused }: CopyReport,
  damaged: readonly string[],
  isKeyed: boolean,
  terminal: Terminal,
): ExitCode {
  for (const { sessionId, message } of refused) {
    print(terminal, printable(`session ${sessionId} is left out: ${message}`));
  }
  for (const line of damaged) print(terminal, printable(line));
  if (!isKeyed && refused.some(({ reason }) => reason === "unreadable")) print(terminal, KEY_HINT);
  print(terminal, `${done} ${counted(sessions - damaged.length, "session")}, ${counted(commits, `${which}commit`)}`);
  return refused.length + damaged.length === 0 ? EXIT.ok : EXIT.problems;
}
