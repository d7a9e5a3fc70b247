import { Command } from "commander";
import { decideCommand, keygenCommand } from "./approve.js";
import { auditCommand } from "./audit.js";
import { backupCommand, restoreCommand } from "./backup.js";
import { packageVersion, type SetExitCode } from "./exit-codes.js";
import { exportCommand } from "./export.js";
import { importCommand } from "./import.js";
import { compactCommand, repairCommand } from "./maintain.js";
import { planCommand } from "./plan.js";
import { serveCommand } from "./serve-command.js";
import { sessionsCommand } from "./sessions.js";
import { showCommand } from "./show.js";
import { type Terminal, withoutPasswords } from "./terminal.js";
import { testStorageCommand } from "./test-storage.js";
import { gateCommand, validateCommand } from "./validate.js";

const EXIT_CODES = `
Exit codes:
  0  done
  1  problems were found, or there is no such session
  2  wrong usage: an option is missing, unknown or of the wrong kind
  3  the environment failed: a folder, a disk, a package that isn't installed`;

const EXAMPLES = `
Examples:
  phasegate validate workflows
  phasegate gate freeze workflows/my_workflow --phase 1
  phasegate plan specs/login/tasks.md
  phasegate serve --workflows workflows --state .phasegate --project .
  phasegate sessions --state .phasegate --status active
  phasegate show my_workflow_readme_20260101_120000 --state .phasegate
  phasegate approve my_workflow_readme_20260101_120000 --state .phasegate --key ann.pem --approvers approvers.json
  phasegate export --state .phasegate | phasegate import --state sqlite:sessions.db
  phasegate backup --state .phasegate /backups/phasegate`;

const COMMANDS = [
  serveCommand,
  validateCommand,
  gateCommand,
  planCommand,
  sessionsCommand,
  showCommand,
  keygenCommand,
  decideCommand("approve"),
  decideCommand("deny"),
  auditCommand,
  testStorageCommand,
  exportCommand,
  importCommand,
  backupCommand,
  restoreCommand,
  compactCommand,
  repairCommand,
];

/** The commands and their options. Throws a `CommanderError` where commander would end the process. */
export function createProgram(terminal: Terminal, setExitCode: SetExitCode): Command {
  const program = new Command("phasegate")
    .description("Phase-gated workflows for AI agents: work done in order, and proved at every gate.")
    .version(packageVersion(), "-V, --version", "print the version")
    .helpOption("-h, --help", "print help")
    .addHelpText("after", `${EXAMPLES}\n${EXIT_CODES}`);
  for (const command of COMMANDS) program.addCommand(command(terminal, setExitCode));
  for (const command of withInner(program)) settle(command, terminal);
  return program;
}

function withInner(command: Command): Command[] {
  return [command, ...command.commands.flatMap(withInner)];
}

/** Added commands take nothing from the program that they are added to. */
function settle(command: Command, { stdout, stderr }: Terminal): void {
  command.exitOverride().showHelpAfterError("(add --help for what there is)");
  command.configureOutput({
    writeOut: (text) => void stdout.write(text),
    writeErr: (text) => void stderr.write(text),
    outputError: (text, write) => write(withoutPasswords(`phasegate: ${text}`)),
  });
}
