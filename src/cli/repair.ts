/**
 * `phasegate repair`: rebuilds what lists of sessions are read from, and reports damaged sessions. `phasegate compact`:
 * stores the commits of sessions in fewer files, or with less unused space.
 */
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
import { counted, print, printable, printJson, sizeText, type Terminal } from "./terminal.js";

interface RepairOptions {
  readonly state: string;
  readonly json?: true;
}

const HELP = `
Use it if files of a state were lost, or if it was copied while it was in use. The command rebuilds the lists of
sessions, and reports damaged sessions with exit code 1. It changes no log, and servers may use the sessions meanwhile.
To check a log completely, use phasegate audit.`;

/** Creates `phasegate repair`. */
export function repairCommand(terminal: Terminal, setExitCode: SetExitCode): Command {
  return new Command("repair")
    .summary("rebuild the lists of sessions, and report damaged sessions")
    .description("Reads all sessions of a state, rebuilds the lists of sessions from their logs, and reports damage.")
    .addOption(stateOption().makeOptionMandatory())
    .addOption(jsonOption())
    .addOption(logLevelOption())
    .addHelpText("after", HELP)
    .action(async ({ state, json }: RepairOptions) => {
      const storage = await openState(state);
      try {
        const report = await storage.repair?.();
        if (json) printJson(terminal, report ?? { repaired: [], damaged: [], note: NOTHING_TO_REPAIR });
        else for (const line of report === undefined ? [NOTHING_TO_REPAIR] : linesOf(report)) print(terminal, line);
        setExitCode((report?.damaged ?? []).length === 0 ? EXIT.ok : EXIT.problems);
      } finally {
        await storage.close?.();
      }
    });
}

const NOTHING_TO_REPAIR = "nothing to do: this kind of state keeps no lists next to its logs";

function linesOf({ sessions, repaired, damaged }: RepairReport): string[] {
  const what = repaired.map((one) => `${one.what}: ${one.count}`);
  return [
    `read ${counted(sessions, "session")}`,
    ...(what.length === 0 ? ["nothing needed repair"] : what),
    ...damaged.map(({ sessionId, reason }) => printable(`session ${sessionId} is damaged: ${reason}`)),
  ];
}

interface CompactOptions extends FilterOptions {
  readonly state: string;
}

const COMPACT_HELP = `
No commit is lost, and servers may use the sessions meanwhile.`;

/** Printed if the files have grown: the index of the one file is larger than what many small files had in addition. */
const GROWN = `
The commits are the same, in fewer files. Each of these has an index, which adds a few bytes to a short log; many
small files take more space on a disk than their sizes add up to.`;

/** Creates `phasegate compact`. */
export function compactCommand(terminal: Terminal, setExitCode: SetExitCode): Command {
  const command = new Command("compact")
    .summary("store the commits of sessions in less space")
    .description("Stores the commits of one session, or of all sessions that match, in less space.")
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
  if (storage.compact === undefined) return "nothing to do: this kind of state needs no compaction";
  let [sessions, before, after] = [0, 0, 0];
  for await (const sessionId of chosenSessions(storage, choiceOf(filters))) {
    if ((await storage.read(sessionId)) === undefined) throw noSession(sessionId);
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

function noSession(sessionId: string): CommandFailure {
  return new CommandFailure(`there is no session ${sessionId}`, EXIT.problems, "See `phasegate sessions`.");
}
