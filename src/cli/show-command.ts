import { utf8ToBytes } from "@noble/hashes/utils.js";
import { Command } from "commander";
import { hashKeyOption, readHashKey } from "./approval-options.js";
import { EXIT, type SetExitCode } from "./exit-codes.js";
import { openSessions } from "./open-sessions.js";
import { jsonOption, logLevelOption, stateOption } from "./option-values.js";
import { sessionReport } from "./session-report.js";
import { sessionTree } from "./session-tree.js";
import { printRecorded, readRecorded } from "./show-recorded.js";
import { print, type Terminal } from "./terminal.js";

interface ShowOptions {
  readonly state: string;
  readonly json?: true;
  readonly hashKeyFile?: string;
}

/** `phasegate show`. */
export function showCommand(terminal: Terminal, setExitCode: SetExitCode): Command {
  return new Command("show")
    .summary("show one session: its phases, attempts and problems")
    .description("Shows one session as a tree of its phases, with times, attempts and problems.")
    .argument("<session>", "id of the session, as `phasegate sessions` lists it")
    .addOption(stateOption().makeOptionMandatory())
    .addOption(hashKeyOption())
    .addOption(jsonOption())
    .addOption(logLevelOption())
    .action(async (sessionId: string, { state, json, ...trust }: ShowOptions) => {
      const { hashKey } = await readHashKey(trust);
      const key = typeof hashKey === "string" ? utf8ToBytes(hashKey) : hashKey;
      const recorded = await readRecorded(state, sessionId, key);
      setExitCode(EXIT.ok);
      if (recorded !== undefined) {
        if (json) print(terminal, JSON.stringify(recorded, undefined, 2));
        else printRecorded(terminal, recorded);
        return;
      }
      const engine = await openSessions(state, hashKey === undefined ? {} : { hashKey });
      const [view, history] = await Promise.all([engine.getState(sessionId), engine.history(sessionId)]);
      await engine.close();
      const report = sessionReport(view, history);
      if (json) print(terminal, JSON.stringify(report, undefined, 2));
      else for (const line of sessionTree(report, terminal.stdout)) print(terminal, line);
    });
}
