import { CommanderError } from "commander";
import { EXIT, exitCodeOf } from "./exit-codes.js";
import { printError } from "./print-error.js";
import { createProgram } from "./program.js";
import type { Terminal } from "./terminal.js";

/** Runs the bin with these arguments, and gives its exit code. Never rejects. */
export async function runCli(args: readonly string[], terminal: Terminal): Promise<number> {
  let exitCode: number = EXIT.ok;
  const program = createProgram(terminal, (code) => {
    exitCode = code;
  });
  try {
    await program.parseAsync([...args], { from: "user" });
    return exitCode;
  } catch (error) {
    // Commander has said what is wrong itself; what it calls 1 is wrong usage, help and version are 0.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    printError(terminal, error, { stack: wantsStack(args) });
    return exitCodeOf(error);
  }
}

/** Read by hand: an error may come before the options are read, or be about them. */
function wantsStack(args: readonly string[]): boolean {
  const at = args.lastIndexOf("--log-level");
  const joined = args.findLast((arg) => arg.startsWith("--log-level="))?.slice("--log-level=".length);
  const level = joined ?? (at === -1 ? process.env.PHASEGATE_LOG_LEVEL : args[at + 1]);
  return level === "debug" || level === "trace";
}
