import { Command } from "commander";
import type { RepairReport } from "../ports/storage-adapter.js";
import { EXIT, type SetExitCode } from "./exit-codes.js";
import { jsonOption, logLevelOption, stateOption } from "./options.js";
import { openState } from "./state.js";
import { counted, print, printable, type Terminal } from "./terminal.js";

interface RepairOptions {
  readonly state: string;
  readonly json?: true;
}

const HELP = `
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
    .addHelpText("after", HELP)
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
