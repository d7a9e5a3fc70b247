import { Command } from "commander";
import { EXIT, type SetExitCode } from "./exit-codes.js";
import { jsonOption, logLevelOption, stateOption } from "./options.js";
import { sessionReport, sessionTree } from "./session-lines.js";
import { recordedLines, routedLines, routedReport } from "./show-others.js";
import { type OpenedSession, openSession } from "./state.js";
import { print, printJson, type Terminal } from "./terminal.js";
import { readTrust, type TrustOptions, trustOptions } from "./trust.js";

interface ShowOptions extends TrustOptions {
  readonly state: string;
  readonly json?: true;
}

const HELP = `
Where the approvers are given, what comes after an approval by anybody else is not shown: the session is
shown as it was before, with exit code 1. Without approvers, the log is shown as it is.`;

/** `phasegate show`. */
export function showCommand(terminal: Terminal, setExitCode: SetExitCode): Command {
  const command = new Command("show")
    .summary("show one session: its phases or steps, attempts and problems")
    .description("Shows one session: its phases as a tree, or its steps as they were gone, with times and problems.")
    .argument("<session>", "id of the session, as `phasegate sessions` lists it")
    .addOption(stateOption().makeOptionMandatory());
  for (const option of trustOptions()) command.addOption(option);
  return command
    .addOption(jsonOption())
    .addOption(logLevelOption())
    .addHelpText("after", HELP)
    .action(async (sessionId: string, { state, json, ...trust }: ShowOptions) => {
      const opened = await openSession(state, sessionId, await readTrust(trust));
      try {
        const { report, lines } = await shown(opened, sessionId, terminal);
        if (json) printJson(terminal, report);
        else for (const line of lines) print(terminal, line);
        setExitCode("unapproved" in report ? EXIT.problems : EXIT.ok);
      } finally {
        await opened.engine.close();
      }
    });
}

async function shown(opened: OpenedSession, sessionId: string, { stdout }: Terminal) {
  if (opened.kind === "routed") {
    const { engine } = opened;
    const [view, history] = await Promise.all([engine.status(sessionId), engine.history(sessionId)]);
    const report = routedReport(view, history);
    return { report, lines: routedLines(report, stdout) };
  }
  if (opened.kind === "recorded") {
    const report = await opened.engine.report(sessionId);
    return { report, lines: recordedLines(report) };
  }
  const { engine } = opened;
  const [view, history] = await Promise.all([engine.getState(sessionId), engine.history(sessionId)]);
  const report = sessionReport(view, history);
  return { report, lines: sessionTree(report, stdout) };
}
