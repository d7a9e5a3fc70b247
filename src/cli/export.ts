import { utf8ToBytes } from "@noble/hashes/utils.js";
import { Command } from "commander";
import { EXIT, type ExitCode, type SetExitCode } from "./exit-codes.js";
import { choiceOf, type FilterOptions, filterOptions, logLevelOption, notEmpty, stateOption } from "./options.js";
import { openState } from "./state.js";
import { counted, printable, type Terminal } from "./terminal.js";
import { exportLines, writeToFile, writeToStream } from "./transfer/export.js";
import { hashKeyOption, KEY_HINT, readHashKey } from "./trust.js";

interface ExportOptions extends FilterOptions {
  readonly state: string;
  readonly out?: string;
  readonly hashKeyFile?: string;
}

const HELP = `
One commit a line, with its payloads, as JSON; the last line has a digest of the others, so that a file
that was cut is noticed. It holds all evidence: keep it as you keep the state. A session whose log does
not hold together is left out and told of, with exit code 1.`;

/** `phasegate export`. */
export function exportCommand(terminal: Terminal, setExitCode: SetExitCode): Command {
  const command = new Command("export")
    .summary("write sessions as lines of JSON")
    .description("Writes the logs of sessions, whole and checked, as lines of JSON.")
    .addOption(stateOption().makeOptionMandatory())
    .option("--out <file>", "a new file; stdout if not given", notEmpty);
  for (const option of filterOptions()) command.addOption(option);
  return command
    .addOption(hashKeyOption())
    .addOption(logLevelOption())
    .addHelpText("after", HELP)
    .action(async (options: ExportOptions) => {
      setExitCode(await exportSessions(options, terminal));
    });
}

async function exportSessions(options: ExportOptions, { stdout, stderr }: Terminal): Promise<ExitCode> {
  const { hashKey } = await readHashKey(options);
  const storage = await openState(options.state);
  const tell = (line: string) => void stderr.write(`${printable(line)}\n`);
  let [refused, unreadable] = [0, 0];
  try {
    const lines = exportLines(storage, {
      ...choiceOf(options),
      ...(typeof hashKey === "string" ? { hashKey: utf8ToBytes(hashKey) } : {}),
      onRefused: (sessionId, { message, reason }) => {
        refused += 1;
        if (reason === "unreadable") unreadable += 1;
        tell(`session ${sessionId} is left out: ${message}`);
      },
      onEnd: ({ sessions, commits }) => tell(`exported ${counted(sessions, "session")}, ${counted(commits, "commit")}`),
    });
    await (options.out === undefined ? writeToStream(lines, stdout) : writeToFile(lines, options.out));
    if (unreadable > 0 && hashKey === undefined) tell(KEY_HINT);
  } finally {
    await storage.close?.();
  }
  return refused === 0 ? EXIT.ok : EXIT.problems;
}
