/** `phasegate repair`: rebuilds what lists of sessions are read from, and reports damaged sessions. */
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
Use it if files of a state were lost, or if it was copied while it was in use. The command rebuilds what lists of
sessions are read from, and lists damaged sessions, with exit code 1. It changes no log, and servers may use the
sessions meanwhile. To check a log completely, use phasegate audit.`;

/** Creates `phasegate repair`. */
export function repairCommand(terminal: Terminal, setExitCode: SetExitCode): Command {
  return new Command("repair")
    .summary("rebuild what lists of sessions are read from")
    .description("Reads all sessions of a state, repairs what follows from their logs, and reports it.")
    .addOption(stateOption().makeOptionMandatory())
    .addOption(jsonOption())
    .addOption(logLevelOption())
    .addHelpText("after", HELP)
    .action(async ({ state, json }: RepairOptions) => {
      const storage = await openState(state);
      try {
        if (storage.repair === undefined) {
          print(terminal, "nothing to do: this kind of state keeps no lists next to its logs");
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
    `read ${counted(sessions, "session")}`,
    ...(what.length === 0 ? ["nothing needed repair"] : what),
    ...damaged.map(({ sessionId, reason }) => printable(`session ${sessionId} is damaged: ${reason}`)),
  ];
}
