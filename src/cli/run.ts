import { CommanderError } from "commander";
import { isPhasegateError } from "../errors.js";
import { CommandFailure, EXIT, exitCodeOf } from "./exit-codes.js";
import { createProgram } from "./program.js";
import { printable, styled, type Terminal, withoutPasswords } from "./terminal.js";
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

/** Tells the user what went wrong and what to do. The stack is for those who look for it. */
export function printError({ stderr }: Terminal, error: unknown, { stack }: { readonly stack: boolean }): void {
  const message = error instanceof Error ? error.message : String(error);
  stderr.write(`${styled(stderr, "red", "phasegate: error:")} ${shown(message)}\n`);
  const hint = hintOf(error);
  if (hint !== undefined) stderr.write(`${styled(stderr, "cyan", "  hint:")} ${shown(hint)}\n`);
  if (!stack) return;
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    stderr.write(`${shown(cause.stack ?? cause.message, { lines: true })}\n`);
  }
}

/** A driver's message may quote the address that it was given. */
function shown(text: string, options?: { readonly lines: boolean }): string {
  return printable(withoutPasswords(text), options);
}

function hintOf(error: unknown): string | undefined {
  if (error instanceof CommandFailure) return error.hint;
  if (isPhasegateError(error)) return error.remedy;
  return "Run it again with --log-level debug to see where this comes from.";
}
