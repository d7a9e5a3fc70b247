import { Command } from "commander";
import { chosenSessions } from "../phased/log-copy.js";
import type { RepairReport, SessionSize, StorageAdapter } from "../ports/storage-adapter.js";
import { CommandFailure, EXIT, type SetExitCode } from "./exit-codes.js";
import {
  choiceOf,
  type FilterOptions,
  filterOptions,
  jsonOption,
  logLevelOption,
  notEmpty,
  stateOption,
} from "./options.js";
import { openState } from "./state.js";
import { counted, print, printable, sizeText, type Terminal } from "./terminal.js";

interface CompactOptions extends FilterOptions {
  readonly state: string;
}

const COMPACT_HELP = `
Nothing of a log is lost, and it can be done at any time, while servers work on the sessions.`;

/** Where logs are short, the index of a session's one file is more than what its many files had beside their commits. */
const GROWN = `
The commits are the same, in fewer files now. These have an index, which adds a few bytes to a short log; many small files
take more of a disk than their bytes say.`;

/** `phasegate compact`. */
export function compactCommand(terminal: Terminal, setExitCode: SetExitCode): Command {
  const command = new Command("compact")
    .summary("put the commits of sessions closer together")
    .description("Gives back room that nothing stands in, for one session or for all that match.")
    .argument("[session]", "id of the session; all that match if not given", notEmpty)
    .addOption(stateOption().makeOptionMandatory());
  for (const option of filterOptions()) command.addOption(option);
  return command
    .addOption(logLevelOption())
    .addHelpText("after", COMPACT_HELP)
    .action(async (session: string | undefined, { state, ...filters }: CompactOptions) => {
      const storage = await openState(state);
      const named = session === undefined ? filters : { session: [session, ...(filters.session ?? [])] };
      try {
        print(terminal, await compactAll(storage, named));
      } finally {
        await storage.close?.();
      }
      setExitCode(EXIT.ok);
    });
}

async function compactAll(storage: StorageAdapter, filters: FilterOptions): Promise<string> {
  if (storage.compact === undefined) return "nothing to do: this kind of state is not compacted";
  let [sessions, before, after] = [0, 0, 0];
  for await (const sessionId of chosenSessions(storage, choiceOf(filters))) {
    if ((await storage.read(sessionId)) === undefined) throw notThere(sessionId);
    before += bytesOf(await storage.size?.(sessionId));
    await storage.compact(sessionId);
    after += bytesOf(await storage.size?.(sessionId));
    sessions += 1;
  }
  const sizes = storage.size === undefined ? "" : `: ${sizeText(before)} before, ${sizeText(after)} now`;
  return `compacted ${counted(sessions, "session")}${sizes}${after > before ? GROWN : ""}`;
}

function bytesOf(size: SessionSize | undefined): number {
  return size?.bytes ?? 0;
}

function notThere(sessionId: string): CommandFailure {
  return new CommandFailure(`there is no session ${sessionId}`, EXIT.problems, "See `phasegate sessions`.");
}

interface RepairOptions {
  readonly state: string;
  readonly json?: true;
}

const REPAIR_HELP = `
It makes anew what lists go by, where files of it were lost or a copy was made while the state was in use, and tells
of sessions that are damaged, with exit code 1. It changes no log, and servers may work on the sessions meanwhile.
A log is checked whole by phasegate audit.`;

/** `phasegate repair`. */
export function repairCommand(terminal: Terminal, setExitCode: SetExitCode): Command {
  return new Command("repair")
    .summary("make anew what lists of sessions go by")
    .description("Looks at all sessions of a state, puts right what can be told from their logs, and says what it did.")
    .addOption(stateOption().makeOptionMandatory())
    .addOption(jsonOption())
    .addOption(logLevelOption())
    .addHelpText("after", REPAIR_HELP)
    .action(async ({ state, json }: RepairOptions) => {
      const storage = await openState(state);
      try {
        if (storage.repair === undefined) {
          print(terminal, "nothing to do: this kind of state keeps no lists beside its logs");
          setExitCode(EXIT.ok);
          return;
        }
        const report = await storage.repair();
        for (const line of json ? [JSON.stringify(report, undefined, 2)] : linesOf(report)) print(terminal, line);
        setExitCode(report.damaged.length === 0 ? EXIT.ok : EXIT.problems);
      } finally {
        await storage.close?.();
      }
    });
}

function linesOf({ sessions, repaired, damaged }: RepairReport): string[] {
  const what = repaired.map((one) => `${one.what}: ${one.count}`);
  return [
    `looked at ${counted(sessions, "session")}`,
    ...(what.length === 0 ? ["nothing was to be repaired"] : what),
    ...damaged.map(({ sessionId, reason }) => printable(`session ${sessionId} is damaged: ${reason}`)),
  ];
}
