/**
 * `phasegate backup` copies the sessions of a state into a folder, while they are in use; `phasegate restore` copies them
 * back into a state, then reads them there and checks them. `phasegate repair` rebuilds what lists of sessions are read from,
 * and reports damaged sessions; `phasegate compact` stores the commits of sessions in fewer files, or with less unused space.
 */
import { readdir } from "node:fs/promises";
import { resolve } from "node:path";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { isPhasegateError } from "../errors.js";
import { type CopyProgress, type CopyReport, chosenSessions, copyLogs } from "../phased/log-copy.js";
import type { RepairReport, StorageAdapter } from "../ports/storage-adapter.js";
import { parseSessionId } from "../workflow/names.js";
import { argument, command, notEmpty, required } from "./command.js";
import { CommandFailure, EXIT, type ExitCode } from "./exit-codes.js";
import { checkedLog, KINDS } from "./export.js";
import { choiceOf, type FilterOptions, filterOptions, jsonOption, stateOption } from "./options.js";
import { withProgress } from "./progress.js";
import { sessionMeant } from "./session-id.js";
import { openState, using, withState } from "./state.js";
import { counted, print, printable, printJson, sizeText, type Terminal } from "./terminal.js";
import { hashKeyOption, KEY_HINT, readHashKey } from "./trust.js";

const copyOptions = () => ({ state: required(stateOption()), hashKeyFile: hashKeyOption() });

const BACKUP_HELP = `
Servers may use the sessions meanwhile: each session is copied as it is at one instant. Each commit is checked before
it is written. The folder is itself a state (phasegate sessions --state <to>); the next backup into it adds only what
is new. Sessions that were deleted since then stay in it. If a session cannot be copied, it is listed, and the exit
code is 1.`;

const RESTORE_HELP = `
Each commit is checked before it is written, and each log is read back and checked completely. If the state already
has the beginning of a session, the rest is added; if it has another session of that id, the session is refused, and
the exit code is 1.`;

export const backupCommand = command({
  name: "backup",
  description: "Copies the sessions of a state of any kind into a folder, while they are in use.",
  arguments: [argument("<to>", "the folder: a new one, or the folder of an earlier backup", notEmpty)],
  options: copyOptions(),
  help: BACKUP_HELP,
  async run(options, terminal, to) {
    const key = await readHashKey(options);
    return withState(options.state, async (from) =>
      using(await openBackup(to, options.state), async (folder) => {
        const report = await withProgress(terminal, "copied", (tell) =>
          copyLogs(from, folder, { ...key, kinds: KINDS, passes: 1, onProgress: (one) => tell(copiedText(one)) }),
        );
        return printCopied("backed up", "new ", report, [], key.hashKey !== undefined, terminal);
      }),
    );
  },
});

export const restoreCommand = command({
  name: "restore",
  description: "Copies all sessions of a backup into a state of any kind, which is created if it does not exist.",
  arguments: [argument("<from>", "the folder of a backup, or any other state", notEmpty)],
  options: copyOptions(),
  help: RESTORE_HELP,
  async run(options, terminal, from) {
    const key = await readHashKey(options);
    const hashKey = key.hashKey === undefined ? undefined : utf8ToBytes(key.hashKey);
    return withState(from, async (backup) =>
      using(await openState(options.state, { create: true }), async (state) => {
        const ids: string[] = [];
        const report = await withProgress(terminal, "copied", (tell) => {
          const onProgress = (one: CopyProgress) => {
            ids.push(one.sessionId);
            tell(copiedText(one));
          };
          return copyLogs(backup, state, { ...key, kinds: KINDS, passes: 1, onProgress });
        });
        const refused = new Set<string>(report.refused.map(({ sessionId }) => sessionId));
        const damaged: string[] = [];
        for (const id of ids.filter((one) => !refused.has(one))) {
          const fault = await readBack(state, id, hashKey);
          if (fault !== undefined) damaged.push(`session ${id} was written, but is damaged: ${fault}`);
        }
        return printCopied("restored and checked", "", report, damaged, key.hashKey !== undefined, terminal);
      }),
    );
  },
});

function copiedText({ sessions, commits }: CopyProgress): string {
  return `${counted(sessions, "session")}, ${counted(commits, "commit")},`;
}

/** A folder with other files is not changed. */
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

/** Returns what is wrong with a session's log; undefined if it is whole. */
async function readBack(storage: StorageAdapter, id: string, hashKey: Uint8Array | undefined) {
  let commits = 0;
  try {
    for await (const _ of checkedLog(storage, parseSessionId(id), hashKey)) commits += 1;
  } catch (error) {
    if (!isPhasegateError(error)) throw error;
    return error.message;
  }
  return commits === 0 ? "it does not exist" : undefined;
}

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

const HELP = `
Use it if files of a state were lost, or if it was copied while it was in use. The command rebuilds the lists of
sessions, and reports damaged sessions with exit code 1. It changes no log, and servers may use the sessions meanwhile.
To check a log completely, use phasegate audit.`;

export const repairCommand = command({
  name: "repair",
  description: "Reads all sessions of a state, rebuilds the lists of sessions from their logs, and reports damage.",
  options: { state: required(stateOption()), json: jsonOption() },
  help: HELP,
  run: ({ state, json }, terminal) =>
    withState(state, async (storage) => {
      const report = await withProgress(terminal, "reading all sessions,", async () => storage.repair?.());
      if (json) printJson(terminal, report ?? { repaired: [], damaged: [], note: NOTHING_TO_REPAIR });
      else for (const line of report === undefined ? [NOTHING_TO_REPAIR] : linesOf(report)) print(terminal, line);
      return (report?.damaged ?? []).length === 0 ? EXIT.ok : EXIT.problems;
    }),
});

const NOTHING_TO_REPAIR = "nothing to do: this kind of state keeps no lists next to its logs";

function linesOf({ sessions, repaired, damaged }: RepairReport): string[] {
  const what = repaired.map((one) => `${one.what}: ${one.count}`);
  return [
    `read ${counted(sessions, "session")}`,
    ...(what.length === 0 ? ["nothing needed repair"] : what),
    ...damaged.map(({ sessionId, reason }) => printable(`session ${sessionId} is damaged: ${reason}`)),
  ];
}

const COMPACT_HELP = `
No commit is lost, and servers may use the sessions meanwhile.`;

/** Printed if the files have grown: the index of the one file is larger than what many small files had in addition. */
const GROWN = `
The commits are the same, in fewer files. Each of these has an index, which adds a few bytes to a short log; many
small files take more space on a disk than their sizes add up to.`;

export const compactCommand = command({
  name: "compact",
  description: "Stores the commits of one session, or of all sessions that match, in less space.",
  arguments: [argument("[session]", "id of the session, or the end of it; all that match if not given", notEmpty)],
  options: { state: required(stateOption()), ...filterOptions() },
  help: COMPACT_HELP,
  run: ({ state, ...filters }, terminal, session) =>
    withState(state, async (storage) => {
      const named = session === undefined ? filters : { session: [session, ...(filters.session ?? [])] };
      print(terminal, await withProgress(terminal, "compacted", (tell) => compactAll(storage, named, tell)));
      return EXIT.ok;
    }),
});

async function compactAll(
  storage: StorageAdapter,
  filters: FilterOptions,
  tell: (done: string) => void,
): Promise<string> {
  if (storage.compact === undefined) return "nothing to do: this kind of state needs no compaction";
  const choice = await choiceOf(filters, (given) => sessionMeant(storage, given));
  let [sessions, before, after] = [0, 0, 0];
  for await (const sessionId of chosenSessions(storage, choice)) {
    if ((await storage.read(sessionId)) === undefined) {
      throw new CommandFailure(`there is no session ${sessionId}`, EXIT.problems, "See `phasegate sessions`.");
    }
    before += (await storage.size?.(sessionId))?.bytes ?? 0;
    await storage.compact(sessionId);
    after += (await storage.size?.(sessionId))?.bytes ?? 0;
    sessions += 1;
    tell(`${counted(sessions, "session")},`);
  }
  const sizes = storage.size === undefined ? "" : `: ${sizeText(before)} before, ${sizeText(after)} now`;
  return `compacted ${counted(sessions, "session")}${sizes}${after > before ? GROWN : ""}`;
}
