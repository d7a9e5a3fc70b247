/** `phasegate restore`: copies the sessions of a backup into a state, then reads them back and checks them. */
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { Command } from "commander";
import { isPhasegateError } from "../errors.js";
import { checkCommit, withPayloads } from "../phased/log-check.js";
import { copyLogs } from "../phased/log-copy.js";
import type { Commit, StorageAdapter } from "../ports/storage-adapter.js";
import { parseSessionId } from "../workflow/names.js";
import { type BackupOptions, betweenStates, printCopied } from "./backup.js";
import type { ExitCode, SetExitCode } from "./exit-codes.js";
import { logLevelOption, notEmpty, stateOption } from "./options.js";
import { openState } from "./state.js";
import type { Terminal } from "./terminal.js";
import { KINDS } from "./transfer-lines.js";
import { hashKeyOption, readHashKey } from "./trust.js";

const HELP = `
Each commit is checked before it is written, and each log is read back and checked completely. If the state already
has the beginning of a session, the rest is added; if it has another session of that id, the session is refused, and
the exit code is 1.`;

/** Creates `phasegate restore`. */
export function restoreCommand(terminal: Terminal, setExitCode: SetExitCode): Command {
  return new Command("restore")
    .summary("copy the sessions of a backup into a state, and check them there")
    .description("Copies all sessions of a backup into a state of any kind, which is created if it does not exist.")
    .argument("<from>", "the folder of a backup, or any other state", notEmpty)
    .addOption(stateOption().makeOptionMandatory())
    .addOption(hashKeyOption())
    .addOption(logLevelOption())
    .addHelpText("after", HELP)
    .action(async (from: string, options: BackupOptions) => {
      setExitCode(await restore(from, options, terminal));
    });
}

async function restore(from: string, options: BackupOptions, terminal: Terminal): Promise<ExitCode> {
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
